"""Tables of TOML files, read key by key, with line and column in error messages."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from sim_node.text import did_you_mean
from sim_node.world.problems import Problem, Where, WorldError

# The header of a table and a key in a line; the location in an error of the parser.
_TABLE, _KEY = re.compile(r"\s*(\[+)\s*([^\[\]]+?)\s*\]"), re.compile(r"\s*([\w.\"' -]+?)\s*=")
_PARSED = re.compile(r"(.*) \(at line (\d+), column (\d+)\)")
_NEEDED = object()
T = TypeVar("T")


class TomlTable:
    """A table of a TOML file.

    Attributes:
        path: The file.
        key: The path of the table in the file, such as resources.ports or build[0]; empty for the root.
        rows: Its values by key.
    """

    def __init__(self, path: Path, rows: Any, lines: Sequence[str], key: str = "") -> None:
        self.path, self.key, self._lines = path, key, lines
        if not isinstance(rows, Mapping):
            self.refuse(f"a table is needed, found {rows!r}")
        self.rows: Mapping[str, Any] = rows
        self._known: set[str] = set()

    @classmethod
    def read(cls, path: Path) -> TomlTable:
        """Read a file. Raises WorldError."""
        try:
            text = path.read_text(encoding="utf-8")
            return cls(path, import_module("tomllib").loads(text), text.splitlines())
        except ModuleNotFoundError:
            raise _fault(Where(str(path)), "", "cannot be read: campaigns need Python 3.11 or newer") from None
        except (OSError, ValueError) as error:
            found = _PARSED.fullmatch(str(error))
            where, message = ((int(found[2]), int(found[3])), found[1]) if found else ((), str(error))
            raise _fault(Where(str(path), *where), "", message) from None

    def get(self, name: str, convert: Callable[[Any], Any], default: Any = _NEEDED) -> Any:
        """Return the value of a key. Raises WorldError if it is invalid, or required and missing."""
        self._known.add(name)
        if name not in self.rows:
            if default is _NEEDED:
                self.refuse(f"needs {name}")
            return default
        try:
            return convert(self.rows[name])
        except (ValueError, TypeError) as error:
            self.refuse(str(error), name)

    def inner(self, name: str) -> TomlTable:
        """Return the table of a key, which may be missing."""
        self._known.add(name)
        return TomlTable(self.path, self.rows.get(name, {}), self._lines, self._below(name))

    def each(self, name: str) -> list[TomlTable]:
        """Return the tables of an array, which may be missing."""
        found = self.get(name, list_of, [])
        return [TomlTable(self.path, row, self._lines, f"{self._below(name)}[{k}]") for k, row in enumerate(found)]

    def texts(self, name: str) -> dict[str, str]:
        """Return the values of a table of strings, numbers and booleans, as strings."""
        table = self.inner(name)
        return {key: table.get(key, _as_text) for key in table.rows}

    def without_effect(self, names: Iterable[str]) -> list[Problem]:
        """Return a note for each of the given keys that is present."""
        self._known.update(names)
        return [self._problem(name, "has no effect here") for name in names if name in self.rows]

    def only(self) -> None:
        """Refuse unknown keys, which were not read. Raises WorldError."""
        known = sorted(self._known)
        for name in self.rows:
            if name not in known:
                self.refuse(f"unknown key{did_you_mean(name, known)} (known: {', '.join(known)})", name)

    def refuse(self, message: str, name: str = "") -> NoReturn:
        """Raise WorldError at a key, or at the table."""
        raise WorldError([self._problem(name, message)])

    def _problem(self, name: str, message: str) -> Problem:
        key = self._below(name) if name else self.key
        return Problem(self._where(key), key, message)

    def _below(self, name: str) -> str:
        return f"{self.key}.{name}" if self.key else name

    def _where(self, key: str) -> Where:
        """Return the location of a key, or else of the table that contains it, which the parser does not provide."""
        found, table, arrays = Where(str(self.path)), "", dict[str, int]()
        for number, line in enumerate(self._lines if key else (), 1):
            if header := _TABLE.match(line):
                table = re.sub(r"[\s\"']", "", header[2])
                if len(header[1]) > 1:
                    arrays[table] = arrays.get(table, -1) + 1
                    table += f"[{arrays[table]}]"
                name = table
            elif given := _KEY.match(line):
                name = re.sub(r"[\s\"']", "", f"{table}.{given[1]}".lstrip("."))
            else:
                continue
            if key == name or key.startswith((f"{name}.", f"{name}[")):
                found = Where(str(self.path), number, len(line) - len(line.lstrip()) + 1)
                if name == key:
                    break
        return found


def _fault(where: Where, key: str, message: str) -> WorldError:
    return WorldError([Problem(where, key, message)])


def whole(least: int) -> Callable[[Any], int]:
    """Return a converter that accepts whole numbers of at least `least`."""

    def convert(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ValueError(f"a whole number of at least {least} is needed, found {value!r}")
        return value

    return convert


def number(value: Any) -> float:
    """Check and return a finite number. Raises ValueError."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(f"a number is needed, found {value!r}")
    return float(value)


def _of_type(kind: type[T], needed: str) -> Callable[[Any], T]:
    """Return a converter that accepts values of a type, and raises TypeError for others."""

    def convert(value: Any) -> T:
        if not isinstance(value, kind):
            raise TypeError(f"{needed} is needed, found {value!r}")
        return value

    return convert


text, flag = _of_type(str, "a text"), _of_type(bool, "true or false")
list_of: Callable[[Any], list[Any]] = _of_type(list, "a list")


def one_of(known: Iterable[str]) -> Callable[[Any], str]:
    """Return a converter that accepts one of the known words."""

    def convert(value: Any) -> str:
        if value not in known:
            raise ValueError(f"found {value!r}{did_you_mean(str(value), known)}; allowed: {', '.join(known)}")
        return str(value)

    return convert


def of_json(value: Any) -> Any:
    """Check and return a value that JSON can represent, including nested values. Raises ValueError."""
    if isinstance(value, (datetime.date, datetime.time)):
        raise ValueError(f"{value} is a time, for which JSON has no word; write it as a text")
    for inner in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        of_json(inner)
    return value


def _as_text(value: Any) -> str:
    if not isinstance(value, (str, int, float)):
        raise TypeError(f"a text is needed, found {value!r}")
    return str(value)
