"""Values of world files: numbers, vectors, texts, and free parameters."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator
from collections.abc import Mapping as AnyMapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sim_node.text import did_you_mean
from sim_node.world.bounds import MAX_STAMP_NS
from sim_node.world.problems import MAX_SHOWN, KeyPlace, Place, Problem, Where, WorldError, quoted, shortened, shown_key
from sim_node.world.readers.files import read_text
from sim_node.world.readers.keys import Keys
from sim_node.world.readers.numbers import NON_FINITE, as_nanoseconds, as_number
from sim_node.world.readers.report import Report, Setting
from sim_node.world.readers.yaml_nodes import Mapping, Node, Scalar, Sequence, compose
from sim_node.world.unsupported import no_such_key


def read_parameters(value: Value, but: tuple[str, ...] = ()) -> tuple[dict[str, Any], dict[str, KeyPlace]]:
    """Return the contents of a mapping and their locations by key path, without the keys in `but`.

    Plain scalars become numbers, booleans or None if they are spelled as such, or else texts.
    """
    places: dict[str, KeyPlace] = {}
    if not isinstance(value.node, Mapping):
        return {}, places
    return _mapping(value, value.node, "", places, but), places


def _mapping(
    value: Value, node: Mapping, prefix: str, places: dict[str, KeyPlace], but: tuple[str, ...] = ()
) -> dict[str, Any]:
    values = {}
    for name, (key, entry) in node.entries.items():
        if name not in but:
            at = Value(entry, value.report, shown_key(name), value)
            places[prefix + name] = KeyPlace(Value(key, value.report, shown_key(name), value).place, at.place)
            values[name] = (
                _mapping(at, entry, f"{prefix}{name}.", places) if isinstance(entry, Mapping) else _plain(entry)
            )
    return values


def _plain(node: Node) -> Any:
    if isinstance(node, Scalar):
        return _scalar(node)
    if isinstance(node, Mapping):
        return {name: _plain(entry) for name, (_, entry) in node.entries.items()}
    return [_plain(item) for item in node.items]


def _scalar(node: Scalar) -> Any:
    if not node.plain:
        return node.text
    if node.text in TRUE or node.text in FALSE:
        return node.text in TRUE
    if node.text in NULL:
        return None
    if node.text.lower() in NON_FINITE:
        return float(node.text.replace(".", ""))
    number = as_number(node.text)
    return node.text if math.isnan(number) else number


TRUE, FALSE = ("true", "True", "TRUE"), ("false", "False", "FALSE")
NULL = ("", "~", "null", "Null", "NULL")
NO_ALIASES: AnyMapping[str, str] = MappingProxyType({})
_NO_TEXT = frozenset((*NULL, *TRUE, *FALSE))


class Value:
    """A node and its location: file and key path. It is read as the type that the schema expects."""

    __slots__ = ("_path", "holder", "key", "node", "report")

    def __init__(self, node: Node, report: Report, key: str | int = "", holder: Value | None = None) -> None:
        self.node = node
        node.read = True
        self.report = report
        self.key = key
        self.holder = holder
        self._path: str | None = None

    @property
    def path(self) -> str:
        """The key path, as in motions[0].keyframes[2].quaternion."""
        if self._path is None:
            above, key = self.holder.path if self.holder else "", self.key
            self._path = f"{above}[{key}]" if isinstance(key, int) else f"{above}.{key}" if above else key
        return self._path

    @property
    def where(self) -> Where:
        """Location of the value's first character."""
        return Where(self.report.file, self.node.line, self.node.column)

    @property
    def place(self) -> Place:
        """Location of the value, and the key path to it."""
        return Place(Where(self.report.file, self.node.line, self.node.column), self.path)

    def error(self, message: str) -> None:
        """Record a fault in this value."""
        self.report.errors.append(Problem(self.where, self.path, message))

    def warning(self, message: str) -> None:
        """Record something that was corrected."""
        self.report.warnings.append(Problem(self.where, self.path, message))

    def sets(self, value: object, *fields: str) -> None:
        """Record that this value sets a field of the whole world, which has an effect only in the file that is run."""
        self.report.settings.append(Setting(self.place, fields, value))

    def found(self) -> str:
        """Describe the value in a few words."""
        node = self.node
        if isinstance(node, Mapping):
            return "a mapping"
        if isinstance(node, Sequence):
            return f"a list of {len(node.items)}"
        if node.plain and node.text in NULL:
            return "nothing"
        return quoted(node.text)

    # Scalars

    def text(self) -> str:
        """Read a string like `text_or_none`; if it is refused, the result is empty."""
        return self.text_or_none() or ""

    def text_or_none(self) -> str | None:
        """Read a string. Numbers, booleans and null are refused unless they are quoted; then the result is None."""
        node = self.node
        if isinstance(node, Scalar):
            if not node.plain:
                return node.text
            if node.text not in _NO_TEXT:
                if node.text[0] not in "+-.0123456789" or math.isnan(as_number(node.text)):
                    return node.text
                self.error(f"a text is needed, found the number {shortened(node.text)}; write it in quotes")
                return None
        self.error(f"a text is needed, found {self.found()}")
        return None

    def choice(self, allowed: Iterable[str], default: str) -> str:
        """Read one of the allowed words."""
        allowed = list(allowed)
        word = self.node.text if isinstance(self.node, Scalar) else None
        if word in allowed:
            return word
        hint = did_you_mean(word, allowed) if word else ""
        self.error(f"found {self.found()}; allowed: {', '.join(allowed)}{hint}")
        return default

    def flag(self, default: bool = True) -> bool:
        """Read true or false."""
        return self.choice((*TRUE, *FALSE), "true" if default else "false") in TRUE

    def number(self, low: float = -math.inf, high: float = math.inf, default: float = 0.0) -> float:
        """Read a finite number in [low, high]."""
        number = _number(self.node)
        if low <= number <= high and math.isfinite(number):
            return number
        text = shortened(self.node.text) if isinstance(self.node, Scalar) else ""
        if text.lower() in NON_FINITE:
            self.error(f"{text} is not a finite number")
        elif not math.isnan(number):
            self.error(f"{text} is out of range; allowed: {_range(low, high)}")
        elif text and not math.isnan(as_number(text)):
            self.error(f"a number is needed, found {self.found()} in quotes")
        else:
            self.error(f"a number is needed, found {self.found()}")
        return default

    def nanoseconds(self, low_ns: int = 0) -> int | None:
        """Read a time in seconds, exactly, as whole nanoseconds in [low_ns, MAX_STAMP_NS].

        Return None if it is invalid.
        """
        if not math.isfinite(_number(self.node)):
            self.number()
            return None
        assert isinstance(self.node, Scalar)
        nanoseconds = as_nanoseconds(self.node.text)
        if nanoseconds is not None and low_ns <= nanoseconds <= MAX_STAMP_NS:
            return nanoseconds
        allowed = f"{low_ns / 1e9:.10g} to {MAX_STAMP_NS // 1_000_000_000} s (stamps hold 31 bits of seconds)"
        self.error(f"{shortened(self.node.text)} s is out of range; allowed: {allowed}")
        return None

    # Lists and mappings

    def get(self, key: str) -> Value | None:
        """Return the value under a key of a mapping, or None."""
        entry = self.node.entries.get(key) if isinstance(self.node, Mapping) else None
        return None if entry is None else Value(entry[1], self.report, key, self)

    def named(self, of: str = "") -> Iterator[tuple[str, Value, Value]]:
        """Iterate over the names of a mapping, their locations and their values. of: what is expected, for faults."""
        if not isinstance(self.node, Mapping):
            self.error(f"{f'a mapping {of}'.rstrip()} is needed, found {self.found()}")
            return
        for name, (key, node) in self.node.entries.items():
            shown = shown_key(name)
            yield name, Value(key, self.report, shown, self), Value(node, self.report, shown, self)

    def items(self) -> Iterator[Value]:
        """Iterate over the entries of a list."""
        if not isinstance(self.node, Sequence):
            self.error(f"a list is needed, found {self.found()}")
            return
        for index, node in enumerate(self.node.items):
            yield Value(node, self.report, index, self)

    def vector(self, size: int, limit: float = math.inf) -> list[float] | None:
        """Read a list of `size` finite numbers with absolute values up to `limit`.

        Return None if there is a fault, which is recorded.
        """
        node = self.node
        if not isinstance(node, Sequence) or len(node.items) != size:
            self.error(f"a list of {size} numbers is needed, found {self.found()}")
            return None
        numbers = [_number(item) for item in node.items]
        for item in node.items:
            item.read = True
        if all(map(math.isfinite, numbers)) and max(map(abs, numbers)) <= limit:
            return numbers
        for each in self.items():
            each.number(-limit, limit)
        return None

    def table(
        self, known: Collection[str], required: Iterable[str] = (), aliases: AnyMapping[str, str] = NO_ALIASES
    ) -> Table:
        """Read a mapping with `known` keys, by these names or their `aliases`. Record unknown and missing keys.

        `Keys` define required keys and aliases themselves.
        """
        if isinstance(known, Keys):
            return Table(self, known, known.required, known.aliases)
        return Table(self, known, required, aliases)


