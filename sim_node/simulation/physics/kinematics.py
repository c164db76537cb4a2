"""Compiled loops over frames: their poses and motion from MuJoCo's kinematics of bodies."""

# mypy: allow-untyped-defs, allow-untyped-calls
# The types are numba's, inferred.

from __future__ import annotations

import math

from sim_node.spatial.geometry.kernel import kernel
from sim_node.spatial.geometry.pose_kernels import as_pose, compose, cross, relative, write_pose


@kernel(nogil=True)
def is_finite(velocities):
    """Return whether all velocities (nv,) are finite."""
    for k in range(len(velocities)):  # noqa: SIM110  kernels have no all()
        if not math.isfinite(velocities[k]):
            return False
    return True


@kernel(nogil=True)
def write_link_poses(xpos, xquat, links, mounts, poses):
    """Write the pose of each moving link in its parent frame to its row of a table of frames.

    Args:
        xpos: Positions (B, 3) of MuJoCo's bodies in the fixed frame, m, as mj_kinematics leaves them.
        xquat: Their orientations (B, 4), w x y z.
        links: For each link (L, 3), its row, its MuJoCo body, and the MuJoCo body that its parent frame is fixed to.
        mounts: Pose (L, 7) of that parent frame in that body.
        poses: The table (N, 7) [x y z qx qy qz qw]. Other rows are not changed.

    Returns:
        Whether the poses of all links are finite. Poses that are not finite are not written.
    """
    for k in range(links.shape[0]):
        x, y, z, qx, qy, qz, qw = _of_body(xpos, xquat, links[k, 1])
        if not math.isfinite(x + y + z + qx + qy + qz + qw):
            return False
    for k in range(links.shape[0]):
        parent = compose(_of_body(xpos, xquat, links[k, 2]), as_pose(mounts[k]))
        write_pose(poses[links[k, 0]], relative(parent, _of_body(xpos, xquat, links[k, 1])))
    return True


@kernel(nogil=True)
def write_frame_motion(
    xpos, xquat, cvel, cacc, subtree_com, gravity, carriers, roots, offsets, places, pose, twist, acceleration
):
    """Write rows `places` (F,) of pose (S, 7), twist (S, 6) and acceleration (S, 6), as in a FrameState.

    Frame f has the pose offsets[f] in body carriers[f], whose tree has the root body roots[f]. MuJoCo's cvel and cacc
    are [angular, linear], at the tree's centre of mass and along the axes of the world; cacc is spatial and starts from
    an upward acceleration instead of gravity (MuJoCo, Computation, "Kinematics"; Featherstone, Rigid Body Dynamics
    Algorithms, 2008, section 2.11).
    """
    for f in range(carriers.shape[0]):
        body, root, row = carriers[f], roots[f], places[f]
        write_pose(pose[row], compose(_of_body(xpos, xquat, body), as_pose(offsets[f])))
        px, py, pz = pose[row, 0], pose[row, 1], pose[row, 2]

        lx, ly, lz = px - subtree_com[root, 0], py - subtree_com[root, 1], pz - subtree_com[root, 2]
        wx, wy, wz = cvel[body, 0], cvel[body, 1], cvel[body, 2]
        cx, cy, cz = cross(wx, wy, wz, lx, ly, lz)
        vx, vy, vz = cvel[body, 3] + cx, cvel[body, 4] + cy, cvel[body, 5] + cz
        twist[row, 0], twist[row, 1], twist[row, 2] = vx, vy, vz
        twist[row, 3], twist[row, 4], twist[row, 5] = wx, wy, wz

        # The acceleration of the point that moves with the body is the spatial one at the frame's origin, plus w x v.
        rx, ry, rz = cacc[body, 0], cacc[body, 1], cacc[body, 2]
        tx, ty, tz = cross(rx, ry, rz, lx, ly, lz)
        cx, cy, cz = cross(wx, wy, wz, vx, vy, vz)
        acceleration[row, 0] = cacc[body, 3] + tx + cx + gravity[0]
        acceleration[row, 1] = cacc[body, 4] + ty + cy + gravity[1]
        acceleration[row, 2] = cacc[body, 5] + tz + cz + gravity[2]
        acceleration[row, 3], acceleration[row, 4], acceleration[row, 5] = rx, ry, rz


@kernel()
def _of_body(xpos, xquat, body):
    """Return the pose of a MuJoCo body in the fixed frame."""
    x, y, z = xpos[body, 0], xpos[body, 1], xpos[body, 2]
    return x, y, z, xquat[body, 1], xquat[body, 2], xquat[body, 3], xquat[body, 0]
