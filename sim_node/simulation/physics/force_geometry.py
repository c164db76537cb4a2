"""Forces as arrays: their fields, the MuJoCo bodies that they act on, and lever arms from centres of mass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import mujoco
import numpy as np
import numpy.typing as npt

from sim_node.spatial.geometry.arrays import FloatArray, IntArray
from sim_node.world.forces import Force
from sim_node.world.model import World
from sim_node.world.problems import Place, Problem, WorldError, quoted

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
        # Cached, because forces are evaluated at each timestep.
        self.__dict__[field] = values if values.dtype == bool else values.astype(np.float64)
        return self.__dict__[field]  # type: ignore[no-any-return]


def pushed_bodies(model: mujoco.MjModel, forces: Sequence[Force]) -> IntArray:
    """Return the bodies that forces act on.

    Args:
        model: The compiled model.
        forces: F forces.

    Returns:
        MuJoCo ids (F, 2) of each force's body, and of the root of its tree.
    """
    bodies = [int(model.body(force.body).id) for force in forces]
    return np.array([(body, int(model.body_rootid[body])) for body in bodies], dtype=np.int64)


def body_of(model: mujoco.MjModel, name: str, place: Place, key: str) -> int:
    """Return the MuJoCo id of the body that the key `key` of a force names. Raises WorldError if it does not exist."""
    import mujoco

    number = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, name)
    if number < 0:
        raise _refers(place, key, f"no body {quoted(name)}")
    return int(number)


def angle_of(model: mujoco.MjModel, name: str, place: Place, key: str) -> int:
    """Return the index of a body's hinge or slide in qpos. Raises WorldError if it has any other joint.

    Args:
        model: The compiled model.
        name: The body that the joint moves.
        place: Where the force is described.
        key: The key of the force that names the body.
    """
    number = body_of(model, name, place, key)
    if model.body_dofnum[number] != 1:
        raise _refers(place, key, f"{quoted(name)} is on no hinge or slide")
    return int(model.jnt_qposadr[model.body_jntadr[number]])


def _refers(place: Place, key: str, message: str) -> WorldError:
    return WorldError([Problem(place.where, f"{place.key.removesuffix('.body') or 'forces'}.{key}", message)])


def levers(model: mujoco.MjModel, bodies: IntArray, points: Sequence[FloatArray | None]) -> FloatArray:
    """Return the lever arms (F, 3) from each body's centre of mass to a point on the body, along its axes, m.

    None as a point stands for the centre of mass.
    """
    centres = model.body_ipos[bodies[:, 0]]
    return np.array([np.zeros(3) if p is None else p - c for p, c in zip(points, centres, strict=True)])


def lead(model: mujoco.MjModel) -> float:
    """Return the time after the start of a timestep at which a force that is held during it is evaluated, s.

    Half a timestep with rk4, as in the leapfrog method, so that the error is second order. Zero with integrators that
    are first order themselves, also if one of them replaces the rk4 that a world states.
    """
    return 0.5 * float(model.opt.timestep) if model.opt.integrator == mujoco.mjtIntegrator.mjINT_RK4 else 0.0
