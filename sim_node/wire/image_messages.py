"""The messages of cameras as bytes: Image and CameraInfo of sensor_msgs."""

from __future__ import annotations

import struct

import numpy as np
import numpy.typing as npt

from sim_node.geometry.arrays import FloatArray
from sim_node.wire.cdr import aligned, cdr_string
from sim_node.wire.sensor_messages import Write
from sim_node.wire.stamped_message import StampedMessageBytes, header

# Bytes of a pixel by encoding: sensor_msgs/image_encodings.hpp.
PIXELS = {"rgb8": 3, "32FC1": 4}


def image(frame_id: str, width: int, height: int, encoding: str) -> Write:
    """sensor_msgs/Image in one of PIXELS; values: rows from the top down, pixels left to right, of that type."""
    row = width * PIXELS[encoding]
    body = header(frame_id)
    aligned(body, 4)
    body += struct.pack("<II", height, width) + cdr_string(encoding)
    body += struct.pack("<B", 0)
    aligned(body, 4)
    body += struct.pack("<II", row, row * height)
    message = StampedMessageBytes(body, np.zeros(row * height), dtype="u1")

    def write(stamp_ns: int, values: npt.NDArray[np.generic]) -> bytes:
        message.numbers[:] = np.ascontiguousarray(values).view(np.uint8).ravel()
        return message.write(stamp_ns)

    return write


def camera_info(frame_id: str, width: int, height: int, matrix: FloatArray) -> Write:
    """sensor_msgs/CameraInfo of a camera without distortion, its matrix K (3, 3); no values."""
    body = header(frame_id)
    aligned(body, 4)
    body += struct.pack("<II", height, width) + cdr_string("plumb_bob")
    aligned(body, 4)
    body += struct.pack("<I", 5)
    projection = np.column_stack([matrix, np.zeros(3)])
    numbers = np.concatenate([np.zeros(5), matrix.ravel(), np.eye(3).ravel(), projection.ravel()])
    # Binning and region of interest: zero is none.
    message = StampedMessageBytes(body, numbers, struct.pack("<6I?", 0, 0, 0, 0, 0, 0, False))
    return lambda stamp_ns, values: message.write(stamp_ns)
