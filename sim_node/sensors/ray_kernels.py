"""The compiled loop that turns rays with their sensors. Importing this imports numba; sensors do when opened."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from numba import types

from sim_node.geometry.kernel import kernel
from sim_node.geometry.pose_kernels import axes

_POSES = types.Array(types.float64, 2, "C", readonly=True)
_FANS = types.Array(types.float64, 3, "C", readonly=True)


@kernel(types.void(_POSES, _FANS, types.float64[:, :, ::1]), nogil=True)
def turn(pose, fans, turned):
    """Writes directions (S, R, 3) along frames' axes, of poses (S, 7), as they are along the fixed frame's.

    A product of matrices would do it by threads of BLAS, which on few cores then stand in the way of casting.
    """
    for s in range(fans.shape[0]):
        x, y, z, w = pose[s, 3], pose[s, 4], pose[s, 5], pose[s, 6]
        xx, xy, xz, yx, yy, yz, zx, zy, zz = axes(x, y, z, w)
        for r in range(fans.shape[1]):
            a, b, c = fans[s, r, 0], fans[s, r, 1], fans[s, r, 2]
            turned[s, r, 0] = xx * a + xy * b + xz * c
            turned[s, r, 1] = yx * a + yy * b + yz * c
            turned[s, r, 2] = zx * a + zy * b + zz * c
