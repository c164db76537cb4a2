"""Output channels of an autopilot on a base: conversion of normalised values, -1 to 1, to a twist."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.base_types.kinds import STANDING, Ackermann
from sim_node.world.base_types.registry import BaseType, kinematics_of


class BaseChannels:
    """The channels of one base.

    Each channel commands a driven wheel, as a fraction of its rate at full speed straight ahead; or `throttle`
    (forwards), `lateral` or `turn` (both to the right, as is usual for autopilots), as a fraction of the limit; or
    `steering` (to the right), as a fraction of the maximum steering angle; or nothing (`none`).

    Args:
        roles: What each channel commands, in order.
        shape: The base.
        linear: Maximum speed, m/s.
        angular: Maximum yaw rate, rad/s.
    """

    def __init__(self, roles: Sequence[str], shape: BaseType, linear: float, angular: float) -> None:
        self.count = len(roles)
        self._linear, self._angular, self._shape = linear, angular, shape
        self._kinematics = kinematics_of([shape])
        ahead = np.array([[linear, 0.0, 0.0]])
        # Take the fastest wheel: some wheels of an omni base stand still when it drives straight ahead.
        self._fastest = float(np.abs(self._kinematics.inverse(ahead)[0]).max())
        self._wheels = [roles.index(role) for role in shape.driven] if set(shape.driven) <= set(roles) else []
        self._at = {role: index for index, role in enumerate(roles)}

    def twist(self, values: Sequence[float]) -> tuple[float, float, float]:
        """Return the twist that the channels command.

        Args:
            values: A value for each channel, -1 to 1.

        Returns:
            Twist [vx vy wz] along the axes of the base (FLU), m/s and rad/s.
        """
        if self._wheels:
            rates = self._fastest * np.array([[values[index] for index in self._wheels]])
            vx, vy, wz = self._kinematics.forward(rates, _straight(self._shape))[0].tolist()
            return vx, vy, wz
        throttle, lateral, turn = (self._value(values, role) for role in ("throttle", "lateral", "turn"))
        ahead = throttle * self._linear
        if "steering" in self._at and isinstance(self._shape, Ackermann):
            angle = -self._value(values, "steering") * self._shape.max_steering
            # A car that stands still cannot turn; its wheels are steered once it moves.
            bend = math.tan(angle) / self._shape.wheelbase if abs(ahead) > STANDING else 0.0
            return ahead, 0.0, ahead * bend
        return ahead, -lateral * self._linear, -turn * self._angular

    def _value(self, values: Sequence[float], role: str) -> float:
        return values[self._at[role]] if role in self._at else 0.0


def _straight(shape: BaseType) -> FloatArray:
    return np.zeros((1, len(shape.steered)))
