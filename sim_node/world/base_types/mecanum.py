"""Four wheels with rollers at 45 degrees, which move the base in any direction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from sim_node.world.base_types.linear import LinearKinematics, rolling_rows
from sim_node.world.base_types.registry import BaseType, base, dimension
from sim_node.world.declared import declared

# From the heading of each wheel to the axis of the roller that touches the ground. Seen from above the rollers on top
# of the wheels make an X, those below an O.
ROLLERS = (-math.pi / 4, math.pi / 4, math.pi / 4, -math.pi / 4)


@base("mecanum")
@declared
class Mecanum(BaseType):
    """The origin is in the middle of the wheels."""

    wheel_radius: float = dimension("radius of the wheels")
    wheelbase: float = dimension("from the front axle to the rear axle")
    track: float = dimension("from the middle of the left wheels to that of the right ones")

    driven: ClassVar = ("front_left", "front_right", "rear_left", "rear_right")

    @classmethod
    def kinematics(cls, bases: Sequence[Mecanum]) -> LinearKinematics:
        """Return theirs; four wheels are one more than needed, so that `forward` is the best fit."""
        matrices = []
        for each in bases:
            x, y = each.wheelbase / 2, each.track / 2
            places = [(x, y), (x, -y), (-x, y), (-x, -y)]
            matrices.append(rolling_rows(places, [0.0] * 4, ROLLERS, each.wheel_radius))
        return LinearKinematics(np.array(matrices), sideways=True)
