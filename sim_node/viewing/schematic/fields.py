"""Typed access to the arguments and properties of KDL nodes. Errors are recorded with their locations."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from sim_node.text import did_you_mean
from sim_node.viewing.schematic.eql import EqlFault, Formula, formula
from sim_node.viewing.schematic.kdl import KdlNode, KdlValue
from sim_node.viewing.schematic.model import AXES, ENU
from sim_node.world.fetched import fetched, is_url
from sim_node.world.locate import LocateError, NoSuchFile
from sim_node.world.problems import Place, Problem, Where, quoted, shown_key
from sim_node.world.readers.files import Roots
from sim_node.world.readers.report import LineColumn, Report
from sim_node.world.readers.unread import mark

T = TypeVar("T", str, bool)
MAX_NUMBER = 1e12


@dataclass(frozen=True)
class KdlSource:
    """The KDL text being read.

    Attributes:
        report: Receives the errors.
        path: The file that paths are relative to, or None for the current folder.
        roots: The folders that may be read; None for all.
        lines: Number of lines of the file before the text.
        columns: Number of columns of the file before the text.
        frame: The default axes.
    """

    report: Report
    path: Path | None = None
    roots: Roots | None = None
    lines: int = 0
    columns: int = 0
    frame: str = ENU

    def place(self, at: LineColumn, key: str = "") -> Place:
        """Return the location of a line and column of the text."""
        line, column = at
        return Place(Where(self.report.file, line + self.lines, column + self.columns), key)

    def error(self, message: str, at: LineColumn, key: str = "") -> None:
        """Record an error."""
        self.report.errors.append(Problem(self.place(at).where, key, message))


class Fields:
    """A node being read.

    Args:
        node: The node.
        source: The text that it is in.
        key: Its path, such as `hsplit.viewport`.
    """

    def __init__(self, node: KdlNode, source: KdlSource, key: str = "") -> None:
        self.node, self.source = node, source
        node.read = True
        self.key = f"{key}.{shown_key(node.name)}" if key else shown_key(node.name)

    @property
    def place(self) -> Place:
        """The location of the node's name."""
        return self.source.place(self.node.at, self.key)

    def error(self, message: str, at: LineColumn | None = None, key: str = "") -> None:
        """Record an error of the node or of one of its properties."""
        self.source.error(message, self.node.at if at is None else at, f"{self.key}.{key}" if key else self.key)

    def only(self, properties: Collection[str], without_effect: Collection[str] = ()) -> None:
        """Warn about unknown properties. Those without effect here are left unread."""
        for name, place in self.node.property_places.items():
            if name not in properties and name not in without_effect:
                # Elodin's editor ignores it, too.
                self.node.properties[name].read = True
                message = f"unknown property, which has no effect{did_you_mean(name, properties)}"
                where = self.source.place(place, f"{self.key}.{shown_key(name)}")
                self.source.report.warning(f"{message} (known: {', '.join(properties)})", where.where[1:], where.key)

    def unknown(self, child: KdlNode, known: Collection[str]) -> None:
        """Warn about an unknown child node, which Elodin's editor ignores."""
        key = f"{self.key}.{shown_key(child.name)}"
        message = f"unknown node, which has no effect{did_you_mean(child.name, known)} (known: {', '.join(known)})"
        where = self.source.place(child.at, key).where
        self.source.report.warning(message, where[1:], key)
        mark(child)  # it is reported as a whole

    def unused(self, *names: str) -> None:
        """Mark properties as unread because others make them ineffective."""
        for name in names:
            if name in self.node.properties:
                self.node.properties[name].read = False

    def read(self, properties: Properties) -> dict[str, Any]:
        """Return the values of the properties that are given and valid."""
        found = {name: read(self, name) for name, read in properties.items() if name in self.node.properties}
        return {name: each for name, each in found.items() if each is not None}

    def axes(self, name: str = "frame", otherwise: str | None = None) -> str:
        """Return the axes given by a property; `otherwise` or the schematic's if it is missing or invalid."""
        value = self._property(name)
        if value is None:
            return self.source.frame if otherwise is None else otherwise
        found = str(value.value).upper()
        if found not in AXES:
            self.error(f"found {_found(value)}; allowed: {', '.join(AXES)}", value.at, name)
            return ENU
        return found

    def text(self, name: str) -> str:
        """Return a string property; empty if it is missing or invalid."""
        return self._typed(name, str, "a text")

    def choice(self, name: str, words: Collection[str]) -> str:
        """Return one of several allowed words; empty if it is missing or invalid."""
        text = self.text(name)
        value = self.node.properties.get(name)
        if value is None or text in words or not isinstance(value.value, str):
            return text
        self.error(f"found {quoted(text)}{did_you_mean(text, words)}; allowed: {', '.join(words)}", value.at, name)
        return ""

    def flag(self, name: str) -> bool:
        """Return whether a property is true."""
        return self._typed(name, bool, "#true or #false")

    def _typed(self, name: str, kind: type[T], needed: str) -> T:
        value = self._property(name)
        if value is None or isinstance(value.value, kind):
            return kind() if value is None else value.value  # type: ignore[return-value]
        self.error(f"{needed} is needed, found {_found(value)}", value.at, name)
        return kind()

    def above_zero(self, name: str) -> float | None:
        """Return a number above zero; None if it is missing or invalid."""
        return self.number(name, 0.0, above=True)

    def share(self, name: str) -> float | None:
        """Return a weight in a split, above 0; None if it is missing or invalid."""
        return self.number(name, 0.0, above=True)

    def number(
        self, name: str, low: float, high: float = MAX_NUMBER, above: bool = False, text: bool = False
    ) -> float | None:
        """Return a number in a range, or above its lower end; None if it is missing or invalid.

        text: whether a string that contains a number is also accepted.
        """
        value = self._property(name)
        if text and value is not None and isinstance(value.value, str):
            with suppress(ValueError):
                value = replace(value, value=float(value.value))
        return None if value is None else self._number(value, name, low, high, above=above)

    def length(self, name: str) -> float:
        """Return a required length above zero."""
        if name not in self.node.properties:
            self.error(f"needs {name}=, a length in m")
            return 1.0
        return self.above_zero(name) or 1.0

    def argument(self, what: str) -> KdlValue | None:
        """Return the single argument, a string. If it is invalid, record the error and return None."""
        arguments = self.node.arguments
        if len(arguments) != 1:
            self.error(f"needs {what}, found {len(arguments)} arguments")
            return None
        arguments[0].read = True
        if not isinstance(arguments[0].value, str):
            self.error(f"{what} is needed, found {_found(arguments[0])}", arguments[0].at)
            return None
        return arguments[0]

    def numbers(self, values: tuple[KdlValue, ...], low: float, high: float) -> list[float]:
        """Return arguments as numbers in a range. Invalid ones are replaced by the lower end."""
        return [found if (found := self._number(each, "", low, high)) is not None else low for each in values]

    def formula(self, name: str) -> Formula | None:
        """Return a property as a formula; None if it is missing or invalid."""
        value = self._property(name)
        if value is None:
            return None
        if isinstance(value.value, (int, float)) and not isinstance(value.value, bool):
            value = replace(value, value=repr(value.value))
        if not isinstance(value.value, str):
            self.error(f"a formula is needed, found {_found(value)}", value.at, name)
            return None
        return self.parsed(value, name)

    def parsed(self, value: KdlValue, name: str = "") -> Formula | None:
        """Parse a value as a formula. If it is invalid, record the error and return None."""
        place = self.source.place(value.at)
        value.read = True
        try:
            return formula(str(value.value), place.where)
        except EqlFault as fault:
            self.error(f"{fault.message} (character {fault.column} of {quoted(str(value.value))})", value.at, name)
            return None

    def triple(self, name: str) -> tuple[float, float, float]:
        """Return a property of the form "(x, y, z)"; zeros if it is missing."""
        value = self._property(name)
        if value is None:
            return 0.0, 0.0, 0.0
        parts = str(value.value).strip().removeprefix("(").removesuffix(")").split(",")
        try:
            x, y, z = (float(part) for part in parts)
            if not all(abs(each) <= MAX_NUMBER for each in (x, y, z)):
                raise ValueError
        except ValueError:
            self.error(f'three numbers are needed, as in "(0, 0, 1)", found {_found(value)}', value.at, name)
            return 0.0, 0.0, 0.0
        return x, y, z

    def file(self, name: str, suffixes: tuple[str, ...]) -> Path | None:
        """Return the file that a property or a URL refers to. If there is an error, record it and return None.

        A missing file causes only a warning, because Elodin's editor draws the rest.
        """
        value = self._property(name)
        if value is None or not isinstance(value.value, str) or not value.value:
            self.error(f"needs {name}=, the path of a file ({', '.join(suffixes)})")
            return None
        text = value.value
        try:
            path = self._located(text)
        except NoSuchFile as error:
            place = self.source.place(value.at, f"{self.key}.{name}")
            self.source.report.warning(f"{error}; nothing is drawn", place.where[1:], place.key)
            return None
        except LocateError as error:
            self.error(str(error), value.at, name)
            return None
        if path.suffix.lower() not in suffixes:
            self.error(f"{quoted(text)} does not end in {' or '.join(suffixes)}", value.at, name)
            return None
        self.source.report.read.append(path)
        return path

    def _located(self, text: str) -> Path:
        if self.source.roots is not None and self.source.path is not None:
            return self.source.roots.model(text, self.source.path)
        if is_url(text):
            return fetched(text)
        folder = Path() if self.source.path is None else self.source.path.parent
        path = folder / text
        if not path.is_file():
            raise NoSuchFile(f"{quoted(text)}: there is no such file")
        return path

    def _property(self, name: str) -> KdlValue | None:
        """Return a property and mark it as read."""
        value = self.node.properties.get(name)
        if value is not None:
            value.read = True
        return value

    def _number(self, value: KdlValue, name: str, low: float, high: float, *, above: bool = False) -> float | None:
        number = value.value
        value.read = True
        if isinstance(number, bool) or not isinstance(number, (int, float)) or not math.isfinite(number):
            self.error(f"a number is needed, found {_found(value)}", value.at, name)
            return None
        if not low <= number <= high or (above and number == low):
            allowed = f"above {low:g}" if above else f"{low:g} to {high:g}"
            self.error(f"found {number:g}; allowed: {allowed}", value.at, name)
            return None
        return float(number)


# The reader of each property, by name
Properties = Mapping[str, Callable[[Fields, str], Any]]


def _found(value: KdlValue) -> str:
    if value.value is None or isinstance(value.value, bool):
        return f"#{str(value.value).lower().replace('none', 'null')}"
    return quoted(value.value) if isinstance(value.value, str) else f"{value.value:g}"
