"""Typed reading of located nodes: a value that cannot be read is recorded and a stand-in goes on."""

from __future__ import annotations

import decimal
import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from sim_node.world.problems import Problem, Where, did_you_mean
from sim_node.world.readers.yaml_nodes import Mapping, Node, Scalar, Sequence

TRUE, FALSE = ("true", "True", "TRUE"), ("false", "False", "FALSE")
NULL = ("", "~", "null", "Null", "NULL")
LATEST_NS = (2**31 - 1) * 1_000_000_000
_NON_FINITE = {".nan", ".inf", "-.inf", "+.inf", "nan", "inf", "-inf", "+inf", "infinity", "-infinity"}


@dataclass
class Report:
    """Where reading one file tells what it found: errors that stop a world, warnings that do not."""

    file: str
    errors: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)


class Value:
    """One node with its place: which file, which key path. Reads are by the type that the schema expects."""

    __slots__ = ("holder", "key", "node", "report")

    def __init__(self, node: Node, report: Report, key: str | int = "", holder: Value | None = None) -> None:
        self.node = node
        self.report = report
        self.key = key
        self.holder = holder

    @property
    def path(self) -> str:
        """The key path, as in motions[0].keyframes[2].quaternion."""
        above = self.holder.path if self.holder else ""
        if isinstance(self.key, int):
            return f"{above}[{self.key}]"
        return f"{above}.{self.key}" if above else self.key

    @property
    def where(self) -> Where:
        """The place of the value's first character."""
        return Where(self.report.file, self.node.line, self.node.column)

    def error(self, message: str) -> None:
        """Records a fault of this value."""
        self.report.errors.append(Problem(self.where, self.path, message))

    def warning(self, message: str) -> None:
        """Records something mended on reading."""
        self.report.warnings.append(Problem(self.where, self.path, message))

    def found(self) -> str:
        """What stands here, in a few words."""
        node = self.node
        if isinstance(node, Mapping):
            return "a mapping"
        if isinstance(node, Sequence):
            return f"a list of {len(node.items)}"
        if node.plain and node.text in NULL:
            return "nothing"
        text = node.text if len(node.text) <= 40 else node.text[:37] + "..."
        return repr(text)

    # Scalars

    def text(self, default: str = "") -> str:
        """A string; numbers, booleans and null are refused where they are not quoted."""
        node = self.node
        if isinstance(node, Scalar) and not (node.plain and (node.text in NULL or node.text in TRUE + FALSE)):
            return node.text
        self.error(f"a text is needed, found {self.found()}")
        return default

    def choice(self, allowed: Iterable[str], default: str) -> str:
        """One of some words."""
        allowed = list(allowed)
        word = self.node.text if isinstance(self.node, Scalar) else None
        if word in allowed:
            return word
        hint = did_you_mean(word, allowed) if word else ""
        self.error(f"found {self.found()}; allowed: {', '.join(allowed)}{hint}")
        return default

    def boolean(self, default: bool = False) -> bool:
        """`true` or `false`."""
        if isinstance(self.node, Scalar) and self.node.plain:
            if self.node.text in TRUE:
                return True
            if self.node.text in FALSE:
                return False
        self.error(f"true or false is needed, found {self.found()}")
        return default

    def number(self, low: float = -math.inf, high: float = math.inf, default: float = 0.0) -> float:
        """A finite number in [low, high]."""
        node = self.node
        if isinstance(node, Scalar) and node.plain:
            try:
                number = float(node.text)
            except ValueError:
                number = math.nan
            if low <= number <= high and math.isfinite(number) and "_" not in node.text:
                return number
            if math.isfinite(number):
                self.error(f"{node.text} is out of range; allowed: {_range(low, high)}")
                return default
            if node.text.lower() in _NON_FINITE:
                self.error(f"{node.text} is not a finite number")
                return default
        self.error(f"a number is needed, found {self.found()}")
        return default

    def nanoseconds(self, low_ns: int = 0, default: int = 0) -> int:
        """A time or duration given in seconds, exactly, as whole nanoseconds in [low_ns, LATEST_NS]."""
        errors = len(self.report.errors)
        self.number(-1e300, 1e300)
        if len(self.report.errors) > errors:
            return default
        assert isinstance(self.node, Scalar)
        nanoseconds = seconds_to_ns(self.node.text)
        if low_ns <= nanoseconds <= LATEST_NS:
            return nanoseconds
        allowed = f"{low_ns / 1e9:g} to {LATEST_NS // 1_000_000_000} s (stamps hold 31 bits of seconds)"
        self.error(f"{self.node.text} s is out of range; allowed: {allowed}")
        return default

    # Lists and mappings

    def items(self) -> Iterator[Value]:
        """The entries of a list."""
        if not isinstance(self.node, Sequence):
            self.error(f"a list is needed, found {self.found()}")
            return
        for index, node in enumerate(self.node.items):
            yield Value(node, self.report, index, self)

    def vector(self, size: int) -> list[float] | None:
        """A list of `size` finite numbers, or None with the fault recorded."""
        node = self.node
        if not isinstance(node, Sequence) or len(node.items) != size:
            self.error(f"a list of {size} numbers is needed, found {self.found()}")
            return None
        numbers: list[float] = []
        try:  # the common case; what it cannot read is read again below, with its fault
            for item in node.items:
                if not item.plain or "_" in item.text:  # type: ignore[union-attr]
                    break
                numbers.append(float(item.text))  # type: ignore[union-attr]
        except (ValueError, AttributeError):
            numbers.clear()
        if len(numbers) == size and all(map(math.isfinite, numbers)):
            return numbers
        errors = len(self.report.errors)
        numbers = [item.number() for item in self.items()]
        return numbers if len(self.report.errors) == errors else None

    def table(self, known: Collection[str], required: Iterable[str] = ()) -> Table:
        """A mapping whose keys are all `known`; what is `required` and missing is recorded."""
        return Table(self, known, required)


