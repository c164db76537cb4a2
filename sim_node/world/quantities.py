"""What the fields of parts may hold: numbers, words, texts, vectors, lists, other parts. Used with `declared.given`."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from sim_node import names
from sim_node.world import declared
from sim_node.world.bounds import MAX_DISTANCE, MAX_STAMP_NS
from sim_node.world.declared import BAD, Fault, Refer
from sim_node.world.fields import directions, floats
from sim_node.world.problems import quoted
from sim_node.world.readers import keys
from sim_node.world.readers.keys import Form
from sim_node.world.readers.numbers import NON_FINITE
from sim_node.world.readers.yaml_nodes import Mapping as MappingNode
from sim_node.world.readers.yaml_nodes import Scalar, Sequence
from sim_node.world.readers.yaml_values import NULL, Value
from sim_node.world.writers.values import plain, seconds


class Plain:
    """Base class of values that are stored and written as they are. Its own instances are read with other fields."""

    is_array: ClassVar[bool] = False

    def form(self, about: str) -> Form:
        """Return the form of any value."""
        return keys.ANYTHING

    def read(self, value: Value, context: Any) -> Any:
        """Return the value itself."""
        return value

    @property
    def settles(self) -> bool:
        """Whether a value is stored in another form than it is given in Python."""
        return type(self).settled is not Plain.settled

    def settled(self, found: Any, owner: str, key: str) -> Any:
        """Return the value itself."""
        return found

    def faults(self, found: Any) -> Iterator[Fault]:
        """Yield nothing."""
        return iter(())

    def data(self, found: Any, refer: Refer) -> Any:
        """Return the value as plain data."""
        return plain(found)


@dataclass(frozen=True)
class Number(Plain):
    """A finite number in [low, high] and greater than above."""

    low: float = -math.inf
    high: float = math.inf
    above: float = -math.inf
    is_measured = True

    def form(self, about: str) -> Form:
        """Return the form of a number in the range."""
        return keys.number(about, self.low, self.high, self.above)

    def read(self, value: Value, context: Any) -> float:
        """Read a number in the range."""
        errors = len(value.report.errors)
        found = value.number(max(self.low, self.above), self.high)
        if found <= self.above and len(value.report.errors) == errors:
            value.error(f"{found:g} is out of range; allowed: {self.allowed()}")
        return found

    def allowed(self) -> str:
        """Return the range as text."""
        if self.above > -math.inf:
            return f"above {self.above:g}" + (f", up to {self.high:g}" if self.high < math.inf else "")
        if self.high == math.inf:
            return "any finite number" if self.low == -math.inf else f"{self.low:g} or more"
        return f"{self.low:g} to {self.high:g}"

    def faults(self, found: Any) -> Iterator[Fault]:
        """Yield a fault if a number is out of range."""
        if not (math.isfinite(found) and self.low <= found <= self.high and found > self.above):
            yield "", f"{found:g} is out of range; allowed: {self.allowed()}"


class Whole(Number):
    """A whole number in [low, high]."""

    def form(self, about: str) -> Form:
        """Return the form of a whole number in the range."""
        return keys.whole(about, self.low, self.high)

    def read(self, value: Value, context: Any) -> int:
        """Read a whole number in the range."""
        found = value.number(self.low, self.high)
        if found % 1.0:
            value.error(f"a whole number is needed, found {found:g}")
        text = getattr(value.node, "text", "")
        return int(text) if text.isdecimal() else int(found)


@dataclass(frozen=True)
class Word(Plain):
    """One of several words, which may be the names of a registry."""

    allowed: Collection[str]

    def form(self, about: str) -> Form:
        """Return the form of one of the words."""
        return keys.choice(about, self.allowed)

    def read(self, value: Value, context: Any) -> str:
        """Read one of the words."""
        return value.choice(self.allowed, "")

    def faults(self, found: Any) -> Iterator[Fault]:
        """Yield a fault if a word is not one of them."""
        if found not in self.allowed:
            yield "", f"found {found!r}; allowed: {', '.join(self.allowed)}"


class Flag(Plain):
    """True or false."""

    def form(self, about: str) -> Form:
        """Return the form of true or false."""
        return keys.flag(about)

    def read(self, value: Value, context: Any) -> bool:
        """Read true or false."""
        return value.flag()


@dataclass(frozen=True)
class Text(Plain):
    """A text of `least` characters or more."""

    least: int = 0

    def form(self, about: str) -> Form:
        """Return the form of a text."""
        return keys.text(about, self.least)

    def read(self, value: Value, context: Any) -> str:
        """Read a text."""
        return value.text()


@dataclass(frozen=True)
class FrameName(Text):
    """The name of a frame, which is checked together with the whole tree."""

    least: int = 1

    def read(self, value: Value, context: Any) -> str:
        """Read a name that is not empty."""
        name = value.text_or_none()
        if name == "":
            value.error("is empty; a frame needs a name")
        return name or ""


class Name(FrameName):
    """A prefix of frame names."""

    def read(self, value: Value, context: Any) -> str:
        """Read a name that frames may have."""
        name = super().read(value, context)
        if name and (fault := names.fault(name)):
            value.error(f"the name {quoted(name)} {fault}")
        return name


class PathOf(Plain):
    """The path of a file, which need not exist yet."""

    def form(self, about: str) -> Form:
        """Return the form of a path."""
        return keys.text(about)

    def read(self, value: Value, context: Any) -> Any:
        """Read a path below the roots of the world's file."""
        return context.path_of(value)

    def data(self, found: Any, refer: Refer) -> str:
        """Return the reference to it in the file that is written."""
        return refer(found)


