"""The scalar conversions beside sim_node.frames, sim_node.geometry and scipy."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from sim_node.autopilot import axes
from sim_node.frames import Frame, convert_orientation, convert_velocity

NUMBER = st.floats(-1e6, 1e6)
VECTOR = st.tuples(NUMBER, NUMBER, NUMBER)
PART = st.floats(-1.0, 1.0)
ANGLE = st.floats(-3.14, 3.14)


@st.composite
def unit(draw: st.DrawFn) -> tuple[float, ...]:
    q = np.array(draw(st.tuples(PART, PART, PART, PART)))
    norm = np.linalg.norm(q)
    assume(norm > 0.1)
    return tuple((q / norm).tolist())


@given(VECTOR)
def test_vectors_are_those_of_frames(vector: tuple[float, float, float]) -> None:
    assert axes.ned_enu(*vector) == tuple(convert_velocity(vector, Frame.NED, Frame.ENU))
    assert axes.frd_flu(*vector) == tuple(convert_velocity(vector, Frame.FRD, Frame.FLU))
    assert axes.ned_enu(*axes.ned_enu(*vector)) == vector
    assert axes.frd_flu(*axes.frd_flu(*vector)) == vector


@given(unit())
def test_attitudes_are_those_of_frames_signs_included(q: tuple[float, float, float, float]) -> None:
    x, y, z, w = q
    expected = convert_orientation(q, (Frame.NED, Frame.FRD), (Frame.ENU, Frame.FLU))
    np.testing.assert_allclose(axes.attitude_enu_flu(w, x, y, z), expected, rtol=0, atol=1e-15)
    back = axes.attitude_ned_frd(*axes.attitude_enu_flu(w, x, y, z))
    np.testing.assert_allclose(back, (w, x, y, z), rtol=0, atol=1e-15)


@given(ANGLE, st.floats(-1.57, 1.57), ANGLE)
def test_euler_angles_are_scipys(roll: float, pitch: float, yaw: float) -> None:
    w, x, y, z = axes.quaternion_from_rpy(roll, pitch, yaw)
    ours, theirs = Rotation.from_quat([x, y, z, w]), Rotation.from_euler("ZYX", [yaw, pitch, roll])
    assert (ours * theirs.inv()).magnitude() < 1e-12


@given(unit(), VECTOR)
def test_turning_back_is_scipys(q: tuple[float, float, float, float], vector: tuple[float, float, float]) -> None:
    expected = Rotation.from_quat(q).inv().apply(vector)
    np.testing.assert_allclose(axes.rotate_inverse(q, vector), expected, rtol=0, atol=1e-8)


def test_headings() -> None:
    """North is pi/2 off east, east is 0, west pi, and a turn to the right is a negative one."""
    for yaw_ned, yaw_enu in ((0.0, np.pi / 2), (np.pi / 2, 0.0), (-np.pi / 2, np.pi), (0.1, np.pi / 2 - 0.1)):
        assert np.isclose(np.cos(axes.yaw_between_ned_and_enu(yaw_ned) - yaw_enu), 1.0)
        q = axes.attitude_enu_flu(*axes.quaternion_from_rpy(0.0, 0.0, yaw_ned))
        assert np.isclose(np.cos(axes.yaw_of(*q) - yaw_enu), 1.0)
