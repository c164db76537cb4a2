"""Gravity towards points, as of planets, in addition to the uniform gravity of a world. Frozen data and checks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sim_node.geometry.arrays import FloatArray
from sim_node.world.bounds import MAX_DISTANCE
from sim_node.world.fields import floats, same
from sim_node.world.model import World
from sim_node.world.problems import NO_PLACE, Place, Problem

MAX_MU = 1e21  # m^3/s^2; the sun has 1.3e20
MAX_ACCELERATION = 1e4  # m/s^2


@dataclass(frozen=True, eq=False)
class PointGravity:
    """A centre that attracts all bodies. At a distance r, bodies fall towards it with mu / r^2 + acceleration.

    The first term is Newton's law of gravitation, with the standard gravitational parameter mu = G M; the second is the
    same everywhere.

    Attributes:
        center: The centre (3,) in the fixed frame, m.
        mu: Standard gravitational parameter, m^3/s^2; negative values repel.
        acceleration: Acceleration at any distance, m/s^2; negative values repel.
        place: Where the file describes it.

    Raises:
        ValueError: `center` has the wrong shape.
    """

    center: FloatArray
    mu: float = 0.0
    acceleration: float = 0.0
    place: Place = field(default=NO_PLACE, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "center", floats(self.center, (3,), "gravity", "center"))

    def __eq__(self, other: object) -> bool:
        return same(self, other)

    __hash__ = None  # type: ignore[assignment]


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


def gravity_problems(world: World) -> Iterator[Problem]:
    """Yield every number of point gravity that is out of range."""
    for index, each in enumerate(world.parts.get("gravity_fields", ())):
        key = each.place.key or f"gravity_fields[{index}]"
        limits: dict[str, tuple[Any, float]] = {
            "center": (np.abs(each.center).max(), MAX_DISTANCE),
            "mu": (abs(each.mu), MAX_MU),
            "acceleration": (abs(each.acceleration), MAX_ACCELERATION),
        }
        for name, (value, most) in limits.items():
            if not value <= most:
                message = f"{value:g} is out of range; allowed: up to {most:g}"
                yield Problem(each.place.where, f"{key}.{name}", message)
