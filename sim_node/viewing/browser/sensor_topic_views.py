"""Sensors to show in a scene: those of a world, or topics with the same message types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sim_node.sensors import Channels, groups_of
from sim_node.sensors.registry import Index
from sim_node.viewing.browser.sensor_views import VIEWS
from sim_node.wire.sensor_topics import messages_of
from sim_node.world import FrameTable, World

# Fields of messages that configure views.
_CONSTANT_FIELDS = ("width", "height", "angle_min", "angle_increment")
# Data types of sensor_msgs/PointField.
_POINT_TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 8: "f8"}
_CHANNELS = {"rgb8": 3, "bgr8": 3, "rgba8": 4, "bgra8": 4, "mono8": 1}


class SensorTopicView(NamedTuple):
    """A source of messages of a type in VIEWS.

    frame: of the sensor. fields: constant fields of its messages. of: the part of a measurement that is shown.
    """

    frame: str
    type: str
    fields: Mapping[str, Any]
    of: Index = ...


def topic_views_of(world: World, frames: FrameTable) -> dict[str, SensorTopicView]:
    """Return the sensors of a world that can be shown, by name: each with its first message that has a view."""
    found: dict[str, SensorTopicView] = {}
    for group in groups_of(world):
        for name, sensor in zip(group.names, group.sensors, strict=True):
            messages = [each.message for each in messages_of(group.kind, name, sensor, world.fixed_frame)]
            # The images of a camera are drawn with the fields of its CameraInfo.
            constant = {path: value for message in messages for path, value in message.fields.items()}
            for message in messages:
                frame = message.fields.get("header.frame_id", name)
                changing = [value.of for value in message.fields.values() if isinstance(value, Channels)]
                if message.type in VIEWS and changing and frame in frames.names:
                    found.setdefault(
                        name, SensorTopicView(frame, message.type, {**constant, **message.fields}, changing[0])
                    )
    return found


def topic_view_from(message: Any, type: str) -> SensorTopicView:
    """Return the view of a topic by its first message; type: in MESSAGES."""
    fields = {key: getattr(message, key) for key in _CONSTANT_FIELDS if hasattr(message, key)}
    return SensorTopicView(message.header.frame_id, type, fields)


def values_of(message: Any) -> npt.NDArray[Any]:
    """Return a message's numbers as its views need them. Raises ValueError for unsupported messages."""
    if hasattr(message, "ranges"):
        return np.asarray(message.ranges, dtype=np.float64)
    if hasattr(message, "point_step"):
        return _points(message)
    if hasattr(message, "encoding"):
        return _picture(message)
    return np.array([message.range], dtype=np.float64)


# Message types that can be shown.
MESSAGES = (
    "sensor_msgs/msg/PointCloud2",
    "sensor_msgs/msg/LaserScan",
    "sensor_msgs/msg/Range",
    "sensor_msgs/msg/Image",
)


def _points(message: Any) -> npt.NDArray[Any]:
    """Return x, y and z (n, 3) of a PointCloud2 with any fields."""
    order = ">" if message.is_bigendian else "<"
    fields = {each.name: each for each in message.fields}
    if not {"x", "y", "z"} <= set(fields):
        raise ValueError(f"a point cloud of {', '.join(fields)}; x, y and z are needed")
    places = [fields[name] for name in "xyz"]
    unknown = [each.datatype for each in places if each.datatype not in _POINT_TYPES]
    if unknown:
        raise ValueError(f"points of data type {unknown[0]}; known: {', '.join(map(str, _POINT_TYPES))}")
    # Checked here: NumPy adds offset and size in 32 bits, and would read beyond the message.
    for each in places:
        end = each.offset + np.dtype(_POINT_TYPES[each.datatype]).itemsize
        if end > message.point_step:
            raise ValueError(f"{each.name} ends at byte {end} of a point that has {message.point_step}")
    if message.width * message.height * message.point_step > len(message.data):
        size = f"{message.width} x {message.height} points of {message.point_step} bytes"
        raise ValueError(f"{size} in {len(message.data)} bytes")
    layout = np.dtype(
        {
            "names": list("xyz"),
            "formats": [order + _POINT_TYPES[each.datatype] for each in places],
            "offsets": [each.offset for each in places],
            "itemsize": message.point_step,
        }
    )
    count = message.width * message.height
    points = np.frombuffer(bytes(message.data), layout, count)
    return np.stack([points[name].astype(np.float64) for name in "xyz"], axis=-1)


def _picture(message: Any) -> npt.NDArray[Any]:
    """Return colours (height, width, 3), or depths (height, width), m."""
    if not message.height or not message.width:
        raise ValueError(f"an image of {message.width} x {message.height} pixels")
    data, shape = np.frombuffer(bytes(message.data), np.uint8), (message.height, message.width)
    rows = data.reshape(message.height, message.step)
    if message.encoding == "32FC1":
        depths: npt.NDArray[Any] = rows[:, : 4 * shape[1]].copy().view("<f4")
        return depths.reshape(shape)
    if message.encoding == "16UC1":
        millimetres: npt.NDArray[Any] = rows[:, : 2 * shape[1]].copy().view("<u2")
        return millimetres.reshape(shape) * 1e-3
    channels = _CHANNELS.get(message.encoding)
    if channels is None:
        raise ValueError(f"images with encoding {message.encoding}; known: 32FC1, 16UC1, {', '.join(_CHANNELS)}")
    pixels = rows[:, : channels * shape[1]].reshape(*shape, channels)
    if channels == 1:
        return np.repeat(pixels, 3, axis=-1)
    return pixels[..., 2::-1] if message.encoding.startswith("bgr") else pixels[..., :3]
