"""Buffer behaves as tf2_ros documents its own: names, return types, exceptions, waits."""

from __future__ import annotations

import struct
import threading
import time
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs rclpy")

import yaml
from builtin_interfaces.msg import Time as TimeMessage
from geometry_msgs.msg import (
    PointStamped,
    PoseStamped,
    PoseWithCovarianceStamped,
    TransformStamped,
    TwistStamped,
    Vector3Stamped,
)
from rclpy.duration import Duration
from rclpy.time import Time
from sensor_msgs.msg import PointCloud2, PointField

from sim_node.ros.tf2 import (
    Buffer,
    ConnectivityException,
    ExtrapolationException,
    InvalidArgumentException,
    LookupException,
    TransformException,
)
from sim_node.spatial.tree import Extrapolation

# Exceptions, conversions and registered types are upstream's own where it is.
pytestmark = pytest.mark.upstream

HALF = np.sqrt(0.5)
# A wait that misses its data looks once more when its time is over, and would find them then: not in these tests.
NEVER = Duration(seconds=3600)
QUARTER_TURN = (0.0, 0.0, HALF, HALF)


def stamped(
    parent: str,
    child: str,
    seconds: float,
    position: tuple[float, float, float] = (1.0, 2.0, 3.0),
    rotation: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0),
) -> TransformStamped:
    message = TransformStamped()
    message.header.frame_id, message.child_frame_id = parent, child
    message.header.stamp = Time(nanoseconds=round(seconds * 1e9)).to_msg()
    t = message.transform
    t.translation.x, t.translation.y, t.translation.z = position
    t.rotation.x, t.rotation.y, t.rotation.z, t.rotation.w = rotation
    return message


def at(seconds: float) -> Time:
    return Time(nanoseconds=round(seconds * 1e9))


@pytest.fixture
def buffer() -> Buffer:
    buffer = Buffer()
    buffer.set_transform(stamped("map", "car", 1.0), "test")
    buffer.set_transform(stamped("map", "car", 2.0, (3.0, 2.0, 3.0)), "test")
    return buffer


def test_the_stored_transform_comes_back_equal() -> None:
    buffer = Buffer()
    message = stamped("map", "car", 1.25, rotation=QUARTER_TURN)
    buffer.set_transform(message, "test")
    for time_ in (at(1.25), at(1.25).to_msg(), Time(), TimeMessage()):
        found = buffer.lookup_transform("map", "car", time_)
        assert type(found) is TransformStamped
        assert found == message


def test_messages_made_without_constructors_can_be_used_as_any(buffer: Buffer) -> None:
    """Changed, compared, serialised: nothing tells them from others."""
    from rclpy.serialization import deserialize_message, serialize_message

    found = buffer.lookup_transform("map", "car", at(1.5))
    assert deserialize_message(serialize_message(found), TransformStamped) == found
    found.transform.translation.x = 5.0
    found.header.frame_id = "other"
    assert buffer.lookup_transform("map", "car", at(1.5)).header.frame_id == "map"
    assert "frame_id='other'" in str(found)


def test_interpolation_inverse_and_header(buffer: Buffer) -> None:
    found = buffer.lookup_transform(target_frame="car", source_frame="map", time=at(1.5))
    translation = found.transform.translation
    assert (translation.x, translation.y, translation.z) == (-2.0, -2.0, -3.0)
    assert (found.header.frame_id, found.child_frame_id) == ("car", "map")
    assert (found.header.stamp.sec, found.header.stamp.nanosec) == (1, 500_000_000)


def test_time_zero_is_the_latest_common_time_and_is_reported(buffer: Buffer) -> None:
    buffer.set_transform(stamped("car", "wheel", 1.5), "test")
    found = buffer.lookup_transform("map", "wheel", Time())
    assert Time.from_msg(found.header.stamp).nanoseconds == 1_500_000_000
    assert buffer.get_latest_common_time("map", "wheel").nanoseconds == 1_500_000_000


def test_static_transforms_have_the_stamp_asked_for(buffer: Buffer) -> None:
    buffer.set_transform_static(stamped("car", "roof", 0.5), "test")
    assert buffer.lookup_transform("car", "roof", at(77.0)).header.stamp.sec == 77
    assert buffer.lookup_transform("car", "roof", Time()).header.stamp == TimeMessage()
    assert buffer.get_latest_common_time("car", "roof").nanoseconds == 0


def test_a_frame_in_itself_is_the_identity_even_if_unknown(buffer: Buffer) -> None:
    """tf2 asks no questions here."""
    assert buffer.lookup_transform("nobody", "nobody", at(5.0)).transform.rotation.w == 1.0
    assert buffer.lookup_transform("car", "car", Time()).header.stamp.sec == 2
    assert buffer.can_transform("nobody", "nobody", Time())