class Table:
    """A mapping read by key. A key that is missing or misspelt is recorded where the table stands."""

    __slots__ = ("_entries", "value")

    def __init__(self, value: Value, known: Collection[str], required: Iterable[str]) -> None:
        self.value = value
        node = value.node
        if not isinstance(node, Mapping):
            value.error(f"a mapping is needed ({', '.join(known)}), found {value.found()}")
            self._entries: dict[str, tuple[Scalar, Node]] = {}
            return
        self._entries = node.entries
        for name, (key, _) in node.entries.items():
            if name not in known:
                place = Value(key, value.report, name, value)
                hint = did_you_mean(name, known)
                place.error(f"unknown key{hint} (known: {', '.join(known)})")
        for name in required:
            if name not in node.entries:
                value.error(f"{name} is missing")

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def get(self, name: str) -> Value | None:
        """The value under `name`, None where it is not there."""
        entry = self._entries.get(name)
        return None if entry is None else Value(entry[1], self.value.report, name, self.value)

    def text(self, name: str, default: str = "") -> str:
        """The text under `name`, or the default."""
        value = self.get(name)
        return default if value is None else value.text(default)

    def choice(self, name: str, allowed: Iterable[str], default: str) -> str:
        """The word under `name`, or the default."""
        value = self.get(name)
        return default if value is None else value.choice(allowed, default)

    def items(self, name: str) -> Iterator[Value]:
        """The entries of the list under `name`; none where it is not there."""
        value = self.get(name)
        return iter(()) if value is None else value.items()


def seconds_to_ns(text: str) -> int:
    """Decimal seconds as the nearest whole nanosecond, without passing through a float."""
    return int((decimal.Decimal(text) * 1_000_000_000).to_integral_value(decimal.ROUND_HALF_EVEN))


def _range(low: float, high: float) -> str:
    if math.isinf(high):
        return f"{low:g} or more"
    if math.isinf(low):
        return f"{high:g} or less"
    return f"{low:g} to {high:g}"
