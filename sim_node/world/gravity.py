"""Gravity towards points, as of planets, in addition to the uniform gravity of a world."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.declared import data_of, declared, faults, given, place_of
from sim_node.world.model import World
from sim_node.world.part import Kind, Refer, Rename, part
from sim_node.world.problems import NO_PLACE, Place, Problem
from sim_node.world.quantities import ORIGIN, POINT, Number

MAX_MU = 1e21  # m^3/s^2; the sun has 1.3e20
MAX_ACCELERATION = 1e4  # m/s^2


@declared(needs={"mu (m^3/s^2) or acceleration (m/s^2) is needed": ("mu", "acceleration")})
class PointGravity:
    """A centre that attracts all bodies. At a distance r, bodies fall towards it with mu / r^2 + acceleration.

    The first term is Newton's law of gravitation, with the standard gravitational parameter mu = G M; the second is the
    same everywhere. Negative values repel.

    Raises:
        ValueError: `center` has the wrong shape.
    """

    center: FloatArray = given(POINT, "What attracts all bodies, in the fixed frame", "m", default=ORIGIN)
    mu: float = given(Number(-MAX_MU, MAX_MU), "Standard gravitational parameter G M", "m^3/s^2", default=0.0)
    acceleration: float = given(
        Number(-MAX_ACCELERATION, MAX_ACCELERATION), "Acceleration at any distance", "m/s^2", default=0.0, omit=True
    )
    place: Place = place_of(default=NO_PLACE)


def free_fall(world: World, uniform: FloatArray) -> Callable[[FloatArray], FloatArray] | None:
    """Return a function from positions (S, 3) in the fixed frame to accelerations of free fall (S, 3), m/s^2.

    Args:
        world: The world.
        uniform: Its uniform gravity (3,), m/s^2.

    Returns:
        The function; None if gravity is the same everywhere.
    """
    fields: tuple[PointGravity, ...] = world.parts.get("gravity_fields", ())
    if not fields:
        return None

    def fall(positions: FloatArray) -> FloatArray:
        total = np.tile(np.asarray(uniform, dtype=np.float64), (len(positions), 1))
        for each in fields:
            away = each.center - positions
            r = np.linalg.norm(away, axis=1, keepdims=True)
            # In the centre itself there is no direction.
            r[r == 0.0] = math.inf
            total += away / r * (each.mu / r**2 + each.acceleration)
        return total

    return fall


@part("gravity_fields", PointGravity)
class GravityFields(Kind[PointGravity]):
    """Centres that attract all bodies."""

    section = "forces"

    def data(self, part: PointGravity, refer: Refer) -> dict[str, Any]:
        """Return it as a type of force, as in world files."""
        return {"type": "gravity", **data_of(part)}

    def problems(self, world: World) -> Iterator[Problem]:
        """Return every number out of range."""
        for index, each in enumerate(self.parts(world)):
            key = each.place.key or f"gravity_fields[{index}]"
            yield from (Problem(each.place.where, f"{key}.{name}", message) for name, message in faults(each))

    def renamed(self, part: PointGravity, rename: Rename) -> None:
        """Return None: like the uniform gravity, that of the including world applies."""
