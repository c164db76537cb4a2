"""A recording in place of a link: its messages when they are due, and nothing that is sent goes anywhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sim_node.autopilot.codec import Message
from sim_node.autopilot.links import Address
from sim_node.autopilot.tlog import Record, read_tlog

# Where a recording was interrupted for longer than this, the pause is shortened to it.
MAX_GAP_NS = 10_000_000_000


class Playback:
    """Plays a telemetry log at `speed` times its pace, 0 for as fast as possible. Raises OSError."""

    takes_commands = False

    def __init__(self, path: Path, speed: float = 1.0) -> None:
        self.path = path
        self.speed = speed
        self.played = 0
        self.ended = False
        self._records: Iterator[Record] = read_tlog(path)
        self._next = next(self._records, None)
        self._due_ns: int | None = None

    @property
    def name(self) -> str:
        """The file."""
        return f"tlog:{self.path}"

    def due_in_ns(self, now_ns: int) -> int | None:
        """How long until the next message; None at the end."""
        if self._next is None:
            return None
        return 0 if self._due_ns is None else max(0, self._due_ns - now_ns)

    def receive(self, now_ns: int, most: int = 200) -> list[Message]:
        """The messages that are due by now."""
        got: list[Message] = []
        if self._due_ns is None:
            self._due_ns = now_ns
        while self._next is not None and self._due_ns <= now_ns and len(got) < most:
            time_ns, message = self._next
            got.append(message)
            self._next = next(self._records, None)
            if self._next is not None and self.speed > 0.0:
                gap = min(max(0, self._next.time_ns - time_ns), MAX_GAP_NS)
                self._due_ns += round(gap / self.speed)
        self.played += len(got)
        self.ended = self._next is None
        return got

    def send(self, name: str, fields: Mapping[str, Any], to: Address, now_ns: int) -> None:
        """Nobody is there."""
