"""Telemetry logs as ground stations keep them: 8 bytes of Unix time (us, big endian) and one frame, again and again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from sim_node.autopilot.codec import Message
from sim_node.autopilot.parser import Parser

STAMP_SIZE = 8


class Record(NamedTuple):
    """A message, and when it was recorded (ns, Unix time)."""

    time_ns: int
    message: Message


def read_tlog(path: Path | str) -> Iterator[Record]:
    """The records of a log in order; what is no whole record is passed over. Raises OSError.

    A frame is found by its own sum, not by where the last one ended: a log that was cut off in the middle of a
    record, or that lost bytes on a full disk, is read for all it holds.
    """
    return records(Path(path).read_bytes())


def records(data: bytes) -> Iterator[Record]:
    """The records in the bytes of a log."""
    at = 0
    while at + STAMP_SIZE < len(data):
        size = _frame_size(data, at + STAMP_SIZE)
        parsed = Parser(datagrams=True).feed(data[at + STAMP_SIZE : at + STAMP_SIZE + size]) if size else []
        if len(parsed) == 1 and len(parsed[0].raw) == size:
            yield Record(int.from_bytes(data[at : at + STAMP_SIZE], "big") * 1000, parsed[0])
            at += STAMP_SIZE + size
        else:
            at += 1


def _frame_size(data: bytes, at: int) -> int:
    """The size of the frame that may begin here, 0 where none does."""
    if at + 3 > len(data):
        return 0
    if data[at] == 0xFE:
        return data[at + 1] + 8
    return data[at + 1] + 12 + 13 * (data[at + 2] & 1) if data[at] == 0xFD else 0
