"""Kinematics of wheeled bases: against rigid motion of their wheels, published matrices and the matrix exponential."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st

from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.base_types import BASE_TYPES, BaseType
from sim_node.world.base_types.kinds import Ackermann, Differential, Mecanum, Omni, Skid
from sim_node.world.base_types.motion import advance, arcs

lengths = st.floats(0.05, 3.0)
speeds = st.floats(-5.0, 5.0)
kinds = st.one_of(
    st.builds(Differential, wheel_radius=lengths, track=lengths),
    st.builds(Skid, wheel_radius=lengths, track=lengths, track_factor=st.floats(1.0, 3.0)),
    st.builds(Mecanum, wheel_radius=lengths, wheelbase=lengths, track=lengths),
    st.builds(Omni, wheel_radius=lengths, base_radius=lengths, first_angle=speeds),
    st.builds(Ackermann, wheel_radius=lengths, wheelbase=st.floats(2.0, 4.0), track=st.floats(0.5, 2.0)),
)
twists = st.tuples(speeds, speeds, speeds).map(lambda row: np.array([row]))


@given(kinds, twists)
def test_forward_undoes_inverse(shape: BaseType, twist: FloatArray) -> None:
    kinematics = type(shape).kinematics([shape])
    reachable = kinematics.nearest(twist)
    np.testing.assert_allclose(kinematics.forward(*kinematics.inverse(reachable)), reachable, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(kinematics.nearest(reachable), reachable, rtol=1e-12, atol=1e-12)


def test_every_kind_is_among_them() -> None:
    assert set(BASE_TYPES.values()) >= {Differential, Skid, Mecanum, Omni, Ackermann}


@given(twists)
def test_bases_of_a_kind_are_independent(twist: FloatArray) -> None:
    small, large = Mecanum(0.1, 0.4, 0.5), Mecanum(0.2, 1.0, 0.8)
    both = Mecanum.kinematics([small, large]).inverse(np.repeat(twist, 2, axis=0))[0]
    alone = [Mecanum.kinematics([each]).inverse(twist)[0][0] for each in (small, large)]
    np.testing.assert_array_equal(both, alone)


@pytest.mark.parametrize(
    ("twist", "signs"),
    [((1, 0, 0), (1, 1, 1, 1)), ((0, 1, 0), (-1, 1, 1, -1)), ((0, 0, 1), (-1, 1, -1, 1))],
    ids=["ahead", "to the left", "counterclockwise"],
)
def test_mecanum_wheels_turn_as_published(twist: tuple[int, ...], signs: tuple[int, ...]) -> None:
    """Taheri, Qiao and Ghaeminezhad, Kinematic model of a four mecanum wheeled mobile robot (2015), equation 20."""
    radius, lx, ly = 0.1, 0.2, 0.25
    kinematics = Mecanum.kinematics([Mecanum(radius, 2 * lx, 2 * ly)])
    scale = (lx + ly) / radius if twist[2] else 1 / radius
    np.testing.assert_allclose(kinematics.inverse(np.array([twist], dtype=float))[0][0], scale * np.array(signs))


@given(st.floats(0.1, 5.0), st.floats(-1.0, 1.0))
def test_the_wheels_of_a_car_point_where_they_go(speed: float, turn: float) -> None:
    """The velocity of a point of a rigid body, v + w x r: along each front wheel, and at the rear, of its rim."""
    car = Ackermann(wheel_radius=0.3, wheelbase=2.5, track=1.5, max_steering=0.6)
    kinematics = Ackermann.kinematics([car])
    twist = kinematics.nearest(np.array([[speed, 0.0, turn]]))
    rates, angles = kinematics.inverse(twist)
    vx, _, wz = twist[0]
    for angle, y in zip(angles[0], (0.75, -0.75), strict=True):
        assert math.atan2(wz * 2.5, vx - wz * y) == pytest.approx(angle, abs=1e-12)
    np.testing.assert_allclose(rates[0] * 0.3, [vx - wz * 0.75, vx + wz * 0.75])
    assert abs(wz / vx) <= math.tan(0.6) / 2.5 + 1e-12


@given(twists, st.floats(0.0, 10.0), st.tuples(speeds, speeds, speeds))
def test_arcs_are_the_exponential_of_the_plane(twist: FloatArray, seconds: float, start: tuple[float, ...]) -> None:
    def matrix(x: float, y: float, yaw: float) -> FloatArray:
        return np.array([[math.cos(yaw), -math.sin(yaw), x], [math.sin(yaw), math.cos(yaw), y], [0, 0, 1]])

    vx, vy, wz = twist[0]
    expected = matrix(*start) @ scipy.linalg.expm(seconds * np.array([[0, -wz, vx], [wz, 0, vy], [0, 0, 0]]))
    pose = np.array([start])
    advance(pose, arcs(twist, seconds))
    np.testing.assert_allclose(matrix(*pose[0]), expected, atol=1e-9)
