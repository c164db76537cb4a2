"""Conversion between NED/FRD and ENU/FLU of single values in plain floats, for each message that is received.

The conversions are those of sim_node.frames, against which they are tested; arrays of one row would take ten times as
long. Each function is its own inverse, so that its name applies to both directions.
"""

from __future__ import annotations

import math

Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]

_S = math.sqrt(0.5)


def ned_enu(x: float, y: float, z: float) -> Vector:
    """Convert north, east, down to east, north, up, or back."""
    return y, x, -z


def frd_flu(x: float, y: float, z: float) -> Vector:
    """Convert forward, right, down to forward, left, up, or back."""
    return x, -y, -z


def attitude_enu_flu(w: float, x: float, y: float, z: float) -> Quaternion:
    """Convert FRD in NED as in MAVLink, w first, to FLU in ENU as [x, y, z, w].

    This is MAVROS' NED_ENU_Q * q * AIRCRAFT_BASELINK_Q, including signs (mavros/src/lib/ftf_frame_conversions.cpp).
    """
    return -_S * (x + y), _S * (y - x), _S * (z - w), -_S * (w + z)


def attitude_ned_frd(x: float, y: float, z: float, w: float) -> Quaternion:
    """Convert FLU in ENU as [x, y, z, w] to FRD in NED as in MAVLink, w first."""
    return -_S * (w + z), -_S * (x + y), _S * (y - x), _S * (z - w)


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


def rotate_inverse(q: Quaternion, v: Vector) -> Vector:
    """Rotate a vector from world axes to those of the body whose attitude is q = [x, y, z, w]."""
    x, y, z, w = -q[0], -q[1], -q[2], q[3]
    vx, vy, vz = v
    tx, ty, tz = 2.0 * (y * vz - z * vy), 2.0 * (z * vx - x * vz), 2.0 * (x * vy - y * vx)
    return vx + w * tx + y * tz - z * ty, vy + w * ty + z * tx - x * tz, vz + w * tz + x * ty - y * tx
