"""Earth's magnetic field along the sensor's own axes, from the World Magnetic Model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sim_node.geometry.arrays import FloatArray
from sim_node.sensors.context import SensorContext
from sim_node.sensors.magnetic_field import FIRST_YEAR, LAST_YEAR, field_around
from sim_node.sensors.message import Message, channels
from sim_node.sensors.noise import Noise, Quantities, covariance
from sim_node.sensors.parameters import group, parameter
from sim_node.sensors.registry import Measure, SensorType, sensor
from sim_node.sensors.truth import FrameState


@sensor("magnetometer")
@dataclass(frozen=True)
class Magnetometer(SensorType):
    """Reads the field (T) at its frame's origin.

    The noise is that of an HMC5883L (Honeywell, data sheet Rev. E: 2 mG resolution, field range 8 G).
    """

    rate: float = parameter(50.0, "Hz", "readings per second", above=0.0)
    latency: float = parameter(0.0, "s", "from a reading until it is out", low=0.0, high=10.0)
    year: float = parameter(2026.0, "year", "date of the field, with decimals", low=FIRST_YEAR, high=LAST_YEAR)
    noise: Noise = group(Noise(deviation=2e-7, saturation=8e-4), "T", "magnetic field")

    channels: ClassVar = ("field_x", "field_y", "field_z")
    needs_origin: ClassVar = True
    needs_package: ClassVar = "pygeomag"

    def quantities(self) -> Quantities:
        """Three axes."""
        return ((self.noise, 3),)

    def messages(self, frame: str, fixed_frame: str) -> tuple[Message, ...]:
        """sensor_msgs/MagneticField."""
        fields = {
            "magnetic_field": channels(0, 3),
            "magnetic_field_covariance": covariance(self.rate, *[self.noise] * 3),
        }
        return (Message("mag", "sensor_msgs/msg/MagneticField", fields),)

    @classmethod
    def measure(cls, sensors: Sequence[Magnetometer], context: SensorContext) -> Measure:
        """The field at the frames, one model for each year that is asked for."""
        assert context.world.origin is not None, "a suite is not opened without one"
        from sim_node.sensors.kernels import straight_field

        of_year = {year: field_around(context.world.origin, year) for year in {each.year for each in sensors}}
        centres = np.array([of_year[each.year].centre for each in sensors])
        gradients = np.array([of_year[each.year].gradient for each in sensors])

        def read(state: FrameState) -> FloatArray:
            measured: FloatArray = straight_field(state.pose, centres, gradients)
            return measured

        return read
