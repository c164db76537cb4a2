"""The bytes of pictures read by the real rclpy."""

from __future__ import annotations

import numpy as np
from cdr_reading import SECOND, read
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sensor_msgs.msg import CameraInfo, Image

from sim_node.geometry.arrays import FloatArray
from sim_node.wire import image_messages as wire

FRAMES = st.integers(0, 9).map(lambda length: "cam_front"[:length])
STAMPS = st.integers(0, 2**31 * SECOND - 1)
SIZES = st.tuples(st.integers(1, 6), st.integers(1, 6))


@given(FRAMES, STAMPS, SIZES, st.data())
def test_colours(frame: str, stamp_ns: int, size: tuple[int, int], data: st.DataObject) -> None:
    height, width = size
    picture = data.draw(arrays(np.uint8, (height, width, 3)))
    got = read(wire.image(frame, width, height, "rgb8")(stamp_ns, picture), Image, frame, stamp_ns)
    assert (got.height, got.width, got.encoding, got.step, got.is_bigendian) == (height, width, "rgb8", 3 * width, 0)
    assert bytes(got.data) == picture.tobytes()


@given(FRAMES, STAMPS, SIZES, st.data())
def test_depth(frame: str, stamp_ns: int, size: tuple[int, int], data: st.DataObject) -> None:
    height, width = size
    picture = data.draw(arrays(np.float32, (height, width)))
    got = read(wire.image(frame, width, height, "32FC1")(stamp_ns, picture), Image, frame, stamp_ns)
    assert (got.encoding, got.step) == ("32FC1", 4 * width)
    assert bytes(got.data) == picture.tobytes()


@given(FRAMES, STAMPS, arrays(np.float64, (3, 3), elements=st.floats(allow_nan=False)))
def test_camera_info(frame: str, stamp_ns: int, matrix: FloatArray) -> None:
    """Without distortion: P is K with a column of zeros, R the identity. sensor_msgs/CameraInfo."""
    got = read(wire.camera_info(frame, 640, 480, matrix)(stamp_ns, np.empty(0)), CameraInfo, frame, stamp_ns)
    assert (got.width, got.height, got.distortion_model) == (640, 480, "plumb_bob")
    assert list(got.d) == [0.0] * 5
    assert got.k.tolist() == matrix.ravel().tolist()
    assert got.r.tolist() == np.eye(3).ravel().tolist()
    assert got.p.reshape(3, 4)[:, :3].tolist() == matrix.tolist()
    assert got.p.reshape(3, 4)[:, 3].tolist() == [0.0, 0.0, 0.0]
    assert (got.binning_x, got.binning_y, got.roi.do_rectify) == (0, 0, False)
