"""Problems of worlds with their locations, and the errors that contain them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple, NoReturn

from sim_node.text import printable

MAX_SHOWN = 50
MAX_PATH = 200
MAX_QUOTED = 60
_PLAIN_KEY = re.compile(r"[\w./-]{1,60}", re.ASCII)


class Where(NamedTuple):
    """A location in a file.

    Attributes:
        file: The file.
        line: Counted from 1; 0 for the file as a whole.
        column: Counted from 1; 0 for the file as a whole.
    """

    file: str = ""
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return ":".join(str(part) for part in self if part)


class Place(NamedTuple):
    """The location of a value in a file.

    Attributes:
        where: File, line and column.
        key: The key path, as in frames[3].parent.
    """

    where: Where = Where()
    key: str = ""

    def problem(self, message: str, below: str = "") -> Problem:
        """Return a problem of the value, or of what has a key below it.

        Args:
            message: A sentence for the user.
            below: The key; empty for the value itself.

        Returns:
            The problem.
        """
        return Problem(self.where, f"{self.key}.{below}" if below else self.key, message)


class KeyPlace(NamedTuple):
    """The location of an entry of a mapping in a file: that of its key, and that of its value."""

    key: Place
    value: Place


NOWHERE = Where()
NO_PLACE = Place()


class Problem(NamedTuple):
    """A problem of a world.

    Attributes:
        where: Its location.
        key: The key path of the value.
        message: A sentence for the user.
    """

    where: Where
    key: str
    message: str

    def __str__(self) -> str:
        return printable(": ".join(part for part in (str(self.where), self.key, self.message) if part))


class WorldError(Exception):
    """A world is invalid. `problems` contains every problem that was found, in the order of the file.

    Problems of an anchored value are reported once, however many aliases refer to it.

    Args:
        problems: The problems.
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
        """Return the problems as lines to print: at most fifty, and how many more there are."""
        return shown_lines(self.problems)


class RunFailed(Exception):
    """The run of a valid world cannot go on. The message is for the user."""


class Diverged(RunFailed):
    """The simulation of a valid world diverged to numbers that are not finite.

    The message gives the time and advice.
    """


class WorldWarning(UserWarning):
    """Something in a world file was corrected or ignored and should be changed in the file."""


def refuse(key: str, message: str) -> NoReturn:
    """Raise WorldError with one problem that is in no file."""
    raise WorldError([Problem(NOWHERE, key, message)])


def refuse_any(problems: Iterable[Problem]) -> None:
    """Raise WorldError with problems, if there are any."""
    if found := list(problems):
        raise WorldError(found)


def shown_lines(problems: Iterable[Problem]) -> list[str]:
    """Return problems as lines to print: the first fifty, and how many more there are."""
    lines = [str(problem) for problem in problems]
    if len(lines) > MAX_SHOWN:
        lines[MAX_SHOWN:] = [f"... and {len(lines) - MAX_SHOWN} more"]
    return lines


def quoted(text: str) -> str:
    """Return text from a file for a message: in quotes, on one line, shortened."""
    return repr(shortened(text))


def quoted_path(text: str) -> str:
    """Return a path for a message: complete if it is short, otherwise its end, which identifies it better."""
    return repr(text if len(text) <= MAX_PATH else "..." + text[3 - MAX_PATH :])


def shown_key(name: str) -> str:
    """Return a key from a file for a key path."""
    return name if _PLAIN_KEY.fullmatch(name) else quoted(name)


def shortened(text: str) -> str:
    """Return the beginning of a text that is too long to show."""
    return text if len(text) <= MAX_QUOTED else text[: MAX_QUOTED - 3] + "..."


def counted(number: int, noun: str) -> str:
    """Return `1 error`, `2 errors`."""
    return f"{number} {noun}" + ("" if number == 1 else "s")
