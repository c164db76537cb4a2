"""The FMUs of AeroSim's configurations: connected by topics, with the actors and effectors that they move."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sim_node.extensions.aerosim.json_text import keys_of
from sim_node.extensions.aerosim.reading import opened, text_of
from sim_node.extensions.fmu.description import Description, FmuFault, description_of
from sim_node.extensions.fmu.part import NAME, OF_POSE, Fmu, FmuFrame
from sim_node.text import did_you_mean
from sim_node.world.bodies import Body
from sim_node.world.model import MIN_STEP_NS, ORIGIN_RANGES, TimeGrid, World
from sim_node.world.problems import Place, quoted
from sim_node.world.readers.files import Roots
from sim_node.world.readers.report import Report
from sim_node.world.readers.yaml_nodes import Mapping as MappingNode
from sim_node.world.readers.yaml_nodes import Node, plain_of
from sim_node.world.readers.yaml_values import Table, Value

KEYS = (
    *("id", "fmu_model_path", "component_input_topics", "component_output_topics"),
    *("fmu_aux_input_mapping", "fmu_aux_output_mapping", "fmu_initial_vals"),
)
TOPIC_KEYS = ("topic", "msg_type", "var_prefix")
STEP = "step_size_ms"
# Variables that are set to the origin of the world if an FMU has all of them.
_ORIGIN = {f"world_origin_{key}": key for key in ORIGIN_RANGES}
# The fields of messages with the pose of an actor: in AeroSim's program, and in its documentation and for effectors.
_POSES = ("state.pose", "pose")
_NUMBERS = dict(zip(OF_POSE, (*(f"position.{x}" for x in "xyz"), *(f"orientation.{x}" for x in "xyzw")), strict=True))
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@dataclass
class FmuModel:
    """A runnable entry of fmu_models: its contents, and the locations of its keys."""

    name: str
    file: Path
    folder: Path
    description: Description
    table: Table
    start: dict[str, Any] = field(default_factory=dict)
    inputs: dict[str, str] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)


@dataclass(frozen=True)
class FmuModels:
    """The FMUs of a configuration.

    Attributes:
        fmus: The FMUs, with the step of the configuration's clock.
        sources: The FMU and output of each field of a message, by TOPIC.FIELD.
        step_ns: The step of the clock; 0 without FMUs.
    """

    fmus: tuple[Fmu, ...] = ()
    sources: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    step_ns: int = 0


def read_fmu_models(root: Node, path: Path, roots: Roots, report: Report) -> FmuModels:
    """Return the FMUs of a configuration, with faults in `report`. Missing files cause a warning.

    A topic connects the outputs that one FMU publishes with the inputs of others that subscribe. All topics are
    internal to the run.
    """
    whole = Value(root, report)
    listed = whole.get("fmu_models")
    if listed is None:
        return FmuModels()
    _read(whole, "fmu_models")
    models = [model for each in listed.items() if (model := _model(each, path, roots)) is not None]
    sources = {key: source for model in models for key, source in _published(model)}
    origin = None if (world := whole.get("world")) is None else world.get("origin")
    for model in models:
        _add_start(model, {} if origin is None else dict(origin_of(origin)))
        _add_inputs(model, sources)
    step_ns = _clock(whole) if models else 0
    fmus = tuple(
        Fmu(
            model.name, model.file, step_ns, model.start, model.inputs, model.folder,
            places=model.places, place=model.table.value.place,
        )
        for model in models
    )  # fmt: skip
    return FmuModels(fmus, sources, step_ns)


def moved_by_fmus(world: World, root: Node, models: FmuModels) -> World:
    """Return a world with the FMUs of its configuration, which move the actors and effectors on their topics."""
    if not models.fmus:
        return world
    topics = dict(_topics(plain_of(root)))
    found: list[FmuFrame] = []
    kept: dict[str, list[Any]] = {kind: [] for kind in ("frames", "bodies", "motions")}
    for kind, rest in kept.items():
        for part in world.parts.get(kind, ()):
            name = part.frame if kind == "motions" else part.name
            outputs = _outputs(topics.get(name, ""), models)
            if outputs is None:
                rest.append(part)
                continue
            fmu, numbers = outputs
            own = {"scale": part.scale, "place": part.place, "parent_place": part.parent_place}
            axes = "NED" if part.parent == world.fixed_frame else "FRD"
            found.append(FmuFrame(name, part.parent, part.start(), fmu=fmu, outputs=numbers, axes=axes, **own))
            if isinstance(part, Body):
                asset = f"{name}/asset"
                kept["bodies"].append(Body(asset, name, geometry=part.geometry, scale=part.scale, place=part.place))
    time = TimeGrid(world.time.start_ns, _step_ns(world.time.step_ns, models.step_ns))
    return replace(world, time=time, **kept, fmus=models.fmus, fmu_frames=tuple(found))


def origin_of(value: Value) -> Iterator[tuple[str, Any]]:
    """Yield the numbers of an origin unchanged."""
    for key in _ORIGIN.values():
        if (each := value.get(key)) is not None:
            yield key, plain_of(each.node)


def _read(value: Value, key: str) -> None:
    if isinstance(value.node, MappingNode):
        value.node.entries[key][1].read = True


def _model(value: Value, path: Path, roots: Roots) -> FmuModel | None:
    table, _ = opened(value, (*KEYS, "component_type"), required=("id", "fmu_model_path"), kept=False)
    table.get("component_type")
    name, reference = text_of(table, "id"), table.get("fmu_model_path")
    if not name or reference is None:
        return None
    if not NAME.fullmatch(name):
        (table.get("id") or value).error("is not a name of an FMU; use letters, digits and, after the first, _ . -")
        return None
    found = _file(reference, path, roots)
    if found is None:
        return None
    file, folder = found
    try:
        about = description_of(file)
    except (FmuFault, OSError) as error:
        reference.error(f"{quoted(file.name)} {error}")
        return None
    value.report.read.append(file)
    return FmuModel(name, file, folder, about, table)


def _file(reference: Value, path: Path, roots: Roots) -> tuple[Path, Path] | None:
    """Return an FMU and the folder to which its path is relative, such as the parent of the configuration's folder."""
    text = reference.text()
    beside = path.resolve().parent
    folders = [beside, *beside.parents[:2], *(Path(each) for each in [os.environ.get("AEROSIM_ROOT", "")] if each)]
    for folder in folders:
        file = folder / text
        if file.is_file():
            if roots.allows(file):
                return file.resolve(), folder
            reference.warning(f"{file} is outside the folder of this file; allow it with --allow {folder}; not run")
            return None
    reference.warning(f"no file {quoted(text)} beside {path.name}, or beside its folder; not run")
    return None


