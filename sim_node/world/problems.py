"""What is wrong in a world, and where: located problems, the errors that carry them, nearest names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import NamedTuple

MOST_SHOWN = 50


class Where(NamedTuple):
    """A place in a file. line and column count from 1; 0 means the file as a whole."""

    file: str = ""
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return ":".join(str(part) for part in self if part)


NOWHERE = Where()


class Problem(NamedTuple):
    """One fault: where it stands, under which key, and a sentence for the person who made it."""

    where: Where
    key: str
    message: str

    def __str__(self) -> str:
        return ": ".join(part for part in (str(self.where), self.key, self.message) if part)


class WorldError(Exception):
    """A world that cannot be used; `problems` holds every fault found, in the order of the file."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(dict.fromkeys(problems))
        super().__init__("\n".join(self.lines()))

    def lines(self) -> list[str]:
        """The problems as lines to print, the first fifty where there are more."""
        lines = [str(problem) for problem in self.problems[:MOST_SHOWN]]
        if len(self.problems) > MOST_SHOWN:
            lines.append(f"... and {len(self.problems) - MOST_SHOWN} more")
        return lines


class WorldWarning(UserWarning):
    """Something in a world that was mended on reading and ought to be mended in the file."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`; did you mean NAME?` for the nearest known name, or nothing where none is near."""
    nearest = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"; did you mean {nearest[0]}?" if nearest else ""


def counted(number: int, noun: str) -> str:
    """`1 error`, `2 errors`."""
    return f"{number} {noun}" + ("" if number == 1 else "s")