@pytest.mark.parametrize(
    ("target", "source", "seconds", "kind", "words"),
    [
        ("map", "ca", 1.0, LookupException, "'ca' does not exist; did you mean car"),
        ("map", "rover", 1.0, ConnectivityException, "not connected"),
        ("map", "car", 0.5, ExtrapolationException, "Lookup would require extrapolation into the past"),
        ("map", "car", 2.5, ExtrapolationException, "Lookup would require extrapolation into the future"),
        ("map", "", 1.0, InvalidArgumentException, "empty"),
        ("/map", "car", 1.0, InvalidArgumentException, "begins with a slash"),
    ],
)
def test_refusals_have_tf2_s_classes_and_say_why(
    buffer: Buffer, target: str, source: str, seconds: float, kind: type[Any], words: str
) -> None:
    buffer.set_transform(stamped("moon", "rover", 1.0), "test")
    with pytest.raises(kind, match=words):
        buffer.lookup_transform(target, source, at(seconds))
    with pytest.raises(TransformException):
        buffer.lookup_transform(target, source, at(seconds), Duration(nanoseconds=1))
    assert buffer.can_transform(target, source, at(seconds)) is False
    possible, why = buffer.can_transform(target, source, at(seconds), return_debug_tuple=True)
    assert not possible
    assert words in why


def test_the_numbers_of_a_refusal_are_in_its_cause(buffer: Buffer) -> None:
    with pytest.raises(ExtrapolationException) as error:
        buffer.lookup_transform("map", "car", at(2.5))
    cause = error.value.__cause__
    assert isinstance(cause, Extrapolation)
    assert (cause.frame, cause.by_ns) == ("car", 500_000_000)


@pytest.mark.upstream("tf2_py")
def test_the_exceptions_are_tf2_py_s_own_where_it_is_installed() -> None:
    import tf2_py

    assert LookupException is tf2_py.LookupException


def test_a_tolerance_can_be_asked_for() -> None:
    buffer = Buffer(cache_time=Duration(seconds=5.0), tolerance=Duration(seconds=1.0))
    buffer.set_transform(stamped("map", "car", 1.0), "test")
    assert buffer.can_transform("map", "car", at(1.9))
    assert not buffer.can_transform("map", "car", at(2.1))


def test_what_cannot_be_stored_is_refused() -> None:
    buffer = Buffer()
    with pytest.raises(InvalidArgumentException, match="norm is 0"):
        buffer.set_transform(stamped("map", "car", 1.0, rotation=(0.0,) * 4), "test")
    with pytest.raises(InvalidArgumentException, match="own parent"):
        buffer.set_transform_static(stamped("car", "/car", 1.0), "test")


def test_full_lookup_through_a_fixed_frame(buffer: Buffer) -> None:
    """In one second the car went 2 m: where it was is 2 m behind."""
    found = buffer.lookup_transform_full("car", at(2.0), "car", at(1.0), "map")
    assert (found.transform.translation.x, found.header.stamp.sec) == (-2.0, 2)
    assert buffer.can_transform_full("car", at(2.0), "car", at(1.0), "map")
    assert not buffer.can_transform_full("car", at(3.0), "car", at(1.0), "map")
    assert "future" in buffer.can_transform_full("car", at(3.0), "car", at(1.0), "map", return_debug_tuple=True)[1]
    with pytest.raises(ExtrapolationException):
        buffer.lookup_transform_full("car", at(3.0), "car", at(1.0), "map", Duration(seconds=0.01))


def later(buffer: Buffer, *messages: TransformStamped) -> None:
    """Stores in another thread, once somebody waits."""

    def run() -> None:
        while not buffer.tree._waits:
            time.sleep(0.001)
        for message in messages:
            buffer.set_transform(message, "test")

    threading.Thread(target=run, daemon=True).start()


def test_a_lookup_with_a_timeout_goes_on_when_the_transform_comes(buffer: Buffer) -> None:
    later(buffer, stamped("map", "car", 3.0, (5.0, 2.0, 3.0)))
    assert buffer.lookup_transform("map", "car", at(2.5), NEVER).transform.translation.x == 4.0
    later(buffer, stamped("map", "car", 5.0))
    assert buffer.can_transform("map", "car", at(4.0), timeout=NEVER)
    later(buffer, stamped("map", "car", 7.0))
    assert buffer.can_transform_full("car", at(6.0), "car", at(4.0), "map", timeout=NEVER)


