"""Worlds in Python as parts of a World: each entity with a WorldPos is a frame."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sim_node.extensions.elodin.capture import Captured
from sim_node.extensions.elodin.frame_names import WORLD_POS
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.fields import pose_faults
from sim_node.world.model import World
from sim_node.world.part import FrameEntry, Kind, Mobility, NamedNumbers, Refer, part
from sim_node.world.problems import NO_PLACE, Place, Problem, shown_key
from sim_node.world.processes import Process

if TYPE_CHECKING:
    from sim_node.extensions.elodin.s10 import PyRecipe

MESSAGE = "a world in Python is written by its script"


@dataclass(frozen=True, slots=True, eq=False)
class EntityFrame:
    """The frame of an entity, a child of the fixed frame or of a frame with other axes in it.

    Attributes:
        name: The name of the entity.
        pose: Initial pose (7,) [x y z qx qy qz qw] in its parent, m.
        place: Where it was spawned.
        parent: The frame in which its poses are expressed; empty for the fixed frame.
    """

    name: str
    pose: FloatArray
    place: Place
    parent: str = ""

    @property
    def mobility(self) -> Mobility:
        """Always "dynamic"."""
        return "dynamic"

    def start(self) -> FloatArray:
        """Return the pose (7,) at the start."""
        return self.pose


@dataclass(frozen=True, slots=True, eq=False)
class PythonWorld:
    """What a script defines: entities, systems and callbacks.

    Attributes:
        script: The file.
        captured: What it gave to World.run.
        frames: The frames of its entities, in the order of `world_pos`.
    """

    script: Path
    captured: Captured
    frames: tuple[EntityFrame, ...]


def beside_file(world: World, captured: Captured, script: Path) -> World:
    """Return a world from a file with systems that run beside it. Its entities have no frames of their own."""
    return replace(world, python=PythonWorld(script, captured, ()))


def processes_of(recipes: Iterable[PyRecipe]) -> tuple[Process, ...]:
    """Return recipes as processes of a world."""
    # A $ in `env` does not begin a variable, and paths are relative to the current folder.
    return tuple(
        Process(
            each.program.name,
            tuple(_spelled(word) for word in each.program.command),
            cwd=_spelled(str((each.program.cwd or Path()).absolute())),
            env=tuple((name, value.replace("$", "$$")) for name, value in each.program.env.items()),
            restart=each.program.restart,
            place=Place(each.where, each.program.name),
        )
        for each in recipes
    )


def _spelled(text: str) -> str:
    """Return a string of a recipe in the syntax of processes of worlds, where a literal $ must be doubled."""
    return _DOLLAR.sub(lambda found: "$$" if found[1] is None else found[0], text)


# Two dollar signs, or a variable, or a single dollar sign.
_DOLLAR = re.compile(r"\$\$|(\$\{[A-Za-z_]\w*(?::-[^}]*)?\})|\$")


@part("python", PythonWorld)
class PythonWorlds(Kind[PythonWorld]):
    """The entities and systems of a script; a world has at most one."""

    single = True

    def entries(self, world: World) -> Iterator[FrameEntry]:
        """Return the frames of the entities."""
        for of in self.parts(world):
            for frame in of.frames:
                yield FrameEntry(frame.name, frame.parent or world.fixed_frame, frame, frame.place, NO_PLACE, frame)

    def problems(self, world: World) -> Iterator[Problem]:
        """Return a problem for each invalid initial pose."""
        for of in self.parts(world):
            poses = np.array([frame.pose for frame in of.frames]).reshape(-1, 7)
            for row, message in pose_faults(poses):
                frame = of.frames[row]
                yield Problem(frame.place.where, f"{shown_key(frame.name)}: world_pos", message)

    def columns(self, world: World) -> Mapping[str, NamedNumbers]:
        """Return the components, by ENTITY.COMPONENT."""
        found: dict[str, NamedNumbers] = {}
        for of in self.parts(world):
            # Imported here because only these worlds need JAX.
            from sim_node.extensions.elodin.components import layout_of
            from sim_node.extensions.elodin.pairs import identifier
            from sim_node.viewing.schematic.formulas import POSE_LABELS

            structure = of.captured.program.structure
            for component, entities in structure.entities.items():
                data = structure.components[component]
                size = layout_of(data).size
                labels = POSE_LABELS if component == WORLD_POS and size == 7 else _labels(data.labels(), size)
                for row, entity in enumerate(entities):
                    name = structure.names[entity]
                    found[f"{name}.{component}"] = numbers = NamedNumbers(f"component/{component}", row, labels)
                    found.setdefault(f"{identifier(name)}.{component}", numbers)
        return found

    def data(self, part: PythonWorld, refer: Refer) -> dict[str, Any]:
        """Raise NotImplementedError: world files cannot have entities and systems."""
        raise NotImplementedError(MESSAGE)


def _labels(given: tuple[str, ...], size: int) -> tuple[str, ...]:
    """Return the labels of elements; three unnamed elements are x, y and z."""
    if size == 3 and given == ("0", "1", "2"):
        return "x", "y", "z"
    return given