def _topic_entries(model: FmuModel, key: str) -> Iterator[tuple[Value, str, str]]:
    """Yield the location, the name and the prefix of the variables of each topic in a list."""
    listed = model.table.get(key)
    for each in () if listed is None else listed.items():
        table, _ = opened(each, TOPIC_KEYS, required=("topic", "msg_type"), kept=False)
        kind = text_of(table, "msg_type").rpartition("::")[2]
        prefix = text_of(table, "var_prefix") or _CAPITAL.sub("_", kind).lower()
        yield table.get("topic") or each, text_of(table, "topic"), prefix


def _mapped(model: FmuModel, key: str) -> Iterator[tuple[Value, str, str, str]]:
    """Yield the location, the topic, the field and the variable of each mapped field."""
    mapping = model.table.get(key)
    for topic, _, fields in () if mapping is None else mapping.named("of topics to fields"):
        for name, _, variable in fields.named("of fields to variables"):
            yield variable, topic, name, variable.text()


def _published(model: FmuModel) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the published fields of a model as TOPIC.FIELD, with the model's name and the output."""
    outputs = {each.name for each in model.description.outputs}
    for place, topic, prefix in _topic_entries(model, "component_output_topics"):
        fields = [name for name in outputs if name.startswith(f"{prefix}.")]
        if not fields:
            place.warning(f"the FMU has no output that begins with {prefix}., so that the topic has nothing")
        for name in sorted(fields):
            yield f"{topic}.{name.removeprefix(prefix + '.')}", (model.name, name)
    for place, topic, key, name in _mapped(model, "fmu_aux_output_mapping"):
        if name in outputs:
            yield f"{topic}.{key}", (model.name, name)
        else:
            place.error(f"no output {quoted(name)}{did_you_mean(name, outputs)}")


