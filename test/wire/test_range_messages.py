"""The bytes of scans, clouds and ranges read by the real rclpy, and clouds by sensor_msgs_py's rules."""

from __future__ import annotations

import numpy as np
import pytest
from cdr_reading import SECOND, read
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sensor_msgs.msg import LaserScan, PointCloud2, PointField, Range

from sim_node.wire import range_messages as wire

FRAMES = st.integers(0, 9).map(lambda length: "lidar_top"[:length])
STAMPS = st.integers(0, 2**31 * SECOND - 1)
FLOATS = st.floats(width=32, allow_nan=False)


@given(FRAMES, STAMPS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS)
def test_range(frame: str, stamp_ns: int, told: float, view: float, low: float, high: float, variance: float) -> None:
    write = wire.infrared_range(frame, view, low, high, variance)
    got = read(write(stamp_ns, np.array([told])), Range, frame, stamp_ns)
    assert (got.range, got.field_of_view, got.min_range, got.max_range) == (told, view, low, high)
    assert got.radiation_type == Range.INFRARED
    assert not hasattr(got, "variance") or got.variance == variance


@given(FRAMES, STAMPS, st.integers(2, 40), st.data())
def test_laser_scan(frame: str, stamp_ns: int, samples: int, data: st.DataObject) -> None:
    """Infinities are ranges, too: REP 117."""
    ranges = data.draw(arrays(np.float32, samples, elements=st.floats(width=32, allow_nan=False)))
    write = wire.laser_scan(frame, -1.0, 2.0, samples, 0.1, 30.0, 0.05)
    got = read(write(stamp_ns, ranges.astype(float)), LaserScan, frame, stamp_ns)
    assert got.ranges.tolist() == ranges.tolist()
    assert list(got.intensities) == []
    limits = (got.angle_min, got.angle_max, got.range_min, got.range_max, got.scan_time, got.time_increment)
    assert limits == pytest.approx((-1.0, 2.0, 0.1, 30.0, 0.05, 0.0))
    assert got.angle_min + (samples - 1) * got.angle_increment == pytest.approx(got.angle_max, rel=1e-6)


@given(FRAMES, STAMPS, st.integers(1, 5), st.integers(1, 7), st.data())
def test_point_cloud(frame: str, stamp_ns: int, rings: int, samples: int, data: st.DataObject) -> None:
    """Its data, taken apart as its fields say."""
    values = data.draw(arrays(np.float32, (rings, samples, 4), elements=st.floats(width=32)))
    write = wire.point_cloud(frame, rings, samples)
    got = read(write(stamp_ns, values.astype(float)), PointCloud2, frame, stamp_ns)
    assert (got.height, got.width, got.is_bigendian, got.is_dense) == (rings, samples, False, False)
    assert got.row_step == samples * got.point_step
    assert len(got.data) == rings * got.row_step
    kinds = {PointField.FLOAT32: "<f4", PointField.UINT16: "<u2"}
    point = np.dtype(
        {
            "names": [field.name for field in got.fields],
            "formats": [kinds[field.datatype] for field in got.fields],
            "offsets": [field.offset for field in got.fields],
            "itemsize": got.point_step,
        }
    )
    points = np.frombuffer(bytes(got.data), point).reshape(rings, samples)
    for channel, name in enumerate(("x", "y", "z", "intensity")):
        np.testing.assert_array_equal(points[name], values[..., channel])
    assert (points["ring"] == np.arange(rings)[:, None]).all()
