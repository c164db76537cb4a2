"""Optical flow: the angular rate at which a camera sees the ground pass, as the sensors of multirotors measure it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from sim_node.simulation.sensors.context import SensorContext
from sim_node.simulation.sensors.noise import Noise
from sim_node.simulation.sensors.parameters import group, parameter
from sim_node.simulation.sensors.rays import caster, limits
from sim_node.simulation.sensors.registry import Measure, Message, SensorType, channels, sensor
from sim_node.simulation.sensors.truth import FrameState
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.declared import declared

_AHEAD = np.array([[1.0, 0.0, 0.0]])


@sensor("optical_flow")
@declared
class OpticalFlow(SensorType):
    """Measures the optical flow (rad/s) about its frame's y and z axes, of what it sees along x.

    It is the rate at which the sensor would have to turn for the same motion of the picture: a rotation reads as
    itself, and a velocity v at a distance d adds x * v / d (cross product), where x is the axis. What it sees is taken
    to stand still. The measurement is NaN where nothing is in range. The defaults are those of a PMW3901MB (PixArt,
    data sheet: from 0.08 m on, up to 7.4 rad/s).
    """

    rate: float = parameter(50.0, "Hz", "measurements per second", above=0.0)
    range_min: float = parameter(0.08, "m", "minimum range", low=0.0, high=1e6)
    range_max: float = parameter(30.0, "m", "maximum range", above=0.0, high=1e6)
    noise: Noise = group(Noise(deviation=0.05, saturation=7.4), "rad/s", "flow", axes=2)

    channels: ClassVar = ("flow_y", "flow_z")

    def messages(self, frame: str, fixed_frame: str) -> tuple[Message, ...]:
        """Return a geometry_msgs/Vector3Stamped, because ROS has no message for optical flow."""
        fields = {"vector.y": channels(0), "vector.z": channels(1)}
        return (Message("flow", "geometry_msgs/msg/Vector3Stamped", fields),)

    @classmethod
    def measure(cls, sensors: Sequence[OpticalFlow], context: SensorContext) -> Measure:
        """Return the function that measures the flow at the points where the sensors' axes hit something."""
        nearest, farthest = limits(sensors)
        cast = caster(np.tile(_AHEAD, (len(sensors), 1, 1)), sensors, context)

        def read(state: FrameState) -> FloatArray:
            distance = cast(state).distances
            distance = np.where((nearest <= distance) & (distance <= farthest), distance, np.nan)[:, 0]
            velocity, rate = state.to_frame(state.twist[:, :3]), state.to_frame(state.twist[:, 3:])
            return np.stack([rate[:, 1] - velocity[:, 2] / distance, rate[:, 2] + velocity[:, 1] / distance], axis=1)

        return read
