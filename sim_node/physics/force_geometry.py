"""Where forces take hold: MuJoCo's bodies by the names of a world's, and levers from their centres of mass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from sim_node.geometry.arrays import FloatArray, IntArray
from sim_node.world.forces import Force
from sim_node.world.model import World

if TYPE_CHECKING:
    from mujoco import MjModel

F = TypeVar("F", bound=Force)


def forces_of(world: World, kind: type[F]) -> list[F]:
    """The forces of one kind, in the order of the world."""
    return [force for force in world.forces if isinstance(force, kind)]


def pushed_bodies(model: MjModel, forces: Sequence[Force]) -> IntArray:
    """The body that each force pushes, and the root of its tree (F, 2)."""
    bodies = [int(model.body(force.body).id) for force in forces]
    return np.array([(body, int(model.body_rootid[body])) for body in bodies], dtype=np.int64)


def levers(model: MjModel, bodies: IntArray, points: Sequence[FloatArray | None]) -> FloatArray:
    """From each body's centre of mass to a point of it (F, 3), along its axes; None is the centre itself."""
    centres = model.body_ipos[bodies[:, 0]]
    return np.array([np.zeros(3) if p is None else p - c for p, c in zip(points, centres, strict=True)])


def lead(world: World, model: MjModel) -> float:
    """How much later than a timestep's beginning a force is to be that is held for it, in s.

    Half a timestep with rk4, which makes positions leap-frog and the error of second order. None with integrators
    whose own error is of the first.
    """
    return 0.5 * float(model.opt.timestep) if world.physics.integrator == "rk4" else 0.0
