"""The messages of sensors that measure distances, as bytes: Range, LaserScan, PointCloud2 of sensor_msgs."""

from __future__ import annotations

import struct

import numpy as np
import numpy.typing as npt

from sim_node.geometry.arrays import FloatArray
from sim_node.wire.cdr import aligned, cdr_string
from sim_node.wire.sensor_messages import Write
from sim_node.wire.stamped_message import StampedMessageBytes, header

# sensor_msgs/Range and sensor_msgs/PointField.
_INFRARED = 1
_UINT16, _FLOAT32 = 4, 7
# Of a point: x, y, z, intensity as float32, its ring as uint16, and two bytes so that the next one is aligned.
_POINT = np.dtype({"names": ["point", "ring"], "formats": [("<f4", 4), "<u2"], "offsets": [0, 16], "itemsize": 20})
_POINT_FIELDS = (
    ("x", 0, _FLOAT32),
    ("y", 4, _FLOAT32),
    ("z", 8, _FLOAT32),
    ("intensity", 12, _FLOAT32),
    ("ring", 16, _UINT16),
)


def infrared_range(frame_id: str, field_of_view: float, range_min: float, range_max: float, variance: float) -> Write:
    """sensor_msgs/Range as ROS 2 Jazzy has it; values: the range (1). Before Jazzy it ends without its variance."""
    body = header(frame_id)
    body += struct.pack("<B", _INFRARED)
    message = StampedMessageBytes(body, [field_of_view, range_min, range_max, 0.0, variance], dtype="<f4")

    def write(stamp_ns: int, values: FloatArray) -> bytes:
        message.numbers[3] = values[0]
        return message.write(stamp_ns)

    return write


def laser_scan(
    frame_id: str,
    angle_min: float,
    angle_max: float,
    samples: int,
    range_min: float,
    range_max: float,
    scan_time: float,
) -> Write:
    """sensor_msgs/LaserScan without intensities, all rays of one instant; values: ranges (samples,)."""
    body = header(frame_id)
    aligned(body, 4)
    increment = (angle_max - angle_min) / (samples - 1) if samples > 1 else 0.0
    body += struct.pack("<7fI", angle_min, angle_max, increment, 0.0, scan_time, range_min, range_max, samples)
    return _array_writer(StampedMessageBytes(body, np.zeros(samples), struct.pack("<I", 0), "<f4"))


def point_cloud(frame_id: str, rings: int, samples: int) -> Write:
    """sensor_msgs/PointCloud2 of a row per ring, with x, y, z, intensity (float32), ring (uint16).

    values (rings, samples, 4): x, y, z, intensity; x, y, z are nan where there is no point.
    """
    body = header(frame_id)
    aligned(body, 4)
    body += struct.pack("<III", rings, samples, len(_POINT_FIELDS))
    for name, offset, kind in _POINT_FIELDS:
        aligned(body, 4)
        body += cdr_string(name)
        aligned(body, 4)
        body += struct.pack("<IBxxxI", offset, kind, 1)
    size = _POINT.itemsize
    body += struct.pack("<?xxxIII", False, size, size * samples, size * samples * rings)
    points = np.zeros((rings, samples), dtype=_POINT)
    points["ring"] = np.arange(rings)[:, None]
    message = StampedMessageBytes(body, points.view("<f4"), struct.pack("<?", False), "<f4")
    coordinates = message.numbers.reshape(rings, samples, 5)[..., :4]

    def write(stamp_ns: int, values: FloatArray) -> bytes:
        coordinates[:] = values
        return message.write(stamp_ns)

    return write


def _array_writer(message: StampedMessageBytes) -> Write:
    """Writes all numbers of a message anew."""

    def write(stamp_ns: int, values: npt.NDArray[np.float64]) -> bytes:
        message.numbers[:] = values
        return message.write(stamp_ns)

    return write
