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
