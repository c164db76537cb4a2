"""Scanning lidars: ranges in a plane, or point clouds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from sim_node.simulation.sensors import rays
from sim_node.simulation.sensors.context import SensorContext
from sim_node.simulation.sensors.parameters import group, parameter, whole
from sim_node.simulation.sensors.rays import RangeNoise, RangeNoiseBank
from sim_node.simulation.sensors.registry import Channels, Disturb, Measure, Message, Report, SensorType, sensor
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.declared import declared

MAX_SAMPLES, MAX_RINGS = 1 << 15, 1 << 10
TURN = 3.1416
# Layout of a point: x, y, z and intensity as float32, ring as uint16, and two bytes of padding.
_POINT = np.dtype({"names": ["point", "ring"], "formats": [("<f4", 4), "<u2"], "offsets": [0, 16], "itemsize": 20})
# sensor_msgs/PointField: name, offset, type.
_UINT16, _FLOAT32 = 4, 7
_POINT_FIELDS = (
    ("x", 0, _FLOAT32),
    ("y", 4, _FLOAT32),
    ("z", 8, _FLOAT32),
    ("intensity", 12, _FLOAT32),
    ("ring", 16, _UINT16),
)


@sensor("lidar_2d")
@declared
class Lidar2d(SensorType):
    """Measures the ranges (m) of `samples` rays in its frame's x-y plane, from angle_min to angle_max, both included.

    Too near is -inf, too far inf, a dropout NaN (REP 117). All rays of a scan are measured at one instant. The defaults
    are those of a UST-10LX (Hokuyo, data sheet: 270 degrees in steps of 0.25, 0.06 m to 10 m, 40 Hz).
    """

    rate: float = parameter(40.0, "Hz", "scans per second", above=0.0)
    angle_min: float = parameter(-2.35619449, "rad", "angle of the first ray, from x to y", low=-TURN, high=TURN)
    angle_max: float = parameter(2.35619449, "rad", "angle of the last ray", low=-TURN, high=TURN)
    samples: int = whole(1081, "1", "rays per scan", low=1, high=MAX_SAMPLES)
    range_min: float = parameter(0.06, "m", "minimum range", low=0.0, high=1e6)
    range_max: float = parameter(10.0, "m", "maximum range", above=0.0, high=1e6)
    noise: RangeNoise = group(RangeNoise(deviation=0.01), "m", "range")

    channels: ClassVar = ("range",)

    def shape(self) -> tuple[int, ...]:
        """Return (samples,): a range for each ray."""
        return (self.samples,)

    def fan(self) -> FloatArray:
        """Return the unit directions (samples, 3) of the rays."""
        return rays.directions(np.linspace(self.angle_min, self.angle_max, self.samples), np.zeros(1))

    def messages(self, frame: str, fixed_frame: str) -> tuple[Message, ...]:
        """Return a sensor_msgs/LaserScan without intensities, all rays at one instant."""
        span = self.angle_max - self.angle_min
        fields = {
            "angle_min": self.angle_min,
            "angle_max": self.angle_max,
            "angle_increment": span / (self.samples - 1) if self.samples > 1 else 0.0,
            "scan_time": 1.0 / self.rate,
            "range_min": self.range_min,
            "range_max": self.range_max,
            "ranges": Channels(...),
        }
        return (Message("scan", "sensor_msgs/msg/LaserScan", fields),)

    @classmethod
    def measure(cls, sensors: Sequence[Lidar2d], context: SensorContext) -> Measure:
        """Return the function that measures distances (S, samples), m."""
        cast = rays.caster(np.array([each.fan() for each in sensors]), sensors, context)
        return lambda state: cast(state).distances

    @classmethod
    def disturb(cls, sensors: Sequence[Lidar2d], streams: Sequence[np.random.Generator], rate: float) -> Disturb:
        """Return the noise of each ray."""
        return RangeNoiseBank([each.noise for each in sensors], streams, sensors[0].samples)

    @classmethod
    def report(cls, sensors: Sequence[Lidar2d], context: SensorContext) -> Report:
        """Return the function that replaces distances out of range by -inf and inf."""
        return rays.classifier(sensors)


@sensor("lidar_3d")
@declared
class Lidar3d(SensorType):
    """Measures points where `rings` fans of `samples` rays hit, along its frame's axes, and their intensity.

    Values (rings, samples, 4) are x, y, z (m; NaN where no range was measured) and an intensity of 0 to 255, from the
    colour of the shape. Rings go from vertical_min to vertical_max, both included; columns divide angle_min to
    angle_max evenly, each at the centre of its part. All points are measured at one instant. The defaults are those of
    a VLP-16 (Velodyne, manual 63-9243: 16 rings in steps of 2 degrees, 3 cm, 10 revolutions per second).
    """

    rate: float = parameter(10.0, "Hz", "clouds per second", above=0.0)
    rings: int = whole(16, "1", "number of rings", low=1, high=MAX_RINGS)
    vertical_min: float = parameter(-0.2617994, "rad", "elevation of the lowest ring", low=-TURN / 2, high=TURN / 2)
    vertical_max: float = parameter(0.2617994, "rad", "elevation of the highest ring", low=-TURN / 2, high=TURN / 2)
    samples: int = whole(1800, "1", "rays per ring", low=1, high=MAX_SAMPLES)
    angle_min: float = parameter(-np.pi, "rad", "azimuth where columns begin, from x to y", low=-TURN, high=TURN)
    angle_max: float = parameter(np.pi, "rad", "azimuth where columns end", low=-TURN, high=TURN)
    range_min: float = parameter(0.5, "m", "minimum range", low=0.0, high=1e6)
    range_max: float = parameter(100.0, "m", "maximum range", above=0.0, high=1e6)
    noise: RangeNoise = group(RangeNoise(deviation=0.03), "m", "range")

    channels: ClassVar = ("x", "y", "z", "intensity")

    def shape(self) -> tuple[int, ...]:
        """Return (rings, samples, 4)."""
        return (self.rings, self.samples, len(self.channels))

    def fan(self) -> FloatArray:
        """Return the unit directions (rings * samples, 3) of the rays, ring by ring."""
        share = (self.angle_max - self.angle_min) / self.samples
        azimuths = self.angle_min + share * (np.arange(self.samples) + 0.5)
        elevations = np.linspace(self.vertical_min, self.vertical_max, self.rings)
        return rays.directions(azimuths, elevations[:, None]).reshape(-1, 3)

    def messages(self, frame: str, fixed_frame: str) -> tuple[Message, ...]:
        """Return a sensor_msgs/PointCloud2 with a row per ring."""
        points = np.zeros((self.rings, self.samples), _POINT)
        points["ring"] = np.arange(self.rings)[:, None]
        size = _POINT.itemsize
        fields = {
            "height": self.rings,
            "width": self.samples,
            "fields": [
                {"name": name, "offset": offset, "datatype": kind, "count": 1} for name, offset, kind in _POINT_FIELDS
            ],
            "point_step": size,
            "row_step": size * self.samples,
            "data": Channels(..., within=points, at="point"),
        }
        return (Message("points", "sensor_msgs/msg/PointCloud2", fields),)

    @classmethod
    def measure(cls, sensors: Sequence[Lidar3d], context: SensorContext) -> Measure:
        """Return the function that measures distances (m) and brightness (S, 2 * rings * samples)."""
        cast = rays.caster(np.array([each.fan() for each in sensors]), sensors, context)

        return lambda state: np.concatenate(cast(state), axis=1)

    @classmethod
    def disturb(cls, sensors: Sequence[Lidar3d], streams: Sequence[np.random.Generator], rate: float) -> Disturb:
        """Return the noise of each range."""
        return RangeNoiseBank([each.noise for each in sensors], streams, sensors[0].rings * sensors[0].samples)

    @classmethod
    def report(cls, sensors: Sequence[Lidar3d], context: SensorContext) -> Report:
        """Return the function that converts distances and brightness to points along the sensors' own axes."""
        fans = np.array([each.fan() for each in sensors])
        nearest, farthest = rays.limits(sensors)
        count = fans.shape[1]

        def cloud(measured: FloatArray) -> FloatArray:
            points = np.empty((len(fans), count, 4))
            ranges = measured[:, :count]
            seen = (ranges >= nearest) & (ranges <= farthest)
            np.multiply(fans, np.where(seen, ranges, np.nan)[..., None], out=points[..., :3])
            np.multiply(measured[:, count:], 255.0, out=points[..., 3])
            points[..., 3][~seen] = 0.0
            return points.reshape(len(fans), *sensors[0].shape())

        return cloud
