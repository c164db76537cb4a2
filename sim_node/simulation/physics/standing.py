"""Initial positions of bases and vehicles that stand on something: at rest, with their contacts under load."""

from __future__ import annotations

import mujoco
import numpy as np
import numpy.typing as npt

from sim_node.simulation.physics.compiled import Compiled
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.bases import Base
from sim_node.world.model import World

# Maximum time to come to rest, s; maximum displacement from the start, m and rad; and maximum remaining acceleration.
DURATION, MAX_SHIFT, REST = 2.0, 5e-3, 1e-3
# Timesteps between checks whether everything is at rest.
_CHUNK = 10
# Degrees of freedom of a free joint that may settle: height, roll and pitch.
_STANDING = np.array([2, 3, 4])


def standing(compiled: Compiled, world: World) -> FloatArray:
    """Return the initial positions (nq,) at which bases and vehicles that stand on something are at rest.

    A contact exerts no force before it is penetrated. At the positions of the world's file, anything on wheels or legs
    would start in free fall and rebound, and its sensors would measure that. Its height, roll and pitch, and joints
    with springs, are set to their rest positions instead. What does not come to rest nearby starts as the world states.
    """
    model, qpos = compiled.model, np.array(compiled.qpos)
    names = [base.body for base in world.of(Base) if base.drive != "kinematic"]
    names += [vehicle.body for vehicle in world.vehicles]
    roots = [root for name in dict.fromkeys(names) if (root := _root(model, name)) and not compiled.qvel.any()]
    if not roots or not model.opt.gravity.any():
        return qpos
    data = mujoco.MjData(model)
    data.qpos[:], data.ctrl[:] = qpos, compiled.ctrl
    dofs = np.array([model.body_dofadr[root] + _STANDING for root in roots])
    trees = [model.body_rootid[model.dof_bodyid] == root for root in roots]
    sprung = model.jnt_stiffness[model.dof_jntid] > 0.0
    free = np.zeros(model.nv, dtype=np.bool_)
    free[dofs] = True
    free |= sprung & np.any(trees, axis=0)
    for _ in range(round(DURATION / model.opt.timestep / _CHUNK)):
        for _ in range(_CHUNK):
            mujoco.mj_step(model, data)
            if not np.abs(data.qpos).max() < mujoco.mjMAXVAL:  # the simulation diverges
                return qpos
            data.qpos[:] = _moved(model, qpos, data.qpos, free)
            data.qvel[~free] = 0.0
        mujoco.mj_forward(model, data)
        near = np.abs(_way(model, qpos, data.qpos)[dofs]).max(axis=1) < MAX_SHIFT
        rests = np.abs(data.qacc[dofs]).max(axis=1) < REST
        if not (near & ~rests).any():
            break
    touching = model.body_rootid[model.geom_bodyid[data.contact.geom]]
    for root, tree, rest in zip(roots, trees, near & rests, strict=True):
        if rest and (touching == root).any():
            qpos = _moved(model, qpos, data.qpos, free & tree)
    return qpos


def _root(model: mujoco.MjModel, name: str) -> int:
    """Return the root body of a body's kinematic tree if it floats free, else 0."""
    root = int(model.body_rootid[model.body(name).id])
    joint = int(model.body_jntadr[root])
    return root if joint >= 0 and model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE else 0


def _way(model: mujoco.MjModel, before: FloatArray, after: FloatArray) -> FloatArray:
    """Return the displacement (nv,) between positions."""
    way = np.zeros(model.nv)
    mujoco.mj_differentiatePos(model, way, 1.0, before, after)
    return way


def _moved(model: mujoco.MjModel, before: FloatArray, after: FloatArray, free: npt.NDArray[np.bool_]) -> FloatArray:
    """Return positions `before` moved to `after` in the degrees of freedom that are `free` (nv,)."""
    found = np.array(before)
    mujoco.mj_integratePos(model, found, _way(model, before, after) * free, 1.0)
    return found
