"""Setpoints by hand: whatever is commanded, they stay within their limits, and come to rest once it expires."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sim_node.simulation.control.by_hand import MEMORY, TAKEN_OVER, fly_by_hand
from sim_node.simulation.control.trajectories import MEMORY as MISSION_MEMORY
from sim_node.spatial.geometry.arrays import FloatArray

PERIOD = 0.004
axis = st.floats(-20.0, 20.0)


@given(
    st.lists(st.tuples(axis, axis, axis, axis, st.floats(0.0, 1.5)), min_size=1, max_size=4),
    st.floats(0.5, 10.0),
    st.floats(0.2, 3.0),
    st.floats(0.5, 5.0),
)
@settings(max_examples=20, deadline=None)
def test_setpoints_stay_within_the_limits_and_rest_at_the_end(
    commands: list[tuple[float, ...]], speed: float, turn: float, acceleration: float
) -> None:
    """Of a vehicle that is always at its setpoint, high above the ground: it brakes within v/a."""
    states, setpoints, running = np.zeros((1, 13)), np.zeros((1, 11)), np.ones(1, dtype=np.int64)
    states[0, 6] = 1.0
    limits, memory, mode = np.array([[speed, turn, acceleration]]), np.zeros((1, MEMORY)), np.array([TAKEN_OVER])
    integrals, missions = np.zeros((1, 3)), np.zeros((1, MISSION_MEMORY))
    now, found = 0.0, []

    def fly(command: FloatArray, seconds: float) -> None:
        nonlocal now
        for _ in range(round(seconds / PERIOD)):
            fly_by_hand(states, limits, command, now, PERIOD, integrals, missions, mode, memory, setpoints, running)
            states[0, :3], states[0, 7:10] = setpoints[0, :3], setpoints[0, 3:6]
            now += PERIOD
            found.append(setpoints[0].copy())

    for *velocity, seconds in commands:
        last = np.array([[*velocity, now + seconds]])
        fly(last, seconds)
    fly(last, speed / acceleration + 4 * PERIOD)
    rest = setpoints[0].copy()
    fly(last, 0.1)
    path = np.array(found)
    assert np.linalg.norm(path[:, 3:6], axis=1).max(initial=0.0) <= speed * (1 + 1e-9)
    assert np.abs(path[:, 10]).max(initial=0.0) <= turn * (1 + 1e-9)
    changes = np.diff(path[:, 3:6], axis=0, prepend=0.0) / PERIOD
    assert np.linalg.norm(changes, axis=1).max() <= acceleration * (1 + 1e-9)
    # The way is the sum of the velocities (trapezoids), the heading that of the rates.
    way = np.cumsum(0.5 * PERIOD * (path[:, 3:6] + np.vstack([np.zeros(3), path[:-1, 3:6]])), axis=0)
    np.testing.assert_allclose(path[:, :3], way, atol=1e-9)
    np.testing.assert_allclose(path[:, 9], PERIOD * np.cumsum(path[:, 10]), atol=1e-9)
    np.testing.assert_array_equal(rest[3:9], 0.0)
    np.testing.assert_array_equal(setpoints[0], rest)
