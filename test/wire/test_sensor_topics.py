"""What messages of shipped sensors hold, read by the real rclpy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from cdr_reading import SECOND, read
from geometry_msgs.msg import TwistWithCovarianceStamped, WrenchStamped
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from nav_msgs.msg import Odometry
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import (
    CameraInfo,
    FluidPressure,
    Image,
    Imu,
    JointState,
    LaserScan,
    MagneticField,
    NavSatFix,
    NavSatStatus,
    PointCloud2,
    PointField,
    Range,
)

from sim_node.messages.encoding import LayoutFault
from sim_node.messages.sensor_topics import writer
from sim_node.simulation import sensors
from sim_node.simulation.sensors import Channels, Message, Noise, channels
from sim_node.spatial.geometry.arrays import FloatArray

# Of any length modulo the alignments of 2, 4 and 8, ASCII or not; CDR strings end with a zero, so hold none.
NAMES = st.one_of(
    st.integers(0, 17).map(lambda length: "drone/imu_of_some_body"[:length]),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=24),
)
STAMPS = st.integers(-(2**31) * SECOND, 2**31 * SECOND - 1)
FLOATS = st.floats(width=32, allow_nan=False)
SIZES = st.tuples(st.integers(1, 6), st.integers(1, 6))
# Variances 4 and 9 of a reading at any rate: white noise is all that is off.
TWO, THREE = Noise(deviation=2.0), Noise(deviation=3.0)


def numbers(*shape: int) -> st.SearchStrategy[FloatArray]:
    return arrays(np.float64, shape, elements=st.floats(allow_nan=False))


def xyz(vector: Any) -> list[float]:
    return [vector.x, vector.y, vector.z]


def written(sensor: sensors.SensorType, frame: str, stamp_ns: int, values: npt.NDArray[Any], topic: str = "") -> bytes:
    """The bytes of a sensor's message, of the only one unless its topic is said."""
    [message] = [each for each in sensor.messages(frame, "map") if topic in ("", each.topic)]
    return bytes(writer(message, sensor.shape(), frame)(stamp_ns, values))


@given(NAMES, STAMPS, numbers(6))
def test_imu(frame: str, stamp_ns: int, values: FloatArray) -> None:
    """An orientation that is not measured has -1 in front of its covariance: sensor_msgs/Imu."""
    imu = sensors.Imu(gyroscope=TWO, accelerometer=THREE)
    got = read(written(imu, frame, stamp_ns, values), Imu, frame, stamp_ns)
    assert [*xyz(got.angular_velocity), *xyz(got.linear_acceleration)] == values.tolist()
    assert got.angular_velocity_covariance.tolist() == np.diag([4.0] * 3).ravel().tolist()
    assert got.linear_acceleration_covariance.tolist() == np.diag([9.0] * 3).ravel().tolist()
    assert got.orientation_covariance.tolist() == [-1.0, *[0.0] * 8]
    assert [*xyz(got.orientation), got.orientation.w] == [0.0, 0.0, 0.0, 1.0]


@given(NAMES, STAMPS, numbers(3))
def test_magnetic_field(frame: str, stamp_ns: int, values: FloatArray) -> None:
    sensor = sensors.Magnetometer(noise=TWO)
    got = read(written(sensor, frame, stamp_ns, values), MagneticField, frame, stamp_ns)
    assert xyz(got.magnetic_field) == values.tolist()
    assert got.magnetic_field_covariance.tolist() == np.diag([4.0] * 3).ravel().tolist()


@given(NAMES, STAMPS, numbers(1), st.sampled_from([sensors.Barometer, sensors.Airspeed]))
def test_fluid_pressure(frame: str, stamp_ns: int, values: FloatArray, kind: type[Any]) -> None:
    got = read(written(kind(noise=THREE), frame, stamp_ns, values), FluidPressure, frame, stamp_ns)
    assert (got.fluid_pressure, got.variance) == (values[0], 9.0)


