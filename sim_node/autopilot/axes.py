"""NED/FRD against ENU/FLU for one value at a time, in plain floats: what runs for every message that comes in.

The laws are those of sim_node.frames, to which the tests hold these; an array of one row would take ten times as
long. Each function is its own inverse, so the names serve both ways.
"""

from __future__ import annotations

import math

Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]

_S = math.sqrt(0.5)


def ned_enu(x: float, y: float, z: float) -> Vector:
    """North, east, down to east, north, up, or back."""
    return y, x, -z


def frd_flu(x: float, y: float, z: float) -> Vector:
    """Forward, right, down to forward, left, up, or back."""
    return x, -y, -z


def attitude_enu_flu(w: float, x: float, y: float, z: float) -> Quaternion:
    """FRD in NED as MAVLink has it, w first, to FLU in ENU as [x, y, z, w].

    MAVROS' NED_ENU_Q * q * AIRCRAFT_BASELINK_Q written out, signs included (mavros/src/lib/ftf_frame_conversions.cpp).
    """
    return -_S * (x + y), _S * (y - x), _S * (z - w), -_S * (w + z)


def attitude_ned_frd(x: float, y: float, z: float, w: float) -> Quaternion:
    """FLU in ENU as [x, y, z, w] to FRD in NED as MAVLink has it, w first."""
    return -_S * (w + z), -_S * (x + y), _S * (y - x), _S * (z - w)


def quaternion_from_rpy(roll: float, pitch: float, yaw: float) -> Quaternion:
    """Rz(yaw) Ry(pitch) Rx(roll), w first: MAVLink's ATTITUDE, ZYX intrinsic."""
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
    """Yaw of a quaternion [x, y, z, w] about the fixed z axis, in [-pi, pi]."""
    return math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))


def yaw_between_ned_and_enu(yaw: float) -> float:
    """pi/2 - yaw in [-pi, pi]: clockwise off north to counterclockwise off east, or back."""
    return math.remainder(0.5 * math.pi - yaw, 2.0 * math.pi)


def rotate_inverse(q: Quaternion, v: Vector) -> Vector:
    """A vector in world axes in the axes of the body whose attitude is q = [x, y, z, w]."""
    x, y, z, w = -q[0], -q[1], -q[2], q[3]
    vx, vy, vz = v
    tx, ty, tz = 2.0 * (y * vz - z * vy), 2.0 * (z * vx - x * vz), 2.0 * (x * vy - y * vx)
    return vx + w * tx + y * tz - z * ty, vy + w * ty + z * tx - x * tz, vz + w * tz + x * ty - y * tx
