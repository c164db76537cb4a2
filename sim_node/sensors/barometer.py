"""Static pressure, from the International Standard Atmosphere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sim_node.geometry.arrays import FloatArray
from sim_node.sensors import atmosphere
from sim_node.sensors.context import SensorContext
from sim_node.sensors.message import Message, channels
from sim_node.sensors.noise import Noise, Quantities
from sim_node.sensors.parameters import group, parameter
from sim_node.sensors.registry import Measure, SensorType, sensor
from sim_node.sensors.truth import FrameState


@sensor("barometer")
@dataclass(frozen=True)
class Barometer(SensorType):
    """Reads the static pressure (Pa) at its frame's origin.

    Its altitude above the sea is the world's origin, if it has one, plus z, less geoid_undulation. The noise is
    that of an MS5611 at its highest resolution (TE Connectivity, data sheet 2017: 0.012 mbar).
    """

    rate: float = parameter(50.0, "Hz", "readings per second", above=0.0)
    latency: float = parameter(0.0, "s", "from a reading until it is out", low=0.0, high=10.0)
    sea_level_pressure: float = parameter(101_325.0, "Pa", "the weather: pressure at sea level", low=8e4, high=1.2e5)
    geoid_undulation: float = parameter(0.0, "m", "height of the sea above the ellipsoid here", low=-120.0, high=120.0)
    noise: Noise = group(Noise(deviation=1.2, bias_instability=2.0, correlation_time=600.0), "Pa", "pressure")

    channels: ClassVar = ("pressure",)

    def quantities(self) -> Quantities:
        """One pressure."""
        return ((self.noise, 1),)

    def messages(self, frame: str, fixed_frame: str) -> tuple[Message, ...]:
        """sensor_msgs/FluidPressure."""
        fields = {"fluid_pressure": channels(0), "variance": self.noise.variance(self.rate)}
        return (Message("pressure", "sensor_msgs/msg/FluidPressure", fields),)

    @classmethod
    def measure(cls, sensors: Sequence[Barometer], context: SensorContext) -> Measure:
        """Pressures at the heights of the frames."""
        sea_level = np.array([each.sea_level_pressure for each in sensors])
        base = np.array([-each.geoid_undulation for each in sensors])
        if context.world.origin is not None:
            base += context.world.origin.altitude

        def read(state: FrameState) -> FloatArray:
            return atmosphere.pressure(base + state.pose[:, 2], sea_level)[:, None]

        return read
