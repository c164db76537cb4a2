"""MAVLink payloads to named fields and back, by the tables of pymavlink's dialect `all`. Decoding never raises.

Only the generated tables of pymavlink are used (structs, field orders, CRC seeds, enums): its own parser raises on
invalid input and takes several times as long.
"""

from __future__ import annotations

import re
import struct
from collections import namedtuple
from collections.abc import Mapping, Sequence
from functools import cache
from operator import itemgetter
from typing import Any, NamedTuple

from fastcrc import crc16
from pymavlink.dialects.v10 import all as first_dialect
from pymavlink.dialects.v20 import all as dialect

from sim_node.text import did_you_mean

V1, V2 = 0xFE, 0xFD
SIGNED = 0x01  # incompatibility flag
SIGNATURE_SIZE = 13
HEADER = struct.Struct("<BBBBBBBHB")
# Part of a struct format without texts: a repeat count, if any, and a type.
_PART = re.compile("([0-9]*)([a-zA-Z])")
# Makes named tuples, several times as fast as `_make`, because it does not check the number of values.
_new_tuple: Any = tuple.__new__


class MavlinkMessage(NamedTuple):
    """A complete message.

    Attributes:
        system: System id of the sender.
        component: Component id of the sender.
        sequence: Sequence number.
        name: Name of the message.
        fields: Fields under MAVLink's own names. Arrays are tuples, texts are str.
        raw: The frame. Its signature, if any, is not checked here.
    """

    system: int
    component: int
    sequence: int
    name: str
    fields: Any
    raw: bytes


class EncodeError(ValueError):
    """The fields do not fit the message. The text gives the field and the reason."""


class MessageType:
    """The layout of a message's payload."""

    def __init__(self, number: int, table: Any) -> None:
        self.number, self.name = number, str(table.msgname)
        self.struct: struct.Struct = table.unpacker
        self.crc_extra = bytes([table.crc_extra])
        self.id = number.to_bytes(3, "little")  # as in MAVLink 2
        # For each field, in the order of the payload: the index of its first value, the number of values (1 for a
        # text), whether it is a text, and whether it is an array.
        self._places: dict[str, tuple[int, int, bool, bool]] = {}
        self._zeros: list[Any] = []
        # Selects the fields in their own order from the payload's values.
        slices: dict[str, int | slice] = {}
        for field, length in zip(table.ordered_fieldnames, table.array_lengths, strict=True):
            text = table.fieldtypes[table.fieldnames.index(field)] == "char"
            at, count = len(self._zeros), 1 if text else max(length, 1)
            self._places[field] = at, count, text, length > 0
            self._zeros += [b""] if text else [0] * count
            slices[field] = slice(at, at + count) if length > 0 and not text else at
        self.count = len(self._zeros)
        # For each numeric field, whether it is an array; and the integer fields.
        self.arrays = {field: is_array for field, (_, _, text, is_array) in self._places.items() if not text}
        types = zip(table.fieldnames, table.fieldtypes, strict=True)
        self.integers = frozenset(field for field, type in types if "int" in type)
        self.fields: Any = namedtuple(self.name, table.fieldnames)  # type: ignore[misc]
        first, *others = [slices[field] for field in table.fieldnames]
        self._pick: Any = itemgetter(first, *others) if others else lambda numbers: (numbers[first],)
        # Indices of texts among the fields.
        self._texts = [table.fieldnames.index(field) for field, (_, _, text, _) in self._places.items() if text]

    def first(self, count: int) -> struct.Struct:
        """Return the layout of the payload's first `count` values."""
        letters = "".join(letter * int(times or 1) for times, letter in _PART.findall(self.struct.format))
        return struct.Struct(f"<{letters[:count]}")

    def size_of(self, field: str) -> int:
        """Return the number of values of a field."""
        return self._places[field][1]

    def unpack(self, payload: bytes) -> Any:
        """Return the fields of a payload, padded with zeros or cut to its size (MAVLink 2 omits trailing zeros)."""
        size = self.struct.size
        if len(payload) < size:
            payload = payload.ljust(size, b"\0")
        values = self._pick(self.struct.unpack_from(payload))
        if self._texts:
            values = list(values)
            for text in self._texts:
                values[text] = values[text].partition(b"\0")[0].decode("utf-8", "replace")
        return _new_tuple(self.fields, values)

    def pack(self, fields: Mapping[str, Any]) -> bytes:
        """Return the payload for these fields; all others are zero. Raises EncodeError."""
        numbers = self._zeros.copy()
        for field, value in fields.items():
            place = self._places.get(field)
            if place is None:
                raise EncodeError(f"{self.name} has no field {field!r}{did_you_mean(field, self._places)}")
            if value is None:
                continue
            at, count, text, is_array = place
            if text:
                numbers[at] = value.encode("utf-8") if isinstance(value, str) else value
            elif not is_array:
                numbers[at] = value
            elif len(value) == count:
                numbers[at : at + count] = value
            else:
                raise EncodeError(f"{self.name}.{field}: {len(value)} values, needs {count}")
        try:
            return self.struct.pack(*numbers)
        except (struct.error, OverflowError) as error:
            raise EncodeError(f"{self.name}: {error} in {dict(fields)}") from None


@cache
def kind_of(number: int) -> MessageType | None:
    """Return the message type with this number, or None."""
    table = dialect.mavlink_map.get(number)
    return None if table is None else MessageType(number, table)


