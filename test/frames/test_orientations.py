"""convert_orientation against MAVROS, scipy and plain geometry."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from sim_node.spatial.frames import (
    AttitudeRequired,
    Frame,
    OriginRequired,
    convert_orientation,
    convert_velocity,
    yaw_enu_from_ned,
    yaw_ned_from_enu,
)
from sim_node.spatial.geometry.arrays import FloatArray

ENU, NED, FLU, FRD, ECEF, LLA = Frame
AUTOPILOT, HOUSE = (NED, FRD), (ENU, FLU)
H = np.sqrt(0.5)

angles = st.floats(-np.pi, np.pi)
quaternions = st.tuples(angles, angles, angles).map(lambda rpy: Rotation.from_euler("xyz", rpy).as_quat())
origins = st.tuples(st.floats(-90, 90), st.floats(-180, 180), st.floats(-1e4, 1e6))

# MAVROS, ftf_frame_conversions.cpp: NED_ENU_Q is wxyz (0, sqrt.5, sqrt.5, 0), AIRCRAFT_BASELINK_Q (0, 1, 0, 0).
NED_ENU_Q = Rotation.from_quat([H, H, 0, 0])
AIRCRAFT_BASELINK_Q = Rotation.from_quat([1, 0, 0, 0])


def test_mavros_constants_are_the_identities() -> None:
    """A frame's rotation in the house, from MAVROS' source; its rpy(pi, 0, pi/2) and rpy(pi, 0, 0)."""
    unit = (0, 0, 0, 1)
    np.testing.assert_array_equal(convert_orientation(unit, (NED, FLU), HOUSE), (H, H, 0, 0))
    np.testing.assert_array_equal(convert_orientation(unit, (ENU, FRD), HOUSE), (1, 0, 0, 0))
    np.testing.assert_allclose(Rotation.from_euler("xyz", (np.pi, 0, np.pi / 2)).as_quat(), (H, H, 0, 0), atol=1e-15)


def test_level_and_looking_north() -> None:
    """Autopilot's identity is yaw 90 degrees in ENU; MAVROS gives it with w < 0."""
    np.testing.assert_allclose(convert_orientation((0, 0, 0, 1), AUTOPILOT, HOUSE), (0, 0, -H, -H), atol=1e-16)


@pytest.mark.parametrize(
    ("rpy_ned", "rpy_enu"),
    [  # by hand: right wing down stays right wing down, nose up is a negative pitch in FLU, clockwise is negative
        ((30, 0, 0), (30, 0, 90)),
        ((0, 20, 0), (0, -20, 90)),
        ((0, 0, 90), (0, 0, 0)),
        ((0, 0, -90), (0, 0, 180)),
        ((0, 0, 45), (0, 0, 45)),
        ((10, 20, 30), (10, -20, 60)),
    ],
)
def test_what_a_pilot_would_say(rpy_ned: tuple[int, int, int], rpy_enu: tuple[int, int, int]) -> None:
    q = Rotation.from_euler("xyz", rpy_ned, degrees=True).as_quat()
    expected = Rotation.from_euler("xyz", rpy_enu, degrees=True).as_quat()
    found = convert_orientation(q, AUTOPILOT, HOUSE)
    assert abs(found @ expected) == pytest.approx(1.0, abs=1e-15)


@given(quaternions)
def test_mavros_identity(q: FloatArray) -> None:
    """orientation = NED_ENU_Q * q * AIRCRAFT_BASELINK_Q, the sign included, and the same operators back."""
    expected = (NED_ENU_Q * Rotation.from_quat(q) * AIRCRAFT_BASELINK_Q).as_matrix()
    found = convert_orientation(q, AUTOPILOT, HOUSE)
    np.testing.assert_allclose(Rotation.from_quat(found).as_matrix(), expected, rtol=0, atol=1e-14)
    x, y, z, w = q  # the product multiplied out, i i = j j = k k = i j k = -1
    np.testing.assert_allclose(found, (-H * (x + y), H * (y - x), H * (z - w), -H * (w + z)), rtol=0, atol=1e-15)
    np.testing.assert_allclose(convert_orientation(found, HOUSE, AUTOPILOT), q, rtol=0, atol=1e-15)


