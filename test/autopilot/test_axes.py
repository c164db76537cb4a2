"""Angles of single attitudes beside scipy."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from sim_node.mavlink import axes
from sim_node.spatial.frames import AttitudeNed, YawEnu, YawNed

ANGLE = st.floats(-3.14, 3.14)


@given(ANGLE, st.floats(-1.57, 1.57), ANGLE)
def test_euler_angles_are_scipys(roll: float, pitch: float, yaw: float) -> None:
    w, x, y, z = axes.quaternion_from_rpy(roll, pitch, yaw)
    ours, theirs = Rotation.from_quat([x, y, z, w]), Rotation.from_euler("ZYX", [yaw, pitch, roll])
    assert (ours * theirs.inv()).magnitude() < 1e-12


def test_headings() -> None:
    """North is pi/2 off east, east is 0, west pi, and a turn to the right is a negative one."""
    for yaw_ned, yaw_enu in ((0.0, np.pi / 2), (np.pi / 2, 0.0), (-np.pi / 2, np.pi), (0.1, np.pi / 2 - 0.1)):
        attitude = AttitudeNed(axes.quaternion_from_rpy(0.0, 0.0, yaw_ned))
        assert abs(YawNed(yaw_ned).to_enu() - YawEnu(yaw_enu)) < 1e-12
        assert abs(attitude.to_enu().yaw - YawEnu(yaw_enu)) < 1e-12
        assert abs(attitude.yaw - YawNed(yaw_ned)) < 1e-12
