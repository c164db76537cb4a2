"""Drives of a World: position servos on single joints; frozen data."""

from __future__ import annotations

from dataclasses import dataclass, field

from sim_node.world.problems import NO_PLACE, Place


@dataclass(frozen=True, slots=True)
class Drive:
    """A servo that pulls a joint of one degree of freedom to a target, which may swing.

    joint: of a model, under its prefix, or the name of a body whose joint it is. The drive's force (N) or torque (N m)
    is stiffness (target - q) - damping qd, at most `force` either way where that is not None. The target at t seconds
    into the run is target + amplitude sin(2 pi (t / period + phase)); phase is in turns.
    """

    joint: str
    stiffness: float
    damping: float = 0.0
    force: float | None = None
    target: float = 0.0
    amplitude: float = 0.0
    period: float = 1.0
    phase: float = 0.0
    place: Place = field(default=NO_PLACE, compare=False)
