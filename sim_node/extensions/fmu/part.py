"""FMUs as parts of worlds, with their connections, and the frames that they move."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sim_node.extensions.fmu.description import TYPES, Description, FmuFault, Variable, description_of
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import did_you_mean
from sim_node.world.declared import BAD, Fault, declared, faults, given, keys_of, place_of, read
from sim_node.world.fields import pose_faults
from sim_node.world.model import World
from sim_node.world.part import Kind, Mobility, Refer, Rename, part
from sim_node.world.problems import NO_PLACE, Place, Problem, quoted, shown_key
from sim_node.world.quantities import FileOf, FrameName, Other, PathOf, Text, Time, Vector, Word
from sim_node.world.readers.keys import ANYTHING, by_name, text
from sim_node.world.readers.yaml_nodes import Mapping as MappingNode
from sim_node.world.readers.yaml_nodes import plain_of
from sim_node.world.readers.yaml_poses import CONVENTIONS, POSE, UNMOVED
from sim_node.world.readers.yaml_section import Context, listed, section
from sim_node.world.readers.yaml_values import Value

# Names have no slash, which separates them from a variable.
NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,99}", re.ASCII)
# The column with the outputs that are numbers or booleans.
OUTPUT = "fmu/output"
# The elements of a pose, in order.
OF_POSE = ("x", "y", "z", "qx", "qy", "qz", "qw")


def _data(value: Value) -> Mapping[str, Any]:
    if not isinstance(value.node, MappingNode):
        value.error(f"a mapping of variables to values is needed, found {value.found()}")
        return {}
    found: Mapping[str, Any] = plain_of(value.node)
    return found


def _texts(value: Value) -> Mapping[str, str]:
    return {name: each.text() for name, _, each in value.named("to variables of FMUs")}


def _file_fault(path: Path) -> str:
    try:
        description_of(path)
    except (FmuFault, OSError) as error:
        return f"{quoted(path.name)} {error}"
    return ""


class FmuInput(NamedTuple):
    """The source of an input of an FMU.

    Attributes:
        fmu: The name of another FMU.
        variable: An output of that FMU.
    """

    fmu: str
    variable: str

    @classmethod
    def of(cls, text: str) -> FmuInput:
        """Parse a source.

        Args:
            text: FMU/VARIABLE.

        Returns:
            The source.
        """
        return cls(*text.partition("/")[::2])


@declared
class Fmu:
    """A Functional Mock-up Unit of FMI 2 or 3, for co-simulation: a model of another tool.

    It is started if the user lets processes start. At each of its steps, its inputs are the outputs that other FMUs had
    at the step before.
    """

    name: str = given(None, "Unique in the world")
    file: Path = given(FileOf(_file_fault), "The archive")
    step_ns: int = given(
        Time(0), "Time between its steps; 0 for that of the world", "s", default=0, key="step", omit=True
    )
    start: Mapping[str, Any] = given(
        Other(lambda about: by_name(about, ANYTHING), _data),
        "Values of parameters, inputs and others at the start, by variable; structural parameters size arrays",
        default_factory=dict,
        omit=True,
    )
    inputs: Mapping[str, str] = given(
        Other(lambda about: by_name(about, text("FMU/VARIABLE")), _texts),
        "The outputs of other FMUs that inputs follow, as FMU/VARIABLE, by variable",
        default_factory=dict,
        omit=True,
    )
    cwd: Path | None = given(
        PathOf(), "The folder that it runs in; by default that of this file", default=None, omit=True
    )
    places: Mapping[str, Place] = given(
        None, "Where a file gives the values and sources, by start.VARIABLE and inputs.VARIABLE", default_factory=dict
    )
    place: Place = place_of(default=NO_PLACE)


@declared(spread={"pose": POSE}, bare=("frame", "parent"))
class FmuFrame:
    """A frame that outputs of an FMU move in its parent.

    Between two steps it keeps its pose. Sensors on it measure velocities and accelerations by differences between
    steps.
    """

    frame: str = given(FrameName(), "The frame that moves")
    parent: str = given(FrameName(), "The frame that it moves in", default="")
    pose: FloatArray = given(
        Vector(7), "Pose [x y z qx qy qz qw] in the parent until the FMU has started", "m", default=UNMOVED
    )
    scale: FloatArray | None = given(Vector(3), "Scale of what is shown at the frame, or None", default=None)
    fmu: str = given(Text(), "The FMU that moves it; empty for none", default="", omit=True)
    outputs: Mapping[str, str] = given(
        Other(lambda about: by_name(about, text("An output.")), _texts),
        f"The outputs that are {', '.join(OF_POSE)} of its pose; what is not given keeps its value",
        default_factory=dict,
        omit=True,
    )
    axes: str = given(
        Word(CONVENTIONS), "What the outputs are given in, as the convention of poses", default="ENU", omit=True
    )
    place: Place = place_of("frame", default=NO_PLACE)
    parent_place: Place = place_of("parent", default=NO_PLACE)

    @property
    def mobility(self) -> Mobility:
        """Always "dynamic"."""
        return "dynamic"

    def start(self) -> FloatArray:
        """Return the pose at the start.

        Returns:
            The pose (7,) in the parent, m.
        """
        return self.pose


def descriptions(world: World) -> dict[str, Description]:
    """Return the descriptions of those FMUs of a world that can be read, by name."""
    found = {}
    for each in Fmus.of(world):
        with suppress(FmuFault, OSError):
            found[each.name] = description_of(each.file).started(each.start)
    return found


@part("fmus", Fmu)
class Fmus(Kind[Fmu]):
    """Models of other tools that step with a run."""

    starts_programs = True

    @staticmethod
    def of(world: World) -> tuple[Fmu, ...]:
        """Return the FMUs of a world."""
        found: tuple[Fmu, ...] = world.parts.get("fmus", ())
        return found

    def problems(self, world: World) -> Iterator[Problem]:
        """Return problems: invalid files, steps that do not fit, and variables that do not exist or do not fit."""
        known = descriptions(world)
        seen: set[str] = set()
        for each, place in self.located(world):
            yield from (place.problem(message, key) for key, message in faults(each))
            if each.name in seen:
                yield place.problem(f"there is an FMU {quoted(each.name)} already")
            seen.add(each.name)
            if each.step_ns % world.time.step_ns:
                found, step = each.step_ns / 1e9, world.time.step_ns / 1e9
                yield place.problem(f"{found:g} s is no multiple of the world's step of {step:g} s", "step")
            if each.name not in known:
                if fault := _file_fault(each.file):
                    yield place.problem(fault, "file")
                continue
            variables = known[each.name].variables
            for key, name, fault in _variable_faults(each, variables, known):
                at = each.places.get(f"{key}.{name}")
                yield place.problem(fault, f"{key}.{name}") if at is None else at.problem(fault)

    def renamed(self, part: Fmu, rename: Rename) -> None:
        """Return None, because programs of an included world are not run."""

    def write(self, world: World, sections: dict[str, Any], refer: Refer) -> None:
        """Add them as a mapping by name."""
        for each in self.parts(world):
            sections.setdefault(self.section, {})[each.name] = self.data(each, refer)


def _variable_faults(
    of: Fmu, variables: Mapping[str, Variable], known: Mapping[str, Description]
) -> Iterator[tuple[str, str, str]]:
    """Yield the faults of start values and inputs, as key, variable and message."""
    for name, value in of.start.items():
        if name not in variables:
            yield "start", name, f"no variable {quoted(name)}{did_you_mean(name, variables)}"
        elif fault := variables[name].takes(value):
            yield "start", name, fault
    for name, source in of.inputs.items():
        fmu, output = FmuInput.of(source)
        mine = variables.get(name)
        if mine is None or mine.causality != "input":
            allowed = [each.name for each in variables.values() if each.causality == "input"]
            yield "inputs", name, f"no input {quoted(name)}{did_you_mean(name, allowed)}"
        elif fmu not in known:
            yield "inputs", name, f"no FMU {quoted(fmu)}{did_you_mean(fmu, known)}; write FMU/VARIABLE"
        else:
            outputs = {each.name: each for each in known[fmu].outputs}
            theirs = outputs.get(output)
            if theirs is None:
                yield "inputs", name, f"{quoted(fmu)} has no output {quoted(output)}{did_you_mean(output, outputs)}"
            elif theirs.size != mine.size or not _fit(theirs.type, mine.type):
                yield "inputs", name, f"{source} is {_kind(theirs)}, and it is {_kind(mine)}"


def _fit(one: str, other: str) -> bool:
    """Return whether values of one type can be assigned to a variable of another type."""
    source, target = TYPES.get(one), TYPES.get(other)
    return source is not None and (source is target or (source is int and target is float))


def _kind(of: Variable) -> str:
    return of.type if of.size is None else f"{of.size} of {of.type}"


@part("fmu_frames", FmuFrame)
class FmuFrames(Kind[FmuFrame]):
    """Frames that FMUs move."""

    frame = "frame"

    def problems(self, world: World) -> Iterator[Problem]:
        """Return problems: FMUs and outputs that do not exist, and invalid poses."""
        known, named = descriptions(world), [each.name for each in Fmus.of(world)]
        for each in self.parts(world):
            for key, message in (*faults(each), *self._faults(each, known, named)):
                yield Problem(each.place.where, f"{shown_key(each.frame)}: {key}", message)

    def _faults(self, of: FmuFrame, known: Mapping[str, Description], named: list[str]) -> Iterator[Fault]:
        yield from (("pose", message) for _, message in pose_faults(np.array([of.pose])))
        if of.fmu and of.fmu not in named:
            yield "fmu", f"no FMU {quoted(of.fmu)}{did_you_mean(of.fmu, named)}"
        outputs = {one.name: one for one in known[of.fmu].outputs} if of.fmu in known else None
        for number, output in of.outputs.items():
            if number not in OF_POSE:
                yield "outputs", f"found {quoted(number)}; allowed: {', '.join(OF_POSE)}"
            elif outputs is not None:
                found = outputs.get(output)
                if found is None:
                    yield "outputs", f"{quoted(of.fmu)} has no output {quoted(output)}{did_you_mean(output, outputs)}"
                elif found.size is not None or TYPES[found.type] not in (float, int):
                    yield "outputs", f"{quoted(output)} is {_kind(found)}; a number is needed"

    def renamed(self, part: FmuFrame, rename: Rename) -> FmuFrame | None:
        """Return None, or the frame without its FMU, because programs of an included world are not run."""
        found = super().renamed(part, rename)
        return (
            None
            if found is None
            else FmuFrame(
                found.frame, found.parent, found.pose, found.scale, place=found.place, parent_place=found.parent_place
            )
        )


@section("fmus", by_name("FMUs that step with a run, by name.", keys_of(Fmu)))
def read_fmus(value: Value, context: Context) -> None:
    """Read a mapping of names to FMUs."""
    for name, key, entry in value.named("of names to FMUs"):
        if not NAME.fullmatch(name):
            key.error("is not a name of an FMU; use letters, digits and, after the first character, _ . -")
            continue
        places = {
            f"{of}.{variable}": each.place
            for of in ("start", "inputs")
            if (group := entry.get(of)) is not None and isinstance(group.node, MappingNode)
            for variable, _, each in group.named()
        }
        found = read(Fmu, entry, context, name=name, places=places)
        if found is not BAD:
            context.add(found)


listed("fmu_frames", "Frames that FMUs move.", FmuFrame)