def _add_start(model: FmuModel, origin: Mapping[str, Any]) -> None:
    given, variables = model.table.get("fmu_initial_vals"), model.description.variables
    if given is not None:
        model.start.update(keys_of(given))
        model.places.update({f"start.{name}": each.place for name, _, each in given.named()})
    if origin and variables.keys() >= _ORIGIN.keys():
        model.start.update({name: float(origin[key]) for name, key in _ORIGIN.items() if key in origin})


def _add_inputs(model: FmuModel, sources: Mapping[str, tuple[str, str]]) -> None:
    """Connect the inputs of a model. Inputs that no FMU publishes keep their start values, with a warning."""
    inputs = {each.name for each in model.description.variables.values() if each.causality == "input"}

    def connect(name: str, key: str, place: Place) -> None:
        model.inputs[name] = "/".join(sources[key])
        model.places[f"inputs.{name}"] = place

    for value, topic, prefix in _topic_entries(model, "component_input_topics"):
        fields = [key.removeprefix(f"{topic}.") for key in sources if key.startswith(f"{topic}.")]
        if not fields:
            value.warning(f"no FMU publishes {quoted(topic)}; the inputs from it keep their start values")
        for each in fields:
            name = next((name for name in (f"{prefix}.{each}", each) if name in inputs), "")
            if name:
                connect(name, f"{topic}.{each}", value.place)
    for value, topic, each, name in _mapped(model, "fmu_aux_input_mapping"):
        if name not in inputs:
            value.error(f"no input {quoted(name)}{did_you_mean(name, inputs)}")
        elif f"{topic}.{each}" in sources:
            connect(name, f"{topic}.{each}", value.place)
        else:
            value.warning(f"no FMU publishes {each} on {quoted(topic)}; the input keeps its start value")


def _clock(whole: Value) -> int:
    """Return the step of the clock, ns; by default AeroSim's 20 ms."""
    clock = whole.get("clock")
    step = None if clock is None else clock.get(STEP)
    if clock is not None:
        _read(whole, "clock")
    milliseconds = 20.0 if step is None else step.number(MIN_STEP_NS * 1e-6, 1e6)
    if clock is not None and (paced := clock.get("pace_1x_scale")) is not None:
        paced.flag()
    return round(milliseconds * 1e6)


def _step_ns(step_ns: int, clock_ns: int) -> int:
    """Return the longest integer fraction of the clock's step that does not exceed a step, ns."""
    parts = -(-clock_ns // step_ns)
    while clock_ns % parts:
        parts += 1
    return clock_ns // parts


def _topics(config: Any) -> Iterator[tuple[str, str]]:
    """Yield the frame names of actors and effectors, with the topics of their states."""
    for actor in config["world"]["actors"]:
        for name, part in (
            ("", actor),
            *((each.get("id"), each) for each in actor.get("effectors", ()) if isinstance(each, dict)),
        ):
            state = part.get("state")
            if isinstance(state, dict) and isinstance(state.get("topic"), str):
                yield f"{actor['actor_name']}/{name}".rstrip("/"), state["topic"]


def _outputs(topic: str, models: FmuModels) -> tuple[str, dict[str, str]] | None:
    """Return the FMU that publishes the pose on a topic, and its outputs by element of the pose."""
    for below in _POSES if topic else ():
        found = {
            number: models.sources[key]
            for number, name in _NUMBERS.items()
            if (key := f"{topic}.{below}.{name}") in models.sources
        }
        for fmu, _ in found.values():
            return fmu, {number: output for number, (owner, output) in found.items() if owner == fmu}
    return None
