"""What reading a world and the files that it includes has come to so far."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from sim_node.world.problems import Problem, Where
from sim_node.world.readers.settings import Setting

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
