"""The pose of each moving link of a model in its parent, from generalised positions: one compiled pass."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sim_node.geometry.arrays import FloatArray
from sim_node.geometry.kernel import kernel
from sim_node.geometry.pose_kernels import multiply, rotate

_Indices = npt.NDArray[np.int64]
_SLIDE, _HINGE, _BALL = 0, 1, 2


@kernel(nogil=True)
def write_link_poses(
    qpos: FloatArray,
    rows: _Indices,
    rests: FloatArray,
    mounts: FloatArray,
    first: _Indices,
    kinds: _Indices,
    axes: FloatArray,
    anchors: FloatArray,
    neutral: FloatArray,
    q_at: _Indices,
    poses: FloatArray,
) -> None:
    """Writes rows (L,) of poses (N, 7) [x y z qx qy qz qw]; the arrays are those of CompiledLinks.

    As mj_kinematics: each joint moves the link on from where the ones before it left it, turning about its anchor.
    """
    for k in range(rows.shape[0]):
        px, py, pz = rests[k, 0], rests[k, 1], rests[k, 2]
        x, y, z, w = rests[k, 3], rests[k, 4], rests[k, 5], rests[k, 6]
        for j in range(first[k], first[k + 1]):
            at = q_at[j]
            if kinds[j] == _SLIDE:
                d = qpos[at] - neutral[j]
                sx, sy, sz = rotate(x, y, z, w, axes[j, 0] * d, axes[j, 1] * d, axes[j, 2] * d)
                px, py, pz = px + sx, py + sy, pz + sz
                continue
            if kinds[j] == _HINGE:
                half = 0.5 * (qpos[at] - neutral[j])
                sine, bw = math.sin(half), math.cos(half)
                bx, by, bz = axes[j, 0] * sine, axes[j, 1] * sine, axes[j, 2] * sine
            else:
                start = at if kinds[j] == _BALL else at + 3
                bw, bx, by, bz = qpos[start], qpos[start + 1], qpos[start + 2], qpos[start + 3]
                scale = 1.0 / math.sqrt(bw * bw + bx * bx + by * by + bz * bz)
                bw, bx, by, bz = bw * scale, bx * scale, by * scale, bz * scale
            if kinds[j] <= _BALL:
                ax, ay, az = rotate(x, y, z, w, anchors[j, 0], anchors[j, 1], anchors[j, 2])
                px, py, pz = px + ax, py + ay, pz + az
                x, y, z, w = multiply(x, y, z, w, bx, by, bz, bw)
                ax, ay, az = rotate(x, y, z, w, anchors[j, 0], anchors[j, 1], anchors[j, 2])
                px, py, pz = px - ax, py - ay, pz - az
                continue
            mx, my, mz, mw = mounts[k, 3], mounts[k, 4], mounts[k, 5], mounts[k, 6]
            px, py, pz = rotate(mx, my, mz, mw, qpos[at], qpos[at + 1], qpos[at + 2])
            px, py, pz = px + mounts[k, 0], py + mounts[k, 1], pz + mounts[k, 2]
            x, y, z, w = multiply(mx, my, mz, mw, bx, by, bz, bw)
        row = rows[k]
        poses[row, 0], poses[row, 1], poses[row, 2] = px, py, pz
        poses[row, 3], poses[row, 4], poses[row, 5], poses[row, 6] = x, y, z, w
