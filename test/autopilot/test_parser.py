"""Frames out of streams, datagrams and rubbish."""

from __future__ import annotations

import random
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymavlink.dialects.v20 import ardupilotmega
from recordings import EXCERPT

from sim_node.mavlink.parser import Parser
from sim_node.mavlink.tlog import read_tlog, records

# Mutated frames in bursts, each of which is followed by a look at the memory.
BURSTS, BURST, WARM = 30, 500, 10


@pytest.fixture(scope="module")
def frames() -> list[bytes]:
    return [record.message.raw for record in read_tlog(EXCERPT)]


def test_a_stream_gives_the_same_messages_however_it_is_cut(frames: list[bytes]) -> None:
    stream = b"".join(frames)
    cuts = random.Random(1)
    parser, got, at = Parser(datagrams=False), [], 0
    while at < len(stream):
        size = cuts.randint(1, 700)
        got += [message.raw for message in parser.feed(stream[at : at + size])]
        at += size
    assert got == frames
    assert parser.reception.junk == 0


@given(st.lists(st.tuples(st.binary(max_size=40), st.integers(0, 255)), min_size=1, max_size=20))
def test_frames_are_found_between_rubbish(parts: list[tuple[bytes, int]]) -> None:
    """Every frame comes out of a stream whose rubbish holds no valid frame, once enough bytes have followed."""
    sender = ardupilotmega.MAVLink(None, 3, 1)
    sent, stream = [], b""
    for rubbish, number in parts:
        sender.seq = number
        frame = sender.attitude_encode(number, 0.1, 0.2, 0.3, 0, 0, 0).pack(sender)
        sent.append(frame)
        stream += rubbish + frame
    got = [message.raw for message in Parser(datagrams=False).feed(stream + bytes(300))]
    assert got == sent


def test_what_a_datagram_leaves_unfinished_does_not_spoil_the_next(frames: list[bytes]) -> None:
    parser = Parser(datagrams=True)
    assert parser.feed(frames[0][:-3]) == []
    [message] = parser.feed(frames[1])
    assert message.raw == frames[1]


def test_messages_that_no_dialect_has_are_counted_and_passed_over(frames: list[bytes]) -> None:
    unknown = bytes([0xFD, 3, 0, 0, 9, 1, 1, 0xFF, 0xFE, 0xFD]) + b"abc" + b"\x12\x34"
    parser = Parser(datagrams=True)
    assert [message.raw for message in parser.feed(frames[0] + unknown + frames[1])] == frames[:2]
    assert parser.reception.unknown == 1
    assert parser.reception.junk == 0


def test_flags_that_nobody_knows_make_a_frame_unreadable(frames: list[bytes]) -> None:
    """MAVLink 2: a frame with unknown incompatibility flags must be discarded."""
    frame = bytearray(frames[0])
    frame[2] = 0x02
    assert Parser(datagrams=True).feed(bytes(frame)) == []


# Takes seconds: make test has frames that are cut, mixed and foreign.
@pytest.mark.nightly
def test_mutated_frames_neither_raise_nor_hang_nor_pile_up(frames: list[bytes]) -> None:
    chance = random.Random(20)
    stream, single = Parser(datagrams=False), Parser(datagrams=True)
    used = []
    tracemalloc.start()
    for _ in range(BURSTS):
        for _ in range(BURST):
            frame = bytearray(chance.choice(frames))
            for _ in range(chance.choice((0, 1, 1, 2, 8))):
                frame[chance.randrange(len(frame))] = chance.randrange(256)
            if chance.random() < 0.2:
                del frame[chance.randrange(len(frame)) :]
            stream.feed(bytes(frame))
            single.feed(bytes(frame))
        used.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert used[-1] < used[WARM] + 1_000_000
    assert single.reception.messages > BURSTS * BURST / 10, "what was left whole still comes through"


def test_a_log_with_holes_is_read_for_all_that_it_holds(frames: list[bytes]) -> None:
    data = (EXCERPT).read_bytes()
    whole = list(records(data))
    assert len(whole) == len(frames)
    assert [record.time_ns for record in whole] == sorted(record.time_ns for record in whole)
    torn = list(records(data[:1000] + data[1017:-5]))
    assert len(whole) - 3 <= len(torn) < len(whole)
    assert {record.message.raw for record in torn} <= set(frames)
