"""A Doppler velocity log: the velocity over the ground by the Doppler shift of sound along slanted beams."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from sim_node.simulation.sensors.context import SensorContext
from sim_node.simulation.sensors.noise import UNKNOWN_VARIANCE, Noise, covariance
from sim_node.simulation.sensors.parameters import group, parameter, whole
from sim_node.simulation.sensors.rays import caster, limits
from sim_node.simulation.sensors.registry import Measure, Message, Report, SensorType, channels, sensor
from sim_node.simulation.sensors.truth import FrameState
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.declared import declared

# Minimum number of beams that must find the ground for a three-dimensional velocity.
LEAST_BEAMS = 3
# sensor_msgs/Range.
_ULTRASOUND = 0


@sensor("dvl")
@declared
class Dvl(SensorType):
    """Measures its velocity over the ground (m/s) along its frame's axes, and its distance (m) from it along -z.

    Each of its beams leads down, tilted away from -z; the first is turned from x towards y by `rotation`, and the
    others follow evenly around z. A beam that finds a shape in range, taken to stand still, measures the velocity along
    itself. Three or more make the velocity; with fewer it is NaN. The distance is the mean of what the beams measure,
    times the cosine of their tilt; out of range it is inf. The defaults are those of a
    Pathfinder 600 (Teledyne RD Instruments, data sheet: four beams at 30 degrees, 0.2 m to 89 m; 0.9 cm/s at 3 m/s).
    """

    rate: float = parameter(8.0, "Hz", "measurements per second", above=0.0)
    beams: int = whole(4, "1", "number of beams", low=LEAST_BEAMS, high=16)
    tilt: float = parameter(math.pi / 6, "rad", "angle of the beams from -z", above=0.0, high=1.5)
    rotation: float = parameter(math.pi / 4, "rad", "angle of the first beam from x about z", low=-7.0, high=7.0)
    range_min: float = parameter(0.2, "m", "minimum range of a beam", low=0.0, high=1e6)
    range_max: float = parameter(89.0, "m", "maximum range of a beam", above=0.0, high=1e6)
    velocity: Noise = group(Noise(deviation=0.009), "m/s", "velocity", axes=3)
    distance: Noise = group(Noise(resolution=0.01), "m", "distance")

    channels: ClassVar = ("velocity_x", "velocity_y", "velocity_z", "distance")

    def fan(self) -> FloatArray:
        """Return the unit directions (B, 3) of its beams."""
        turns = self.rotation + np.arange(self.beams) * (2.0 * np.pi / self.beams)
        across = np.sin(self.tilt)
        return np.stack([across * np.cos(turns), across * np.sin(turns), np.full_like(turns, -np.cos(self.tilt))], 1)

    def messages(self, frame: str, fixed_frame: str) -> tuple[Message, ...]:
        """Return a geometry_msgs/TwistWithCovarianceStamped in the sensor's frame, and a sensor_msgs/Range along -z."""
        known = np.diag(covariance(self.rate, *[self.velocity] * 3))
        linear = {
            "twist.twist.linear": channels(0, 3),
            "twist.covariance": np.diag([*known, *[UNKNOWN_VARIANCE] * 3]),
        }
        slant = math.cos(self.tilt)
        fields = {
            "radiation_type": _ULTRASOUND,
            "field_of_view": 2.0 * self.tilt,
            "min_range": slant * self.range_min,
            "max_range": slant * self.range_max,
            "range": channels(3),
            "variance": self.distance.variance(self.rate),
        }
        return (
            Message("velocity", "geometry_msgs/msg/TwistWithCovarianceStamped", linear),
            Message("range", "sensor_msgs/msg/Range", fields),
        )

    @classmethod
    def measure(cls, sensors: Sequence[Dvl], context: SensorContext) -> Measure:
        """Return the function that measures velocities and distances (S, 4)."""
        most = max(each.beams for each in sensors)
        # Sensors with fewer beams repeat their first one, which is not counted again.
        fans = np.array([[*each.fan(), *[each.fan()[0]] * (most - each.beams)] for each in sensors])
        counted = np.array([[beam < each.beams for beam in range(most)] for each in sensors])
        slants = np.array([math.cos(each.tilt) for each in sensors])
        nearest, farthest = limits(sensors)
        cast = caster(fans, sensors, context)

        def read(state: FrameState) -> FloatArray:
            distances = cast(state).distances
            found = counted & (nearest <= distances) & (distances <= farthest)
            count = found.sum(axis=1)
            total = np.where(found, distances, 0.0).sum(axis=1)
            depth = np.where(count > 0, slants * total / np.maximum(count, 1), np.inf)
            # With three or more slanted beams, there is a unique solution, which is the velocity itself.
            velocity = np.where((count >= LEAST_BEAMS)[:, None], state.to_frame(state.twist[:, :3]), np.nan)
            return np.concatenate([velocity, depth[:, None]], axis=1)

        return read

    @classmethod
    def report(cls, sensors: Sequence[Dvl], context: SensorContext) -> Report:
        """Return the function that sets distances to inf where no beam found the ground, as noise makes these NaN."""

        def publish(measured: FloatArray) -> FloatArray:
            published = np.array(measured)
            published[~np.isfinite(measured[:, 3]), 3] = np.inf
            return published

        return publish
