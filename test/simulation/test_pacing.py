"""Ticks beside exact fractions, and the stop-watch that deadlines come from."""

from __future__ import annotations

import math
import threading
import time
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim_node.simulation.pacing import MOST_BEHIND_S, WINDOW, Pacer, Ticks

SECOND = 1_000_000_000
MS = 1_000_000


def published(rate, step_ns, first, until):
    """Every tick up to a step, as a loop that skips none sees them."""
    ticks, steps = Ticks(rate, step_ns, first), []
    while ticks.due <= until:
        steps.append(ticks.due)
        ticks.pass_by(ticks.due)
    return steps


def by_definition(rate, step_ns, first, count):
    """The first step at or after each multiple of the period, counted from `first`, in fractions."""
    period_ns = Fraction(SECOND) / Fraction(str(rate))
    return [first + math.ceil(i * period_ns / step_ns) for i in range(count)]


@pytest.mark.parametrize("step_ns", [5 * MS, 10 * MS, MS, 16_666_667])
def test_ten_minutes_at_60_hz(step_ns):
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
def test_ticks_are_the_first_steps_at_or_after_multiples_of_the_period(rate, step_ns, first):
    if Fraction(str(rate)) * step_ns > SECOND:
        assert published(rate, step_ns, first, first + 50) == list(range(first, first + 51))
    else:
        expected = by_definition(rate, step_ns, first, 50)
        assert published(rate, step_ns, first, expected[-1]) == expected


def test_a_rate_above_the_steps_own_makes_every_step_a_tick():
    assert published(1000.0, 10 * MS, 0, 20) == list(range(21))


@given(st.floats(0.1, 10_000.0), st.integers(0, 10**6), st.integers(0, 10**12))
def test_passing_by_any_step_leads_to_the_first_tick_after_it(rate, first, beyond):
    """In one go, however far: the tick is after the step, and the one before it is not."""
    ticks = Ticks(rate, 5 * MS, first)
    step = first + beyond
    ticks.pass_by(step)
    per_tick = max(Fraction(SECOND, 5 * MS) / Fraction(str(rate)), Fraction(1))
    count = math.floor(beyond / per_tick) + 1
    assert ticks.due == first + math.ceil(count * per_tick)
    assert first + math.ceil((count - 1) * per_tick) <= step < ticks.due


def test_a_step_before_the_due_one_is_passed_without_effect():
    ticks = Ticks(60.0, 5 * MS, 100)
    ticks.pass_by(99)
    assert ticks.due == 100


@pytest.mark.parametrize("rate", [0.0, -1.0, math.inf, math.nan])
def test_a_rate_that_is_none_is_refused(rate):
    with pytest.raises(ValueError, match=r"publish rate: .*above zero"):
        Ticks(rate, MS, 0)


# The stop-watch


@pytest.mark.parametrize("factor", [-1.0, 1e30, math.inf, math.nan])
def test_a_factor_that_is_none_is_refused(factor):
    with pytest.raises(ValueError, match=r"real-time factor: .*finite"):
        Pacer(factor)
    pacer = Pacer(2.0)
    with pytest.raises(ValueError, match="real-time factor"):
        pacer.set_real_time_factor(factor)
    pacer.anchor(0)
    assert pacer.wait(20 * SECOND) == pytest.approx(10.0, abs=1.0)


@pytest.mark.parametrize("factor", [0.25, 1.0, 8.0])
def test_deadlines_are_absolute(factor):
    """A deadline is the anchor plus simulated time over the factor, whatever was asked or ticked before."""
    pacer = Pacer(factor)
    earliest = time.monotonic()
    pacer.anchor(7 * SECOND)
    latest = time.monotonic()
    for asked in (1_000, 10, 5_000):
        before = time.monotonic()
        wait = pacer.wait((7 + asked) * SECOND)
        after = time.monotonic()
        assert earliest - after - 1e-6 <= wait - asked / factor <= latest - before + 1e-6
        pacer.ticked((7 + asked) * SECOND)


