"""Velocities of bodies that are joined while they move: those that conserve momentum, as in a plastic impact."""

from __future__ import annotations

import mujoco
import numpy as np

from sim_node.spatial.geometry.arrays import FloatArray


def merged_velocities(
    before: tuple[mujoco.MjModel, mujoco.MjData], after: tuple[mujoco.MjModel, mujoco.MjData], body: str
) -> tuple[slice, FloatArray] | None:
    """Return the velocities of a body's kinematic tree that conserve the momentum of all its bodies.

    The impulse between joined bodies does no work on the remaining degrees of freedom. The generalised momentum of the
    tree is therefore M v = sum J^T h, where h is the momentum of each body with its velocity before the change
    (Featherstone, Rigid Body Dynamics Algorithms, section 11.7).

    Args:
        before: The model before the change, and its data with positions, centres of mass and velocities evaluated.
        after: The model in which the body has joined its tree, and its data, evaluated likewise.
        body: The body.

    Returns:
        The slice of qvel with the tree's velocities, and their values. None if the tree cannot move.
    """
    (old, then), (new, now) = before, after
    root = int(new.body_rootid[new.body(body).id])
    members = np.flatnonzero(new.body_rootid == root)
    dofs = np.flatnonzero(np.isin(new.dof_bodyid, members))
    if not len(dofs):
        return None
    place = slice(int(dofs[0]), int(dofs[-1]) + 1)
    momentum = new.dof_armature[place] * now.qvel[place]
    jacobian, twist = np.zeros((6, new.nv)), np.zeros(6)
    for member in members.tolist():
        index = old.body(new.body(member).name).id
        # Angular, then linear velocity of the centre of mass along the fixed frame's axes.
        mujoco.mj_objectVelocity(old, then, mujoco.mjtObj.mjOBJ_BODY, index, twist, 0)
        angular, linear = twist[:3], twist[3:]
        axes = then.ximat[index].reshape(3, 3)
        mujoco.mj_jacBodyCom(new, now, jacobian[:3], jacobian[3:], member)
        spin = axes @ (old.body_inertia[index] * (axes.T @ angular))
        momentum = momentum + jacobian[:3, place].T @ (old.body_mass[index] * linear) + jacobian[3:, place].T @ spin
    all_of_them, velocities = np.zeros((1, new.nv)), np.zeros((1, new.nv))
    all_of_them[0, place] = momentum
    mujoco.mj_solveM(new, now, velocities, all_of_them)
    return place, velocities[0, place]
