"""Ticks beside exact fractions, and the stop-watch that deadlines come from."""

from __future__ import annotations

import math
import time
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim_node.simulation.pacing import MAX_BEHIND_S, WINDOW, Pacer, Ticks

SECOND = 1_000_000_000
MS = 1_000_000


def published(rate: float, step_ns: int, first: int, until: int) -> list[int]:
    """Every tick up to a step, as a loop that skips none sees them."""
    ticks, steps = Ticks(rate, step_ns, first), []
    while ticks.due <= until:
        steps.append(ticks.due)
        ticks.pass_by(ticks.due)
    return steps


def by_definition(rate: float, step_ns: int, first: int, count: int) -> list[int]:
    """The first step at or after each multiple of the period, counted from `first`, in fractions."""
    period_ns = Fraction(SECOND) / Fraction(str(rate))
    return [first + math.ceil(i * period_ns / step_ns) for i in range(count)]


@pytest.mark.parametrize("step_ns", [5 * MS, 10 * MS, MS, 16_666_667])
def test_ten_minutes_at_60_hz(step_ns: int) -> None:
    """36,000 periods are 36,001 ticks with both ends, and none is off the fraction by a step."""
    ten_minutes = math.ceil(600 * SECOND / step_ns)
    if step_ns == 16_666_667:  # a step that is longer than the period by less than a nanosecond: every step
        assert published(60.0, step_ns, 0, ten_minutes) == list(range(ten_minutes + 1))
    else:
        steps = published(60.0, step_ns, 0, ten_minutes)
        assert len(steps) == 36_001
        assert steps[-1] * step_ns == 600 * SECOND
        assert steps == by_definition(60.0, step_ns, 0, 36_001)


@given(
    rate=st.one_of(st.sampled_from([0.1, 24.0, 29.97, 59.94, 60.0, 100.0, 120.0, 1000.0]), st.floats(0.1, 10_000.0)),
    step_ns=st.sampled_from([1000, 100_000, MS, 2_500_000, 3_333_333, 5 * MS, 10 * MS, SECOND]),
    first=st.integers(0, 10**9),
)
def test_ticks_are_the_first_steps_at_or_after_multiples_of_the_period(rate: float, step_ns: int, first: int) -> None:
    if Fraction(str(rate)) * step_ns > SECOND:
        assert published(rate, step_ns, first, first + 50) == list(range(first, first + 51))
    else:
        expected = by_definition(rate, step_ns, first, 50)
        assert published(rate, step_ns, first, expected[-1]) == expected


def test_a_rate_above_the_steps_own_makes_every_step_a_tick() -> None:
    assert published(1000.0, 10 * MS, 0, 20) == list(range(21))


@given(st.floats(0.1, 10_000.0), st.integers(0, 10**6), st.integers(0, 10**12))
def test_passing_by_any_step_leads_to_the_first_tick_after_it(rate: float, first: int, beyond: int) -> None:
    """In one go, however far: the tick is after the step, and the one before it is not."""
    ticks = Ticks(rate, 5 * MS, first)
    step = first + beyond
    ticks.pass_by(step)
    per_tick = max(Fraction(SECOND, 5 * MS) / Fraction(str(rate)), Fraction(1))
    count = math.floor(beyond / per_tick) + 1
    assert ticks.due == first + math.ceil(count * per_tick)
    assert first + math.ceil((count - 1) * per_tick) <= step < ticks.due


def test_a_step_before_the_due_one_is_passed_without_effect() -> None:
    ticks = Ticks(60.0, 5 * MS, 100)
    ticks.pass_by(99)
    assert ticks.due == 100


@pytest.mark.parametrize("rate", [0.0, -1.0, math.inf, math.nan])
def test_a_rate_that_is_none_is_refused(rate: float) -> None:
    with pytest.raises(ValueError, match=r"publish rate: .*above zero"):
        Ticks(rate, MS, 0)


# The stop-watch


class Wall:
    """A wall clock that stands until it is told to go on. Times are sums of powers of two: floats have them exactly."""

    def __init__(self) -> None:
        self.now = 1024.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def wall() -> Wall:
    return Wall()


@pytest.mark.parametrize("factor", [-1.0, 1e30, math.inf, math.nan])
def test_a_factor_that_is_none_is_refused(factor: float, wall: Wall) -> None:
    with pytest.raises(ValueError, match=r"real-time factor: .*finite"):
        Pacer(factor)
    pacer = Pacer(2.0, wall)
    with pytest.raises(ValueError, match="real-time factor"):
        pacer.set_real_time_factor(factor)
    pacer.anchor(0)
    assert pacer.wait(20 * SECOND) == 10.0


