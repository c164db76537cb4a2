"""A rangefinder: the distance to the nearest shape in a narrow cone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from sim_node.simulation.sensors.context import SensorContext
from sim_node.simulation.sensors.noise import Noise
from sim_node.simulation.sensors.parameters import group, parameter
from sim_node.simulation.sensors.rays import caster, classifier
from sim_node.simulation.sensors.registry import Measure, Message, Report, SensorType, channels, sensor
from sim_node.simulation.sensors.truth import FrameState
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.declared import declared

# Number of rings of rays (6, 12, 18) around the central ray of a cone.
RINGS = 3
# sensor_msgs/Range.
_INFRARED = 1


@sensor("rangefinder")
@declared
class Rangefinder(SensorType):
    """Measures the least distance (m) to a shape in a cone along its frame's x axis; too near is -inf, too far inf.

    37 evenly spread rays sample the cone; one ray if the field of view is zero. The defaults are those of a TFmini-S
    (Benewake, data sheet: 0.1 m to 12 m, 2 degrees, 0.5 % of 6 m).
    """

    rate: float = parameter(50.0, "Hz", "measurements per second", above=0.0)
    range_min: float = parameter(0.1, "m", "minimum range", low=0.0, high=1e6)
    range_max: float = parameter(12.0, "m", "maximum range", above=0.0, high=1e6)
    field_of_view: float = parameter(0.035, "rad", "full angle of the cone", low=0.0, high=3.0)
    noise: Noise = group(Noise(deviation=0.03, resolution=0.01), "m", "range")

    channels: ClassVar = ("range",)

    def fan(self) -> FloatArray:
        """Return the unit directions (37, 3) of its rays."""
        step = 0.5 * self.field_of_view / RINGS
        rays = [(ring * step, k * np.pi / (3 * ring)) for ring in range(1, RINGS + 1) for k in range(6 * ring)]
        off, turn = np.array([(0.0, 0.0), *rays]).T
        return np.stack([np.cos(off), np.sin(off) * np.cos(turn), np.sin(off) * np.sin(turn)], axis=-1)

    def messages(self, frame: str, fixed_frame: str) -> tuple[Message, ...]:
        """Return a sensor_msgs/Range as in ROS 2 Jazzy; before Jazzy it has no variance at its end."""
        fields = {
            "radiation_type": _INFRARED,
            "field_of_view": self.field_of_view,
            "min_range": self.range_min,
            "max_range": self.range_max,
            "range": channels(0),
            "variance": self.noise.variance(self.rate),
        }
        return (Message("range", "sensor_msgs/msg/Range", fields),)

    @classmethod
    def measure(cls, sensors: Sequence[Rangefinder], context: SensorContext) -> Measure:
        """Return the function that measures the least distance (S, 1) over all rays, m."""
        fans = np.array([each.fan() for each in sensors])
        if not any(each.field_of_view for each in sensors):
            fans = fans[:, :1]
        cast = caster(fans, sensors, context)

        def read(state: FrameState) -> FloatArray:
            nearest: FloatArray = np.min(cast(state).distances, axis=1)
            return nearest[:, None]

        return read

    @classmethod
    def report(cls, sensors: Sequence[Rangefinder], context: SensorContext) -> Report:
        """Return the function that replaces distances out of range by -inf and inf."""
        return classifier(sensors)
