"""The codec beside pymavlink's own encoder and decoder."""

from __future__ import annotations

import math
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymavlink.dialects.v10 import all as first_dialect
from pymavlink.dialects.v20 import all as dialect

from sim_node.mavlink.codec import (
    EncodeError,
    FrameReader,
    FrameWriter,
    enum_name,
    first_frame_bytes,
    frame_bytes,
    kind_of,
)
from sim_node.mavlink.parser import Parser

NUMBERS = sorted(dialect.mavlink_map)
FIRST_NUMBERS = sorted(first_dialect.mavlink_map)


def same(ours: object, theirs: object) -> bool:
    if isinstance(theirs, list):
        return isinstance(ours, tuple) and len(ours) == len(theirs) and all(map(same, ours, theirs))
    if isinstance(theirs, float) and math.isnan(theirs):
        return isinstance(ours, float) and math.isnan(ours)
    return ours == theirs


@given(st.sampled_from(NUMBERS), st.binary(max_size=255), st.integers(0, 255), st.booleans())
def test_a_frame_is_read_as_pymavlink_reads_it(number: int, payload: bytes, sequence: int, first_version: bool) -> None:
    """Any payload of any message, short ones (truncated) and long ones (newer dialects) among them."""
    table = dialect.mavlink_map[number]
    payload = payload or b"\0"
    if first_version and number < 256:
        body = struct.pack("<BBBBB", len(payload), sequence, 7, 1, number) + payload
        magic = b"\xfe"
    else:
        body = struct.pack("<BBBBBBHB", len(payload), 0, 0, sequence, 7, 1, number & 0xFFFF, number >> 16) + payload
        magic = b"\xfd"
    sum_ = dialect.x25crc(body + bytes([table.crc_extra])).crc
    frame = magic + body + struct.pack("<H", sum_)
    theirs = dialect.MAVLink(None).decode(bytearray(frame))
    [ours] = Parser(datagrams=True).feed(frame)
    assert (ours.system, ours.component, ours.sequence, ours.name) == (7, 1, sequence, theirs.get_type())
    for field in theirs.get_fieldnames():
        value, expected = getattr(ours.fields, field), getattr(theirs, field)
        if isinstance(expected, (bytes, str)):
            # Beside its text pymavlink keeps the bytes, zeros in the middle included; ours is UTF-8 up to the first.
            raw: Any = getattr(theirs, f"_{field}_raw", expected)
            assert value == raw.partition(b"\0")[0].decode("utf-8", "replace")
        else:
            assert same(value, expected), field


@given(st.sampled_from(NUMBERS), st.data())
def test_pymavlink_reads_what_is_written(number: int, data: st.DataObject) -> None:
    kind = kind_of(number)
    assert kind is not None
    table = dialect.mavlink_map[number]
    fields: dict[str, Any] = {}
    for field, type, length in zip(
        table.ordered_fieldnames,
        (table.fieldtypes[table.fieldnames.index(name)] for name in table.ordered_fieldnames),
        table.array_lengths,
        strict=True,
    ):
        if type == "char":
            fields[field] = data.draw(st.text("abc xyz", max_size=length or 1)).rstrip()
            continue
        one = st.floats(width=32, allow_nan=False) if type in ("float", "double") else st.integers(0, 127)
        fields[field] = data.draw(st.lists(one, min_size=length, max_size=length) if length else one)
    frame = frame_bytes(kind.name, fields, 42, 191, 200)
    theirs = dialect.MAVLink(None).decode(bytearray(frame))
    assert (theirs.get_srcSystem(), theirs.get_srcComponent(), theirs.get_seq()) == (42, 191, 200)
    assert theirs.get_type() == kind.name
    for field, value in fields.items():
        found = getattr(theirs, field)
        assert (found.decode() if isinstance(found, bytes) else found) == value


