"""Stamps inside serialized messages: located by the message definition and shifted in place."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from rosbags.interfaces import Nodetype
from rosbags.typesys import Stores, TypesysError, get_typestore
from rosbags.typesys.msg import normalize_msgtype

from sim_node.messages.cdr import byte_order, first_stamp
from sim_node.recording.definitions import types_in
from sim_node.spatial.geometry.arrays import IntArray

TIME = "builtin_interfaces/msg/Time"
MAX_LAYOUTS = 64

# A type's fields in order, as parsed by rosbags: (name, (node type, details)).
Fields = list[tuple[str, Any]]
# Returns a message with its stamps shifted by a number of nanoseconds, including or excluding zero stamps. Raises
# ValueError for bytes that are not of the type.
Shift = Callable[[bytes, int, bool], bytes]


class NoDefinition(Exception):
    """The fields of a type are not known."""


def shift_of(kind: str, definition: str) -> Shift | None:
    """Return a function that shifts the stamps of a type (package/msg/Name); None if it has no stamps.

    All fields of type builtin_interfaces/Time count as stamps, at any depth. Raises NoDefinition.

    Args:
        kind: The type.
        definition: ros2msg text or IDL with all types that it refers to; if empty, only standard ROS 2 types are known.
    """
    types = _types(kind, definition)
    if not _holds_stamps(normalize_msgtype(kind), types):
        return None
    steps = _steps(normalize_msgtype(kind), types)
    return _shift_first if steps == [_stamp] else _Shifter(steps).shift


def value_counter(kind: str, types: Mapping[str, Fields]) -> Callable[[bytes, int], None]:
    """Return a function that raises TooManyValues if a message has more than a number of numbers, strings and arrays.

    A numeric array counts once. Large messages take no more memory. The function raises ValueError for bytes that are
    not of the type. Raises NoDefinition.
    not of the type. Raises NoDefinition.
    """
    steps = _steps(normalize_msgtype(kind), types, whole=True)

    def check(data: bytes, most: int) -> None:
        walk = _CountedWalk(data, byte_order(data))
        walk.left = most
        for step in steps:
            step(walk)

    return check


def _shift_first(data: bytes, by_ns: int, zeros: bool) -> bytes:
    """Shift the only stamp, at the beginning: that of a Header or a Clock."""
    stamp_ns = first_stamp(data)
    if not (stamp_ns or zeros):
        return data
    seconds, nanoseconds = divmod(stamp_ns + by_ns, 1_000_000_000)
    return data[:4] + struct.pack(byte_order(data) + "iI", _fitting(seconds), nanoseconds) + data[12:]


class _Shifter:
    """Shifts stamps anywhere in a message.

    Positions depend only on the lengths of strings and sequences. For messages with the same lengths, they are computed
    once, and the stamps are then shifted by numpy.
    """

    def __init__(self, steps: list[_Step]) -> None:
        self._steps = steps
        self._layouts: dict[tuple[int, str], _Layout] = {}

    def shift(self, data: bytes, by_ns: int, zeros: bool) -> bytes:
        order = byte_order(data)
        words = np.frombuffer(data, order + "u4", offset=4, count=len(data) // 4 - 1)
        layout = self._layouts.get((len(data), order))
        if layout is None or not np.array_equal(words[layout.length_words], layout.lengths):
            walk = _Walk(data, order)
            for step in self._steps:
                step(walk)
            layout = _Layout(
                np.array(walk.length_words, np.int64), words[walk.length_words], np.array(walk.stamp_words)
            )
            if len(self._layouts) >= MAX_LAYOUTS:
                self._layouts.clear()
            self._layouts[len(data), order] = layout
        if not len(layout.stamp_words):
            return data
        seconds = words[layout.stamp_words].astype(np.int32).astype(np.int64)
        nanoseconds = words[layout.stamp_words + 1].astype(np.int64)
        given = (seconds != 0) | (nanoseconds != 0) | zeros
        moved = seconds * 1_000_000_000 + nanoseconds + by_ns
        at, moved = layout.stamp_words[given], moved[given]
        for extreme in moved[[moved.argmin(), moved.argmax()]] if len(moved) else ():
            _fitting(int(extreme) // 1_000_000_000)
        changed = bytearray(data)
        body = np.frombuffer(changed, order + "u4", offset=4, count=len(words))
        body[at] = (moved // 1_000_000_000).astype(np.int32).view(np.uint32)
        body[at + 1] = moved % 1_000_000_000
        return bytes(changed)


class _Layout(NamedTuple):
    """Positions (in words of 4 bytes after the encapsulation header) of lengths and stamps, and the lengths."""

    length_words: IntArray
    lengths: IntArray
    stamp_words: IntArray


@dataclass
class _Walk:
    """A walk through one message (plain CDR: OMG DDS-XTypes 1.3, section 7.4.3). at: bytes after the header."""

    data: bytes
    order: str
    at: int = 0
    length_words: list[int] = field(default_factory=list)
    stamp_words: list[int] = field(default_factory=list)

    def align(self, size: int) -> None:
        self.at += -self.at % size

    def skip(self, size: int) -> None:
        self.at += size
        if self.at > len(self.data) - 4:
            raise ValueError(f"ends at byte {len(self.data)}, before its last stamp")

    def length(self) -> int:
        self.align(4)
        start = self.at
        self.skip(4)
        self.length_words.append(start // 4)
        found: int = struct.unpack_from(self.order + "I", self.data, 4 + start)[0]
        if found > len(self.data):
            raise ValueError(f"length {found} at byte {start + 4} of {len(self.data)}")
        return found


# Walks over one item
_Step = Callable[[_Walk], None]


class TooManyValues(Exception):
    """A message has too many numbers, strings and arrays."""


class _CountedWalk(_Walk):
    """A walk that raises TooManyValues."""

    left = 0

    def skip(self, size: int) -> None:
        self.left -= 1
        if self.left < 0:
            raise TooManyValues
        super().skip(size)


def _stamp(walk: _Walk) -> None:
    walk.align(4)
    walk.stamp_words.append(walk.at // 4)
    walk.skip(8)


def _text(walk: _Walk) -> None:
    walk.skip(walk.length())


def _numbers(size: int, count: int | None) -> _Step:
    """Return a step over consecutive numbers of one size; if count is None, their number is a sequence's length."""

    def step(walk: _Walk) -> None:
        found = walk.length() if count is None else count
        if found:
            walk.align(size)
            walk.skip(found * size)

    return step