@given(NAMES, STAMPS, numbers(6))
def test_gps(frame: str, stamp_ns: int, values: FloatArray) -> None:
    """Velocities are along the axes of the fixed frame; the variance of rates, which are not measured, is large."""
    gps = sensors.Gps(horizontal=TWO, vertical=THREE, velocity=TWO)
    got = read(written(gps, frame, stamp_ns, values, "fix"), NavSatFix, frame, stamp_ns)
    assert [got.latitude, got.longitude, got.altitude] == values[:3].tolist()
    assert got.position_covariance.tolist() == np.diag([4.0, 4.0, 9.0]).ravel().tolist()
    assert got.position_covariance_type == NavSatFix.COVARIANCE_TYPE_DIAGONAL_KNOWN
    assert (got.status.status, got.status.service) == (NavSatStatus.STATUS_FIX, NavSatStatus.SERVICE_GPS)
    reported = read(written(gps, frame, stamp_ns, values, "fix_velocity"), TwistWithCovarianceStamped, "map", stamp_ns)
    assert [*xyz(reported.twist.twist.linear), *xyz(reported.twist.twist.angular)] == [*values[3:], 0.0, 0.0, 0.0]
    assert reported.twist.covariance.tolist() == np.diag([4.0, 4.0, 4.0, 1e6, 1e6, 1e6]).ravel().tolist()


@given(NAMES, STAMPS, numbers(6), st.sampled_from([sensors.Contact, sensors.ForceTorque]))
def test_wrench(frame: str, stamp_ns: int, values: FloatArray, kind: type[Any]) -> None:
    got = read(written(kind(), frame, stamp_ns, values), WrenchStamped, frame, stamp_ns)
    assert [*xyz(got.wrench.force), *xyz(got.wrench.torque)] == values.tolist()


def check_odometry(got: Any, frame: str, values: FloatArray) -> None:
    at, turn, moving = got.pose.pose.position, got.pose.pose.orientation, got.twist.twist
    assert got.child_frame_id == frame
    assert [*xyz(at), *xyz(turn), turn.w, *xyz(moving.linear), *xyz(moving.angular)] == values[:13].tolist()


@given(NAMES, STAMPS, numbers(13))
def test_ground_truth(frame: str, stamp_ns: int, values: FloatArray) -> None:
    got = read(written(sensors.GroundTruth(), frame, stamp_ns, values), Odometry, "map", stamp_ns)
    check_odometry(got, frame, values)
    assert not got.pose.covariance.any()
    assert not got.twist.covariance.any()


@given(NAMES, STAMPS, numbers(13), arrays(np.float64, 6, elements=st.floats(0, 1e3)))
def test_odometry(frame: str, stamp_ns: int, values: FloatArray, variances: FloatArray) -> None:
    """The variances are the diagonal of the pose's covariance, which is else zero."""
    sensor = sensors.Odometry(linear=TWO, angular=THREE)
    data = written(sensor, frame, stamp_ns, np.concatenate([values, variances]))
    got = read(data, Odometry, f"{frame}/odom", stamp_ns)
    check_odometry(got, frame, values)
    assert got.pose.covariance.tolist() == np.diag(variances).ravel().tolist()
    assert got.twist.covariance.tolist() == np.diag([4.0] * 3 + [9.0] * 3).ravel().tolist()


@given(NAMES, st.lists(NAMES, min_size=1, max_size=9), STAMPS, st.data())
def test_joint_state(frame: str, names: list[str], stamp_ns: int, data: st.DataObject) -> None:
    values = data.draw(numbers(3, len(names)))
    sensor = sensors.JointStates(joints=tuple(names))
    got = read(written(sensor, frame, stamp_ns, values.ravel()), JointState, frame, stamp_ns)
    assert got.name == names
    assert [got.position.tolist(), got.velocity.tolist(), got.effort.tolist()] == values.tolist()


