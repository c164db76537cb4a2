"""Massless links between others with mass: check whether their motion is defined by what they carry."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sim_node.spatial.geometry.arrays import FloatArray

if TYPE_CHECKING:
    from mujoco import MjModel

# Mass and inertia (kg, kg m^2) of a massless link, which MuJoCo would reject otherwise.
CARRIER_MASS = 1e-12
# Relative inertia, compared with carriers of 1 kg and 1 kg m^2, below which only the carriers resist a motion.
_DEFINED = 1e-9


def undefined_joints(model: MjModel, qpos: FloatArray, carriers: Sequence[int]) -> list[int]:
    """Return the joints whose motion is not defined by any mass or armature.

    With carriers of mass e, the mass matrix is M + e C. A direction of motion v is defined if v M v is not small
    compared with v (M + C) v.

    Args:
        model: A compiled model in which massless bodies have CARRIER_MASS.
        qpos: Positions (nq,) at which to check this.
        carriers: The massless bodies.

    Returns:
        For each undefined direction, the joint of a carrier that contributes most to it; empty if there is none.
    """
    import mujoco

    if not len(carriers) or not model.nv:
        return []
    heavy = copy.copy(model)
    heavy.body_mass[carriers] = 1.0
    heavy.body_inertia[carriers] = 1.0
    # Update constants that the model derives from masses.
    mujoco.mj_setConst(heavy, mujoco.MjData(heavy))
    # Use numpy's Cholesky factor, because importing scipy.linalg takes longer than loading a world.
    root = np.linalg.inv(np.linalg.cholesky(_mass_matrix(heavy, qpos)))
    values, vectors = np.linalg.eigh(root @ _mass_matrix(model, qpos) @ root.T)
    vectors = root.T @ vectors
    own = np.isin(model.dof_bodyid, carriers)
    found = (int(np.argmax(np.abs(vectors[:, k]) * own)) for k in np.flatnonzero(values < _DEFINED).tolist())
    return list(dict.fromkeys(int(model.dof_jntid[dof]) for dof in found))


def _mass_matrix(model: MjModel, qpos: FloatArray) -> FloatArray:
    import mujoco

    data = mujoco.MjData(model)
    data.qpos[:] = qpos
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_makeM(model, data)
    full = np.zeros((model.nv, model.nv))
    if hasattr(data, "qM"):  # MuJoCo before 3.8
        mujoco.mj_fullM(model, full, data.qM)
    else:
        mujoco.mj_fullM(model, data, full)
    return full
