"""Streams of messages that are merged: all of them, in order, with no more held than is allowed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from sim_node.recording.bag import BagMessage
from sim_node.recording.merging import MessageSource, merged, most_held

STREAMS = st.lists(st.lists(st.integers(0, 30), min_size=1, max_size=8).map(sorted), max_size=8)
SIZE = 10


class Held:
    """Streams that count how many of them are being read."""

    def __init__(self, streams: list[list[int]]) -> None:
        ordered = sorted(streams, key=lambda times: times[0])
        self.now = self.most = 0
        self.sources = [
            MessageSource(times[0], times[-1], SIZE, partial(self._read, row, times))
            for row, times in enumerate(ordered)
        ]
        self.expected = sorted(
            (BagMessage(row, time, b"%d" % n) for row, times in enumerate(ordered) for n, time in enumerate(times)),
            key=lambda message: (message.time_ns, message.topic, int(message.data)),
        )

    def _read(self, row: int, times: list[int]) -> Iterator[BagMessage]:
        self.now += 1
        self.most = max(self.most, self.now)
        for n, time in enumerate(times):
            yield BagMessage(row, time, b"%d" % n)
        self.now -= 1


@given(STREAMS)
def test_all_messages_come_in_the_order_of_time(streams: list[list[int]]) -> None:
    """Of equal times, those of an earlier stream first; a stream is read only while it is due."""
    held = Held(streams)
    late: list[None] = []
    assert list(merged(held.sources, 10**9, lambda: late.append(None))) == held.expected
    assert not late
    assert held.most * SIZE <= most_held(held.sources)


@given(STREAMS, st.integers(1, 4))
def test_no_more_is_held_than_is_allowed(streams: list[list[int]], most: int) -> None:
    held = Held(streams)
    late: list[None] = []
    found = list(merged(held.sources, most * SIZE, lambda: late.append(None)))
    assert sorted(found) == sorted(held.expected)
    assert held.most <= most
    assert late or found == held.expected
