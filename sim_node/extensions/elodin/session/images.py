"""Frames of cameras as messages of ROS."""

from __future__ import annotations

from sim_node.extensions.elodin.component_topics import topic_name
from sim_node.extensions.elodin.frame_names import frame_name
from sim_node.extensions.elodin.sensor_cameras import FORMATS, Pixels, SensorCamera
from sim_node.messages.encoding import encode
from sim_node.messages.topic import SENSOR_DATA, Topic

_ENCODINGS = {"rgba": "rgba8", "gray": "mono8"}
_TYPE = "sensor_msgs/msg/Image"


def image_topic(camera: SensorCamera) -> Topic:
    """Return the topic of a camera's frames: /ENTITY/CAMERA."""
    return Topic(topic_name(camera.name.rpartition(".")[2], camera.entity), _TYPE, SENSOR_DATA)


def image_message(camera: SensorCamera, stamp_ns: int, frame: Pixels) -> bytes:
    """Return a frame as the CDR of an Image, in the frame of the camera's entity."""
    width, height = camera.size
    return encode(
        _TYPE,
        {
            "header.stamp": stamp_ns,
            "header.frame_id": frame_name(camera.entity),
            "height": height,
            "width": width,
            "encoding": _ENCODINGS[camera.format],
            "step": width * FORMATS[camera.format],
            "data": frame,
        },
    )