def test_the_wall_clock_is_the_monotonic_one() -> None:
    before = time.monotonic()
    pacer = Pacer(1.0)
    wait = pacer.wait(0)
    assert before - time.monotonic() <= wait <= 0.0


@pytest.mark.parametrize("factor", [0.25, 1.0, 8.0])
def test_deadlines_are_absolute(factor: float, wall: Wall) -> None:
    """A deadline is the anchor plus simulated time over the factor, whatever was asked or ticked before."""
    pacer = Pacer(factor, wall)
    pacer.anchor(7 * SECOND)
    passed = 0.0
    for asked in (1_000, 10, 5_000):
        assert pacer.wait((7 + asked) * SECOND) == asked / factor - passed
        wall.now += 0.5
        passed += 0.5
        pacer.ticked((7 + asked) * SECOND)


def test_now_is_what_the_deadlines_say(wall: Wall) -> None:
    """The simulation time that it is now is due now."""
    pacer = Pacer(4.0, wall)
    pacer.anchor(SECOND)
    wall.now += 0.75
    assert pacer.now_ns() == 4 * SECOND
    assert pacer.wait(4 * SECOND) == 0.0


def test_a_stopped_watch_stands_and_goes_on_from_there(wall: Wall) -> None:
    pacer = Pacer(1000.0, wall)
    pacer.anchor(0)
    wall.now += 2.0
    pacer.stop()
    wall.now += 16.0
    assert pacer.now_ns() == 2000 * SECOND
    pacer.stop()
    pacer.go()
    assert pacer.now_ns() == 2000 * SECOND
    assert pacer.wait(12_000 * SECOND) == 10.0


def test_a_change_of_speed_loses_no_time(wall: Wall) -> None:
    """A thousand changes leave the watch where the wall clock has it: half of the time at either speed."""
    pacer = Pacer(1.0, wall)
    pacer.anchor(0)
    for factor in (2.0, 1.0) * 500:
        wall.now += 2.0**-10
        pacer.set_real_time_factor(factor)
    # Each change may cut off less than a nanosecond.
    assert 0 <= 1500 * 2.0**-10 - pacer.now_ns() / SECOND <= 1e-6


def test_as_fast_as_possible_everything_is_due_and_it_is_the_last_ticks_time(wall: Wall) -> None:
    pacer = Pacer(0.0, wall)
    pacer.anchor(0)
    assert pacer.wait(10**15) == 0.0
    wall.now += 8.0
    pacer.ticked(5 * SECOND)
    assert pacer.now_ns() == 5 * SECOND
    pacer.set_real_time_factor(1.0)
    assert pacer.wait(6 * SECOND) == 1.0


def test_a_small_delay_is_caught_up_with(wall: Wall) -> None:
    """Half a second late: the deadlines stay where they are, so what follows comes faster until it is on time."""
    pacer = Pacer(1.0, wall)
    pacer.anchor(0)
    wall.now += 0.5
    pacer.ticked(0)
    assert pacer.pace().behind == 0.0
    assert pacer.wait(0) == -0.5


def test_a_long_delay_is_given_up(wall: Wall) -> None:
    """A machine that slept for an hour does not send an hour's ticks at once: time goes on from now."""
    pacer = Pacer(1.0, wall)
    pacer.anchor(0)
    wall.now += 3600.0
    pacer.ticked(0)
    assert pacer.pace().behind == 3600.0
    assert pacer.wait(SECOND) == 1.0
    assert MAX_BEHIND_S < 3600.0


def test_pace_tells_rate_and_lateness_of_the_last_ticks(wall: Wall) -> None:
    """64 a second, all 0.25 s late, after others that were later; what was before the window is only counted."""
    pacer = Pacer(1.0, wall)
    pacer.anchor(0)
    assert pacer.pace().ticks == 0
    for count in range(WINDOW + 100):
        wall.now += 1 / 64
        pacer.ticked(pacer.now_ns() - (SECOND // 2 if count < 100 else SECOND // 4))
    pace = pacer.pace()
    assert pace.ticks == WINDOW + 100
    assert pace.lateness_p50 == pytest.approx(0.25, abs=1e-9)
    assert pace.lateness_p99 == pytest.approx(0.25, abs=1e-9)
    assert pace.rate == 64.0
    assert pace.real_time_factor == pytest.approx(1.0, abs=1e-9)


def test_a_new_anchor_is_a_new_pace(wall: Wall) -> None:
    pacer = Pacer(1.0, wall)
    for _ in range(3):
        pacer.ticked(0)
    pacer.anchor(0)
    pace = pacer.pace()
    assert (pace.ticks, pace.rate, pace.lateness_p99, pace.real_time_factor) == (3, 0.0, 0.0, 0.0)
