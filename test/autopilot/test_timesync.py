"""Boot time to the graph's time, with delays, drifts, jumps and reboots made up."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim_node.mavlink.timesync import BootClock

MS = 1_000_000
S = 1_000_000_000
OFFSET = 1_700_000_000 * S


def test_without_timesync_the_quickest_message_tells() -> None:
    clock, chance = BootClock(), random.Random(1)
    for step in range(1, 2000):
        boot = step * 20 * MS
        arrival = boot + OFFSET + int(chance.expovariate(1.0) * 3 * MS)
        stamp = clock.stamp_ns(boot, arrival)
        assert stamp <= arrival
    assert abs(stamp - (boot + OFFSET)) < 1 * MS


@given(st.lists(st.integers(0, 50 * MS), min_size=2, max_size=60))
def test_stamps_never_lie_in_the_future(delays: list[int]) -> None:
    clock = BootClock()
    for step, delay in enumerate(delays, start=1):
        boot = step * 20 * MS
        assert clock.stamp_ns(boot, boot + OFFSET + delay) <= boot + OFFSET + delay


def test_round_trips_find_the_middle() -> None:
    clock, chance = BootClock(), random.Random(2)
    for step in range(1, 400):
        boot = step * 100 * MS
        there, back = (int(chance.uniform(0.2, 1.5) * MS) for _ in range(2))
        clock.round_trip(boot + OFFSET - there, boot, boot + OFFSET + back)
    assert clock.synchronised
    assert clock.offset_ns == pytest.approx(OFFSET, abs=200_000)
    assert clock.stamp_ns(boot, boot + OFFSET + 40 * MS) == pytest.approx(boot + OFFSET, abs=200_000)


@given(st.lists(st.tuples(st.integers(0, 50 * MS), st.booleans()), min_size=2, max_size=60))
def test_stamps_go_forward_while_the_offset_is_found(messages: list[tuple[int, bool]]) -> None:
    """A quick message after slow ones makes the offset smaller, and so does TIMESYNC; time goes on all the same."""
    clock = BootClock()
    stamps: list[int] = []
    for step, (delay, answered) in enumerate(messages, start=1):
        boot = step * 5 * MS
        arrival = boot + OFFSET + 50 * MS + (delay // 10 if step % 2 else delay)
        if answered:
            clock.round_trip(boot + OFFSET - 4 * MS, boot, boot + OFFSET + 4 * MS)
        stamps.append(clock.stamp_ns(boot, max(arrival, *stamps) if stamps else arrival))
    assert stamps == sorted(stamps)


def test_slow_round_trips_are_left_aside() -> None:
    clock = BootClock()
    for step in range(1, 100):
        boot = step * 100 * MS
        clock.round_trip(boot + OFFSET - 30 * MS, boot, boot + OFFSET)
    assert not clock.synchronised
    assert clock.events.slow_round_trips == 99
    assert clock.round_trip_ns == 30 * MS


def test_a_reboot_is_seen_and_followed() -> None:
    clock = BootClock()
    for step in range(1, 50):
        clock.round_trip(step * 100 * MS + OFFSET, step * 100 * MS + 60 * S, step * 100 * MS + OFFSET + MS)
        clock.stamp_ns(step * 100 * MS + 60 * S, step * 100 * MS + OFFSET)
    assert clock.synchronised
    stamp = clock.stamp_ns(2 * S, 10 * S + OFFSET)
    assert clock.events.reboots == 1
    assert not clock.synchronised
    assert stamp == 10 * S + OFFSET


def test_a_jump_of_a_clock_is_followed_after_a_while() -> None:
    clock = BootClock()
    for step in range(1, 50):
        clock.round_trip(step * 100 * MS + OFFSET, step * 100 * MS, step * 100 * MS + OFFSET)
    for step in range(50, 100):
        there = step * 100 * MS + OFFSET + 5 * S
        clock.round_trip(there, step * 100 * MS, there)
    assert clock.events.jumps == 1
    assert clock.offset_ns == pytest.approx(OFFSET + 5 * S, abs=MS)


def test_milliseconds_that_wrap_go_on() -> None:
    """32 bits of milliseconds last 49.7 days."""
    clock, wrap = BootClock(), 2**32
    first = clock.stamp_ms(wrap - 10, OFFSET)
    later = clock.stamp_ms(10, OFFSET + 20 * MS)
    assert later - first == 20 * MS
    assert clock.events.reboots == 0


DAY = 86_400 * S


@pytest.mark.parametrize("uptime", [20 * DAY, 25 * DAY, 40 * DAY, 60 * DAY, 110 * DAY])
@pytest.mark.parametrize("answers", [True, False])
def test_a_reboot_after_weeks_is_seen(uptime: int, answers: bool) -> None:
    """From 24.9 days on, milliseconds that have wrapped would be nearer to the last ones than those after a reboot."""
    clock = BootClock()

    def hear(since: int, boot: int) -> int:
        if answers:
            clock.round_trip(since + OFFSET, boot, since + OFFSET)
        return clock.stamp_ms(boot // MS % 2**32, since + OFFSET)

    for step in range(50):
        assert hear(step * 100 * MS, uptime + step * 100 * MS) == step * 100 * MS + OFFSET
    assert clock.events.reboots == 0
    for step in range(300, 350):
        assert hear(step * 100 * MS, 5 * S + (step - 300) * 100 * MS) == step * 100 * MS + OFFSET
    assert clock.events.reboots == 1
    assert clock.synchronised == answers


def test_a_bridge_that_starts_late_learns_of_wraps_from_timesync() -> None:
    """The milliseconds of 50 days are those of 0.3 days. Stamps were 49.7 days in the past."""
    clock, uptime = BootClock(), 50 * DAY
    for step in range(1, 40):
        boot, arrival = uptime + step * 100 * MS, OFFSET + step * 100 * MS
        clock.round_trip(arrival, boot, arrival)
        assert clock.stamp_ms(boot // MS % 2**32, arrival) == arrival
    assert clock.synchronised
    assert clock.events.reboots == 0


def test_unix_time_is_taken_as_it_is() -> None:
    assert BootClock().stamp_us(1_700_000_000_000_000, OFFSET) == 1_700_000_000 * S
    assert BootClock().stamp_us(0, OFFSET) == OFFSET, "zero is no time: the message's arrival"
