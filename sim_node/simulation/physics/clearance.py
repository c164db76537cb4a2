"""Clearance of free-floating bodies: while none can touch, collision detection, a fifth of a fleet's time, is off."""

from __future__ import annotations

import math

import mujoco
import numpy as np

from sim_node.spatial.geometry.arrays import FloatArray, IntArray
from sim_node.spatial.geometry.kernel import kernel

# Timesteps until clearance is computed again after none was found.
PAUSE = 100
# Maximum rounding error of a distance, relative to the largest coordinate.
ROUNDING = 1e-12


def clearance_of(model: mujoco.MjModel, data: mujoco.MjData) -> Clearance | None:
    """Return the clearance of a model whose moving bodies all float freely; None for any other model.

    Args:
        model: The model.
        data: The run's data.
    """
    floating = bool((model.jnt_type == mujoco.mjtJoint.mjJNT_FREE).all())
    if not floating or model.nmocap or model.npair or model.nflex:
        return None
    if model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_CONTACT:
        return None
    return Clearance(model, data)


class Clearance:
    """Bounding spheres of the bodies, and the distance that every body may move before any two can touch.

    As with a Verlet list in molecular dynamics, distances are computed again only when a body has moved that far.

    Args:
        model: A model whose moving bodies all float freely.
        data: The run's data.
    """

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        now = mujoco.MjData(model)
        mujoco.mj_kinematics(model, now)
        carriers = model.body_weldid[model.geom_bodyid]
        collides = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
        reach = model.geom_rbound + model.geom_margin
        apart = np.linalg.norm(now.geom_xpos - now.xpos[carriers], axis=1)
        radii = np.full(model.nbody, -np.inf)
        np.maximum.at(radii, carriers[collides], (reach + apart)[collides])
        bodies = model.jnt_bodyid[np.isfinite(radii[model.jnt_bodyid])]
        self._radii, self._qpos = radii[bodies], data.qpos
        self._places: IntArray = model.jnt_qposadr[model.body_jntadr[bodies]].astype(np.int64)
        still, plane = collides & (carriers == 0), model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE
        self._spheres = np.column_stack([now.geom_xpos, reach])[still & ~plane]
        normals = now.geom_xmat[:, 2::3]
        levels = (normals * now.geom_xpos).sum(axis=1) + model.geom_margin
        self._planes = np.column_stack([normals, levels])[still & plane]
        self._before, self._free_way, self._pause = np.zeros((len(bodies), 3)), -math.inf, 0

    def holds(self) -> bool:
        """Return whether it is certain that nothing touches at the current positions."""
        if has_moved_less(self._qpos, self._places, self._before, self._free_way):
            return True
        if self._pause:
            self._pause -= 1
            return False
        self._free_way = free_way(self._qpos, self._places, self._radii, self._spheres, self._planes, self._before)
        self._pause = 0 if self._free_way > 0.0 else PAUSE
        return self._free_way > 0.0


@kernel(nogil=True)
def has_moved_less(qpos: FloatArray, places: IntArray, before: FloatArray, way: float) -> bool:
    """Return whether all bodies, whose positions start at `places` (K,) in qpos, have moved by less than `way`, m."""
    if not way > 0.0:
        return False
    for k in range(len(places)):
        at = places[k]
        dx, dy, dz = qpos[at] - before[k, 0], qpos[at + 1] - before[k, 1], qpos[at + 2] - before[k, 2]
        if not dx * dx + dy * dy + dz * dz < way * way:
            return False
    return True


@kernel(nogil=True)
def free_way(
    qpos: FloatArray,
    places: IntArray,
    radii: FloatArray,
    spheres: FloatArray,
    planes: FloatArray,
    before: FloatArray,
) -> float:
    """Return how far every body may move before any two can touch, m, and write their positions to `before`.

    Args:
        qpos: Positions of the joints.
        places: Index (K,) in qpos at which the position of each body starts.
        radii: Bounding radius (K,) of each body, m.
        spheres: Bounding spheres (S, 4) [x y z radius] of static shapes, m.
        planes: Static planes (P, 4) [normal, distance from the origin along it], m.
        before: Array (K, 3) that the positions are written to, m.
    """
    count = len(places)
    for k in range(count):
        for axis in range(3):
            before[k, axis] = qpos[places[k] + axis]
    way, largest = math.inf, 1.0
    for k in range(count):
        x, y, z, radius = before[k, 0], before[k, 1], before[k, 2], radii[k]
        largest = max(largest, abs(x), abs(y), abs(z))
        for p in range(len(planes)):
            way = min(way, planes[p, 0] * x + planes[p, 1] * y + planes[p, 2] * z - planes[p, 3] - radius)
        for s in range(len(spheres)):
            dx, dy, dz = spheres[s, 0] - x, spheres[s, 1] - y, spheres[s, 2] - z
            way = min(way, math.sqrt(dx * dx + dy * dy + dz * dz) - spheres[s, 3] - radius)
    # Sweep along x: bodies beyond the largest radius cannot be closer than the closest pair so far.
    order, widest = np.argsort(before[:, 0]), radii.max() if count else 0.0
    for i in range(count):
        a = order[i]
        for j in range(i + 1, count):
            b = order[j]
            dx = before[b, 0] - before[a, 0]
            if 0.5 * (dx - radii[a] - widest) > way:
                break
            dy, dz = before[b, 1] - before[a, 1], before[b, 2] - before[a, 2]
            # Half the gap, because both bodies may move.
            way = min(way, 0.5 * (math.sqrt(dx * dx + dy * dy + dz * dz) - radii[a] - radii[b]))
        if not way > 0.0:
            return way
    return way - ROUNDING * largest
