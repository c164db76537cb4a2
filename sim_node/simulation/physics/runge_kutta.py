"""MuJoCo's Runge-Kutta timesteps, corrected for rotations about changing axes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from sim_node.spatial.geometry.arrays import FloatArray, IntArray

if TYPE_CHECKING:
    from mujoco import MjData, MjModel


def whole_step(model: MjModel) -> Callable[[MjModel, MjData, int], None]:
    """Return a function that advances by Runge-Kutta timesteps.

    Args:
        model: MuJoCo's model of the world.

    Returns:
        A function that takes the model, the data and a number of timesteps.
    """
    import mujoco

    turning = _turning(model)
    if not turning or mujoco.mj_versionString() >= "4":  # MuJoCo 4 corrects rotations itself
        step: Callable[[MjModel, MjData, int], None] = mujoco.mj_step
        return step
    from sim_node.simulation.physics.turn_kernels import correct_turns

    return partial(_step_turning, mujoco.mj_step, correct_turns, np.array(turning), np.zeros(model.nv))


def _turning(model: MjModel) -> list[tuple[int, int]]:
    """Return the index of each ball and free joint's quaternion in qpos, and of its angular velocity in qvel."""
    offsets = {0: 3, 1: 0}  # mjJNT_FREE: after the linear part; mjJNT_BALL
    return [
        (int(model.jnt_qposadr[joint]) + offsets[kind], int(model.jnt_dofadr[joint]) + offsets[kind])
        for joint, kind in enumerate(model.jnt_type.tolist())
        if kind in offsets
    ]


def _step_turning(
    step: Callable[[MjModel, MjData], None],
    correct: Callable[[IntArray, FloatArray, FloatArray, FloatArray, float], None],
    places: IntArray,
    before: FloatArray,
    model: MjModel,
    data: MjData,
    timesteps: int,
) -> None:
    """Advance by Runge-Kutta timesteps, each corrected for rotations about changing axes."""
    qpos, qvel, timestep = data.qpos, data.qvel, float(model.opt.timestep)
    for _ in range(timesteps):
        before[:] = qvel
        step(model, data)
        correct(places, before, qpos, qvel, timestep)
