"""What is sent before a commit, on its way to a bag."""

from __future__ import annotations

from typing import NamedTuple

from sim_node.recording.mcap_file import Entry

# What a message takes beside its bytes, about.
_OVERHEAD = 120


class Batch(NamedTuple):
    """What was sent before a commit. progress_ns: how far time had gone forward by then, resets left out."""

    time_ns: int
    entries: list[Entry]
    progress_ns: int = 0

    @property
    def size(self) -> int:
        """What it takes of memory, about."""
        return sum(len(data) + _OVERHEAD for _, _, data in self.entries)
