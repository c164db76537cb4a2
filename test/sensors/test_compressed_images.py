"""Compressed images, decoded as image_transport's plug-ins decode them."""

from __future__ import annotations

import io
import struct
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import CompressedImage

from sim_node.assembly import assemble
from sim_node.messages.sensor_topics import sensor_messages, writers_of
from sim_node.simulation.sensors import Camera, DepthCamera
from sim_node.simulation.sensors.camera import compressed_depth
from sim_node.world import WorldError, loads

STAMP_NS = 12_000_000_345


def written(kind: str, transport: str, values: npt.NDArray[Any]) -> CompressedImage:
    """The message of a sensor of this type."""
    height, width = values.shape[:2]
    sensor = {"camera": Camera, "depth_camera": DepthCamera}[kind](width=width, height=height, transports=(transport,))
    topics = {topic.name: write for topic, write in writers_of(kind, "cart/CAM", sensor, "map")}
    found = deserialize_message(topics[f"cart/cam/image_raw/{transport}"](STAMP_NS, values), CompressedImage)
    assert (found.header.stamp.sec, found.header.stamp.nanosec) == (12, 345)
    assert found.header.frame_id == "cart/CAM_optical"
    return found


def test_colours() -> None:
    image = np.zeros((48, 64, 3), dtype=np.uint8)
    image[:, :, 0] = np.linspace(0, 255, 64)
    image[:24, :, 2] = 200
    found = written("camera", "compressed", image)
    # compressed_image_transport: the encoding of the image, and that of the JPEG in OpenCV's words.
    assert found.format == "rgb8; jpeg compressed bgr8"
    decoded = np.asarray(Image.open(io.BytesIO(bytes(found.data))))
    assert decoded.shape == image.shape
    assert np.abs(decoded.astype(int) - image).mean() < 4.0


def test_depths() -> None:
    """compressed_depth_image_transport: ConfigHeader {int32 format, float32 depthParam[2]}, then the PNG."""
    depth = np.linspace(0.3, 9.5, 48 * 64, dtype=np.float32).reshape(48, 64)
    depth[0, 0], depth[0, 1], depth[0, 2] = np.inf, np.nan, 12.0
    found = written("depth_camera", "compressedDepth", depth)
    assert found.format == "32FC1; compressedDepth png"
    data = bytes(found.data)
    kind, a, b = struct.unpack_from("<iff", data)
    assert kind == 1  # INV_DEPTH
    values = np.asarray(Image.open(io.BytesIO(data[12:]))).astype(float)
    assert values[0, :3].tolist() == [0.0, 0.0, 0.0], "not known"
    decoded = a / (values[1:] - b)
    # A step of the value is a step of 1 / A in inverse depth.
    assert (np.abs(decoded - depth[1:]) <= depth[1:] ** 2 / a * 1.01).all()


def test_depth_extremes() -> None:
    assert len(compressed_depth(np.full((4, 4), 1e-6, dtype=np.float32))) > 12
    assert len(compressed_depth(np.full((4, 4), -1.0, dtype=np.float32))) > 12


def test_a_transport_that_there_is_not() -> None:
    text = "world: w\nbodies: [{name: b, geometry: [{box: [1, 1, 1]}]}]\nsensors:\n"
    text += "  - {name: CAM, parent: b, type: camera, transports: [theora]}\n"
    with pytest.raises(WorldError, match="compressed"):
        list(sensor_messages(assemble(loads(text))))
