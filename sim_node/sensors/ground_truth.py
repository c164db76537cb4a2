"""What an ideal tracker sees: pose and twist as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sim_node.geometry.arrays import FloatArray
from sim_node.sensors.context import SensorContext
from sim_node.sensors.message import Message, channels
from sim_node.sensors.noise import Quantities
from sim_node.sensors.parameters import parameter
from sim_node.sensors.registry import Measure, SensorType, sensor
from sim_node.sensors.truth import FrameState


@sensor("ground_truth")
@dataclass(frozen=True)
class GroundTruth(SensorType):
    """Reads its frame's pose in the fixed frame, and its twist along the frame's own axes (nav_msgs/Odometry)."""

    rate: float = parameter(100.0, "Hz", "readings per second", above=0.0)
    latency: float = parameter(0.0, "s", "from a reading until it is out", low=0.0, high=10.0)

    channels: ClassVar = ("x", "y", "z", "qx", "qy", "qz", "qw", "vx", "vy", "vz", "rate_x", "rate_y", "rate_z")

    def quantities(self) -> Quantities:
        """None is off."""
        return ()

    def messages(self, frame: str, fixed_frame: str) -> tuple[Message, ...]:
        """nav_msgs/Odometry in the fixed frame, without covariances: it is the truth."""
        fields = {
            "header.frame_id": fixed_frame,
            "child_frame_id": frame,
            "pose.pose": channels(0, 7),
            "twist.twist": channels(7, 13),
        }
        return (Message("odom", "nav_msgs/msg/Odometry", fields),)

    @classmethod
    def measure(cls, sensors: Sequence[GroundTruth], context: SensorContext) -> Measure:
        """The same for all of them."""
        return pose_and_twist


def pose_and_twist(state: FrameState) -> FloatArray:
    """[pose in the fixed frame, linear and angular velocity along the frame's axes] (S, 13)."""
    linear, angular = state.to_frame(state.twist[:, :3]), state.to_frame(state.twist[:, 3:])
    return np.concatenate([state.pose, linear, angular], axis=1)