@given(st.sampled_from(FIRST_NUMBERS), st.integers(1, 127))
def test_what_is_written_in_mavlink_1_is_what_pymavlink_writes(number: int, value: int) -> None:
    """Its tables of MAVLink 1 have no extension fields; ours do, and leave them out."""
    table = first_dialect.mavlink_map[number]
    fields = {}
    for field, type, length in zip(table.fieldnames, table.fieldtypes, _lengths(table), strict=True):
        number_ = float(value) if type in ("float", "double") else value
        fields[field] = b"a" * min(length, 4) if type == "char" else [number_] * length if length else number_
    message = table(**fields)
    writer = first_dialect.MAVLink(None, 42, 191)
    writer.seq = 200
    ours = first_frame_bytes(str(table.msgname), fields, 42, 191, 200)
    assert ours == bytes(message.pack(writer))


def test_what_mavlink_1_has_not_is_not_written_in_it() -> None:
    assert first_frame_bytes("ODOMETRY", {}, 1, 1, 0) is None


def _lengths(table: Any) -> list[int]:
    """Of arrays, 0 for plain fields, in the order of fieldnames."""
    return [table.array_lengths[table.ordered_fieldnames.index(name)] for name in table.fieldnames]


@pytest.mark.parametrize(
    ("name", "fields", "words"),
    [
        ("ATTITUD", {}, "no MAVLink message 'ATTITUD'; did you mean ATTITUDE?"),
        ("ATTITUDE", {"rol": 1.0}, "ATTITUDE has no field 'rol'; did you mean roll?"),
        ("HEARTBEAT", {"type": 300}, "HEARTBEAT"),
        ("ODOMETRY", {"q": (1, 0, 0)}, "ODOMETRY.q: 3 values, needs 4"),
    ],
)
def test_what_cannot_be_encoded_says_why(name: str, fields: dict[str, Any], words: str) -> None:
    with pytest.raises(EncodeError, match=words.replace("?", r"\?").replace(".", r"\.")):
        frame_bytes(name, fields, 1, 1, 0)


# Time, place, attitude and velocity of an ODOMETRY; then no rates, no covariances, two frames, and three zeros.
STATE, REST = (7, 1.5, -2.5, 3.25, 1.0, 0.0, 0.0, 0.0, 0.5, 0.25, -0.125), (*[0.0] * 45, 1, 12, 0, 0, 0)


def odometry() -> bytes:
    """The same, by pymavlink."""
    time_us, x, y, z, *q, vx, vy, vz = STATE
    message = dialect.MAVLink_odometry_message(
        time_us, 1, 12, x, y, z, q, vx, vy, vz, 0.0, 0.0, 0.0, [0.0] * 21, [0.0] * 21, 0, 0, 0
    )
    return bytes(message.pack(dialect.MAVLink(None, srcSystem=1, srcComponent=51)))


def test_a_message_of_every_step_is_written_and_read_as_by_pymavlink() -> None:
    raw = odometry()
    assert FrameWriter("ODOMETRY", 1, 51, REST).frame(0, *STATE) == raw
    assert FrameReader("ODOMETRY", len(STATE)).read(raw, 0) == (len(raw), STATE)
    assert FrameReader("ODOMETRY").read(b"before" + raw + b"behind", 6) == (6 + len(raw), STATE + REST)


def test_what_is_not_whole_or_not_sound_or_another_message_is_left_to_a_parser() -> None:
    raw, reader = odometry(), FrameReader("ODOMETRY")
    assert [at for at in range(len(raw)) if reader.read(raw[:at], 0)] == []
    flipped = (raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :] for at in range(len(raw)))
    assert not any(reader.read(each, 0) for each in flipped)
    assert FrameReader("HIL_SENSOR").read(raw, 0) is None


def test_enums_have_names() -> None:
    """common.xml, MAV_RESULT."""
    assert enum_name("MAV_RESULT", 2) == "MAV_RESULT_DENIED"
    assert enum_name("MAV_RESULT", 99) == "99"
    assert enum_name("NO_SUCH_ENUM", 1) == "1"