def test_a_timeout_ends_with_the_reason(buffer: Buffer) -> None:
    begin = time.monotonic()
    with pytest.raises(ExtrapolationException):
        buffer.lookup_transform("map", "car", at(9.0), timeout=Duration(seconds=0.1))
    assert time.monotonic() - begin >= 0.1
    assert not buffer.tree._waits


def test_coroutines_that_need_not_wait(buffer: Buffer) -> None:
    """Run by hand, as rclpy's executor does: send until StopIteration."""
    for coroutine in (
        buffer.lookup_transform_async("map", "car", at(1.0)),
        buffer.lookup_transform_full_async("map", at(1.0), "car", at(1.0), "map"),
    ):
        with pytest.raises(StopIteration) as stop:
            coroutine.send(None)
        assert stop.value.value.transform.translation.x == 1.0


def test_coroutines_that_wait(buffer: Buffer) -> None:
    simple = buffer.lookup_transform_async("map", "car", at(3.0))
    full = buffer.lookup_transform_full_async("map", at(3.0), "car", at(3.0), "map")
    assert simple.send(None) is None
    assert full.send(None) is None
    buffer.set_transform(stamped("map", "car", 3.0, (7.0, 0.0, 0.0)), "test")
    for coroutine in (simple, full):
        with pytest.raises(StopIteration) as stop:
            coroutine.send(None)
        assert stop.value.value.transform.translation.x == 7.0
    assert not buffer.tree._waits


def test_futures_and_their_cancellation(buffer: Buffer) -> None:
    done = buffer.wait_for_transform_async("map", "car", at(1.0))
    assert done.done()
    assert done.result().transform.translation.x == 1.0
    pending = buffer.wait_for_transform_async("map", "car", at(3.0))
    assert not pending.done()
    pending.cancel()
    assert not buffer.tree._waits


def test_frames_as_yaml_and_string(buffer: Buffer) -> None:
    buffer.set_transform_static(stamped("car", "roof", 0.5), "me")
    frames = yaml.safe_load(buffer.all_frames_as_yaml())
    assert frames["car"] == {
        "parent": "map",
        "broadcaster": "test",
        "rate": 2.0,
        "most_recent_transform": 2.0,
        "oldest_transform": 1.0,
        "buffer_length": 1.0,
    }
    assert frames["roof"]["broadcaster"] == "me"
    assert "Frame roof exists with parent car.\n" in buffer.all_frames_as_string()
    assert yaml.safe_load(Buffer().all_frames_as_yaml()) == []
    assert buffer._frameExists("car")
    assert sorted(buffer._getFrameStrings()) == ["car", "map", "roof"]


def test_clear_keeps_static_transforms(buffer: Buffer) -> None:
    buffer.set_transform_static(stamped("car", "roof", 0.5), "test")
    buffer.clear()
    assert not buffer.can_transform("map", "car", Time())
    assert buffer.can_transform("car", "roof", Time())


@pytest.fixture
def turned() -> Buffer:
    """b lies at (1, 2, 3) in a, turned by 90 degrees about z: b's x is a's y."""
    buffer = Buffer()
    buffer.set_transform(stamped("a", "b", 1.0, rotation=QUARTER_TURN), "test")
    return buffer


def in_b(kind: type[Any]) -> Any:
    message = kind()
    message.header.frame_id, message.header.stamp.sec = "b", 1
    return message


def test_points_vectors_and_poses_by_hand(turned: Buffer) -> None:
    point = in_b(PointStamped)
    point.point.x = 1.0
    found = turned.transform(point, "a")
    np.testing.assert_allclose([found.point.x, found.point.y, found.point.z], [1, 3, 3], atol=1e-15)
    assert (type(found), found.header.frame_id, found.header.stamp.sec) == (PointStamped, "a", 1)
    assert point.header.frame_id == "b"

    vector = in_b(Vector3Stamped)
    vector.vector.x = 1.0
    found = turned.transform(vector, "a")
    np.testing.assert_allclose([found.vector.x, found.vector.y, found.vector.z], [0, 1, 0], atol=1e-15)

    pose = in_b(PoseStamped)
    pose.pose.position.y, pose.pose.orientation.z, pose.pose.orientation.w = 1.0, HALF, HALF
    found = turned.transform(pose, "a", timeout=Duration(seconds=0.1)).pose
    np.testing.assert_allclose([found.position.x, found.position.y, found.position.z], [0, 2, 3], atol=1e-15)
    np.testing.assert_allclose([found.orientation.z, found.orientation.w], [1, 0], atol=1e-15)