@given(quaternions, origins, st.data())
def test_an_orientation_turns_vectors_as_convert_velocity_does(
    q: FloatArray, origin: tuple[float, float, float], data: st.DataObject
) -> None:
    """target q' v' = T (q v): the law that makes orientation and vectors one convention."""
    pairs = list(itertools.product((ENU, NED, ECEF), (FLU, FRD)))
    source, target = data.draw(st.sampled_from(pairs)), data.draw(st.sampled_from(pairs))
    body = np.array([0.3, -1.2, 2.0])
    world = Rotation.from_quat(q).apply(body)
    turned = Rotation.from_quat(convert_orientation(q, source, target, origin))
    found = turned.apply(convert_velocity(body, source[1], target[1]))
    np.testing.assert_allclose(found, convert_velocity(world, source[0], target[0], origin), rtol=0, atol=1e-14)
    back = convert_orientation(convert_orientation(q, source, target, origin), target, source, origin)
    np.testing.assert_allclose(back, q, rtol=0, atol=2e-15)


def test_ecef_attitude_over_known_places() -> None:
    """At 0 N 0 E, NED's north is ECEF z, its east y, its down -x; at the north pole down is -z."""
    q = convert_orientation((0, 0, 0, 1), AUTOPILOT, (ECEF, FRD), (0, 0, 0))
    np.testing.assert_allclose(Rotation.from_quat(q).as_matrix().T, [(0, 0, 1), (0, 1, 0), (-1, 0, 0)], atol=1e-15)
    q = convert_orientation((0, 0, 0, 1), AUTOPILOT, (ECEF, FRD), (90, 0, 0))
    np.testing.assert_allclose(Rotation.from_quat(q).as_matrix().T, [(-1, 0, 0), (0, 1, 0), (0, 0, -1)], atol=1e-15)


def test_any_leading_shape_norm_and_nan() -> None:
    q = np.random.default_rng(2).normal(size=(2, 3, 4))
    there = convert_orientation(q, AUTOPILOT, HOUSE)
    np.testing.assert_allclose(np.linalg.norm(there, axis=-1), np.linalg.norm(q, axis=-1), rtol=1e-15)
    one_by_one = [[convert_orientation(one, AUTOPILOT, HOUSE) for one in row] for row in q]
    np.testing.assert_allclose(there, one_by_one, rtol=0, atol=1e-15)
    assert np.isnan(convert_orientation([np.nan] * 4, AUTOPILOT, HOUSE)).all()
    np.testing.assert_array_equal(convert_orientation(q, HOUSE, HOUSE), q)


def test_refusals() -> None:
    unit = (0, 0, 0, 1)
    with pytest.raises(OriginRequired, match="NED to ECEF needs origin"):
        convert_orientation(unit, AUTOPILOT, (ECEF, FRD))
    with pytest.raises(AttitudeRequired, match="NED to FLU depends"):
        convert_orientation(unit, AUTOPILOT, (FLU, FLU))
    with pytest.raises(ValueError, match="LLA has no axes"):
        convert_orientation(unit, (LLA, FRD), HOUSE)
    with pytest.raises(ValueError, match=r"orientation: shape is \(3,\)"):
        convert_orientation((0, 0, 0), AUTOPILOT, HOUSE)


# -------------------------------------------------------------------------------------------------------------- yaw


@pytest.mark.parametrize(
    ("clockwise_off_north", "off_east"), [(0, 90), (90, 0), (180, -90), (-90, 180), (45, 45), (135, -45), (-45, 135)]
)
def test_yaw_of_the_compass_points(clockwise_off_north: int, off_east: int) -> None:
    assert np.cos(yaw_enu_from_ned(np.radians(clockwise_off_north)) - np.radians(off_east)) == pytest.approx(1)
    assert np.cos(yaw_ned_from_enu(np.radians(off_east)) - np.radians(clockwise_off_north)) == pytest.approx(1)


@given(st.floats(-20, 20))
def test_yaw_round_trip(yaw: float) -> None:
    there = yaw_enu_from_ned(yaw)
    assert -np.pi <= there <= np.pi
    turns = (yaw_ned_from_enu(there) - yaw) / (2 * np.pi)
    assert turns == pytest.approx(round(float(turns)), abs=1e-14)


@given(st.floats(-np.pi / 2, np.pi))
def test_yaw_without_a_turn_is_plain_subtraction(yaw: float) -> None:
    assert yaw_enu_from_ned(yaw) == np.pi / 2 - yaw


@given(angles)
def test_yaw_agrees_with_the_quaternions(yaw: float) -> None:
    level = Rotation.from_euler("z", yaw).as_quat()
    found = Rotation.from_quat(convert_orientation(level, AUTOPILOT, HOUSE)).as_euler("xyz")[2]
    assert np.cos(found - yaw_enu_from_ned(yaw)) == pytest.approx(1, abs=1e-14)
