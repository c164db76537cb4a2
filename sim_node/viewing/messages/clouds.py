"""Point clouds: coloured by their rgb or rgba field, otherwise by distance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.viewing.messages.drawing import Colours, Drawing, Points
from sim_node.viewing.messages.readers import reader, stateless

# Data types of sensor_msgs/PointField.
_TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 8: "f8"}
# PCL packs 0x00RRGGBB into four bytes declared as float32 or uint32.
_COLOURS, _COLOUR_TYPES = ("rgb", "rgba"), (5, 6, 7)


def cloud(message: Any) -> Drawing:
    """Read a sensor_msgs/PointCloud2 with any fields besides x, y and z. Raises ValueError."""
    frame = message.header.frame_id
    return Drawing(frame, (Points(frame, *points_of(message)),))


def points_of(message: Any) -> tuple[FloatArray, Colours | None]:
    """Return the points (n, 3) and, if available, their colours (n, 3). Points that are not finite are left out."""
    fields = {each.name: each for each in message.fields}
    if not {"x", "y", "z"} <= set(fields):
        raise ValueError(f"a point cloud of {', '.join(fields)}; x, y and z are needed")
    coloured = next((name for name in _COLOURS if name in fields and fields[name].datatype in _COLOUR_TYPES), None)
    chosen = [fields[name] for name in ("x", "y", "z", *([coloured] if coloured else ()))]
    _check_layout(message, chosen)
    order = ">" if message.is_bigendian else "<"
    layout = np.dtype(
        {
            "names": [each.name for each in chosen],
            "formats": [order + ("u4" if each.name == coloured else _TYPES[each.datatype]) for each in chosen],
            "offsets": [each.offset for each in chosen],
            "itemsize": message.point_step,
        }
    )
    points = np.frombuffer(bytes(message.data), layout, message.width * message.height)
    positions = np.stack([points[name].astype(np.float64) for name in "xyz"], axis=-1)
    finite = np.isfinite(positions).all(axis=-1)
    return positions[finite], None if coloured is None else _unpacked(points[coloured])[finite]


def _check_layout(message: Any, chosen: Sequence[Any]) -> None:
    """Check that these fields are within each point, and all points within the message. Raises ValueError."""
    unknown = [each.datatype for each in chosen if each.datatype not in _TYPES]
    if unknown:
        raise ValueError(f"points of data type {unknown[0]}; known: {', '.join(map(str, _TYPES))}")
    # Checked here because NumPy adds offset and size in 32 bits, and could read beyond the message.
    for each in chosen:
        end = each.offset + np.dtype(_TYPES[each.datatype]).itemsize
        if end > message.point_step:
            raise ValueError(f"{each.name} ends at byte {end} of a point that has {message.point_step}")
    if message.width * message.height * message.point_step > len(message.data):
        size = f"{message.width} x {message.height} points of {message.point_step} bytes"
        raise ValueError(f"{size} in {len(message.data)} bytes")


def _unpacked(packed: npt.NDArray[np.uint32]) -> Colours:
    return np.stack([packed >> shift & 255 for shift in (16, 8, 0)], axis=-1).astype(np.uint8)


reader("sensor_msgs/msg/PointCloud2")(stateless(cloud))
