"""When readings are taken and when they are out."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim_node.simulation.sensors.measurements import Schedule

MS = 1_000_000


def steps_of(schedule: Schedule[None], count: int) -> list[int]:
    steps = []
    for _ in range(count):
        steps.append(schedule.due)
        schedule.record(0, None)
    return steps


@pytest.mark.parametrize(
    ("rate", "step_ns", "expected"),
    [
        (250.0, 4 * MS, [0, 1, 2, 3, 4]),
        (100.0, 1 * MS, [0, 10, 20, 30, 40]),
        (60.0, 10 * MS, [0, 2, 4, 5, 7]),
        (0.1, 10 * MS, [0, 1000, 2000, 3000, 4000]),
    ],
)
def test_readings_are_at_the_first_step_of_each_period(rate: float, step_ns: int, expected: Sequence[int]) -> None:
    assert steps_of(Schedule(rate, 0.0, step_ns), 5) == expected


@given(st.integers(1, 100_000), st.integers(1000, 50 * MS), st.integers(1, 2000))
def test_there_is_no_drift(milli_hertz: int, step_ns: int, count: int) -> None:
    """Against exact rational arithmetic, from the definition."""
    steps = steps_of(Schedule(milli_hertz / 1000, 0.0, step_ns), count)
    assert steps[-1] == ceil(Fraction((count - 1) * 1000 * 10**9, milli_hertz * step_ns))


def test_a_reading_is_out_after_its_latency_at_the_next_step() -> None:
    schedule: Schedule[str] = Schedule(100.0, 0.025, 10 * MS)
    for step in range(6):
        assert schedule.due == step
        schedule.record(step * 10 * MS, f"of {step}")
        assert schedule.out(step) == ([((step - 3) * 10 * MS, f"of {step - 3}")] if step >= 3 else [])
    assert [values for _, values in schedule.out(100)] == ["of 3", "of 4", "of 5"]
    assert schedule.out(100) == []
