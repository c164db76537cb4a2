"""The mixer against the effectiveness of its rotors, within their limits and at them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from airframes import iris
from hypothesis import given
from hypothesis import strategies as st

from sim_node.simulation.control.airframe import effectiveness
from sim_node.simulation.control.controller import _mixer_rows, mix
from sim_node.spatial.geometry.arrays import FloatArray

MAX_SHOWN = 5.84e-6 * 1100**2
moments = st.integers(-20_000, 20_000).map(lambda thousandths: thousandths / 1000)


def mixed(wrench: Sequence[float], running: int = 1) -> tuple[FloatArray, FloatArray]:
    """The commands, and the wrench that they make."""
    frame, commands = iris(), np.full(4, np.nan)
    mix(np.array([wrench]), np.array([0, 4]), _mixer_rows(frame), np.array([running]), commands)
    return commands, effectiveness(frame) @ (5.84e-6 * (1100 * commands) ** 2)


@given(st.floats(8.0, 20.0), st.floats(-0.4, 0.4), st.floats(-0.3, 0.3), st.floats(-0.05, 0.05))
def test_a_wrench_within_the_limits_comes_out(thrust: float, roll: float, pitch: float, yaw: float) -> None:
    commands, found = mixed([thrust, roll, pitch, yaw])
    np.testing.assert_allclose(found, [thrust, roll, pitch, yaw], atol=1e-9)
    assert np.all((commands > 0.0) & (commands < 1.0))


@given(st.floats(0.0, 100.0), moments, moments, moments)
def test_at_the_limits_roll_and_pitch_keep_their_direction(
    thrust: float, roll: float, pitch: float, yaw: float
) -> None:
    """Both are scaled alike, fully met where any thrust leaves room; yaw never turns the wrong way."""
    commands, found = mixed([thrust, roll, pitch, yaw])
    assert np.all((commands >= 0.0) & (commands <= 1.0))
    wanted = np.array([roll, pitch])
    share = (found[1:3] @ wanted) / (wanted @ wanted) if np.any(wanted) else 1.0
    np.testing.assert_allclose(found[1:3], share * wanted, atol=1e-8)
    assert -1e-9 <= share <= 1.0 + 1e-9
    assert found[3] * yaw >= -1e-9
    assert abs(found[3]) <= abs(yaw) + 1e-9
    # Of thrust F_i at rotor i: the two that roll and pitch set furthest apart.
    levels = np.linalg.pinv(effectiveness(iris()))[:, 1:3] @ wanted
    if np.ptp(levels) < MAX_SHOWN:
        assert share > 1.0 - 1e-9


def test_a_vehicle_that_falls_without_thrust_may_rise_to_turn() -> None:
    """No thrust is asked for: rolling takes as much as leaves its lowest rotor at rest."""
    commands, found = mixed([0.0, 1.0, 0.0, 0.0])
    assert found[1] == np.float64(1.0) or abs(found[1] - 1.0) < 1e-12
    assert min(commands) == 0.0
    np.testing.assert_allclose(found[0], 2 * 2 * 1.0 / (2 * (0.245 + 0.1875)), rtol=1e-12)


def test_motors_that_do_not_run_are_off() -> None:
    assert mixed([15.0, 1.0, 0.0, 0.0], running=0)[0].tolist() == [0.0] * 4


def test_a_rotor_with_a_slowest_speed_is_commanded_from_there() -> None:
    frame, commands = iris(), np.zeros(4)
    frame.slowest[:] = 100.0
    thrust = 4 * 5.84e-6 * 600.0**2
    mix(np.array([[thrust, 0.0, 0.0, 0.0]]), np.array([0, 4]), _mixer_rows(frame), np.array([1]), commands)
    np.testing.assert_allclose(commands, 0.5, rtol=1e-12)
