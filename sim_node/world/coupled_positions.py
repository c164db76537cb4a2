"""Positions that satisfy the equality constraints of a MuJoCo model: mimics, gears and closed loops."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.problems import quoted

if TYPE_CHECKING:
    from mujoco import MjData, MjModel

# Tolerances of constraints, m or rad: when one is satisfied, and when given positions are accepted as they are, such as
# those of a loaded mechanism, whose constraints yield.
SATISFIED, GIVEN = 1e-9, 1e-3
# Increment, m or rad, in which loops follow positions that are set, so that they stay on their branch.
INCREMENT, MAX_INCREMENTS = 0.05, 200
_ITERATIONS = 50


@contextmanager
def coupled(model: MjModel, data: MjData, dofs: npt.ArrayLike) -> Iterator[None]:
    """Update positions that are coupled with those set in the block.

    Coupled positions move as little as possible, weighted by inertia. The errors of constraints that the block does not
    affect are preserved.

    Args:
        model: The model.
        data: The data whose qpos the block changes.
        dofs: The degrees of freedom that are set.

    Raises:
        ValueError: No positions satisfy the constraints. qpos is restored.
    """
    before = np.array(data.qpos)
    try:
        yield
        if model.neq and data.eq_active.any():
            data.qpos[:] = _satisfying(model, data, before, np.asarray(dofs, dtype=np.int64))
    except ValueError:
        data.qpos[:] = before
        raise


def _satisfying(model: MjModel, data: MjData, before: FloatArray, dofs: npt.NDArray[np.int64]) -> FloatArray:
    """Return the positions of `data`, with those that are coupled with `dofs` updated."""
    import mujoco

    wanted = np.array(data.qpos)
    scratch = mujoco.MjData(model)
    full = int(mujoco.mjtState.mjSTATE_INTEGRATION)
    state = np.empty(mujoco.mj_stateSize(model, full))
    mujoco.mj_getState(model, data, state, full)
    mujoco.mj_setState(model, scratch, state, full)
    now, _, of = _errors(model, scratch)
    scratch.qpos[:] = before
    goal, _, _ = _errors(model, scratch)
    changed = np.isin(of, of[np.abs(now - goal) > 1e-12])
    goal[changed] = 0.0
    if not changed.any() or np.abs(now - goal).max() < SATISFIED:
        return wanted
    way = np.zeros(model.nv)
    mujoco.mj_differentiatePos(model, way, 1.0, before, wanted)
    linear = (mujoco.mjtEq.mjEQ_JOINT, mujoco.mjtEq.mjEQ_TENDON)
    rigid = np.isin(model.eq_type[of[changed]], linear).all()
    count = 1 if rigid else min(math.ceil(np.abs(way).max() / INCREMENT), MAX_INCREMENTS)
    weights = 1.0 / np.maximum(model.dof_M0, 1e-12)
    weights[dofs] = 0.0
    for left in reversed(range(count)):
        mujoco.mj_integratePos(model, scratch.qpos, way, 1.0 / count)
        if not left:
            scratch.qpos[wanted != before] = wanted[wanted != before]
        errors = _close(model, scratch, goal, np.sqrt(weights))
    if np.abs(errors).max() < SATISFIED:
        return np.array(scratch.qpos)
    if np.abs(now - goal).max() < GIVEN:
        return wanted
    off = np.flatnonzero(np.abs(errors) >= SATISFIED)
    names = dict.fromkeys(_name_of(model, int(equality)) for equality in of[off])
    raise ValueError(
        f"the positions contradict what couples them, by {np.abs(errors).max():.4g} m or rad: {', '.join(names)}"
    )


def _close(model: MjModel, data: MjData, goal: FloatArray, scale: FloatArray) -> FloatArray:
    """Move towards constraint errors `goal` by Newton's method, and return what is left.

    scale: weights (nv,) of the degrees of freedom; those with 0 do not move.
    """
    import mujoco

    errors, jacobian, _ = _errors(model, data)
    for _ in range(_ITERATIONS):
        if np.abs(errors - goal).max() < SATISFIED:
            break
        step = scale * np.linalg.lstsq(jacobian * scale, goal - errors, rcond=1e-10)[0]
        mujoco.mj_integratePos(model, data.qpos, step, 1.0)
        errors, jacobian, _ = _errors(model, data)
    return np.asarray(errors - goal)


def _errors(model: MjModel, data: MjData) -> tuple[FloatArray, FloatArray, npt.NDArray[np.int64]]:
    """Return the errors (E,) of the rows of equality constraints, their Jacobian (E, nv), and constraint ids (E,)."""
    import mujoco

    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_tendon(model, data)
    mujoco.mj_makeConstraint(model, data)
    rows = int(data.ne)
    jacobian = np.zeros((rows, model.nv))
    if mujoco.mj_isSparse(model):
        for row, (at, size) in enumerate(zip(data.efc_J_rowadr[:rows], data.efc_J_rownnz[:rows], strict=True)):
            jacobian[row, data.efc_J_colind[at : at + size]] = data.efc_J[at : at + size]
    elif rows:
        jacobian[:] = data.efc_J.reshape(-1, model.nv)[:rows]
    return np.array(data.efc_pos[:rows]), jacobian, np.array(data.efc_id[:rows], dtype=np.int64)


def _name_of(model: MjModel, equality: int) -> str:
    """Return a description of a constraint for messages: the joints that it couples, or its name."""
    import mujoco

    if model.eq_type[equality] != mujoco.mjtEq.mjEQ_JOINT:
        return quoted(str(model.equality(equality).name).removesuffix("#0").removesuffix("#1"))
    ends = (int(model.eq_obj1id[equality]), int(model.eq_obj2id[equality]))
    return " with ".join(quoted(str(model.joint(joint).name).removesuffix("#0")) for joint in ends if joint >= 0)
