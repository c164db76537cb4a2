"""Three wheels on a circle whose rollers let them slide along their own axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from sim_node.world.base_types.linear import LinearKinematics, rolling_rows
from sim_node.world.base_types.registry import BaseType, base, dimension
from sim_node.world.declared import declared


@base("omni")
@declared
class Omni(BaseType):
    """The wheels are 120 degrees apart; each rolls along the circle, counterclockwise."""

    wheel_radius: float = dimension("radius of the wheels")
    base_radius: float = dimension("from the origin to the middle of each wheel")
    first_angle: float = dimension("from the x axis to the first wheel", "rad", low=-10.0, high=10.0, default=0.0)

    driven: ClassVar = ("first", "second", "third")

    @classmethod
    def kinematics(cls, bases: Sequence[Omni]) -> LinearKinematics:
        """Return theirs."""
        matrices = []
        for each in bases:
            angles = [each.first_angle + k * 2.0 * math.pi / 3.0 for k in range(3)]
            places = [(each.base_radius * math.cos(angle), each.base_radius * math.sin(angle)) for angle in angles]
            headings = [angle + math.pi / 2.0 for angle in angles]
            matrices.append(rolling_rows(places, headings, [0.0] * 3, each.wheel_radius))
        return LinearKinematics(np.array(matrices), sideways=True)
