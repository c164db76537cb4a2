"""The sections of a world file: one function per top-level key, registered under that key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from sim_node.world import names
from sim_node.world.model import (
    DEFAULT_FIXED_FRAME,
    SENSOR_PATTERNS,
    Motion,
    Origin,
    Sensor,
    StaticFrame,
    TimeGrid,
    World,
)
from sim_node.world.readers.files import Roots
from sim_node.world.readers.yaml_values import Report, Table, Value


@dataclass
class Context:
    """What reading one file has gathered so far; sections add to it in the order of the file."""

    path: Path
    shown: Path
    roots: Roots
    report: Report
    including: tuple[Path, ...] = ()
    name: str = ""
    fixed_frame: str = DEFAULT_FIXED_FRAME
    origin: Origin | None = None
    time: TimeGrid = field(default_factory=TimeGrid)
    frames: list[StaticFrame] = field(default_factory=list)
    sensors: list[Sensor] = field(default_factory=list)
    motions: list[Motion] = field(default_factory=list)
    static_patterns: tuple[str, ...] = SENSOR_PATTERNS

    def frame_name(self, table: Table, key: str) -> str:
        """The frame name under `key`, with its spelling checked."""
        value = table.get(key)
        if value is None:
            return ""
        name = value.text()
        fault = names.fault(name)
        if name and fault:
            value.error(f"{name!r} {fault}")
        return name

    def world(self) -> World:
        """The world that this file and what it includes say."""
        return World(
            name=self.name or self.path.stem,
            fixed_frame=self.fixed_frame,
            origin=self.origin,
            time=self.time,
            frames=tuple(self.frames),
            sensors=tuple(self.sensors),
            motions=tuple(self.motions),
            static_patterns=self.static_patterns,
            source=str(self.shown),
        )


Section = Callable[[Value, Context], None]
SECTIONS: dict[str, Section] = {}


def section(key: str) -> Callable[[Section], Section]:
    """Registers the function that reads the top-level key `key`."""

    def register(function: Section) -> Section:
        if key in SECTIONS:
            raise ValueError(f"section {key!r}: both {SECTIONS[key].__module__} and {function.__module__}")
        SECTIONS[key] = function
        return function

    return register
