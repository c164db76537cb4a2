"""Attitudes of inertial sensors: the orientation that they estimate, at the place of their frame."""

from __future__ import annotations

from typing import Any

import numpy as np

from sim_node.spatial.frames import Frame, convert_orientation
from sim_node.viewing.messages.drawing import Attitude, Drawing
from sim_node.viewing.messages.readers import reader, stateless

# Frames with these endings measure FRD bodies in NED (REP 103).
NED_ENDINGS = ("_ned", "_frd")
_NED, _ENU = (Frame.NED, Frame.FRD), (Frame.ENU, Frame.FLU)


def imu(message: Any) -> Drawing:
    """Read the attitude of a sensor_msgs/Imu: of its frame in ENU (REP 145).

    None without an estimate: a covariance that begins with -1, or a quaternion of zeros.
    """
    frame, given = message.header.frame_id, message.orientation
    quaternion = np.array([given.x, given.y, given.z, given.w])
    norm = float(np.linalg.norm(quaternion))
    if message.orientation_covariance[0] == -1.0 or norm < 1e-9:
        return Drawing(frame, ())
    if not np.isfinite(norm):
        raise ValueError("an orientation that is not finite")
    quaternion /= norm
    conversion = ""
    if frame.endswith(NED_ENDINGS):
        quaternion, conversion = convert_orientation(quaternion, _NED, _ENU), "NED to ENU"
    return Drawing(frame, (Attitude(frame, quaternion),), conversion=conversion)


reader("sensor_msgs/msg/Imu")(stateless(imu))