def test_now_is_what_the_deadlines_say():
    """The simulation time that it is now is due now."""
    pacer = Pacer(3.0)
    pacer.anchor(SECOND)
    now_ns = pacer.now_ns()
    assert now_ns >= SECOND
    assert -0.5 < pacer.wait(now_ns) <= 1e-6


def test_a_stopped_watch_stands_and_goes_on_from_there():
    pacer = Pacer(1000.0)
    pacer.anchor(0)
    pacer.stop()
    stands = pacer.now_ns()
    threading.Event().wait(0.01)
    assert pacer.now_ns() == stands
    pacer.stop()
    pacer.go()
    assert pacer.now_ns() >= stands
    assert pacer.wait(stands + 10_000 * SECOND) == pytest.approx(10.0, abs=1.0)


def test_a_change_of_speed_loses_no_time():
    """A thousand changes within a moment leave the watch where the wall clock has it, at either speed."""
    pacer = Pacer(1.0)
    pacer.anchor(0)
    began = time.monotonic()
    for factor in (2.0, 1.0) * 500:
        pacer.set_real_time_factor(factor)
    passed = time.monotonic() - began
    # Each change may cut off less than a nanosecond.
    assert passed - 1e-6 <= pacer.now_ns() / SECOND <= 2.0 * (time.monotonic() - began)


def test_as_fast_as_possible_everything_is_due_and_it_is_the_last_ticks_time():
    pacer = Pacer(0.0)
    pacer.anchor(0)
    assert pacer.wait(10**15) == 0.0
    pacer.ticked(5 * SECOND)
    assert pacer.now_ns() == 5 * SECOND
    pacer.set_real_time_factor(1.0)
    assert pacer.wait(6 * SECOND) == pytest.approx(1.0, abs=0.5)


def test_a_small_delay_is_caught_up_with():
    """Half a second late: the deadlines stay where they are, so what follows comes faster until it is on time."""
    pacer = Pacer(1.0)
    pacer.anchor(SECOND // 2)
    pacer.ticked(0)
    assert pacer.pace().behind == 0.0
    assert pacer.wait(0) <= -0.5


def test_a_long_delay_is_given_up():
    """A machine that slept for an hour does not send an hour's ticks at once: time goes on from now."""
    pacer = Pacer(1.0)
    pacer.anchor(3600 * SECOND)
    pacer.ticked(0)
    assert pacer.pace().behind == pytest.approx(3600.0, abs=1.0)
    assert pacer.wait(SECOND) == pytest.approx(1.0, abs=0.5)
    assert MOST_BEHIND_S < 3600.0


def test_pace_tells_rate_and_lateness_of_the_last_ticks():
    """All ticks are 0.3 s late by construction; what was before the window is forgotten, but counted."""
    pacer = Pacer(1.0)
    pacer.anchor(0)
    assert pacer.pace().ticks == 0
    began = time.monotonic()
    for _ in range(WINDOW + 100):
        pacer.ticked(pacer.now_ns() - 3 * SECOND // 10)
    took = time.monotonic() - began
    pace = pacer.pace()
    assert pace.ticks == WINDOW + 100
    assert pace.lateness_p50 == pytest.approx(0.3, abs=0.01)
    assert 0.3 <= pace.lateness_p99 <= 0.3 + took
    assert pace.rate >= (WINDOW - 1) / took
    assert pace.real_time_factor == pytest.approx(1.0, rel=0.3)


def test_a_new_anchor_is_a_new_pace():
    pacer = Pacer(1.0)
    for _ in range(3):
        pacer.ticked(0)
    pacer.anchor(0)
    pace = pacer.pace()
    assert (pace.ticks, pace.rate, pace.lateness_p99, pace.real_time_factor) == (3, 0.0, 0.0, 0.0)