@given(NAMES, STAMPS, FLOATS)
def test_range(frame: str, stamp_ns: int, reported: float) -> None:
    """Before Jazzy, Range ends without its variance."""
    sensor = sensors.Rangefinder(field_of_view=0.25, range_min=0.5, range_max=8.0, noise=TWO)
    got = read(written(sensor, frame, stamp_ns, np.array([reported])), Range, frame, stamp_ns)
    assert (got.range, got.field_of_view, got.min_range, got.max_range) == (reported, 0.25, 0.5, 8.0)
    assert got.radiation_type == Range.INFRARED
    assert not hasattr(got, "variance") or got.variance == 4.0


@given(NAMES, STAMPS, st.integers(1, 40), st.data())
def test_laser_scan(frame: str, stamp_ns: int, samples: int, data: st.DataObject) -> None:
    """Infinities are ranges, too: REP 117."""
    ranges = data.draw(arrays(np.float32, samples, elements=FLOATS))
    limits: dict[str, Any] = {"angle_min": -1.0, "angle_max": 2.0, "range_min": 0.1, "range_max": 30.0, "rate": 20.0}
    sensor = sensors.Lidar2d(samples=samples, **limits)
    got = read(written(sensor, frame, stamp_ns, ranges.astype(float)), LaserScan, frame, stamp_ns)
    assert got.ranges.tolist() == ranges.tolist()
    assert list(got.intensities) == []
    found = (got.angle_min, got.angle_max, got.range_min, got.range_max, got.scan_time, got.time_increment)
    assert found == pytest.approx((-1.0, 2.0, 0.1, 30.0, 0.05, 0.0))
    last = 2.0 if samples > 1 else -1.0
    assert got.angle_min + (samples - 1) * got.angle_increment == pytest.approx(last, rel=1e-6)


@given(NAMES, STAMPS, st.integers(1, 5), st.integers(1, 7), st.data())
def test_point_cloud(frame: str, stamp_ns: int, rings: int, samples: int, data: st.DataObject) -> None:
    """Its data, taken apart as its fields say."""
    values = data.draw(arrays(np.float32, (rings, samples, 4), elements=st.floats(width=32)))
    sensor = sensors.Lidar3d(rings=rings, samples=samples)
    got = read(written(sensor, frame, stamp_ns, values.astype(float)), PointCloud2, frame, stamp_ns)
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


@given(NAMES, STAMPS, SIZES, st.data())
def test_colours(frame: str, stamp_ns: int, size: tuple[int, int], data: st.DataObject) -> None:
    height, width = size
    picture = data.draw(arrays(np.uint8, (height, width, 3)))
    sensor = sensors.Camera(width=width, height=height)
    got = read(written(sensor, frame, stamp_ns, picture, "image_raw"), Image, f"{frame}_optical", stamp_ns)
    assert (got.height, got.width, got.encoding, got.step, got.is_bigendian) == (height, width, "rgb8", 3 * width, 0)
    assert bytes(got.data) == picture.tobytes()


@given(NAMES, STAMPS, SIZES, st.data())
def test_depth(frame: str, stamp_ns: int, size: tuple[int, int], data: st.DataObject) -> None:
    height, width = size
    picture = data.draw(arrays(np.float32, (height, width)))
    sensor = sensors.DepthCamera(width=width, height=height)
    got = read(written(sensor, frame, stamp_ns, picture, "image_raw"), Image, f"{frame}_optical", stamp_ns)
    assert (got.encoding, got.step) == ("32FC1", 4 * width)
    assert bytes(got.data) == picture.tobytes()


