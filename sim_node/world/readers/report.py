"""The results of reading a world and its includes so far, and the settings of the run as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from sim_node.world.problems import Place, Problem, Where

LineColumn = tuple[int, int]  # both from 1
WHOLE_FILE = (0, 0)


@dataclass(frozen=True)
class Report:
    """Faults and other results of reading a file. All files of a world share the lists.

    errors make the world invalid, warnings do not; late: functions that find faults in place of the checks of the whole
    world, which are skipped if there are errors; files: each world file that was opened, in order; missing: includes
    that could not be read, without which the tree cannot be checked; read: every file whose content is in the world;
    settings: what any of the files sets for the world as a whole; roots: the root of each file whose parts record
    whether they were read; effects: parts whose effect differs from what they state.
    """

    file: str
    errors: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    late: list[Callable[[], Iterable[Problem]]] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    read: list[Path] = field(default_factory=list)
    settings: list[Setting] = field(default_factory=list)
    roots: list[Any] = field(default_factory=list)
    effects: list[ElementEffect] = field(default_factory=list)

    def about(self, file: str) -> Report:
        """Return the same report for another file."""
        return replace(self, file=file)

    def error(self, message: str, at: LineColumn = WHOLE_FILE, key: str = "") -> None:
        """Record a fault at a location in this file, or in the file as a whole."""
        self.errors.append(Problem(Where(self.file, *at), key, message))

    def warning(self, message: str, at: LineColumn, key: str = "") -> None:
        """Record something that was corrected."""
        self.warnings.append(Problem(Where(self.file, *at), key, message))


class ElementEffect(NamedTuple):
    """A part of a file whose effect differs from what it states: what is approximated, or why it has no effect."""

    file: str
    at: LineColumn
    key: str
    status: str
    message: str


class Setting(NamedTuple):
    """A value that a file sets for the whole world: its location, and its path of fields in a World (time, step_ns)."""

    place: Place
    fields: tuple[str, ...]
    value: Any
