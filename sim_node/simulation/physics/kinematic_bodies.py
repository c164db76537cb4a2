"""Kinematic bodies, which keep their velocity whatever acts on them: conveyors, moving walls, turntables."""

from __future__ import annotations

import mujoco
import numpy as np
from mujoco import MjData, MjModel

from sim_node.simulation.columns import Columns
from sim_node.simulation.physics.compiled import Compiled
from sim_node.simulation.physics.force_elements import force_element
from sim_node.simulation.physics.wind import WindField
from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray, IntArray
from sim_node.world.layout import Layout
from sim_node.world.model import World

# For the contact solver, they are heavier by this factor than everything in the world. With 1e3 to 1e5, a parcel on a
# belt is within 0.3 mm of where friction takes it; from 1e6 on, rounding makes it rotate.
HEAVIER = 1e4
LEAST_MASS = 1e-3  # kg
# Order of [x y z qx qy qz qw] in qpos of three slides and a ball, where MuJoCo has w first.
_XYZW = np.array([0, 1, 2, 4, 5, 6, 3])


def make_heavy(model: MjModel, layout: Layout) -> None:
    """Give kinematic bodies an armature that no contact can accelerate, in a model whose constants are set."""
    dofs = kinematic_dofs(model, layout)
    if not dofs.size:
        return
    # The solver's convergence tolerance scales with the mean inertia: with theirs, it would stop immediately.
    mean = float(model.stat.meaninertia)
    model.dof_armature[dofs] = HEAVIER * max(LEAST_MASS, float(model.body_mass.sum()))
    mujoco.mj_setConst(model, mujoco.MjData(model))
    model.stat.meaninertia = mean


def kinematic_dofs(model: MjModel, layout: Layout) -> IntArray:
    """Return the indices (6 K,) of the velocities of kinematic bodies in qvel."""
    return np.asarray((model.jnt_dofadr[_first_joints(model, layout)][:, None] + np.arange(6)).ravel())


def _first_joints(model: MjModel, layout: Layout) -> IntArray:
    names = [body.name for _, body in layout.bodies if body.kinematic]
    return np.array([model.joint(f"{name}#0").id for name in names], dtype=np.int64)


@force_element("kinematic_bodies")
def open_kinematic_bodies(
    world: World, layout: Layout, compiled: Compiled, data: MjData, wind: WindField, columns: Columns
) -> KinematicBodies | None:
    """Return the force element that moves the kinematic bodies of a world; None if there are none."""
    if not any(body.kinematic for body in world.bodies):
        return None
    return KinematicBodies(layout, compiled.model, data)


class KinematicBodies:
    """All kinematic bodies of a world. Their state is that of their joints, so velocities set during a run are kept."""

    def __init__(self, layout: Layout, model: MjModel, data: MjData) -> None:
        self._data, self._timestep = data, float(model.opt.timestep)
        self._q = model.jnt_qposadr[_first_joints(model, layout)][:, None] + _XYZW
        self._qd = kinematic_dofs(model, layout).reshape(-1, 6)
        self._poses: FloatArray = np.zeros(self._q.shape)
        self._twists: FloatArray = np.zeros(self._qd.shape)

    def reset(self, seed: int) -> None:
        """Do nothing: they start as their joints do."""

    def act(self) -> None:
        """Store poses and twists from before the timestep."""
        self._poses, self._twists = self._data.qpos[self._q], self._data.qvel[self._qd]

    def settle(self) -> None:
        """Set the poses to those that constant twists lead to in a timestep, and restore the twists."""
        poses, twists, timestep = self._poses, self._twists, self._timestep
        poses[:, :3] += twists[:, :3] * timestep
        turned = quaternions.multiply(poses[:, 3:], quaternions.exp(twists[:, 3:] * timestep))
        poses[:, 3:] = turned / np.linalg.norm(turned, axis=1, keepdims=True)
        self._data.qpos[self._q], self._data.qvel[self._qd] = poses, twists