@dataclass(frozen=True)
class FileOf(PathOf):
    """The path of an existing file. fault: returns why it cannot be used; empty if it can."""

    fault: Callable[[Path], str]

    def read(self, value: Value, context: Any) -> Any:
        """Read the path, and check the file."""
        found = context.find(value)
        if found is None:
            return BAD
        if fault := self.fault(found[0]):
            value.error(fault)
            return BAD
        context.report.read.append(found[0])
        return found[0]


@dataclass(frozen=True)
class Label(Text):
    """A name that is not blank. of: the kind of entity that it names."""

    of: str = ""
    least: int = 1

    def read(self, value: Value, context: Any) -> str:
        """Read a name with letters in it."""
        name = value.text_or_none()
        if name is not None and not name.strip():
            value.error(f"found {quoted(name)}; a {self.of} needs a name")
        return name or ""


@dataclass(frozen=True)
class Time(Plain):
    """A time: seconds in files, int64 nanoseconds in Python."""

    low_ns: int = -MAX_STAMP_NS

    def form(self, about: str) -> Form:
        """Return the form of seconds."""
        return keys.number(about, self.low_ns / 1e9, MAX_STAMP_NS / 1e9)

    def read(self, value: Value, context: Any) -> int | None:
        """Read seconds, exactly."""
        return value.nanoseconds(self.low_ns)

    def faults(self, found: Any) -> Iterator[Fault]:
        """Yield a fault if a time is out of the range of stamps."""
        if not self.low_ns <= found <= MAX_STAMP_NS:
            yield (
                "",
                f"{found / 1e9:.10g} s is out of range; allowed: {self.low_ns / 1e9:.10g} to {MAX_STAMP_NS / 1e9:.10g}",
            )

    def data(self, found: Any, refer: Refer) -> Any:
        """Return seconds."""
        return seconds(found)


@dataclass(frozen=True)
class Vector(Plain):
    """A list of `size` numbers in [low, high]: a read-only array."""

    size: int
    high: float = math.inf
    low: float = -math.inf
    is_array = True
    is_measured = True

    @property
    def least(self) -> float:
        """The smallest allowed number, by default minus the largest one."""
        return self.low if self.low > -math.inf else -self.high

    def form(self, about: str) -> Form:
        """Return the form of a list of numbers."""
        return keys.listing(about, keys.number("", self.least, self.high), self.size, self.size)

    def read(self, value: Value, context: Any) -> Any:
        """Read a list of numbers."""
        found = value.vector(self.size, self.high)
        if found is None:
            return BAD
        if min(found) < self.least:
            for each in value.items():
                each.number(self.least, self.high)
        return np.array(found)

    def settled(self, found: Any, owner: str, key: str) -> Any:
        """Return a read-only array."""
        return floats(found, (self.size,), owner, key)

    def faults(self, found: Any) -> Iterator[Fault]:
        """Yield a fault if a number is out of range."""
        if not all(self.least <= each <= self.high for each in found.tolist()):
            yield "", f"{found.tolist()} is out of range; allowed: {self.least:g} to {self.high:g}"


POINT, ORIGIN = Vector(3, MAX_DISTANCE), (0.0, 0.0, 0.0)


class Numbers(Vector):
    """A list of `size` numbers in [low, high]: a tuple."""

    is_array = False

    def read(self, value: Value, context: Any) -> Any:
        """Read a list of numbers."""
        found = super().read(value, context)
        return found if found is BAD else tuple(found.tolist())

    def settled(self, found: Any, owner: str, key: str) -> Any:
        """Return a tuple."""
        return tuple(map(float, found))

    def faults(self, found: Any) -> Iterator[Fault]:
        """Yield a fault if a number is out of range."""
        return super().faults(np.asarray(found))


