"""Where joints are, how they move and what drives them, from MuJoCo's arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sim_node.geometry.arrays import FloatArray

if TYPE_CHECKING:
    from mujoco import MjData, MjModel


def joint_reader(
    model: MjModel, data: MjData, evaluate: Callable[[], None], names: Sequence[str]
) -> Callable[[], FloatArray]:
    """A function that tells (3, J) positions, velocities and efforts of actuators of hinges and slides.

    names: as world/scalar_joints.py gives them; evaluate: works out the forces of the present state.
    """
    import mujoco

    def id_of(name: str) -> int:
        found = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, name)
        return int(found if found >= 0 else model.joint(f"{name}#0").id)

    ids = [id_of(name) for name in names]
    at, dofs = model.jnt_qposadr[ids], model.jnt_dofadr[ids]
    qpos, qvel, driven = data.qpos, data.qvel, data.qfrc_actuator

    def read() -> FloatArray:
        if model.nu:
            evaluate()
        told = np.empty((3, len(ids)))
        told[0], told[1], told[2] = qpos[at], qvel[dofs], driven[dofs]
        return told

    return read
