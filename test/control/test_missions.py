"""Missions: setpoints that stay within their limits, and the order of events."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim_node.simulation.control.trajectories import MEMORY, Phase, fly_missions, profile
from sim_node.spatial.geometry.arrays import FloatArray, IntArray

PERIOD = 0.01
some = st.floats(1e-2, 1e2)


@given(some, some, some)
def test_a_profile_goes_all_the_way_within_its_limits(length: float, speed: float, acceleration: float) -> None:
    """Its speed is the derivative of its way and its acceleration that of its speed: by central differences."""
    total = profile(0.0, length, speed, acceleration)[3]
    step = 1e-4 * min(total, 1.5 * speed / acceleration)
    times = np.linspace(0.0, total, 501)
    before, (way, fast, faster), after = (
        np.array([profile(t + ahead, length, speed, acceleration)[:3] for t in times]).T for ahead in (-step, 0.0, step)
    )
    assert (way[0], fast[0], faster[0]) == (0.0, 0.0, 0.0)
    assert way[-1] == pytest.approx(length, rel=1e-9)
    assert fast.max() <= speed * (1 + 1e-12)
    assert np.abs(faster).max() <= acceleration * (1 + 1e-9)
    assert np.all(np.diff(way) >= -1e-9 * length)
    inside = slice(1, -1)
    rate = (after - before)[:, inside] / (2 * step)
    # Near the end of a long way, the last digits of way and time are no longer small beside a step.
    rounding = (np.spacing(length) + fast.max() * np.spacing(total)) / step
    np.testing.assert_allclose(rate[0], fast[inside], atol=1e-5 * fast.max() + rounding)
    np.testing.assert_allclose(rate[1], faster[inside], atol=1e-3 * acceleration)
    assert profile(total + 1.0, length, speed, acceleration)[:2] == (pytest.approx(length), pytest.approx(0.0))


def test_no_way_takes_no_time() -> None:
    assert profile(0.0, 0.0, 1.0, 1.0) == (0.0, 0.0, 0.0, 0.0)


def followed(
    waypoints: npt.ArrayLike,
    after: int,
    duration: float,
    state: Sequence[float] = (0, 0, 0, 0, 0, 0, 1),
    stuck: tuple[()] = (),
) -> tuple[FloatArray, IntArray, list[Phase]]:
    """What a vehicle that is always at its setpoint is told, (T, 11), with whether its motors run (T,)."""
    states = np.zeros((1, 13))
    states[0, :7] = state
    pilots = np.array([[0.5, 2.0, 0.5, 1.0, after]])
    waypoints = np.array(waypoints, dtype=float)
    memory, setpoints, running = np.zeros((1, MEMORY)), np.zeros((1, 11)), np.zeros(1, dtype=np.int64)
    reported, on, phases = [], [], []
    for _ in range(round(duration / PERIOD)):
        fly_missions(states, pilots, np.array([0, len(waypoints)]), waypoints, PERIOD, memory, setpoints, running)
        if running[0]:
            ground = setpoints[0, 2] < 0.0
            states[0, :3], states[0, 7:10] = setpoints[0, :3], setpoints[0, 3:6]
            if ground:
                states[0, 2], states[0, 9] = 0.0, 0.0
        reported.append(np.array(setpoints[0]))
        on.append(int(running[0]))
        phases.append(Phase(int(memory[0, 0])))
    return np.array(reported), np.array(on), phases


TAKE_OFF = [0, 0, 2, np.nan, 1.0, 0.0, 0.1]


# Takes seconds: make test has its profile, loops, holds and turns.
@pytest.mark.nightly
def test_it_waits_climbs_flies_lands_and_stops() -> None:
    reported, on, phases = followed([TAKE_OFF, [3, 0, 2, 1.0, 1.0, 0.5, 0.1]], after=0, duration=20.0)
    assert on[:50].tolist() == [0] * 50
    assert on[51] == 1
    assert phases[-1] == Phase.DONE
    assert on[-1] == 0
    order = [phase for phase, before in zip(phases, [None, *phases], strict=False) if phase != before]
    assert order == [Phase.WAIT, Phase.FLY, Phase.LAND, Phase.DONE]
    running = reported[on == 1]
    assert running[:, :3].max(axis=0).tolist() == [3.0, 0.0, 2.0]
    np.testing.assert_allclose(np.linalg.norm(running[:, 3:6], axis=1).max(), 1.0, atol=1e-9)
    # Setpoints have no jumps, from leg to leg either: at most speed times period.
    assert np.linalg.norm(np.diff(running[:, :3], axis=0), axis=1).max() <= 1.0 * PERIOD * (1 + 1e-6)
    assert np.abs(np.diff(running[:, 9])).max() <= 1.0 * PERIOD * (1 + 1e-6)
    assert running[-1, 9] == pytest.approx(1.0)


def test_a_loop_goes_round_without_the_take_off() -> None:
    reported, _on, phases = followed(
        [TAKE_OFF, [1, 0, 2, np.nan, 1, 0, 0.1], [1, 1, 3, np.nan, 1, 0, 0.1]], after=2, duration=60.0
    )
    assert phases[-1] == Phase.FLY
    later = reported[3000:]
    assert later[:, 0].min() == pytest.approx(1.0)
    assert (later[:, 2].min(), later[:, 2].max()) == (pytest.approx(2.0), pytest.approx(3.0))


def test_a_hold_ends_in_holding() -> None:
    reported, _on, phases = followed([TAKE_OFF, [1, 0, 2, 0.7, 1, 0, 0.1]], after=1, duration=30.0)
    assert phases[-1] == Phase.FLY
    np.testing.assert_allclose(reported[-1], [1, 0, 2, 0, 0, 0, 0, 0, 0, 0.7, 0], atol=1e-12)


@pytest.mark.parametrize(("yaw", "goal"), [(3.0, -3.0), (-3.0, 3.0), (0.1, 6.2)])
def test_it_turns_the_short_way(yaw: float, goal: float) -> None:
    start = (0, 0, 0, 0, 0, np.sin(yaw / 2), np.cos(yaw / 2))
    reported, on, _ = followed([TAKE_OFF, [1, 0, 2, goal, 1, 0, 0.1]], after=1, duration=20.0, state=start)
    yaws = reported[on == 1][:, 9]
    short = (goal - yaw + np.pi) % (2 * np.pi) - np.pi
    assert yaws[-1] - yaws[0] == pytest.approx(short)
    assert np.abs(yaws - yaws[0]).max() == pytest.approx(abs(short))
