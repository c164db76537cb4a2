"""Messages as bytes: laid out once from their definitions, then numbers are rewritten in place by name of field."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sim_node.text import did_you_mean
from sim_node.wire.cdr import ENCAPSULATION, aligned, cdr_string, stamp
from sim_node.wire.definitions import PRIMITIVES, TEXT, Field, UnknownMessage, fields_of

HEADER = "std_msgs/msg/Header"
_STAMP = struct.Struct("<iI")
_BYTE = np.dtype("u1")


class LayoutFault(ValueError):
    """Fields that a message does not have, or that do not fit; the message names the type and the field."""


class Layout:
    """The plain CDR (little endian) of a message whose texts and lengths do not change.

    type: package/msg/Name. fields: numbers, texts, lists of texts and lists of mappings like this one, by paths of
    fields ("pose.covariance", "header.frame_id"); what is not named has the definition's default, zero or empty.
    A field that is a message of equal numbers takes them as one array; arrays go into lists of bytes as their memory.
    Stamps of headers are those of `write` unless named. doubles: the message's memory, for `places_of`.
    Raises LayoutFault.
    """

    def __init__(self, type: str, fields: Mapping[str, Any]) -> None:
        self.type = type
        body = _Body(type, fields)
        self._places, self._spans = body.places, body.spans
        # Padded in front, so that the body behind the encapsulation header is aligned in memory.
        self.doubles = np.zeros(-(-(len(body.data) + 8) // 8))
        raw = self.doubles.view(_BYTE)
        raw[4:8] = np.frombuffer(ENCAPSULATION, _BYTE)
        raw[8 : 8 + len(body.data)] = np.frombuffer(bytes(body.data), _BYTE)
        self._message = raw[4 : 8 + len(body.data)]
        self._buffer = memoryview(raw.data)
        self._stamps = [8 + at for at in body.stamps]

    def at(self, path: str, like: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
        """Return the numbers of a field, a view of the message to write to.

        like: has the view's shape, and in lists of bytes its type; by default the view is (size,).
        Raises LayoutFault.
        """
        place = _whole(self.type, path, self._places, self._spans)
        shape, dtype = (place.size,) if like is None else like.shape, place.dtype
        if like is not None:
            if dtype == _BYTE:
                dtype, size = like.dtype, like.nbytes
            else:
                size = like.size * dtype.itemsize
            if size != place.end - place.start:
                raise LayoutFault(f"{self.type}: {path} has {place.size} numbers, found an array of {like.shape}")
        view: npt.NDArray[Any] = np.ndarray(shape, dtype, self._buffer, 8 + place.start)
        return view

    def has_doubles(self, view: npt.NDArray[Any]) -> bool:
        """Return whether an array is a row of one or more float64 of this message, and not a copy of them."""
        return view.ndim == 1 and view.size > 0 and view.dtype == float and np.may_share_memory(view, self.doubles)

    def places_of(self, view: npt.NDArray[np.float64]) -> npt.NDArray[np.intp]:
        """Return where in `doubles` the numbers (n,) of a view from `at` are: several are written fastest at once."""
        first, memory = (array.__array_interface__["data"][0] for array in (view, self.doubles))
        places: npt.NDArray[np.intp] = (first - memory + view.strides[0] * np.arange(len(view))) // 8
        return places

    def write(self, stamp_ns: int) -> bytes:
        """Return the message as it stands, at a time. Raises OverflowError beyond what stamps hold."""
        if self._stamps:
            seconds, nanoseconds = stamp(stamp_ns)
            for at in self._stamps:
                _STAMP.pack_into(self._buffer, at, seconds, nanoseconds)
        return self._message.tobytes()


class _Place(NamedTuple):
    """Numbers of one type: where they begin behind the encapsulation header, and how many there are."""

    start: int
    dtype: np.dtype[Any]
    size: int

    @property
    def end(self) -> int:
        return self.start + self.dtype.itemsize * self.size


# By path: the first and, behind it, the last of a field's places.
_Spans = dict[str, tuple[int, int]]


def _whole(type: str, path: str, places: list[_Place], spans: _Spans) -> _Place:
    """The place of a field, of all of it where that is a message of equal numbers without gaps."""
    if path not in spans:
        raise LayoutFault(f"{type} has no field {path!r}{did_you_mean(path, spans)} (known: {', '.join(spans)})")
    first, last = spans[path]
    parts = places[first:last]
    ends = [each.start for each in parts[1:]]
    if not parts or {each.dtype for each in parts} != {parts[0].dtype} or ends != [each.end for each in parts[:-1]]:
        raise LayoutFault(f"{type}: {path} does not consist of equal numbers; name the fields in it")
    return _Place(parts[0].start, parts[0].dtype, sum(each.size for each in parts))


class _Body:
    """What comes after the encapsulation header; places: of its numbers, in their order; stamps: where those are."""

    def __init__(self, type: str, fields: Mapping[str, Any]) -> None:
        self._type = type
        self._given: dict[str, Any] = {}
        self._lengths: dict[str, int] = {}
        self._spread("", fields)
        self.data = bytearray()
        self.places: list[_Place] = []
        self.spans: _Spans = {}
        self.stamps: list[int] = []
        try:
            self._message(type, "")
        except UnknownMessage as unknown:
            raise LayoutFault(str(unknown)) from None
        unknown_paths = [*self._given, *self._lengths]
        if unknown_paths:
            path = unknown_paths[0]
            known = list(self.spans)
            raise LayoutFault(f"{type} has no field {path!r}{did_you_mean(path, known)} (known: {', '.join(known)})")

    def _spread(self, prefix: str, fields: Mapping[str, Any]) -> None:
        """Notes each value by its whole path, and the lengths of lists of messages."""
        for key, value in fields.items():
            path = f"{prefix}{key}"
            if isinstance(value, Mapping):
                self._spread(f"{path}.", value)
            elif isinstance(value, (list, tuple)) and value and isinstance(value[0], Mapping):
                self._lengths[path] = len(value)
                for row, each in enumerate(value):
                    self._spread(f"{path}[{row}].", each)
            else:
                self._given[path] = value

    def _message(self, type: str, prefix: str) -> None:
        fields = fields_of(type)
        if not fields:  # rosidl_adapter: structure_needs_at_least_one_member
            self.data += b"\0"
        for field in fields:
            path = prefix + field.name
            first = len(self.places)
            self.spans[path] = (first, first)
            if field.type == TEXT:
                self._texts(field, path)
            elif field.type in PRIMITIVES:
                self._numbers(field, path)
            elif field.array:
                self._messages(field, path)
            else:
                self._part(field, path)
            self.spans[path] = (first, len(self.places))

    def _part(self, field: Field, path: str) -> None:
        """A message in the message."""
        if field.type == HEADER and f"{path}.stamp.sec" not in self._given:
            aligned(self.data, 4)
            self.stamps.append(len(self.data))
        first = len(self.places)
        self._message(field.type, f"{path}.")
        if path in self._given:
            self.spans[path] = (first, len(self.places))
            place = _whole(self._type, path, self.places, self.spans)
            values = self._cast(path, self._given.pop(path), place.dtype)
            self._counted(path, len(values), place.size)
            self.data[place.start : place.end] = values.tobytes()

    def _messages(self, field: Field, path: str) -> None:
        rows = self._lengths.pop(path, 0)
        if path in self._given and len(self._given.pop(path)):
            raise LayoutFault(f"{self._type}: {path} needs a list of mappings")
        self._count(field, path, rows)
        for row in range(rows):
            first = len(self.places)
            self._message(field.type, f"{path}[{row}].")
            self.spans[f"{path}[{row}]"] = (first, len(self.places))

    def _texts(self, field: Field, path: str) -> None:
        unsaid: object = [""] * (field.size or 0) if field.array else ""
        if field.default is not None:
            unsaid = field.default
        given = self._given.pop(path, unsaid)
        texts = list(given) if isinstance(given, (list, tuple)) else [given]
        if not all(isinstance(text, str) for text in texts) or isinstance(given, str) == field.array:
            raise LayoutFault(f"{self._type}: {path} needs {'texts' if field.array else 'a text'}, found {given!r}")
        self._count(field, path, len(texts))
        for text in texts:
            if field.longest is not None and len(text.encode()) > field.longest:
                raise LayoutFault(f"{self._type}: {path} takes up to {field.longest} bytes, found {text!r}")
            aligned(self.data, 4)
            self.data += cdr_string(text)

    def _numbers(self, field: Field, path: str) -> None:
        dtype = np.dtype(PRIMITIVES[field.type])
        unsaid: object = [0] * (field.size or 0) if field.default is None else field.default
        values = self._cast(path, self._given.pop(path, unsaid), dtype)
        self._count(field, path, len(values))
        if len(values):
            aligned(self.data, dtype.itemsize)
            self.places.append(_Place(len(self.data), dtype, len(values)))
            self.data += values.tobytes()

    def _count(self, field: Field, path: str, found: int) -> None:
        """Writes the length of a list; of what has a fixed one, it is checked."""
        if field.size is not None:
            self._counted(path, found, field.size)
            return
        if field.most is not None and found > field.most:
            raise LayoutFault(f"{self._type}: {path} takes up to {field.most}, found {found}")
        aligned(self.data, 4)
        self.data += found.to_bytes(4, "little")

    def _counted(self, path: str, found: int, needed: int) -> None:
        if found != needed:
            raise LayoutFault(f"{self._type}: {path} needs {needed} of them, found {found}")

    def _cast(self, path: str, value: object, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
        """Values as the numbers of a field, in one row."""
        if dtype == _BYTE and isinstance(value, (bytes, bytearray, np.ndarray)):
            return np.frombuffer(value if isinstance(value, (bytes, bytearray)) else value.tobytes(), _BYTE)
        try:
            array = np.asarray(value)
        except ValueError:
            array = np.empty(0, object)
        if array.size and array.dtype.kind not in "biuf":
            raise LayoutFault(f"{self._type}: {path} needs numbers ({dtype.name}), found {value!r}")
        with np.errstate(all="ignore"):
            numbers = array.ravel().astype(dtype)
        if dtype.kind != "f" and not np.array_equal(numbers, array.ravel()):
            raise LayoutFault(f"{self._type}: {path} needs {dtype.name}, found {value!r}")
        return numbers
