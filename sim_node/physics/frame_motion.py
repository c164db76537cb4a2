"""How frames fixed to bodies move, from what MuJoCo says of the bodies: one compiled pass over all frames."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from numba import types

from sim_node.geometry.kernel import kernel
from sim_node.geometry.pose_kernels import cross, multiply, rotate

_F64, _I64 = types.float64[:, ::1], types.int64[::1]
_FRAMES = types.Array(types.float64, 2, "C", readonly=True)


@kernel(
    types.void(_F64, _F64, _F64, _F64, _F64, types.float64[::1], _I64, _I64, _FRAMES, _I64, _F64, _F64, _F64),
    nogil=True,
)
def write_frame_motion(
    xpos, xquat, cvel, cacc, subtree_com, gravity, carriers, roots, offsets, places, pose, twist, acceleration
):
    """Writes rows `places` (F,) of pose (S, 7), twist (S, 6) and acceleration (S, 6), as a FrameState has them.

    Frame f has the pose offsets[f] in body carriers[f], whose tree hangs on body roots[f]. MuJoCo's cvel and cacc
    are [angular, linear], at the tree's centre of mass and along the axes of the world; cacc is spatial and starts
    from an upward acceleration instead of gravity (MuJoCo, Computation, "Kinematics"; Featherstone, Rigid Body
    Dynamics Algorithms, 2008, section 2.11).
    """
    for f in range(carriers.shape[0]):
        body, root, row = carriers[f], roots[f], places[f]
        bw, bx, by, bz = xquat[body, 0], xquat[body, 1], xquat[body, 2], xquat[body, 3]
        ox, oy, oz, ow = offsets[f, 3], offsets[f, 4], offsets[f, 5], offsets[f, 6]
        ax, ay, az = rotate(bx, by, bz, bw, offsets[f, 0], offsets[f, 1], offsets[f, 2])
        px, py, pz = xpos[body, 0] + ax, xpos[body, 1] + ay, xpos[body, 2] + az
        pose[row, 0], pose[row, 1], pose[row, 2] = px, py, pz
        pose[row, 3], pose[row, 4], pose[row, 5], pose[row, 6] = multiply(bx, by, bz, bw, ox, oy, oz, ow)

        lx, ly, lz = px - subtree_com[root, 0], py - subtree_com[root, 1], pz - subtree_com[root, 2]
        wx, wy, wz = cvel[body, 0], cvel[body, 1], cvel[body, 2]
        cx, cy, cz = cross(wx, wy, wz, lx, ly, lz)
        vx, vy, vz = cvel[body, 3] + cx, cvel[body, 4] + cy, cvel[body, 5] + cz
        twist[row, 0], twist[row, 1], twist[row, 2] = vx, vy, vz
        twist[row, 3], twist[row, 4], twist[row, 5] = wx, wy, wz

        # The spatial acceleration at the frame's origin, and w x v more of the point that moves with the body.
        rx, ry, rz = cacc[body, 0], cacc[body, 1], cacc[body, 2]
        tx, ty, tz = cross(rx, ry, rz, lx, ly, lz)
        cx, cy, cz = cross(wx, wy, wz, vx, vy, vz)
        acceleration[row, 0] = cacc[body, 3] + tx + cx + gravity[0]
        acceleration[row, 1] = cacc[body, 4] + ty + cy + gravity[1]
        acceleration[row, 2] = cacc[body, 5] + tz + cz + gravity[2]
        acceleration[row, 3], acceleration[row, 4], acceleration[row, 5] = rx, ry, rz
