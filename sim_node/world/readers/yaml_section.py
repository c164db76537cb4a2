"""The sections of a world file: one function per top-level key, registered under that key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypedDict, TypeVar

import numpy as np

from sim_node.names import SENSOR_PATTERNS
from sim_node.registry import Registry, calling_module
from sim_node.world.declared import BAD, keys_of, plan_of, read
from sim_node.world.kinds import kind_of
from sim_node.world.locate import LocateError
from sim_node.world.model import DEFAULT_FIXED_FRAME, Origin, TimeGrid, World
from sim_node.world.physics import Physics
from sim_node.world.problems import Place
from sim_node.world.quantities import FrameName
from sim_node.world.readers.files import Roots
from sim_node.world.readers.keys import ANYTHING, Form, listing
from sim_node.world.readers.report import Report
from sim_node.world.readers.yaml_values import Table, Value

P = TypeVar("P")
AXES_SEED = 1


class Named(TypedDict):
    """Parent and locations of a frame's entry, by name of the field."""

    parent: str
    place: Place
    parent_place: Place


@dataclass
class Context:
    """What has been read from a file so far. Sections add to it in the order of their registration."""

    path: Path
    shown: Path
    roots: Roots
    report: Report
    including: tuple[Path, ...] = ()
    name: str = ""
    fixed_frame: str = DEFAULT_FIXED_FRAME
    origin: Origin | None = None
    time: TimeGrid = field(default_factory=TimeGrid)
    physics: Physics = field(default_factory=Physics)
    static_patterns: tuple[str, ...] = SENSOR_PATTERNS
    parts: dict[str, list[Any]] = field(default_factory=dict)
    # Generator for axes that joint types draw.
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(AXES_SEED))

    def add(self, part: Any) -> None:
        """Add a part of the world to those of its kind."""
        self.parts.setdefault(kind_of(type(part)).name, []).append(part)

    def of(self, part_type: type[P]) -> list[P]:
        """Return the parts of a kind so far, by the class of the kind."""
        return self.parts.get(kind_of(part_type).name, [])

    def find(self, reference: Value) -> tuple[Path, Path] | None:
        """Return the file that a value refers to, and how to show it. Return None if there is a fault, recorded."""
        path = self._path(reference, self.roots.resolve)
        if path is None:
            return None
        text = reference.text()
        return path, path if text.startswith("package://") else self.shown.parent / text

    def path_of(self, reference: Value) -> Path | None:
        """Return the path that a value refers to, whether there is a file or not.

        Return None if there is a fault, which is recorded.
        """
        return self._path(reference, self.roots.path_of)

    def _path(self, reference: Value, find: Callable[[str, Path], Path]) -> Path | None:
        text = reference.text_or_none()
        try:
            return None if text is None else find(text, self.path)
        except LocateError as error:
            reference.error(str(error))
            return None

    def world(self) -> World:
        """Return the world of this file and its includes."""
        return World(
            name=self.name or self.path.stem,
            fixed_frame=self.fixed_frame,
            origin=self.origin,
            time=self.time,
            physics=self.physics,
            static_patterns=self.static_patterns,
            parts=self.parts,
            source=str(self.shown),
        )


def frame_name(value: Value | None) -> str:
    """Read a frame name; empty if there is no value. Its spelling is checked with the whole tree."""
    return "" if value is None else FrameName().read(value, None)


def named(table: Table, name_key: str) -> tuple[str, Named]:
    """Read the frame name under `name_key` and the parent of an entry. The name is empty if it cannot be read."""
    name, parent = table.get(name_key), table.get("parent")
    place = table.value.place if name is None else name.place
    parent_place = Place(place.where, f"{table.value.path}.parent") if parent is None else parent.place
    return frame_name(name), {"parent": frame_name(parent), "place": place, "parent_place": parent_place}


Section = Callable[[Value, Context], None]
# Forms of sections, for the JSON Schema. Sections without a form accept any value.
SECTION_FORMS: dict[str, Form] = {}
S = TypeVar("S", bound=Section)
# Sections are read in this order, independent of their order in the file.
SECTIONS: Registry[str, Section] = Registry(
    "section",
    shipped=(
        *(
            f"sim_node.world.{name}"
            for name in (
                *("readers.yaml_frames", "readers.yaml_include", "frames", "bodies", "joint_motion"),
                *("transmissions", "joint_commands", "signals", "triggers", "forces", "vehicle_models"),
                *("bases", "systems", "loops", "contact_materials", "suction", "commands", "processes", "scene"),
            )
        ),
        "sim_node.viewing.schematic.part",
    ),
    group="sim_node.parts",
)


def section(key: str, form: Form = ANYTHING) -> Callable[[S], S]:
    """Return a decorator that registers the function that reads a top-level key.

    Args:
        key: The key.
        form: The form of its value; see `keys`.

    Returns:
        The decorator. It raises ValueError for a key that another module reads.
    """
    module = calling_module()

    def enter(read: S) -> S:
        SECTIONS.add(key, module=module)(read)
        SECTION_FORMS[key] = form
        return read

    return enter


def listed(key: str, about: str, kind: type[Any], *, sets: bool = False) -> None:
    """Register a top-level key that lists parts whose fields are declared.

    Args:
        key: The key.
        about: Description of the list.
        kind: The class of the parts; see `declared`.
        sets: Whether the parts describe the world as a whole, so that those of included files have no effect.
    """

    def read_parts(value: Value, context: Context) -> None:
        found = tuple(part for entry in value.items() if (part := read(kind, entry, context)) is not BAD)
        for part in found:
            context.add(part)
        if sets:
            value.sets(found, key)

    SECTIONS.add(key, module=calling_module())(read_parts)
    SECTION_FORMS[key] = listing(about, keys_of(kind))


def single(key: str, kind: type[Any]) -> None:
    """Register a top-level key that is a part with declared fields, of which a world has at most one."""

    def read_part(value: Value, context: Context) -> None:
        found = read(kind, value, context)
        if found is not BAD:
            context.add(found)
            value.sets(found, key)

    SECTIONS.add(key, module=calling_module())(read_part)
    SECTION_FORMS[key] = keys_of(kind)


def setting(key: str, kind: type[Any]) -> None:
    """Register a top-level key that is a field of the world and has declared fields itself."""

    def read_setting(value: Value, context: Context) -> None:
        found = read(kind, value)
        if found is BAD:
            return
        setattr(context, key, found)
        for spelled, (name, _) in plan_of(kind).by_key.items():
            if (part := value.get(spelled)) is not None:
                part.sets(getattr(found, name), key, name)

    SECTIONS.add(key, module=calling_module())(read_setting)
    SECTION_FORMS[key] = keys_of(kind)


# Former names of sections, which are still accepted.
SECTION_ALIASES = {"drives": "actuators", "recipes": "processes"}
