"""Pose algebra for compiled kernels: quaternions and poses as numbers in registers, without arrays.

Quaternions are Hamilton and scalar last, poses [x y z qx qy qz qw], as in poses.py. Quaternions are assumed to be unit.
Importing this module imports numba.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
# The types are numba's, inferred.

from __future__ import annotations

import math

from sim_node.spatial.geometry.kernel import kernel

IDENTITY = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)


@kernel()
def rotate(qx, qy, qz, qw, x, y, z):
    """Return a vector rotated by a quaternion."""
    tx, ty, tz = 2.0 * (qy * z - qz * y), 2.0 * (qz * x - qx * z), 2.0 * (qx * y - qy * x)
    return x + qw * tx + qy * tz - qz * ty, y + qw * ty + qz * tx - qx * tz, z + qw * tz + qx * ty - qy * tx


@kernel()
def multiply(ax, ay, az, aw, bx, by, bz, bw):
    """Return the Hamilton product a b of two quaternions."""
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


@kernel()
def axes(qx, qy, qz, qw):
    """Return the rows of a quaternion's rotation matrix, one after the other. Its columns are the rotated axes."""
    return (
        1.0 - 2.0 * (qy * qy + qz * qz),
        2.0 * (qx * qy - qz * qw),
        2.0 * (qx * qz + qy * qw),
        2.0 * (qx * qy + qz * qw),
        1.0 - 2.0 * (qx * qx + qz * qz),
        2.0 * (qy * qz - qx * qw),
        2.0 * (qx * qz - qy * qw),
        2.0 * (qy * qz + qx * qw),
        1.0 - 2.0 * (qx * qx + qy * qy),
    )


@kernel()
def yaw_of(qx, qy, qz, qw):
    """Return the yaw of a quaternion about the world's z axis, rad."""
    return math.atan2(2.0 * (qx * qy + qz * qw), 1.0 - 2.0 * (qy * qy + qz * qz))


@kernel()
def cross(ax, ay, az, bx, by, bz):
    """Return the cross product a x b."""
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


@kernel()
def compose(a, b):
    """Return the pose of c in the outer frame, from the pose a of b's frame in it and the pose b of c in b's frame."""
    ax, ay, az, aqx, aqy, aqz, aqw = a
    bx, by, bz, bqx, bqy, bqz, bqw = b
    x, y, z = rotate(aqx, aqy, aqz, aqw, bx, by, bz)
    qx, qy, qz, qw = multiply(aqx, aqy, aqz, aqw, bqx, bqy, bqz, bqw)
    return ax + x, ay + y, az + z, qx, qy, qz, qw


@kernel()
def invert(a):
    """Return the pose of the outer frame in the inner one."""
    x, y, z, qx, qy, qz, qw = a
    x, y, z = rotate(-qx, -qy, -qz, qw, x, y, z)
    return -x, -y, -z, -qx, -qy, -qz, qw


@kernel()
def relative(a, b):
    """Return the pose of b in a, both given in one frame.

    Equals invert and compose, but is precise far from the origin.
    """
    ax, ay, az, aqx, aqy, aqz, aqw = a
    back = (0.0, 0.0, 0.0, -aqx, -aqy, -aqz, aqw)
    return compose(back, (b[0] - ax, b[1] - ay, b[2] - az, b[3], b[4], b[5], b[6]))


@kernel()
def exp(vx, vy, vz, wx, wy, wz):
    """Return the pose after unit time at a constant twist [v, w] in child axes; as poses.exp, with its reference."""
    square = wx * wx + wy * wy + wz * wz
    angle = math.sqrt(square)
    if angle < 1e-2:
        first = 0.5 - square / 24.0 + square * square / 720.0
        second = 1.0 / 6.0 - square / 120.0 + square * square / 5040.0
    else:
        first = 2.0 * (math.sin(0.5 * angle) / angle) ** 2
        second = (angle - math.sin(angle)) / (square * angle)
    ax, ay, az = cross(wx, wy, wz, vx, vy, vz)
    bx, by, bz = cross(wx, wy, wz, ax, ay, az)
    half = math.sin(0.5 * angle) / angle if angle > 0.0 else 0.5
    return (
        vx + first * ax + second * bx,
        vy + first * ay + second * by,
        vz + first * az + second * bz,
        wx * half,
        wy * half,
        wz * half,
        math.cos(0.5 * angle),
    )


@kernel()
def log(pose):
    """Return the twist [v, w] in child axes that reaches a pose in unit time on the shortest arc; as poses.log."""
    x, y, z, qx, qy, qz, qw = pose
    sine = math.sqrt(qx * qx + qy * qy + qz * qz)
    scale = 2.0 * math.atan2(sine, abs(qw)) / sine if sine > 0.0 else 2.0
    if qw < 0.0:
        scale = -scale
    wx, wy, wz = qx * scale, qy * scale, qz * scale
    square = wx * wx + wy * wy + wz * wz
    half = 0.5 * math.sqrt(square)
    factor = 1.0 / 12.0 + square / 720.0 if half < 5e-3 else (1.0 - half / math.tan(half)) / square
    ax, ay, az = cross(wx, wy, wz, x, y, z)
    bx, by, bz = cross(wx, wy, wz, ax, ay, az)
    return x - 0.5 * ax + factor * bx, y - 0.5 * ay + factor * by, z - 0.5 * az + factor * bz, wx, wy, wz


@kernel()
def as_pose(row):
    """Return a row (7,) of an array as the numbers of a pose."""
    return row[0], row[1], row[2], row[3], row[4], row[5], row[6]


@kernel()
def write_pose(row, pose):
    """Write a pose to a row (7,) of an array."""
    row[0], row[1], row[2], row[3], row[4], row[5], row[6] = pose
