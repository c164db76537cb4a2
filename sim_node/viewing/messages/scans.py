"""2D lidar scans as points, and rangefinder measurements as lines."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sim_node.viewing.messages.drawing import Drawing, Lines, Points, in_one_colour
from sim_node.viewing.messages.readers import reader, stateless

_RAY = (230, 60, 40)


def scanned(frame: str, ranges: npt.NDArray[Any], first: float, step: float) -> Points:
    """Return the finite ranges (n,) of a 2D lidar as points, at equal angular steps from the first."""
    angles = first + step * np.arange(len(ranges))
    fan = np.stack([np.cos(angles), np.sin(angles), np.zeros(len(ranges))], axis=-1)
    finite = np.isfinite(ranges)
    return Points(frame, ranges[finite, None] * fan[finite])


def ray_of(frame: str, length: float) -> Lines:
    """Return a line along x, of zero length if nothing was in range."""
    ends = np.array([[[0.0, 0.0, 0.0], [length if np.isfinite(length) else 0.0, 0.0, 0.0]]])
    return Lines(frame, ends, in_one_colour(ends, _RAY))


def scan(message: Any) -> Drawing:
    """Read a sensor_msgs/LaserScan."""
    frame, ranges = message.header.frame_id, np.asarray(message.ranges, dtype=np.float64)
    return Drawing(frame, (scanned(frame, ranges, message.angle_min, message.angle_increment),))


def ray(message: Any) -> Drawing:
    """Read a sensor_msgs/Range."""
    frame = message.header.frame_id
    return Drawing(frame, (ray_of(frame, float(message.range)),))


reader("sensor_msgs/msg/LaserScan")(stateless(scan))
reader("sensor_msgs/msg/Range")(stateless(ray))
