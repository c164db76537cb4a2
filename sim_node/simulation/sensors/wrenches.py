"""Sensors of forces and torques: of contacts of a body, and through its joint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from sim_node.simulation.sensors.context import SensorContext
from sim_node.simulation.sensors.noise import Noise
from sim_node.simulation.sensors.parameters import group, parameter
from sim_node.simulation.sensors.registry import Measure, Message, SensorType, channels, sensor
from sim_node.world.declared import declared


@declared
class WrenchSensor(SensorType):
    """Base of sensors of a force (N) and a torque (N m) about their frame's origin, along its axes."""

    rate: float = parameter(100.0, "Hz", "measurements per second", above=0.0)
    force: Noise = group(Noise(), "N", "force", axes=3)
    torque: Noise = group(Noise(), "N m", "torque", axes=3)

    channels: ClassVar = ("force_x", "force_y", "force_z", "torque_x", "torque_y", "torque_z")

    def messages(self, frame: str, fixed_frame: str) -> tuple[Message, ...]:
        """Return a geometry_msgs/WrenchStamped."""
        return (Message("wrench", "geometry_msgs/msg/WrenchStamped", {"wrench": channels(0, 6)}),)


@sensor("contact")
@declared
class Contact(WrenchSensor):
    """Measures the wrench of all contacts of the body that it is fixed to, about its frame's origin, along its axes.

    It is the wrench on the body: +m g upwards for a body at rest on the ground, zero in free fall.
    """

    @classmethod
    def measure(cls, sensors: Sequence[Contact], context: SensorContext) -> Measure:
        """Return the function that measures the wrenches (S, 6) of contacts."""
        return lambda state: state.pairs_to_frame(context.environment.contact(context.frames, state.pose[:, :3]))


@sensor("force_torque")
@declared
class ForceTorque(WrenchSensor):
    """Measures the wrench on the body that it is fixed to through its joint, about its frame's origin, along its axes.

    Frozen joints count: one between flange and tool makes a wrist sensor. A body that hangs from its joint at rest
    reads +m g upwards.
    """

    @classmethod
    def measure(cls, sensors: Sequence[ForceTorque], context: SensorContext) -> Measure:
        """Return the function that measures the wrenches (S, 6) through joints."""
        return lambda state: state.pairs_to_frame(context.environment.joint(context.frames, state.pose[:, :3]))
