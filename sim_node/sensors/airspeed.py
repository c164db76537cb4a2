"""A pitot tube: the pressure of the air that it meets, over the air around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from sim_node.geometry.arrays import FloatArray
from sim_node.sensors import atmosphere
from sim_node.sensors.context import SensorContext
from sim_node.sensors.message import Message, channels
from sim_node.sensors.noise import Noise, Quantities
from sim_node.sensors.parameters import group, parameter
from sim_node.sensors.registry import Measure, SensorType, sensor
from sim_node.sensors.truth import FrameState

_HEAT_RATIO = 1.4


@sensor("airspeed")
@dataclass(frozen=True)
class Airspeed(SensorType):
    """Reads the differential pressure (Pa) of a tube along its frame's x axis, in air that moves with the wind.

    What comes from behind reads zero. The noise is that of an MS4525DO of 1 psi (TE Connectivity, data sheet: 0.25 %
    of full scale).
    """

    rate: float = parameter(50.0, "Hz", "readings per second", above=0.0)
    latency: float = parameter(0.0, "s", "from a reading until it is out", low=0.0, high=10.0)
    noise: Noise = group(Noise(deviation=1.0, turn_on_bias=17.0, saturation=6895.0), "Pa", "differential pressure")

    channels: ClassVar = ("differential_pressure",)

    def quantities(self) -> Quantities:
        """One pressure."""
        return ((self.noise, 1),)

    def messages(self, frame: str, fixed_frame: str) -> tuple[Message, ...]:
        """sensor_msgs/FluidPressure."""
        fields = {"fluid_pressure": channels(0), "variance": self.noise.variance(self.rate)}
        return (Message("differential_pressure", "sensor_msgs/msg/FluidPressure", fields),)

    @classmethod
    def measure(cls, sensors: Sequence[Airspeed], context: SensorContext) -> Measure:
        """Impact pressures at the heights of the frames."""
        base = 0.0 if context.world.origin is None else context.world.origin.altitude

        def read(state: FrameState) -> FloatArray:
            through_air = state.twist[:, :3] - context.environment.wind(state.pose[:, :3])
            ahead = np.maximum(state.to_frame(through_air)[:, 0], 0.0)
            return impact_pressure(ahead, base + state.pose[:, 2])[:, None]

        return read


def impact_pressure(airspeed: npt.ArrayLike, altitude: npt.ArrayLike) -> FloatArray:
    """Return the pressure (Pa) over static of air brought to rest from true airspeeds (m/s, below that of sound).

    altitude: m above mean sea level. Isentropic: Anderson, Fundamentals of Aerodynamics, equation 8.42.
    """
    sound = np.sqrt(_HEAT_RATIO * atmosphere.GAS_CONSTANT * atmosphere.temperature(altitude))
    mach = np.asarray(airspeed, dtype=np.float64) / sound
    exponent = _HEAT_RATIO / (_HEAT_RATIO - 1.0)
    rise = np.expm1(exponent * np.log1p(0.5 * (_HEAT_RATIO - 1.0) * mach**2))
    return np.asarray(atmosphere.pressure(altitude) * rise)
