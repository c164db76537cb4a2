"""What sensors of forces and torques share: their parameters, and the axes along which they tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sim_node.geometry.arrays import FloatArray
from sim_node.sensors.message import Message, channels
from sim_node.sensors.noise import Noise, Quantities
from sim_node.sensors.parameters import group, parameter
from sim_node.sensors.registry import SensorType
from sim_node.sensors.truth import FrameState


@dataclass(frozen=True)
class WrenchSensor(SensorType):
    """Reads a force (N) and a torque (N m) about its frame's origin, along its axes; whose, each type says."""

    rate: float = parameter(100.0, "Hz", "readings per second", above=0.0)
    latency: float = parameter(0.0, "s", "from a reading until it is out", low=0.0, high=10.0)
    force: Noise = group(Noise(), "N", "force")
    torque: Noise = group(Noise(), "N m", "torque")

    channels: ClassVar = ("force_x", "force_y", "force_z", "torque_x", "torque_y", "torque_z")

    def quantities(self) -> Quantities:
        """Force and torque, three axes each."""
        return (self.force, 3), (self.torque, 3)

    def messages(self, frame: str, fixed_frame: str) -> tuple[Message, ...]:
        """geometry_msgs/WrenchStamped."""
        return (Message("wrench", "geometry_msgs/msg/WrenchStamped", {"wrench": channels(0, 6)}),)


def along_axes(state: FrameState, wrenches: FloatArray) -> FloatArray:
    """Wrenches (S, 6) about frames' origins along the fixed frame's axes, along each frame's own."""
    return np.concatenate([state.to_frame(wrenches[:, :3]), state.to_frame(wrenches[:, 3:])], axis=1)
