"""Scans of 2D lidars as points, and ranges of rangefinders as lines."""

from __future__ import annotations

from typing import Any

import numpy as np

from sim_node.viewing.messages.drawing import Drawing, Lines, Points, in_one_colour
from sim_node.viewing.messages.readers import reader, stateless

_RAY = (230, 60, 40)


def scan(message: Any) -> Drawing:
    """Read a sensor_msgs/LaserScan: its finite ranges."""
    ranges = np.asarray(message.ranges, dtype=np.float64)
    angles = message.angle_min + message.angle_increment * np.arange(len(ranges))
    fan = np.stack([np.cos(angles), np.sin(angles), np.zeros(len(ranges))], axis=-1)
    finite = np.isfinite(ranges)
    frame = message.header.frame_id
    return Drawing(frame, (Points(frame, ranges[finite, None] * fan[finite]),))


def ray(message: Any) -> Drawing:
    """Read a sensor_msgs/Range: a line along x, of no length if nothing was in range."""
    length, frame = float(message.range), message.header.frame_id
    ends = np.array([[[0.0, 0.0, 0.0], [length if np.isfinite(length) else 0.0, 0.0, 0.0]]])
    return Drawing(frame, (Lines(frame, ends, in_one_colour(ends, _RAY)),))


reader("sensor_msgs/msg/LaserScan")(stateless(scan))
reader("sensor_msgs/msg/Range")(stateless(ray))
