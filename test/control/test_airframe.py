"""What rotors do together, against the geometry of PX4's airframe 10016_none_iris by hand."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from airframes import PX4_10016, iris
from hypothesis import given
from hypothesis import strategies as st

from sim_node.simulation.control.airframe import Airframe, allocation, effectiveness, gains
from sim_node.simulation.control.controller import Controller


def test_a_rotor_of_10016_does_what_px4_says() -> None:
    """ActuatorEffectivenessRotors: moment = ct * position x axis - ct * km * axis, all FRD with axis [0, 0, -1]."""
    x, y, km = PX4_10016.T
    zero = np.zeros(4)
    axis = np.array([0.0, 0.0, -1.0])
    frd = np.cross(np.stack([x, y, zero - 0.03], axis=1), axis) - km[:, None] * axis
    flu = frd * [1, -1, -1]
    np.testing.assert_allclose(effectiveness(iris()), np.vstack([np.ones(4), flu.T]), atol=1e-15)


def test_the_allocation_of_10016_by_hand() -> None:
    """Front and rear arms differ: the least effort for a roll is more from the wider front, and needs no yaw."""
    found = allocation(iris())
    np.testing.assert_allclose(effectiveness(iris()) @ found, np.eye(4), atol=1e-12)
    np.testing.assert_allclose(found[:, 0], 0.25, atol=1e-12)
    # Pitch: nose up (about y to the left, negative) by the front pair; the lever is 0.1515 m.
    np.testing.assert_allclose(found[:, 2], np.array([-1, 1, -1, 1]) / (4 * 0.1515), atol=1e-12)
    # Roll: equal within left and right, for the diagonals' reaction torques cancel only so.
    np.testing.assert_allclose(found[:, 1], np.array([-1, 1, 1, -1]) / (2 * (0.245 + 0.1875)), atol=1e-12)
    assert np.sign(found[:, 3]).tolist() == [-1, -1, 1, 1]


@given(st.integers(3, 12), st.floats(0.0, 1.0), st.randoms(use_true_random=False))
def test_the_allocation_is_the_least_effort(rotors: int, tilt: float, random: Random) -> None:
    """Any other thrusts that make the same wrench have a larger sum of squares."""
    angle = 2 * np.pi * (np.arange(rotors) + tilt) / rotors
    frame = Airframe(
        1.0, np.eye(3), np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1), np.tile([0, 0, 1.0], (rotors, 1)),
        0.1 * np.resize([1.0, -1.0], rotors), np.ones(rotors), np.zeros(rotors), np.ones(rotors), 0.0,
    )  # fmt: skip
    matrix = effectiveness(frame)
    if np.linalg.matrix_rank(matrix, tol=1e-6) < 4:
        with pytest.raises(ValueError, match="cannot command"):
            allocation(frame)
        return
    wrench = np.array([random.uniform(-1, 1) for _ in range(4)])
    thrusts = allocation(frame) @ wrench
    np.testing.assert_allclose(matrix @ thrusts, wrench, atol=1e-9)
    other = np.linalg.lstsq(matrix, wrench, rcond=None)[0]
    assert thrusts @ thrusts <= other @ other + 1e-9


def test_rotors_that_all_turn_the_same_way_lift_but_cannot_yaw_alone() -> None:
    frame = iris()
    frame.moments[:] = -0.05
    with pytest.raises(ValueError, match="4 rotors cannot command"):
        Controller([frame], np.ones((1, 2)), 0.004)


def test_rotors_without_torque_cannot_yaw() -> None:
    frame = iris()
    frame.moments[:] = 0.0
    with pytest.raises(ValueError, match="cannot command yaw"):
        allocation(frame)


def test_gains_do_not_depend_on_size() -> None:
    """A vehicle scaled by 8 in mass and by 2 in length, with the thrust to match, has the same bandwidths."""
    small, large = iris(), iris()
    large = Airframe(8 * 1.5, 32 * small.inertia, 2 * small.positions, small.axes, 2 * small.moments,
                     8 * small.coefficients, small.slowest, small.fastest, small.lag)  # fmt: skip
    one, other = gains(small, 5.0, 1.0)._asdict(), gains(large, 5.0, 1.0)._asdict()
    assert (one.pop("mass"), other.pop("mass")) == (1.5, 12.0)
    # The moments for an angular acceleration grow by 32 and those of thrust by 16: braking is half as strong.
    assert one.pop("max_turn") == pytest.approx(2 * other.pop("max_turn"))
    assert one == pytest.approx(other)