@given(NAMES, STAMPS, st.floats(0.1, 2.5))
def test_camera_info(frame: str, stamp_ns: int, across: float) -> None:
    """Without distortion: P is K with a column of zeros, R the identity. sensor_msgs/CameraInfo."""
    sensor = sensors.Camera(width=640, height=480, horizontal_fov=across)
    data = written(sensor, frame, stamp_ns, np.zeros((480, 640, 3), np.uint8), "camera_info")
    got = read(data, CameraInfo, f"{frame}_optical", stamp_ns)
    focal = 320.0 / np.tan(0.5 * across)
    assert (got.width, got.height, got.distortion_model) == (640, 480, "plumb_bob")
    assert list(got.d) == [0.0] * 5
    assert got.k.tolist() == pytest.approx([focal, 0, 319.5, 0, focal, 239.5, 0, 0, 1])
    assert got.r.tolist() == np.eye(3).ravel().tolist()
    assert got.p.reshape(3, 4)[:, :3].ravel().tolist() == got.k.tolist()
    assert got.p.reshape(3, 4)[:, 3].tolist() == [0.0, 0.0, 0.0]
    assert (got.binning_x, got.binning_y, got.roi.do_rectify) == (0, 0, False)


def test_a_message_written_twice_has_nothing_of_the_first() -> None:
    sensor = sensors.Magnetometer()
    [message] = sensor.messages("mag", "map")
    write = writer(message, sensor.shape(), "mag")
    first = write(1, np.array([1.0, 2.0, 3.0]))
    second = write(2 * SECOND, np.array([4.0, 5.0, 6.0]))
    assert xyz(deserialize_message(first, MagneticField).magnetic_field) == [1.0, 2.0, 3.0]
    got = deserialize_message(second, MagneticField)
    assert (xyz(got.magnetic_field), got.header.stamp.sec, got.header.stamp.nanosec) == ([4.0, 5.0, 6.0], 2, 0)


def test_a_time_that_stamps_do_not_hold_is_refused() -> None:
    with pytest.raises(OverflowError, match="must fit into 32 bits"):
        written(sensors.Barometer(), "baro", 2**31 * SECOND, np.zeros(1))


@pytest.mark.parametrize(
    ("field", "reported", "shape"),
    [
        (channels(0, 3), "a measurement of shape .2,.: channel 2 is the last that is needed, there are 2", (2,)),
        (channels(0), "angular_velocity needs 3 elements, found 1", (2,)),
        (Channels("speed"), "channels do not fit a measurement of shape .3,.: only integers, slices", (3,)),
        (Channels(slice(0, 2), within=np.zeros(3)), r"slice.0, 2, None. of a measurement .3,. is", (3,)),
        (Channels(..., within=np.zeros(4)), "angular_velocity needs 3 elements, found 4", (4,)),
        (Channels(...), "angular_velocity needs 3 elements, found 6", (2, 3)),
    ],
)
def test_channels_that_do_not_fit_are_refused(field: Any, reported: str, shape: tuple[int, ...]) -> None:
    with pytest.raises(LayoutFault, match=reported):
        writer(Message("m", "sensor_msgs/msg/Imu", {"angular_velocity": field}), shape, "imu")


def test_channels_may_be_put_anywhere() -> None:
    """Into picked places of one field and the whole of another; what is not picked stays as it was."""
    picked = Channels(slice(0, 2), within=np.full(9, 0.5), at=np.array([8, 0]))
    fields = {"angular_velocity": channels(2, 5), "angular_velocity_covariance": picked}
    write = writer(Message("m", "sensor_msgs/msg/Imu", fields), (5,), "imu")
    got = deserialize_message(write(0, np.arange(5.0)), Imu)
    assert got.angular_velocity_covariance.tolist() == [1.0, *[0.5] * 7, 0.0]
    assert xyz(got.angular_velocity) == [2.0, 3.0, 4.0]


def test_latency_and_rate_do_not_change_the_layout() -> None:
    """Covariances may: they are those of one reading at the rate."""
    slow, fast = sensors.GroundTruth(), replace(sensors.GroundTruth(), rate=500.0, latency=0.1)
    values = np.arange(13.0)
    assert written(slow, "base", 7, values) == written(fast, "base", 7, values)
