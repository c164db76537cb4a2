"""Two wheels on one axle that turn at different rates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from sim_node.world.base_types.linear import LinearKinematics, rolling_rows
from sim_node.world.base_types.registry import BaseType, base, dimension
from sim_node.world.declared import declared


@base("differential")
@declared
class Differential(BaseType):
    """The origin is in the middle of the axle."""

    wheel_radius: float = dimension("radius of the wheels")
    track: float = dimension("from the middle of the left wheel to that of the right one")

    driven: ClassVar = ("left", "right")

    @classmethod
    def kinematics(cls, bases: Sequence[Differential]) -> LinearKinematics:
        """Return theirs: the wheels do not let them move sideways."""
        matrices = [
            rolling_rows([(0.0, each.track / 2), (0.0, -each.track / 2)], [0.0] * 2, [0.0] * 2, each.wheel_radius)
            for each in bases
        ]
        return LinearKinematics(np.array(matrices), sideways=False)
