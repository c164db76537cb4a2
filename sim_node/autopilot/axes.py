"""Angles of single attitudes in plain floats, for each message that is received. Vectors are in frames/vectors.py."""

from __future__ import annotations

import math

Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]


def quaternion_from_rpy(roll: float, pitch: float, yaw: float) -> Quaternion:
    """Return Rz(yaw) Ry(pitch) Rx(roll), w first: MAVLink's ATTITUDE, ZYX intrinsic."""
    sr, cr = math.sin(0.5 * roll), math.cos(0.5 * roll)
    sp, cp = math.sin(0.5 * pitch), math.cos(0.5 * pitch)
    sy, cy = math.sin(0.5 * yaw), math.cos(0.5 * yaw)
    return (
        cr * cp * cy + sr * sp * sy,
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
    )


def yaw_of(x: float, y: float, z: float, w: float) -> float:
    """Return the yaw of a quaternion [x, y, z, w] about the fixed z axis, in [-pi, pi]."""
    return math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))


def yaw_between_ned_and_enu(yaw: float) -> float:
    """Return pi/2 - yaw in [-pi, pi]: clockwise from north to counterclockwise from east, or back."""
    return math.remainder(0.5 * math.pi - yaw, 2.0 * math.pi)