class Table:
    """A mapping read by key. Missing and unknown keys are recorded as faults.

    An alias is another spelling of a key. Messages name the key as the file spells it.
    """

    __slots__ = ("_entries", "_spelled", "_values", "value")

    def __init__(
        self, value: Value, known: Collection[str], required: Iterable[str], aliases: AnyMapping[str, str]
    ) -> None:
        self.value = value
        node = value.node
        self._spelled: dict[str, str] = {}
        self._values: dict[str, Value] = {}
        if not isinstance(node, Mapping):
            value.error(f"a mapping is needed ({', '.join(known)}), found {value.found()}")
            self._entries: dict[str, tuple[Scalar, Node]] = {}
            return
        self._entries = node.entries
        for name, (key, _) in node.entries.items():
            key_name = aliases.get(name)
            if key_name is None and name in known:
                continue
            place = Value(key, value.report, shown_key(name), value)
            if key_name in node.entries:
                place.error(f"is another name of {key_name}, which is given, too; give one of them")
            elif key_name is not None:
                self._spelled[key_name] = name
            else:
                seen = len(value.report.errors) < MAX_SHOWN
                hint = (did_you_mean(name, known) or no_such_key(name)) if seen else ""
                place.error(f"unknown key{hint} (known: {', '.join(known)})")
        for name in required:
            if name not in self:
                value.error(f"{name} is missing")

    def __contains__(self, name: str) -> bool:
        return (self._spelled.get(name, name) if self._spelled else name) in self._entries

    def get(self, name: str) -> Value | None:
        """Return the value under `name`, or None."""
        value = self._values.get(name)
        if value is None:
            spelled = self._spelled.get(name, name) if self._spelled else name
            entry = self._entries.get(spelled)
            if entry is not None:
                value = self._values[name] = Value(entry[1], self.value.report, spelled, self.value)
        return value

    def __iter__(self) -> Iterator[str]:
        """Iterate over the keys that are given, by their proper names, in the order of the file."""
        if not self._spelled:
            return iter(self._entries)
        names = {spelled: name for name, spelled in self._spelled.items()}
        return (names.get(spelled, spelled) for spelled in self._entries)

    def over(self, common: Table) -> Table:
        """Return a table that also has the keys of another one, unless this one has them."""
        return _Layered(self, common)

    def choice(self, name: str, allowed: Iterable[str], default: str) -> str:
        """Read the word under `name`, or return the default."""
        value = self.get(name)
        return default if value is None else value.choice(allowed, default)


