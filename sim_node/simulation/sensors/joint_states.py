"""Encoders of the joints of a robot: positions, velocities and efforts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from sim_node.names import prefixed
from sim_node.simulation.sensors.context import SensorContext
from sim_node.simulation.sensors.noise import Noise, Quantities
from sim_node.simulation.sensors.parameters import group, listing, parameter
from sim_node.simulation.sensors.registry import Measure, Message, SensorType, channels, sensor
from sim_node.simulation.sensors.truth import FrameState
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import did_you_mean
from sim_node.world.declared import declared
from sim_node.world.layout import joints_below
from sim_node.world.model import Sensor, World
from sim_node.world.problems import quoted


@sensor("joint_states")
@declared
class JointStates(SensorType):
    """Measures the positions, then the velocities, then the efforts of hinges and slides.

    They are those of the body that it is mounted on and of all bodies below, or the named ones, with or without the
    prefix of the sensor's name. Effort is that of actuators. The default noise of positions is that of 12-bit encoders;
    that of velocities is an assumption.
    """

    rate: float = parameter(100.0, "Hz", "measurements per second", above=0.0)
    joints: tuple[str, ...] = listing("joints to measure; by default all below the mounting")
    position: Noise = group(Noise(resolution=0.001534), "rad or m", "position")
    velocity: Noise = group(Noise(deviation=0.01), "rad/s or m/s", "velocity")
    effort: Noise = group(Noise(), "N m or N", "effort")

    channels: ClassVar = ("position", "velocity", "effort")
    units: ClassVar = ("", "", "")  # by the type of each joint

    def in_world(self, mounting: Sensor, world: World) -> JointStates:
        """Return the sensor with the names of all joints that it measures. Raises ValueError for an unknown joint."""
        below = joints_below(world, mounting.parent)
        # An included file names them without its prefix.
        prefix = mounting.name.rpartition("/")[0]
        joints = tuple(name if name in below else prefixed(prefix, name) for name in self.joints)
        for name, joint in zip(self.joints, joints, strict=True):
            if joint not in below:
                hint = did_you_mean(name, below)
                raise ValueError(f"there is no joint {quoted(name)} below {quoted(mounting.parent)}{hint}")
        if not below:
            raise ValueError(f"there is no hinge or slide below {quoted(mounting.parent)} to read")
        return replace(self, joints=joints or below)

    def shape(self) -> tuple[int, ...]:
        """Return (3 J,): positions, velocities and efforts of J joints."""
        return (3 * len(self.joints),)

    def quantities(self) -> Quantities:
        """Return each quantity of each joint."""
        return tuple((noise, 1) for noise in (self.position, self.velocity, self.effort) for _ in self.joints)

    def messages(self, frame: str, fixed_frame: str) -> tuple[Message, ...]:
        """Return a sensor_msgs/JointState."""
        count = len(self.joints)
        fields = {
            "name": self.joints,
            "position": channels(0, count),
            "velocity": channels(count, 2 * count),
            "effort": channels(2 * count, 3 * count),
        }
        return (Message("joint_states", "sensor_msgs/msg/JointState", fields),)

    @classmethod
    def measure(cls, sensors: Sequence[JointStates], context: SensorContext) -> Measure:
        """Return the function that measures the states (S, 3 J) of the joints."""
        joints = context.environment.joints([name for each in sensors for name in each.joints])

        def read(state: FrameState) -> FloatArray:
            # Reorder (quantity, sensor, joint) to a row for each sensor.
            published: FloatArray = joints().reshape(3, len(sensors), -1).transpose(1, 0, 2)
            return published.reshape(len(sensors), -1)

        return read
