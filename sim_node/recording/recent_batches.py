"""The recent batches of a recording in snapshot mode, in memory until they are wanted."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from sim_node.recording.channels import LatchedMessages, RecordedTopic
from sim_node.recording.writer import BagWriter, WriteBatch


class RecentBatches:
    """Keeps batches for a while, and the latched messages before them.

    Args:
        topics: The topics of the bag, which count from 1.
        duration_ns: Bag time that is kept.
    """

    def __init__(self, topics: Sequence[RecordedTopic], duration_ns: int) -> None:
        self._topics, self._duration_ns = topics, duration_ns
        self._batches: deque[WriteBatch] = deque()
        self._latched = LatchedMessages(topics)

    def keep(self, batch: WriteBatch) -> None:
        """Keep a batch and drop those that are too old, except for latched messages."""
        batches = self._batches
        went_back = bool(batches) and batch.time_ns < batches[-1].time_ns
        while batches and (went_back or batches[0].time_ns < batch.time_ns - self._duration_ns):
            self._latched.keep(batches.popleft().entries)
        if batch.entries:
            batches.append(batch)

    def end_topics(self, numbers: Sequence[int]) -> None:
        """End topics: what they latched is dropped."""
        self._latched.end(numbers)

    def write(self, writer: BagWriter) -> int:
        """Write all of them to a file of its own, and drop them.

        Args:
            writer: The bag.

        Returns:
            The number of messages.

        Raises:
            BagFull, BagError, OSError: As `BagWriter.write` does.
        """
        if not self._batches:
            return 0
        before = writer.count
        first = self._batches[0]
        latched = self._latched.entries(first.entries[0][1])
        self._latched = LatchedMessages(self._topics)
        batches = [first._replace(entries=[*latched, *first.entries]), *list(self._batches)[1:]]
        self._batches.clear()
        writer.split()
        for batch in batches:
            writer.write(batch.time_ns, batch.entries)
        writer.split()
        return writer.count - before
