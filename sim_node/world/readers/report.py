"""What reading a world and its includes has come to so far, with the settings of the run as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sim_node.world.model import World
from sim_node.world.problems import Place, Problem, Where

LineColumn = tuple[int, int]  # both from 1
WHOLE_FILE = (0, 0)


@dataclass(frozen=True)
class Report:
    """Where the reading of one file tells what it found. The lists are shared by all files of a world.

    errors stop the world, warnings do not; files: each world file opened, in order; missing: includes that led to
    no world, without which the tree cannot be judged; read: every file whose content is in the world; settings: what
    any of the files says of the world as a whole.
    """

    file: str
    errors: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    read: list[Path] = field(default_factory=list)
    settings: list[Setting] = field(default_factory=list)

    def about(self, file: str) -> Report:
        """The same report, told from another file."""
        return replace(self, file=file)

    def error(self, message: str, at: LineColumn = WHOLE_FILE, key: str = "") -> None:
        """Records a fault at a place in this file, or of the file as a whole."""
        self.errors.append(Problem(Where(self.file, *at), key, message))

    def warning(self, message: str, at: LineColumn, key: str = "") -> None:
        """Records something mended on reading."""
        self.warnings.append(Problem(Where(self.file, *at), key, message))


class Setting(NamedTuple):
    """A value that a file sets of the whole world: where, and by which fields a World has it (time, step_ns)."""

    place: Place
    fields: tuple[str, ...]
    value: Any


def unused(settings: list[Setting], world: World) -> Iterator[Problem]:
    """What an included file sets and the world that includes it has otherwise, each place once."""
    told: set[Place] = set()
    for place, fields, value in settings:
        if place.where.file == world.source or place in told:
            continue
        told.add(place)
        counts: Any = world
        for name in fields:
            counts = getattr(counts, name)
        if not _same(value, counts):
            message = f"is not used in an included file; {world.source} has {_shown(counts, fields[-1])}"
            yield Problem(place.where, place.key, message)


def _same(one: Any, other: Any) -> bool:
    return bool(np.array_equal(one, other)) if isinstance(one, np.ndarray) else bool(one == other)


def _shown(value: Any, name: str) -> str:
    """A value as a person would write it in a world file."""
    if value is None:
        return "none"
    if name.endswith("_ns"):
        return f"{value / 1e9:.9g} s"
    if isinstance(value, np.ndarray):
        return f"[{', '.join(f'{part:g}' for part in value)}]"
    if isinstance(value, (bool, str)):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, (int, float)) else "another"
