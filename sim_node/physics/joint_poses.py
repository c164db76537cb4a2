"""The pose of each body in its joint frame, from generalised positions: one compiled pass over all joints."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sim_node.geometry.arrays import FloatArray
from sim_node.geometry.kernel import kernel
from sim_node.geometry.pose_kernels import multiply, rotate

_Indices = npt.NDArray[np.int64]
_SLIDE, _HINGE = 0, 1


@kernel(nogil=True)
def write_joint_poses(
    qpos: FloatArray,
    rows: _Indices,
    first: _Indices,
    kinds: _Indices,
    axes: FloatArray,
    q_at: _Indices,
    origins: FloatArray,
    anchors: FloatArray,
    poses: FloatArray,
) -> bool:
    """Write rows (B,) of poses (N, 7) [x y z qx qy qz qw]; without effect, return False if a position is not finite.

    Body b has the parts first[b] to first[b + 1]: kinds (P,) 0 slide, 1 hinge, 2 ball; axes (P, 3); q_at (P,) where
    in qpos each begins, balls as [w x y z]. origins (B, 3) is taken from the positions;
    anchors (B, 3): the point in each body that it turns about.
    """
    for q in range(qpos.shape[0]):
        if not math.isfinite(qpos[q]):
            return False
    for b in range(rows.shape[0]):
        cx, cy, cz = anchors[b, 0], anchors[b, 1], anchors[b, 2]
        px, py, pz = cx - origins[b, 0], cy - origins[b, 1], cz - origins[b, 2]
        x, y, z, w = 0.0, 0.0, 0.0, 1.0
        for p in range(first[b], first[b + 1]):
            at = q_at[p]
            if kinds[p] == _SLIDE:
                sx, sy, sz = axes[p, 0] * qpos[at], axes[p, 1] * qpos[at], axes[p, 2] * qpos[at]
                sx, sy, sz = rotate(x, y, z, w, sx, sy, sz)
                px, py, pz = px + sx, py + sy, pz + sz
                continue
            if kinds[p] == _HINGE:
                sine, bw = math.sin(0.5 * qpos[at]), math.cos(0.5 * qpos[at])
                bx, by, bz = axes[p, 0] * sine, axes[p, 1] * sine, axes[p, 2] * sine
            else:
                bw, bx, by, bz = qpos[at], qpos[at + 1], qpos[at + 2], qpos[at + 3]
                scale = 1.0 / math.sqrt(bw * bw + bx * bx + by * by + bz * bz)
                bw, bx, by, bz = bw * scale, bx * scale, by * scale, bz * scale
            x, y, z, w = multiply(x, y, z, w, bx, by, bz, bw)
        cx, cy, cz = rotate(x, y, z, w, cx, cy, cz)
        px, py, pz = px - cx, py - cy, pz - cz
        row = rows[b]
        poses[row, 0], poses[row, 1], poses[row, 2] = px, py, pz
        poses[row, 3], poses[row, 4], poses[row, 5], poses[row, 6] = x, y, z, w
    return True