def _many(steps: list[_Step], count: int | None) -> _Step:
    """Return a step over a sequence, or an array of `count`, of composite elements."""

    def step(walk: _Walk) -> None:
        for _ in range(walk.length() if count is None else count):
            for inner in steps:
                inner(walk)

    return step


_SIZES = {
    **dict.fromkeys(("bool", "byte", "char", "int8", "uint8"), 1),
    **dict.fromkeys(("int16", "uint16"), 2),
    **dict.fromkeys(("int32", "uint32", "float32"), 4),
    **dict.fromkeys(("int64", "uint64", "float64"), 8),
}


def _steps(kind: str, types: Mapping[str, Fields], whole: bool = False) -> list[_Step]:
    """Return the steps to a type's last stamp, or to its end if `whole`."""
    if kind == TIME:
        return [_stamp]
    fields = types[kind]
    if not whole:
        last = max(row for row, (_, what) in enumerate(fields) if _field_holds_stamps(what, types))
        fields = fields[: last + 1]
    steps: list[_Step] = []
    for row, (_, (node, what)) in enumerate(fields):
        rest = whole or row + 1 < len(fields)
        if node in (Nodetype.BASE, Nodetype.NAME):
            steps += _element((node, what), types, rest)
            continue
        element, count = what[0], what[1] if node == Nodetype.ARRAY else None
        if element[0] == Nodetype.BASE and element[1][0] in _SIZES:
            steps.append(_numbers(_SIZES[element[1][0]], count))
        else:
            steps.append(_many(_element(element, types, True), count))
    # rosidl serializes a message without fields as one byte.
    return steps or [_numbers(1, 1)]


def _element(what: Any, types: Mapping[str, Fields], whole: bool) -> list[_Step]:
    node, name = what
    if node == Nodetype.NAME:
        return _steps(name, types, whole)
    if name[0] == "string":
        return [_text]
    if name[0] not in _SIZES:
        raise NoDefinition(f"{name[0]} has no fixed position in CDR")
    return [_numbers(_SIZES[name[0]], 1)]


def _holds_stamps(kind: str, types: Mapping[str, Fields]) -> bool:
    if kind == TIME:
        return True
    if kind not in types:
        raise NoDefinition(f"there is no definition of {kind}")
    return any(_field_holds_stamps(what, types) for _, what in types[kind])


def _field_holds_stamps(what: Any, types: Mapping[str, Fields]) -> bool:
    node, inner = what
    if node in (Nodetype.ARRAY, Nodetype.SEQUENCE):
        return _field_holds_stamps(inner[0], types)
    return bool(node == Nodetype.NAME and _holds_stamps(inner, types))


def _types(kind: str, definition: str) -> Mapping[str, Fields]:
    known = _known()
    if not definition:
        return known
    try:
        own = types_in(kind, definition)
    except TypesysError as error:
        raise NoDefinition(f"its definition cannot be read: {str(error).splitlines()[0]}") from None
    return {**known, **{name: fields for name, (_, fields) in own.items()}}


@lru_cache(maxsize=1)
def _known() -> Mapping[str, Fields]:
    return {name: fields for name, (_, fields) in get_typestore(Stores.LATEST).fielddefs.items()}


def _fitting(seconds: int) -> int:
    if not -(2**31) <= seconds < 2**31:
        raise ValueError(f"stamp of {seconds} s: seconds must fit into 32 bits")
    return seconds
