"""Clouds whose fields lie beyond their points, or whose points beyond the message: refused, never read."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sensor_msgs.msg", reason="needs rclpy")

from sensor_msgs.msg import PointCloud2, PointField

from sim_node.viewing.messages.clouds import points_of


def cloud(
    offsets: tuple[int, int, int] = (0, 4, 8), point_step: int = 12, width: int = 2, height: int = 1
) -> PointCloud2:
    fields = [
        PointField(name=name, offset=offset, datatype=7, count=1) for name, offset in zip("xyz", offsets, strict=True)
    ]
    data = np.arange(6, dtype="<f4").tobytes()
    return PointCloud2(fields=fields, point_step=point_step, width=width, height=height, data=data)


def test_a_sound_cloud() -> None:
    assert points_of(cloud())[0].tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize(
    ("message", "words"),
    [
        # NumPy 2 adds offset and size in 32 bits: such a cloud was read beyond its end, and ended the process.
        (cloud((0, 2**31 - 1, 8)), "y ends at byte 2147483651 of a point that has 12"),
        (cloud((0, 4, 9)), "z ends at byte 13 of a point that has 12"),
        (cloud((0, 4, 2**32 - 1)), "z ends at byte 4294967299"),
        (cloud(point_step=0), "of a point that has 0"),
        (cloud(width=3), "3 x 1 points of 12 bytes in 24 bytes"),
        (cloud(width=2**32 - 1, height=2**32 - 1), "in 24 bytes"),
    ],
)
def test_a_cloud_beyond_its_bytes(message: PointCloud2, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        points_of(message)
