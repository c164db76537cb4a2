"""Several wheels on each side, which skid when the base turns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from sim_node.world.base_types.differential import Differential
from sim_node.world.base_types.linear import LinearKinematics
from sim_node.world.base_types.registry import BaseType, base, dimension
from sim_node.world.declared import declared


@base("skid")
@declared
class Skid(BaseType):
    """Like a differential base whose wheels are farther apart than they are.

    Wheels that skid turn the base about centres outside of its track (Mandow et al., Experimental kinematics for
    wheeled skid-steer mobile robots, IROS 2007): `track_factor` is how much farther, to be measured on each ground.
    """

    wheel_radius: float = dimension("radius of the wheels")
    track: float = dimension("from the middle of the left wheels to that of the right ones")
    track_factor: float = dimension("effective track over `track`", "", low=0.1, high=20.0, default=1.0)

    driven: ClassVar = ("left", "right")

    @classmethod
    def kinematics(cls, bases: Sequence[Skid]) -> LinearKinematics:
        """Return those of differential bases with the effective tracks."""
        return Differential.kinematics([Differential(e.wheel_radius, e.track * e.track_factor) for e in bases])