def read_pair(value: Value, *, optional: bool = False) -> tuple[float, float] | None:
    """Read [low, high], which may be infinite; null stands for no limits where that is possible.

    Return None if there is a fault, which is recorded.
    """
    node = value.node
    if optional and isinstance(node, Scalar) and node.plain and node.text in NULL:
        return (-math.inf, math.inf)
    if not isinstance(node, Sequence) or len(node.items) != 2:
        value.error(f"[low, high] is needed, found {value.found()}")
        return None
    low, high = (_bound(item) for item in value.items())
    return None if math.isnan(low) or math.isnan(high) else (low, high)


def _bound(value: Value) -> float:
    """Read a finite or infinite number; return NaN if there is a fault, which is recorded."""
    node = value.node
    if isinstance(node, Scalar) and node.plain and node.text.lower() in NON_FINITE:
        number = float(node.text.lower().replace(".", ""))
        if not math.isnan(number):
            return number
    return value.number(-MAX_DISTANCE, MAX_DISTANCE, default=math.nan)


@dataclass(frozen=True)
class Rgb(Vector):
    """Red, green and blue, each 0 to 1: a read-only array (3,)."""

    size: int = 3
    high: float = 1.0
    low: float = 0.0
    spelled: ClassVar[tuple[str, ...]] = ("[red, green, blue]",)

    def form(self, about: str) -> Form:
        """Return the form of a colour."""
        sizes = [spelled.count(",") + 1 for spelled in self.spelled]
        text = f"{about.rstrip('.')}: {' or '.join(self.spelled)}, each 0 to 1."
        return keys.listing(text, keys.number("", 0.0, 1.0), min(sizes), max(sizes))

    def read(self, value: Value, context: Any) -> Any:
        """Read three components or, if allowed, four; a missing opacity is 1."""
        parts = [each.number(0.0, 1.0) for each in value.items()]
        if len(parts) in [spelled.count(",") + 1 for spelled in self.spelled]:
            return np.array([*parts, 1.0][: self.size])
        if isinstance(value.node, Sequence):
            value.error(f"{' or '.join(self.spelled)} is needed, found {value.found()}")
        return BAD


@dataclass(frozen=True)
class Colour(Rgb):
    """Red, green, blue and, if given, opacity, each 0 to 1: a read-only array (4,)."""

    size: int = 4
    spelled = ("[red, green, blue]", "[red, green, blue, opacity]")


@dataclass(frozen=True)
class Direction(Vector):
    """Three numbers that are not all zero: a read-only unit vector."""

    size: int = 3

    def read(self, value: Value, context: Any) -> Any:
        """Read a vector that has a direction."""
        found = super().read(value, context)
        if found is not BAD and not found.any():
            value.error("is zero; an axis needs a direction")
        return found

    def settled(self, found: Any, owner: str, key: str) -> Any:
        """Return a read-only unit vector."""
        return directions(found, (self.size,), owner, key)


@dataclass(frozen=True)
class PerAxis(Vector):
    """One number for all three axes, or one for each: a read-only array (3,)."""

    size: int = 3

    def form(self, about: str) -> Form:
        """Return the form of one number, or three."""
        return keys.one_or_each(about, keys.number("", self.least, self.high), self.size)

    def read(self, value: Value, context: Any) -> Any:
        """Read one number, or three."""
        if isinstance(value.node, Sequence) and len(value.node.items) == self.size:
            return np.array([each.number(self.least, self.high) for each in value.items()])
        if isinstance(value.node, Scalar):
            return np.full(self.size, value.number(self.least, self.high))
        value.error(f"a number or a list of {self.size} is needed, found {value.found()}")
        return BAD


