"""Sensors of forces and torques: of what touches a body, and of what goes through its joint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from sim_node.sensors.context import SensorContext
from sim_node.sensors.noise import Noise, Quantities
from sim_node.sensors.parameters import group, parameter
from sim_node.sensors.registry import Measure, Message, SensorType, channels, sensor


@dataclass(frozen=True)
class WrenchSensor(SensorType):
    """Reads a force (N) and a torque (N m) about its frame's origin, along its axes; subclasses define of what."""

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


@sensor("contact")
@dataclass(frozen=True)
class Contact(WrenchSensor):
    """Reads the wrench of all contacts of the body that it is fixed to, about its frame's origin, along its axes.

    It is what the body feels: +m g along up for one that lies on the ground, zero in a free fall.
    """

    @classmethod
    def measure(cls, sensors: Sequence[Contact], context: SensorContext) -> Measure:
        """The same for all of them."""
        return lambda state: state.pairs_to_frame(context.environment.contact(context.frames, state.pose[:, :3]))


@sensor("force_torque")
@dataclass(frozen=True)
class ForceTorque(WrenchSensor):
    """Reads the wrench that the body it is fixed to feels through its joint, about its frame's origin, along its axes.

    A body with a frozen joint is felt too: one between flange and tool is what a wrist sensor measures. A body that
    hangs from it at rest reads +m g along up.
    """

    @classmethod
    def measure(cls, sensors: Sequence[ForceTorque], context: SensorContext) -> Measure:
        """The same for all of them."""
        return lambda state: state.pairs_to_frame(context.environment.joint(context.frames, state.pose[:, :3]))
