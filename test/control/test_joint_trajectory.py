"""Joint trajectories beside scipy's interpolation."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import BPoly, CubicHermiteSpline, interp1d

from sim_node.simulation.control.joint_trajectory import JointTrajectory

VALUES = st.floats(-10.0, 10.0)
SPANS = st.lists(st.floats(0.05, 5.0), min_size=1, max_size=5)
PLACES = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=8)


@given(st.data(), SPANS, PLACES, st.integers(0, 2))
def test_between_points_it_is_the_polynomial_through_what_both_give(
    data: st.DataObject, spans: list[float], places: list[float], order: int
) -> None:
    times = np.cumsum([0.5, *spans])
    shape = (3, len(times), 2)
    values = np.array(data.draw(st.lists(VALUES, min_size=int(np.prod(shape)), max_size=int(np.prod(shape))))).reshape(
        shape
    )
    values[order + 1 :] = np.nan
    trajectory = JointTrajectory(times, *values)
    if order == 0:
        curve, slope = interp1d(times, values[0], axis=0), None
    elif order == 1:
        curve = CubicHermiteSpline(times, values[0], values[1])
        slope = curve.derivative()
    else:
        curve = BPoly.from_derivatives(times, np.moveaxis(values, 0, 1))
        slope = curve.derivative()
    for place in places:
        time = times[0] + place * (times[-1] - times[0])
        if time in times:
            continue
        positions, velocities = trajectory.at(time)
        np.testing.assert_allclose(positions, curve(time), atol=1e-6, rtol=1e-6)
        if slope is not None:
            np.testing.assert_allclose(velocities, slope(time), atol=1e-4, rtol=1e-5)


def test_before_and_after_it_rests_at_its_ends() -> None:
    trajectory = JointTrajectory(np.array([1.0, 2.0]), np.array([[1.0], [3.0]]), *np.full((2, 2, 1), np.nan))
    for time, position, velocity in ((0.0, 1.0, 0.0), (1.5, 2.0, 2.0), (2.0, 3.0, 0.0), (9.0, 3.0, 0.0)):
        found = trajectory.at(time)
        assert (found[0].tolist(), found[1].tolist()) == ([position], [velocity])


def test_it_starts_with_the_state_of_the_joints() -> None:
    """As upstream's: cubic from the velocity at the start, although the first point has an acceleration."""
    one = np.array([[0.0]])
    trajectory = JointTrajectory(np.array([1.0]), np.array([[2.0]]), one, one)
    started = trajectory.starting_at(0.25, np.array([0.5]), np.array([-1.0]))
    curve = CubicHermiteSpline([0.25, 1.0], [0.5, 2.0], [-1.0, 0.0])
    for time in (0.25, 0.5, 0.9):
        np.testing.assert_allclose(started.at(time)[0], [curve(time)], atol=1e-12)
    assert trajectory.starting_at(1.0, np.array([0.5]), np.array([0.0])) is trajectory
