"""Rates and delays per frame, on a clock that the test sets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from sim_node.messages.tf_message_reader import TransformBatch, TransformNames
from sim_node.ros.live_graph import TfStatistics

MILLI = 1_000_000


def batch(names: TransformNames, stamps_ms: Sequence[int]) -> TransformBatch:
    return TransformBatch(names, np.array(stamps_ms) * MILLI, np.zeros((len(stamps_ms), 7)))


def test_rate_and_delays_by_hand() -> None:
    """Ten messages 20 ms apart, each 5 ms late, but one 30 ms; the second frame comes with every other one."""
    now = 0
    statistics = TfStatistics(lambda: now, arrival_ns=lambda: now + 77 * MILLI)
    both, one = TransformNames(("map",) * 2, ("car", "cart")), TransformNames(("map",), ("car",))
    for tick in range(10):
        now = (1000 + 20 * tick) * MILLI
        sent = 1000 + 20 * tick - (30 if tick == 3 else 5)
        statistics.on_batch(batch(both, [sent] * 2) if tick % 2 == 0 else batch(one, [sent]), static=False)
    now += 500 * MILLI
    statistics.on_batch(batch(TransformNames(("car",), ("roof",)), [0]), static=True)
    traffic = statistics.traffic()
    assert traffic["car"].messages == 10
    assert traffic["car"].rate_hz == pytest.approx(50.0)
    assert traffic["car"].mean_delay == pytest.approx(0.0075)
    assert traffic["car"].max_delay == pytest.approx(0.030)
    assert traffic["car"].silent_for == pytest.approx(0.5)
    assert traffic["cart"].rate_hz == pytest.approx(25.0)
    assert traffic["cart"].max_delay == pytest.approx(0.005)
    assert set(traffic) == {"car", "cart"}


def test_more_frames_than_there_is_room_at_first() -> None:
    statistics = TfStatistics(lambda: 7 * MILLI)
    for first in range(0, 300, 50):
        names = TransformNames(("map",) * 50, tuple(f"f{first + i}" for i in range(50)))
        statistics.on_batch(batch(names, [0] * 50), static=False)
    traffic = statistics.traffic()
    assert len(traffic) == 300
    assert {(frame.messages, frame.rate_hz, frame.mean_delay) for frame in traffic.values()} == {(1, None, 0.007)}


def test_a_delay_is_reported_once_the_time_of_the_graph_is_known() -> None:
    """Stamps of simulation time against the wall clock would be late by fifty years."""
    graph_ns: int | None = None
    statistics = TfStatistics(lambda: graph_ns)
    names = TransformNames(("map",), ("car",))
    statistics.on_batch(batch(names, [1000]), static=False)
    assert statistics.traffic()["car"].mean_delay is None
    graph_ns = 1_795_000_000 * 10**9
    for _ in range(10):
        statistics.on_batch(batch(names, [1000]), static=False)
    assert statistics.traffic()["car"].mean_delay == pytest.approx(1_795_000_000 - 1)
    statistics.forget_delays()
    assert statistics.traffic()["car"].max_delay is None
    graph_ns = 1004 * MILLI
    statistics.on_batch(batch(names, [1000]), static=False)
    assert statistics.traffic()["car"].max_delay == pytest.approx(0.004)
    assert statistics.traffic()["car"].messages == 12


@pytest.mark.parametrize(
    ("graph_s", "stamp_s", "clock"),
    [(12, 12, ""), (12, 1795493593, "wall clock"), (1795493593, 12, "simulation time"), (1795493593, 1795493590, "")],
)
def test_stamps_of_another_clock_than_the_graph_s(graph_s: int, stamp_s: int, clock: str) -> None:
    statistics = TfStatistics(lambda: graph_s * 10**9)
    statistics.on_batch(batch(TransformNames(("map",), ("car",)), [stamp_s * 1000]), static=False)
    assert statistics.traffic()["car"].clock == clock