@dataclass(frozen=True)
class ListOf(Plain):
    """A list of values of one kind: a tuple."""

    item: declared.Holds
    least: int = 0
    most: int | None = None

    def form(self, about: str) -> Form:
        """Return the form of a list."""
        return keys.listing(about, self.item.form(""), self.least, self.most)

    def read(self, value: Value, context: Any) -> tuple[Any, ...]:
        """Read a list."""
        found = tuple(read for each in value.items() if (read := self.item.read(each, context)) is not declared.BAD)
        self.count(value)
        return found

    def count(self, value: Value) -> None:
        """Record a fault if there are too few or too many."""
        if isinstance(value.node, Sequence) and (fault := self._size_fault(len(value.node.items), value.key)):
            value.error(fault)

    def settled(self, found: Any, owner: str, key: str) -> tuple[Any, ...]:
        """Return a tuple."""
        return found if isinstance(found, tuple) else tuple(found)

    def faults(self, found: Any) -> Iterator[Fault]:
        """Yield a fault if there are too few or too many, and the faults of each."""
        if fault := self._size_fault(len(found), ""):
            yield "", fault
        for index, each in enumerate(found):
            yield from ((f"[{index}]{below}", message) for below, message in self.item.faults(each))

    def data(self, found: Any, refer: Refer) -> list[Any]:
        """Return a list."""
        return [self.item.data(each, refer) for each in found]

    def _size_fault(self, size: int, noun: object) -> str:
        if self.least <= size <= (size if self.most is None else self.most):
            return ""
        if not size and isinstance(self.item, Word):
            return f"is empty; allowed: {', '.join(self.item.allowed)}"
        allowed = f"{self.least} or more" if self.most is None else f"{self.least} to {self.most}"
        return f"found {size} {noun}".rstrip() + f"; allowed: {allowed}"


@dataclass(frozen=True)
class Pair(ListOf):
    """A list of two values. noun: what they are."""

    least: int = 2
    most: int | None = 2
    noun: str = ""

    def read(self, value: Value, context: Any) -> tuple[Any, ...]:
        """Read a list of two."""
        found = tuple(self.item.read(each, context) for each in value.items())
        if isinstance(value.node, Sequence) and len(found) != 2:
            value.error(f"two {self.noun} are needed, found {value.found()}")
        return found


@dataclass(frozen=True)
class PartOf(Plain):
    """Another declared part.

    kind: its class. short: the field that any other value than a mapping sets; empty if a mapping is required.
    """

    kind: type[Any]
    short: str = ""

    def form(self, about: str) -> Form:
        """Return the form of its mapping, or of the short form."""
        if not self.short:
            return declared.keys_of(self.kind)
        return keys.either(about, declared.keys_of(self.kind)[self.short], declared.keys_of(self.kind))

    def read(self, value: Value, context: Any) -> Any:
        """Read its mapping or its short form."""
        holder = declared.holder_of(self.kind, self.short) if self.short else None
        if isinstance(value.node, Scalar if isinstance(holder, Number) else Sequence) and holder is not None:
            errors = len(value.report.errors)
            found = holder.read(value, context)
            return BAD if len(value.report.errors) > errors else self.kind(**{self.short: found})
        return declared.read(self.kind, value, context)

    def faults(self, found: Any) -> Iterator[Fault]:
        """Yield the faults of its fields."""
        return ((f".{key}".rstrip("."), message) for key, message in declared.faults(found))

    def data(self, found: Any, refer: Refer) -> Any:
        """Return its mapping."""
        return declared.data_of(found, refer)


class Inlined(PartOf):
    """Another declared part, whose keys are inlined in those of its owner; None if none of them is given."""

    @property
    def inlined(self) -> type[Any]:
        """Its class."""
        return self.kind

    def faults(self, found: Any) -> Iterator[Fault]:
        """Yield the faults of its fields."""
        return declared.faults(found)


class OrNone(PartOf):
    """Another declared part, or `none`."""

    def form(self, about: str) -> Form:
        """Return the form of the word, or of its mapping."""
        return keys.either(about, keys.word("", "none", None), declared.keys_of(self.kind))

    def read(self, value: Value, context: Any) -> Any:
        """Read `none`, or its mapping."""
        if isinstance(value.node, Scalar) and value.node.text in ("none", *NULL):
            return None
        if not isinstance(value.node, MappingNode):
            known = ", ".join(declared.keys_of(self.kind))
            value.error(f"`none` or a mapping is needed ({known}), found {value.found()}")
            return BAD
        return declared.read(self.kind, value, context)


@dataclass(frozen=True)
class Other(Plain):
    """A value with custom functions.

    says: returns the form for a description. takes: reads a value. checks: yields faults. writes: returns data.
    """

    says: Callable[[str], Form]
    takes: Callable[[Value], Any]
    checks: Callable[[Any], Iterable[Fault]] = lambda found: ()
    writes: Callable[[Any], Any] = plain

    def form(self, about: str) -> Form:
        """Return the form."""
        return self.says(about)

    def read(self, value: Value, context: Any) -> Any:
        """Read a value."""
        return self.takes(value)

    def faults(self, found: Any) -> Iterator[Fault]:
        """Yield the faults."""
        return iter(self.checks(found))

    def data(self, found: Any, refer: Refer) -> Any:
        """Return the data."""
        return self.writes(found)
