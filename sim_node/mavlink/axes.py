"""Checks and angles of single attitudes in plain floats, for each message. Vectors are in spatial/frames/vectors.py."""

from __future__ import annotations

import math

from sim_node.spatial.geometry.quaternions import from_rpy

Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]


def quaternion_from_rpy(roll: float, pitch: float, yaw: float) -> Quaternion:
    """Return the quaternion [w, x, y, z] of Rz(yaw) Ry(pitch) Rx(roll): MAVLink's ATTITUDE, ZYX intrinsic."""
    x, y, z, w = from_rpy(roll, pitch, yaw)
    return w, x, y, z


def finite(x: float, y: float, z: float) -> bool:
    """Return whether a vector is finite. Its components have single precision, so their sum cannot overflow."""
    return math.isfinite(x + y + z)


def unit_quaternion(a: float, b: float, c: float, d: float) -> Quaternion | None:
    """Return a quaternion with norm 1, in the order of its components; None if it is far from a rotation, or NaN."""
    norm = math.sqrt(a * a + b * b + c * c + d * d)
    if not 0.9 < norm < 1.1:  # also False for NaN
        return None
    return a / norm, b / norm, c / norm, d / norm
