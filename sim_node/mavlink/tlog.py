"""Telemetry logs of ground stations: reading, and playing in place of a link."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from sim_node.mavlink.codec import V1, V2, MavlinkMessage
from sim_node.mavlink.links import Address
from sim_node.mavlink.parser import Parser, frame_size

STAMP_SIZE = 8


class TlogRecord(NamedTuple):
    """A message, and the time of its recording (ns, Unix time)."""

    time_ns: int
    message: MavlinkMessage


def read_tlog(path: Path | str) -> Iterator[TlogRecord]:
    """Return the records of a log in order, without incomplete ones. Raises OSError.

    Frames are found by their checksums, not by the end of the last one: a log that was cut off in a record, or has lost
    bytes on a full disk, is read as far as possible.
    """
    return records(Path(path).read_bytes())


def records(data: bytes) -> Iterator[TlogRecord]:
    """Yield the records in the bytes of a log."""
    at = 0
    while at + STAMP_SIZE < len(data):
        begins = data[at + STAMP_SIZE] in (V1, V2)
        size = (frame_size(data, at + STAMP_SIZE) if begins else 0) or 0
        parsed = Parser(datagrams=True).feed(data[at + STAMP_SIZE : at + STAMP_SIZE + size]) if size else []
        if len(parsed) == 1 and len(parsed[0].raw) == size:
            yield TlogRecord(int.from_bytes(data[at : at + STAMP_SIZE], "big") * 1000, parsed[0])
            at += STAMP_SIZE + size
        else:
            at += 1


# Longer interruptions of a recording are shortened to this.
MAX_GAP_NS = 10_000_000_000


class TlogPlayback:
    """Plays a telemetry log at `speed` times its pace; 0 is as fast as possible. Raises OSError."""

    accepts_commands = False

    def __init__(self, path: Path, speed: float = 1.0) -> None:
        self.path = path
        self.speed = speed
        self.played = 0
        self.ended = False
        self._records: Iterator[TlogRecord] = read_tlog(path)
        self._next = next(self._records, None)
        self._due_ns: int | None = None

    @property
    def name(self) -> str:
        """Path of the log."""
        return f"tlog:{self.path}"

    def lost(self, system: int) -> int:
        """Return 0: a log does not show what its recorder has lost."""
        return 0

    def due_in_ns(self, now_ns: int) -> int | None:
        """Return the time until the next message; None at the end."""
        if self._next is None:
            return None
        return 0 if self._due_ns is None else max(0, self._due_ns - now_ns)

    def receive(self, now_ns: int, limit: int = 200) -> list[MavlinkMessage]:
        """Return the messages that are due."""
        messages: list[MavlinkMessage] = []
        if self._due_ns is None:
            self._due_ns = now_ns
        while self._next is not None and self._due_ns <= now_ns and len(messages) < limit:
            time_ns, message = self._next
            messages.append(message)
            self._next = next(self._records, None)
            if self._next is not None and self.speed > 0.0:
                gap = min(max(0, self._next.time_ns - time_ns), MAX_GAP_NS)
                self._due_ns += round(gap / self.speed)
        self.played += len(messages)
        self.ended = self._next is None
        return messages

    def send(self, name: str, fields: Mapping[str, Any], to: Address, now_ns: int) -> None:
        """Do nothing: there is no receiver."""
