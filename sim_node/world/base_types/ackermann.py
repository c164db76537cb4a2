"""A car: two driven wheels behind, and two steered ones in front whose axles meet on the rear axle's line."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.base_types.registry import BaseType, base, dimension
from sim_node.world.declared import declared, rule

# Below this speed a car cannot turn, m/s.
STANDING = 1e-9


@base("ackermann")
@declared
class Ackermann(BaseType):
    """The origin is in the middle of the rear axle."""

    wheel_radius: float = dimension("radius of the wheels")
    wheelbase: float = dimension("from the rear axle to the front axle")
    track: float = dimension("from the middle of the left wheels to that of the right ones")
    max_steering: float = dimension("largest steering angle", "rad", low=0.01, high=1.5, default=0.6)

    driven: ClassVar = ("rear_left", "rear_right")
    steered: ClassVar = ("front_left", "front_right")

    @rule
    def _turns(self) -> Iterator[tuple[str, str]]:
        """Yield that a turn is too tight for the inner wheel."""
        if self.track / 2 * math.tan(self.max_steering) >= self.wheelbase:
            most = math.atan(2 * self.wheelbase / self.track)
            yield "max_steering", f"{self.max_steering:g} turns about the inner wheel; allowed: less than {most:.4g}"

    @classmethod
    def kinematics(cls, bases: Sequence[Ackermann]) -> AckermannKinematics:
        """Return theirs."""
        return AckermannKinematics(np.array([[b.wheel_radius, b.wheelbase, b.track, b.max_steering] for b in bases]))


class AckermannKinematics:
    """Kinematics of K cars. A car that stands cannot turn, and its wheels are straight.

    Args:
        dimensions: (K, 4) wheel radius, wheelbase and track, m, and the largest angle, rad.
    """

    def __init__(self, dimensions: FloatArray) -> None:
        radius, base, track, steering = dimensions.T
        self._radius, self._base = radius[:, None], base[:, None]
        self._most = np.tan(steering) / base
        # From the middle to the left wheel and to the right one, along y.
        self._aside = np.stack([track / 2, -track / 2], axis=1)

    def nearest(self, twists: FloatArray) -> FloatArray:
        """Return twists whose curvature the steering reaches, without sideways velocity."""
        found = np.array(twists)
        found[:, 1] = 0.0
        found[:, 2] = twists[:, 0] * self._curvatures(twists)
        return found

    def inverse(self, twists: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the rates of the rear wheels and the angles of the front wheels (K, 2)."""
        bend = self._curvatures(twists)[:, None]
        rates = (twists[:, :1] - twists[:, 2:] * self._aside) / self._radius
        return rates, np.arctan(self._base * bend / (1.0 - self._aside * bend))

    def forward(self, rates: FloatArray, angles: FloatArray) -> FloatArray:
        """Return twists: the speed of the middle of the rear axle, and the mean curvature of the two front wheels."""
        tangent = np.tan(angles)
        bend = (tangent / (self._base + tangent * self._aside)).mean(axis=1)
        speed = (rates * self._radius).mean(axis=1)
        return np.stack([speed, np.zeros_like(speed), speed * bend], axis=1)

    def _curvatures(self, twists: FloatArray) -> FloatArray:
        """Return the curvature (K,) of the path, 1/m, that the steering reaches."""
        speed = twists[:, 0]
        moving = np.abs(speed) > STANDING
        bend = np.divide(twists[:, 2], speed, out=np.zeros_like(speed), where=moving)
        return np.clip(bend, -self._most, self._most)
