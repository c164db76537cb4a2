"""Messages of a vehicle's telemetry that come often, each laid out for its frames: see sim_node.wire.struct_message.

A covariance of zeros means unknown; where a sender knows it, it is among the values.
"""

from __future__ import annotations

import struct

import numpy as np

from sim_node.wire.cdr import aligned, cdr_string
from sim_node.wire.stamped_message import header
from sim_node.wire.struct_message import Pack, packed

_UNKNOWN_3X3 = np.zeros(9)
_NOT_MEASURED = np.array([-1.0, *[0.0] * 8])
_IDENTITY = np.array([0.0, 0.0, 0.0, 1.0])


def imu_with_attitude(frame_id: str) -> Pack:
    """sensor_msgs/Imu; values: orientation (4), angular rate (3), specific force (3)."""
    numbers = np.concatenate([_IDENTITY, _UNKNOWN_3X3, np.zeros(3), _UNKNOWN_3X3, np.zeros(3), _UNKNOWN_3X3])
    return packed(header(frame_id), numbers, (0, 4), (13, 16), (25, 28))


def imu_raw(frame_id: str) -> Pack:
    """sensor_msgs/Imu without an orientation; values: angular rate (3), specific force (3)."""
    numbers = np.concatenate([_IDENTITY, _NOT_MEASURED, np.zeros(3), _UNKNOWN_3X3, np.zeros(3), _UNKNOWN_3X3])
    return packed(header(frame_id), numbers, (13, 16), (25, 28))


def magnetic_field(frame_id: str) -> Pack:
    """sensor_msgs/MagneticField; values: the field (3), T."""
    return packed(header(frame_id), np.zeros(12), (0, 3))


def scalar_with_variance(frame_id: str) -> Pack:
    """sensor_msgs/FluidPressure or Temperature, of unknown variance; values: the number (1)."""
    return packed(header(frame_id), np.zeros(2), (0, 1))


def pose(frame_id: str) -> Pack:
    """geometry_msgs/PoseStamped; values: position (3), orientation (4)."""
    return packed(header(frame_id), np.zeros(7), (0, 7))


def twist(frame_id: str) -> Pack:
    """geometry_msgs/TwistStamped; values: linear (3), angular (3)."""
    return packed(header(frame_id), np.zeros(6), (0, 6))


def pose_with_covariance(frame_id: str) -> Pack:
    """geometry_msgs/PoseWithCovarianceStamped; values: pose (7), its covariance (36)."""
    return packed(header(frame_id), np.zeros(7 + 36), (0, 43))


def twist_with_covariance(frame_id: str) -> Pack:
    """geometry_msgs/TwistWithCovarianceStamped; values: linear (3), angular (3), their covariance (36)."""
    return packed(header(frame_id), np.zeros(6 + 36), (0, 42))


def acceleration_with_covariance(frame_id: str) -> Pack:
    """geometry_msgs/AccelWithCovarianceStamped; values: linear (3), angular (3), their covariance (36)."""
    return twist_with_covariance(frame_id)


def odometry(frame_id: str, child_frame_id: str) -> Pack:
    """nav_msgs/Odometry; values: pose (7) in frame_id, twist (6) in child_frame_id."""
    return packed(_odometry_head(frame_id, child_frame_id), np.zeros(7 + 36 + 6 + 36), (0, 7), (43, 49))


def odometry_with_covariance(frame_id: str, child_frame_id: str) -> Pack:
    """nav_msgs/Odometry; values: pose (7), its covariance (36), twist (6), its covariance (36)."""
    return packed(_odometry_head(frame_id, child_frame_id), np.zeros(7 + 36 + 6 + 36), (0, 85))


def nav_sat_fix(frame_id: str, status: int, covariance_kind: int) -> Pack:
    """sensor_msgs/NavSatFix; values: latitude, longitude, altitude, covariance (9)."""
    body = header(frame_id) + struct.pack("<b", status)
    aligned(body, 2)
    body += struct.pack("<H", 1)  # SERVICE_GPS
    return packed(body, np.zeros(12), (0, 12), after=struct.pack("<B", covariance_kind))


def _odometry_head(frame_id: str, child_frame_id: str) -> bytearray:
    body = header(frame_id)
    aligned(body, 4)
    return body + cdr_string(child_frame_id)