def test_covariance_turns_with_the_axes(turned: Buffer) -> None:
    """A quarter turn about z swaps the variances of x and y, and negates what they have in common."""
    pose = in_b(PoseWithCovarianceStamped)
    pose.pose.pose.orientation.w = 1.0
    covariance = np.diag([1.0, 4.0, 9.0, 0.1, 0.2, 0.3])
    covariance[0, 1] = covariance[1, 0] = 0.5
    covariance[0, 4] = covariance[4, 0] = 0.05
    pose.pose.covariance = covariance.ravel()
    found = np.reshape(turned.transform(pose, "a").pose.covariance, (6, 6))
    expected = np.diag([4.0, 1.0, 9.0, 0.2, 0.1, 0.3])
    expected[0, 1] = expected[1, 0] = -0.5
    expected[1, 3] = expected[3, 1] = -0.05
    np.testing.assert_allclose(found, expected, atol=1e-14)


@pytest.mark.parametrize("big_endian", [False, True])
@pytest.mark.parametrize(("letter", "datatype"), [("f", PointField.FLOAT32), ("d", PointField.FLOAT64)])
def test_clouds_keep_their_other_fields(turned: Buffer, big_endian: bool, letter: str, datatype: int) -> None:
    """Two rows of two points, bytes between fields and rows that must stay, and one point that is not there."""
    order, width = (">" if big_endian else "<"), struct.calcsize(letter)
    step, row = 4 + 3 * width, 2 * (4 + 3 * width) + 5
    points = [[(1.0, 0.0, 0.0), (0.0, 1.0, 0.0)], [(np.nan, 0.0, 0.0), (2.0, 3.0, 4.0)]]
    data = bytearray(range(row)) * 2
    for i, line in enumerate(points):
        for j, xyz in enumerate(line):
            struct.pack_into(f"{order}3{letter}", data, i * row + j * step + 4, *xyz)
    cloud = in_b(PointCloud2)
    cloud.fields = [PointField(name="rgb", offset=0, datatype=PointField.UINT32, count=1)] + [
        PointField(name=axis, offset=4 + width * i, datatype=datatype, count=1) for i, axis in enumerate("xyz")
    ]
    cloud.height = cloud.width = 2
    cloud.point_step, cloud.row_step, cloud.is_bigendian = step, row, big_endian
    cloud.data = bytes(data)
    found = turned.transform(cloud, "a")
    expected = {(0, 0): (1, 3, 3), (0, 1): (0, 2, 3), (1, 1): (-2, 4, 7)}
    for (i, j), xyz in expected.items():
        at_ = i * row + j * step
        np.testing.assert_allclose(struct.unpack_from(f"{order}3{letter}", found.data, at_ + 4), xyz, atol=1e-6)
        assert bytes(found.data[at_ : at_ + 4]) == bytes(data[at_ : at_ + 4])
    assert np.isnan(struct.unpack_from(f"{order}{letter}", found.data, row + 4)[0])
    assert bytes(found.data[row - 5 : row]) == bytes(data[row - 5 : row])
    assert (found.header.frame_id, found.point_step, found.fields) == ("a", step, cloud.fields)
    assert bytes(cloud.data) == bytes(data)


def test_clouds_that_cannot_be_moved_say_why(turned: Buffer) -> None:
    with pytest.raises(ValueError, match="needs x as one float32 or float64, found the fields"):
        turned.transform(in_b(PointCloud2), "a")
    cloud = in_b(PointCloud2)
    cloud.fields = [PointField(name=a, offset=4 * i, datatype=PointField.FLOAT32, count=1) for i, a in enumerate("xyz")]
    cloud.height, cloud.width, cloud.point_step, cloud.row_step = 1, 9, 12, 108
    with pytest.raises(ValueError, match="1 x 9 points do not fit in 0 bytes"):
        turned.transform(cloud, "a")


def test_transform_full_of_a_point(buffer: Buffer) -> None:
    """A point on the car at 1 s, seen from the car at 2 s."""
    point = PointStamped()
    point.header.frame_id, point.header.stamp.sec = "car", 1
    assert buffer.transform_full(point, "car", at(2.0), "map").point.x == -2.0


def test_other_types_are_refused_by_name(turned: Buffer) -> None:
    """tf2_ros, where it is installed, refuses in words of its own."""
    with pytest.raises(Exception, match="TwistStamped"):
        turned.transform(in_b(TwistStamped), "a")


def test_a_loop_of_a_recording_starts_anew() -> None:
    """tf2 refuses all of the second round as TF_OLD_DATA."""
    buffer = Buffer(cache_time=Duration(seconds=10))
    for loop in (1.0, 2.0):
        for tick in range(200):
            buffer.set_transform(stamped("map", "car", 0.1 * tick, (loop, 0.0, 0.0)), "test")
        assert buffer.lookup_transform("map", "car", Time()).transform.translation.x == loop
    with pytest.raises(ExtrapolationException):
        buffer.lookup_transform("map", "car", at(1.0))