def load_kinds() -> None:
    """Lay out all messages of the dialect now, instead of each one when it is first received."""
    for number in dialect.mavlink_map:
        kind_of(number)


@cache
def kind_named(name: str) -> MessageType:
    """Return the message type with this name. Raises EncodeError, which suggests the nearest name."""
    number = _NUMBERS.get(name)
    if number is None:
        raise EncodeError(f"no MAVLink message {name!r}{did_you_mean(name, _NUMBERS)}")
    kind = kind_of(number)
    assert kind is not None
    return kind


def unit_of_field(name: str, field: str) -> str:
    """Return the unit of a field as MAVLink writes it, such as cm/s; empty for none."""
    return str(dialect.mavlink_map[_NUMBERS[name]].fieldunits_by_name.get(field, ""))


def enum_name(enum: str, value: int) -> str:
    """Return `MAV_RESULT_DENIED` for ("MAV_RESULT", 2), or the number if the enum has no such entry."""
    entry = dialect.enums.get(enum, {}).get(value)
    return str(value) if entry is None else str(entry.name)


def enum_values(enum: str) -> dict[str, int]:
    """Return the entries of an enum by their names."""
    return {entry.name: int(value) for value, entry in dialect.enums[enum].items()}


def frame_bytes(
    name: str, fields: Mapping[str, Any], system: int, component: int, sequence: int, *, signed: bool = False
) -> bytes:
    """Return a MAVLink 2 frame up to its CRC. If `signed`, its flags announce a signature. Raises EncodeError."""
    kind = kind_named(name)
    payload = kind.pack(fields)
    ids = bytes((system, component)) + kind.id
    return _framed(payload, ids, kind.crc_extra, sequence, SIGNED if signed else 0)


def _framed(payload: bytes, ids: bytes, crc_extra: bytes, sequence: int, flags: int = 0) -> bytes:
    """Return a MAVLink 2 frame up to its CRC. `ids` are those of the sender, and of the message."""
    # At least one byte remains: MAVLink 2, payload truncation.
    payload = payload.rstrip(b"\0") or payload[:1]
    body = bytes((len(payload), flags, 0, sequence)) + ids + payload
    return b"\xfd" + body + crc16.mcrf4xx(body + crc_extra).to_bytes(2, "little")


def first_frame_bytes(name: str, fields: Mapping[str, Any], system: int, component: int, sequence: int) -> bytes | None:
    """Return a MAVLink 1 frame, without fields that MAVLink 2 added; None for messages that MAVLink 1 does not have.

    Raises EncodeError.
    """
    kind = kind_named(name)
    table = first_dialect.mavlink_map.get(kind.number)
    payload = kind.pack(fields)
    if table is None:
        return None
    payload = payload[: table.unpacker.size]
    frame = bytes((V1, len(payload), sequence, system, component, kind.number)) + payload
    return frame + struct.pack("<H", checksum(frame, kind))


class FrameWriter:
    """Encodes a message without texts from values in the order of the payload.

    It takes a quarter of the time of `frame_bytes`, for messages at every step of a simulation.

    Args:
        name: Name of the message.
        system: System id of the sender.
        component: Component id of the sender.
        last: Last values of the payload, if they are constant.
    """

    def __init__(self, name: str, system: int, component: int, last: Sequence[float] = ()) -> None:
        kind = kind_named(name)
        first = kind.first(kind.count - len(last))
        self._pack, self._extra = first.pack, kind.crc_extra
        self._last = kind.struct.pack(*[0] * (kind.count - len(last)), *last)[first.size :]
        self._ids = bytes([system, component]) + kind.id

    def frame(self, sequence: int, *numbers: Any) -> bytes:
        """Return the unsigned frame for all values but the constant ones. Raises struct.error if they do not fit."""
        return _framed(self._pack(*numbers) + self._last, self._ids, self._extra, sequence)


class FrameReader:
    """Decodes a message without texts to values in the order of the payload.

    It takes a third of the time of a Parser, for messages at every step of a simulation. A Parser decodes all others.

    Args:
        name: Name of the message.
        numbers: How many values to decode; None for all.
    """

    def __init__(self, name: str, numbers: int | None = None) -> None:
        kind = kind_named(name)
        first = kind.first(kind.count if numbers is None else numbers)
        self._unpack, self._size, self._extra = first.unpack_from, first.size, kind.crc_extra
        self._id = kind.id

    def read(self, data: bytes, at: int) -> tuple[int, tuple[Any, ...]] | None:
        """Return the end of the frame that begins at `at`, and its values.

        Return None if a Parser must decode it: for another message, and for an incomplete, signed or corrupt frame.
        """
        if data[at + 7 : at + 10] != self._id or data[at] != V2 or data[at + 2]:
            return None
        end = at + 12 + data[at + 1]
        if end > len(data):
            return None
        if data[end - 2] | data[end - 1] << 8 != crc16.mcrf4xx(data[at + 1 : end - 2] + self._extra):
            return None
        return end, self._unpack(data[at + 10 : end - 2].ljust(self._size, b"\0"))


def checksum(frame: bytes, kind: MessageType) -> int:
    """Return CRC-16/MCRF4XX of a frame without its magic byte, up to the end of the payload, and the message's seed."""
    return crc16.mcrf4xx(frame[1:] + kind.crc_extra)


_NUMBERS = {str(table.msgname): int(number) for number, table in dialect.mavlink_map.items()}
