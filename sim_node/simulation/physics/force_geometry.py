"""Forces as arrays: their fields, MuJoCo's bodies that they act on, and lever arms from centres of mass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from sim_node.spatial.geometry.arrays import FloatArray, IntArray
from sim_node.world.forces import Force
from sim_node.world.model import World

if TYPE_CHECKING:
    from mujoco import MjModel

F = TypeVar("F", bound=Force)


def forces_of(world: World, kind: type[F]) -> list[F]:
    """Return the forces of one kind.

    Args:
        world: The world.
        kind: The class of the forces.

    Returns:
        The forces, in the order of the world.
    """
    return [force for force in world.forces if isinstance(force, kind)]


class FieldArrays:
    """The fields of F forces of one kind as arrays (F, ...), by the names of the fields.

    Args:
        forces: The forces. Their fields are numbers, vectors or flags.
    """

    def __init__(self, forces: Sequence[Force]) -> None:
        self._forces = forces

    def __getattr__(self, field: str) -> npt.NDArray[Any]:
        values = np.array([getattr(force, field) for force in self._forces])
        # Kept, since forces act at each timestep.
        self.__dict__[field] = values if values.dtype == bool else values.astype(np.float64)
        return self.__dict__[field]  # type: ignore[no-any-return]


def pushed_bodies(model: MjModel, forces: Sequence[Force]) -> IntArray:
    """Return the bodies that forces act on.

    Args:
        model: The compiled model.
        forces: F forces.

    Returns:
        MuJoCo's number of each force's body, and of the root of its tree (F, 2).
    """
    bodies = [int(model.body(force.body).id) for force in forces]
    return np.array([(body, int(model.body_rootid[body])) for body in bodies], dtype=np.int64)


def levers(model: MjModel, bodies: IntArray, points: Sequence[FloatArray | None]) -> FloatArray:
    """Return the lever arms (F, 3) from each body's centre of mass to a point of it, along its axes, m.

    A point that is None is the centre of mass itself.
    """
    centres = model.body_ipos[bodies[:, 0]]
    return np.array([np.zeros(3) if p is None else p - c for p, c in zip(points, centres, strict=True)])


def lead(world: World, model: MjModel) -> float:
    """Return how long after the beginning of a timestep a force that is held for it is evaluated, s.

    Half a timestep with rk4, which makes positions leap-frog and the error second order. Zero with integrators whose
    own error is first order.
    """
    return 0.5 * float(model.opt.timestep) if world.physics.integrator == "rk4" else 0.0
