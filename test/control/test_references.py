"""Setpoints that lead to a goal: within their limits, from any motion, and to it."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sim_node.simulation.control.trajectories import approach, glide, turn_to

PERIOD = 0.004
places = st.tuples(*[st.floats(-20.0, 20.0)] * 3)
slow = st.tuples(*[st.floats(-3.0, 3.0)] * 3)


@settings(max_examples=25, deadline=None)
@given(goal=places, velocity=slow, speed=st.floats(1.0, 10.0), acceleration=st.floats(1.0, 8.0))
def test_a_goal_is_reached_within_acceleration_from_any_motion(
    goal: tuple[float, float, float], velocity: tuple[float, float, float], speed: float, acceleration: float
) -> None:
    """Its velocity changes by a dt at most, its place by the mean of velocities, and it comes to rest there."""
    reference = np.array([0.0, 0.0, 0.0, *velocity, 0.0, 0.0, 0.0, 0.0, 0.0])
    path = [reference.copy()]
    # Time to brake and turn back, the way at that speed, and ten times the time constant of the last of it.
    for _ in range(round((15.0 / acceleration + 60.0 / speed + 7.0) / PERIOD)):
        approach(reference, np.array(goal), speed, acceleration, PERIOD)
        path.append(reference.copy())
    rows = np.array(path)
    changes = np.linalg.norm(np.diff(rows[:, 3:6], axis=0), axis=1)
    assert changes.max() <= acceleration * PERIOD * (1 + 1e-9)
    mean = PERIOD * (rows[1:, 3:6] + rows[:-1, 3:6]) / 2
    np.testing.assert_allclose(np.diff(rows[:, :3], axis=0), mean, atol=1e-9)
    fastest = max(speed, float(np.linalg.norm(velocity)))
    assert np.linalg.norm(rows[:, 3:6], axis=1).max() <= fastest * (1 + 1e-9)
    np.testing.assert_allclose(reference[:3], goal, atol=0.02)


def test_on_a_line_from_rest_it_brakes_as_hard_as_it_may_and_never_passes() -> None:
    """v^2 = 2 a (d - near/2) until near, a/k^2 with k = 1.5 1/s, where the rest decays as exp(-k t)."""
    reference, acceleration = np.zeros(11), 2.5
    path = []
    for _ in range(5000):
        approach(reference, np.array([20.0, 0.0, 0.0]), 50.0, acceleration, PERIOD)
        path.append((20.0 - reference[0], reference[3]))
    left, speed = np.array(path).T
    assert left.min() > -1e-6
    near = acceleration / 1.5**2
    braking = (left > 1.5 * near) & (np.gradient(speed) < 0.0)
    np.testing.assert_allclose(speed[braking] ** 2, 2 * acceleration * (left[braking] - near / 2), rtol=0.03)
    last = left < 0.5 * near
    np.testing.assert_allclose(speed[last], 1.5 * left[last], rtol=0.02, atol=1e-3)


def test_a_velocity_is_taken_up_along_a_straight_change() -> None:
    reference = np.zeros(11)
    for _ in range(100):
        glide(reference, 3.0, 4.0, 0.0, 2.0, PERIOD)
    np.testing.assert_allclose(reference[3:6], [0.48, 0.64, 0.0])  # 2 m/s^2 for 0.4 s, along 3:4
    np.testing.assert_allclose(reference[:3], [0.096, 0.128, 0.0])
    np.testing.assert_allclose(reference[6:9], [1.2, 1.6, 0.0])


@given(begin=st.floats(-10.0, 10.0), yaw=st.floats(-10.0, 10.0))
def test_a_heading_is_taken_the_short_way_within_its_rate(begin: float, yaw: float) -> None:
    reference = np.zeros(11)
    reference[9] = begin
    for _ in range(2500):
        turn_to(reference, yaw, 1.0, PERIOD)
        assert abs(reference[10]) <= 1.0
    assert abs(reference[9] - begin) <= np.pi + 1e-6
    assert abs(np.angle(np.exp(1j * (reference[9] - yaw)))) < 1e-3