class _Layered(Table):
    """A table with another one as its fallback."""

    __slots__ = ("_common", "_own")

    def __init__(self, own: Table, common: Table) -> None:
        self._own, self._common, self.value = own, common, own.value

    def __contains__(self, name: str) -> bool:
        return name in self._own or name in self._common

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self._own, *self._common)))

    def get(self, name: str) -> Value | None:
        """Return the value under `name`, its own or the common one, or None."""
        return self._own.get(name) or self._common.get(name)


def root_of(path: Path, report: Report, needed: str) -> Value | None:
    """Return the root of a YAML file, or None with the faults in `report`. needed: what an empty file lacks."""
    text = read_text(path, report)
    try:
        root = None if text is None else compose(text, report)
    except WorldError as error:
        report.errors.extend(error.problems)
        return None
    if root is None and text is not None:
        report.error(f"is empty; {needed}")
    return None if root is None else Value(root, report)


def boolean(table: Table, key: str, default: bool) -> bool:
    """Read the truth value under `key`, or return the default."""
    value = table.get(key)
    return default if value is None else value.flag(default)


def _number(node: Node) -> float:
    """Return the number of a node, or NaN. A quoted text is not a number."""
    return as_number(node.text) if isinstance(node, Scalar) and node.plain else math.nan


def _range(low: float, high: float) -> str:
    if math.isinf(low) and math.isinf(high):
        return "the range of a 64-bit float"
    if math.isinf(high):
        return f"{low:g} or more"
    if math.isinf(low):
        return f"{high:g} or less"
    return f"{low:g} to {high:g}"
