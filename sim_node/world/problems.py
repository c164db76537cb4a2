"""What is wrong in a world, and where: located problems, and the errors that carry them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from sim_node.text import printable

MAX_SHOWN = 50
MAX_PATH = 200
MAX_QUOTED = 60
_PLAIN_KEY = re.compile(r"[\w./-]{1,60}", re.ASCII)


class Where(NamedTuple):
    """A place in a file. line and column count from 1; 0 means the file as a whole."""

    file: str = ""
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return ":".join(str(part) for part in self if part)


class Place(NamedTuple):
    """A value in a file: where it stands, and the key path to it, as in frames[3].parent."""

    where: Where = Where()
    key: str = ""


class KeyPlace(NamedTuple):
    """An entry of a mapping in a file: where its key stands, and where its value does."""

    key: Place
    value: Place


NOWHERE = Where()
NO_PLACE = Place()


class Problem(NamedTuple):
    """One fault: where it stands, under which key, and a sentence for the person who made it."""

    where: Where
    key: str
    message: str

    def __str__(self) -> str:
        return printable(": ".join(part for part in (str(self.where), self.key, self.message) if part))


class WorldError(Exception):
    """A world that cannot be used; `problems` holds every fault found, in the order of the file.

    A fault in an anchored value is one fault, however many aliases lead to it.
    """

    def __init__(self, problems: Iterable[Problem]) -> None:
        first: dict[object, Problem] = {}
        for problem in problems:
            first.setdefault((problem.where, problem.message) if problem.where.line else problem, problem)
        self.problems = tuple(first.values())
        super().__init__(self.problems)

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """The problems as lines to print, the first fifty where there are more."""
        return shown_lines(self.problems)


class Diverged(Exception):
    """A sound world whose run came to numbers that are not finite; the message says when and what helps."""


class WorldWarning(UserWarning):
    """Something in a world that was mended on reading and ought to be mended in the file."""


def shown_lines(problems: Iterable[Problem]) -> list[str]:
    """Problems as lines to print: the first fifty, and how many more there are."""
    lines = [str(problem) for problem in problems]
    if len(lines) > MAX_SHOWN:
        lines[MAX_SHOWN:] = [f"... and {len(lines) - MAX_SHOWN} more"]
    return lines


def quoted(text: str) -> str:
    """Text from a file as a message shows it: in quotes, on one line, no longer than a person reads."""
    return repr(shortened(text))


def quoted_path(text: str) -> str:
    """A path as a message shows it: whole where it can be read, else its end, which tells more than its beginning."""
    return repr(text if len(text) <= MAX_PATH else "..." + text[3 - MAX_PATH :])


def shown_key(name: str) -> str:
    """A key from a file as a key path shows it."""
    return name if _PLAIN_KEY.fullmatch(name) else quoted(name)


def shortened(text: str) -> str:
    """The beginning of a text that is too long to show."""
    return text if len(text) <= MAX_QUOTED else text[: MAX_QUOTED - 3] + "..."


def counted(number: int, noun: str) -> str:
    """`1 error`, `2 errors`."""
    return f"{number} {noun}" + ("" if number == 1 else "s")
