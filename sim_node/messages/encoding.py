"""Encode fields by name as plain CDR (little endian), in the order of the definition, and record their positions."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from sim_node.messages.cdr import ENCAPSULATION, aligned, cdr_string, stamp
from sim_node.messages.definitions import PRIMITIVES, TEXT, Field, UnknownMessage, fields_of
from sim_node.messages.places import ByteRange, Moved, Tree, joined
from sim_node.text import did_you_mean

HEADER, TIME = "std_msgs/msg/Header", "builtin_interfaces/msg/Time"
BYTE = np.dtype("u1")
# struct's codes for numpy's types.
CODES = dict(zip(("?", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8"), "?BbHhIiQqfd", strict=True))
CODES |= {np.dtype(name).str: code for name, code in CODES.items()}
_DTYPES = {name: np.dtype(of) for name, of in PRIMITIVES.items()}
_PACKS = {name: struct.Struct("<" + CODES[dtype.str]).pack for name, dtype in _DTYPES.items()}


class LayoutFault(ValueError):
    """Fields that a message does not have, or values that do not fit. The message names the type and the field."""


def encode(type: str, fields: Mapping[str, Any]) -> bytes:
    """Return a message as bytes. To send messages of the same layout repeatedly, use MessageLayout.

    Stamps that are not given are zero.

    Args:
        type: package/msg/Name.
        fields: Values by field path, as in MessageLayout.

    Returns:
        The CDR of the message, with its encapsulation header.

    Raises:
        LayoutFault: A field does not exist or a value does not fit.
        UnknownMessage: The definition of the type is not known.
        OverflowError: A time does not fit into a stamp.
    """
    return ENCAPSULATION + bytes(MessageBody(type, fields).data)


class MessageBody:
    """The bytes of a message after the encapsulation header.

    Attributes:
        stamps: Positions of the Times without a given value, in headers and at the paths in `times`.
    """

    def __init__(self, type: str, fields: Mapping[str, Any], times: Collection[str] = (), phase: int = 0) -> None:
        self.type = type
        self.data = bytearray(phase)
        self.stamps: list[int] = []
        self._lengths: dict[str, int] = {}
        self._times = times
        try:
            self.tree = self._message(type, _nested(fields), "")
        except UnknownMessage as unknown:
            raise LayoutFault(str(unknown)) from None
        for path in times:
            self._find(path)

    def place(self, path: str) -> ByteRange:
        """Return the byte range of a field, or of a whole message that consists of equal numbers without gaps."""
        node, base = self._find(path)
        return self._whole(node, path, base)

    def length(self, path: str) -> int:
        """Return the position of a list's length."""
        if path not in self._lengths:
            self._find(path)
            raise LayoutFault(f"{self.type}: {path} is not a list")
        return self._lengths[path]

    def _find(self, path: str) -> tuple[Any, int]:
        """Return the node at a path, and the offset of its positions."""
        node: Any = self.tree
        base = 0
        try:
            for step in _STEP.findall(path):
                if isinstance(node, Moved):
                    base, node = base + node.base, node.tree
                node = node[int(step)] if isinstance(node, list) else node[step]
        except (KeyError, IndexError, TypeError, ValueError):
            raise self._unknown(path) from None
        return node, base

    def _whole(self, node: Tree, path: str, base: int = 0) -> ByteRange:
        whole = joined(node)
        if whole is None:
            raise LayoutFault(f"{self.type}: {path} does not consist of equal numbers; name the fields in it")
        return ByteRange(whole.start + base, whole.dtype, whole.size)

    def _unknown(self, path: str) -> LayoutFault:
        known = list(_paths(self.type))
        return LayoutFault(f"{self.type} has no field {path!r}{did_you_mean(path, known)} (known: {', '.join(known)})")

    def _message(self, type: str, given: Mapping[str, Any], prefix: str) -> Tree:
        tree: dict[str, Tree] = {}
        data, used = self.data, 0
        for name, write, field in _plan(type):
            value = given.get(name, _UNSET)
            used += value is not _UNSET
            if write is None:
                # Fast path for the most frequent fields: unbounded strings
                if value.__class__ is str:
                    data += _PADDING[len(data) & 3]
                    data += cdr_string(value)
                    tree[name] = None
                    continue
                write = MessageBody._texts
            tree[name] = write(self, field, value, prefix + name)
        if used != len(given):
            raise self._unknown(prefix + next(name for name in given if name not in tree))
        if not tree:  # rosidl_adapter: structure_needs_at_least_one_member
            self.data += b"\0"
        return tree

    def _time(self, field: Field, value: Any, path: str) -> Tree:
        """Write a Time given in nanoseconds. Without a value, it is left to the writer of stamps, if there is one."""
        if value is _UNSET and path in self._times:
            return self._stamp(field, value, path)
        if isinstance(value, (int, np.integer)):
            value = dict(zip(("sec", "nanosec"), stamp(int(value)), strict=True))
        return self._part(field, value, path)

    def _stamp(self, field: Field, value: Any, path: str) -> Tree:
        """Write the Time of a header."""
        if value is not _UNSET:
            return self._time(field, value, path)
        aligned(self.data, 4)
        self.stamps.append(len(self.data))
        return self._part(field, value, path)

    def _part(self, field: Field, value: Any, path: str) -> Tree:
        """Write a nested message."""
        type = field.type
        if isinstance(value, Mapping):
            return self._message(type, value, f"{path}.")
        node: Tree
        if _numeric(type):
            phase = len(self.data) % 8
            data, tree, whole = _template(type, phase)
            node = Moved(len(self.data) - phase, tree, whole)
            self.data += data
        else:
            node = self._message(type, {}, f"{path}.")
        if value is not _UNSET:
            place = self._whole(node, path)
            values = self._cast(path, value, place.dtype)
            self._counted(path, len(values), place.size)
            self.data[place.start : place.end] = values.tobytes()
        return node

    def _messages(self, field: Field, value: Any, path: str) -> Tree:
        rows: Any = () if value is _UNSET else value
        if isinstance(rows, np.ndarray) and len(rows):
            return self._array_of_messages(field, rows, path)
        if not isinstance(rows, (list, tuple, np.ndarray)) or not all(
            row.__class__ is dict or isinstance(row, Mapping) for row in rows
        ):
            raise LayoutFault(f"{self.type}: {path} needs a list of mappings")
        self._count(field, path, len(rows))
        texts = _texts_of(field.type, rows)
        if texts:
            data = self.data
            for text in texts:
                data += _PADDING[len(data) & 3]
                data += cdr_string(text)
            return [_text_names(field.type)] * len(rows)
        return [
            self._message(field.type, _nested(row), f"{path}[{number}].") if row else self._part(field, _UNSET, path)
            for number, row in enumerate(rows)
        ]

    def _array_of_messages(self, field: Field, rows: npt.NDArray[Any], path: str) -> Tree:
        """Write one row per message that consists of equal numbers, such as points."""
        one = MessageBody(field.type, {})
        place = one._whole(one.tree, path)
        if rows.shape[1:] != (place.size,) or place.start:
            raise LayoutFault(f"{self.type}: {path} needs rows of {place.size} numbers, found an array of {rows.shape}")
        self._count(field, path, len(rows))
        aligned(self.data, place.dtype.itemsize)
        start = len(self.data)
        self.data += self._cast(path, rows, place.dtype).tobytes()
        return ByteRange(start, place.dtype, rows.size)

    def _texts(self, field: Field, value: Any, path: str) -> None:
        if value is _UNSET:
            value = field.default
        if value is None:
            value = [""] * (field.size or 0) if field.array else ""
        texts = list(value) if isinstance(value, (list, tuple)) else [value]
        if not all(isinstance(text, str) for text in texts) or isinstance(value, str) == field.array:
            raise LayoutFault(f"{self.type}: {path} needs {'texts' if field.array else 'a text'}, found {value!r}")
        if field.array:
            self._count(field, path, len(texts))
        for text in texts:
            if field.max_bytes is not None and len(text.encode()) > field.max_bytes:
                raise LayoutFault(f"{self.type}: {path} may have up to {field.max_bytes} bytes, found {text!r}")
            aligned(self.data, 4)
            self.data += cdr_string(text)

    def _numbers(self, field: Field, value: Any, path: str) -> Tree:
        dtype = _DTYPES[field.type]
        if value is _UNSET:
            value = field.default
        if value is None:
            size, data = field.size or 0, bytes((field.size or 0) * dtype.itemsize)
        elif (packed := _packed(field, value)) is not None:
            size, data = packed
        else:
            numbers = self._cast(path, value, dtype)
            size, data = len(numbers), numbers.tobytes()
        if field.size != size:
            self._count(field, path, size)
        if not size:
            return []
        aligned(self.data, dtype.itemsize)
        place = ByteRange(len(self.data), dtype, size)
        self.data += data
        return place

    def _count(self, field: Field, path: str, found: int) -> None:
        """Write the length of a list, or check that of a fixed array."""
        if field.size is not None:
            self._counted(path, found, field.size)
            return
        if field.max_length is not None and found > field.max_length:
            raise LayoutFault(f"{self.type}: {path} may have up to {field.max_length} elements, found {found}")
        aligned(self.data, 4)
        self._lengths[path] = len(self.data)
        self.data += found.to_bytes(4, "little")

    def _counted(self, path: str, found: int, needed: int) -> None:
        if found != needed:
            raise LayoutFault(f"{self.type}: {path} needs {needed} elements, found {found}")

    def _cast(self, path: str, value: object, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
        """Convert values to the numeric type of a field, as a flat array."""
        if dtype == BYTE and isinstance(value, (bytes, bytearray, np.ndarray)):
            return np.frombuffer(value if isinstance(value, (bytes, bytearray)) else value.tobytes(), BYTE)
        try:
            array = np.asarray(value)
        except ValueError:
            array = np.empty(0, object)
        if array.size and array.dtype.kind not in "biuf":
            raise LayoutFault(f"{self.type}: {path} needs numbers ({dtype.name}), found {value!r}")
        with np.errstate(all="ignore"):
            numbers = array.ravel().astype(dtype)
        if dtype.kind != "f" and not np.array_equal(numbers, array.ravel()):
            raise LayoutFault(f"{self.type}: {path} needs {dtype.name}, found {value!r}")
        return numbers


# Marks a missing value, since None is a value, though an invalid one.
_UNSET: Any = object()
_PLAIN = frozenset((str, float, int, bool, list))
_STEP = re.compile(r"[^.\[\]]+")
_PADDING = [bytes(-at % 4) for at in range(4)]


@cache
def _plan(type: str) -> tuple[tuple[str, Callable[[MessageBody, Field, Any, str], Tree] | None, Field], ...]:
    """Return name, writer and definition of each field. Plain strings have no writer."""
    plan = []
    for field in fields_of(type):
        write: Callable[[MessageBody, Field, Any, str], Tree] | None = MessageBody._part
        if field.type == TEXT:
            write = MessageBody._texts if field.array or field.max_bytes is not None else None
        elif field.type in PRIMITIVES:
            write = MessageBody._numbers
        elif field.array:
            write = MessageBody._messages
        elif field.type == TIME:
            write = MessageBody._stamp if type == HEADER else MessageBody._time
        plan.append((field.name, write, field))
    return tuple(plan)


@cache
def _text_names(type: str) -> dict[str, Tree]:
    """Return the fields of a message that only consists of plain strings, such as a key and a value."""
    plan = _plan(type)
    return {} if any(write for _, write, _ in plan) else {name: None for name, _, _ in plan}


def _texts_of(type: str, rows: Iterable[Any]) -> list[str]:
    """Return the strings of consecutive messages if each of them gives all its fields; otherwise an empty list."""
    names, texts = _text_names(type), []
    for row in rows if names else ():
        for name in names:
            text = row.get(name)
            if text.__class__ is not str or len(row) != len(names):
                return []
            texts.append(text)
    return texts


@cache
def _numeric(type: str) -> bool:
    """Return whether a message always has the same size, apart from alignment."""
    return all(
        field.type != TEXT and field.size is not None and (field.type in PRIMITIVES or _numeric(field.type))
        for field in fields_of(type)
    )


@cache
def _template(type: str, phase: int) -> tuple[bytes, Tree, ByteRange | None]:
    """Return the bytes of a numeric message that begins `phase` bytes after a multiple of 8, and its positions."""
    body = MessageBody(type, {}, phase=phase)
    return bytes(body.data[phase:]), body.tree, joined(body.tree)


def _nested(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Convert values by path to nested dicts. The rows of lists are unchanged."""
    for path, value in fields.items():
        if "." in path or (value.__class__ not in _PLAIN and isinstance(value, Mapping)):
            break
    else:
        return fields
    nested: dict[str, Any] = {}
    for path, value in fields.items():
        into, last = nested, path
        while "." in last:
            name, _, last = last.partition(".")
            into = into.setdefault(name, {})
        if isinstance(value, Mapping):
            value = {**into.get(last, {}), **_nested(value)}
        into[last] = value
    return nested


def _paths(type: str, prefix: str = "") -> Iterator[str]:
    """Yield the paths of all fields, except those within lists."""
    for field in fields_of(type):
        yield prefix + field.name
        if field.type != TEXT and field.type not in PRIMITIVES and not field.array:
            yield from _paths(field.type, f"{prefix}{field.name}.")


def _packed(field: Field, value: Any) -> tuple[int, bytes] | None:
    """Return the count and the bytes of plain numbers, faster than numpy; None if they need a closer look."""
    if field.type == "bool":
        return (1, b"\1" if value else b"\0") if value.__class__ is bool and not field.array else None
    try:
        if not field.array:
            return (1, _PACKS[field.type](value)) if value.__class__ in (float, int) else None
        if value.__class__ in (list, tuple):
            return len(value), struct.pack(f"<{len(value)}{CODES[_DTYPES[field.type].str]}", *value)
    except (struct.error, OverflowError):
        pass
    return None
