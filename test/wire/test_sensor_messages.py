"""The bytes of sensors' messages read by the real rclpy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from cdr_reading import SECOND, read
from geometry_msgs.msg import Point, Quaternion, TwistWithCovarianceStamped, Vector3, WrenchStamped
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from nav_msgs.msg import Odometry
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import FluidPressure, Imu, JointState, MagneticField, NavSatFix, NavSatStatus

from sim_node.geometry.arrays import FloatArray
from sim_node.wire import sensor_messages as wire

# Of any length modulo the alignments of 2, 4 and 8, ASCII or not; CDR strings end with a zero, so hold none.
NAMES = st.one_of(
    st.integers(0, 17).map(lambda length: "drone/imu_of_some_body"[:length]),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=24),
)
STAMPS = st.integers(-(2**31) * SECOND, 2**31 * SECOND - 1)


def numbers(*shape: int) -> st.SearchStrategy[Any]:
    return arrays(np.float64, shape, elements=st.floats(allow_nan=False))


def xyz(vector: Point | Quaternion | Vector3) -> list[float]:
    return [vector.x, vector.y, vector.z]


@given(NAMES, STAMPS, numbers(6), numbers(3, 3), numbers(3, 3))
def test_imu(frame: str, stamp_ns: int, values: FloatArray, rate: FloatArray, force: FloatArray) -> None:
    """An orientation that is not measured has -1 in front of its covariance: sensor_msgs/Imu."""
    got = read(wire.imu(frame, rate, force)(stamp_ns, values), Imu, frame, stamp_ns)
    assert [*xyz(got.angular_velocity), *xyz(got.linear_acceleration)] == values.tolist()
    assert got.angular_velocity_covariance.tolist() == rate.ravel().tolist()
    assert got.linear_acceleration_covariance.tolist() == force.ravel().tolist()
    assert got.orientation_covariance[0] == -1.0
    assert [*xyz(got.orientation), got.orientation.w] == [0.0, 0.0, 0.0, 1.0]


@given(NAMES, STAMPS, numbers(3), numbers(3, 3))
def test_magnetic_field(frame: str, stamp_ns: int, values: FloatArray, covariance: FloatArray) -> None:
    got = read(wire.magnetic_field(frame, covariance)(stamp_ns, values), MagneticField, frame, stamp_ns)
    assert xyz(got.magnetic_field) == values.tolist()
    assert got.magnetic_field_covariance.tolist() == covariance.ravel().tolist()


@given(NAMES, STAMPS, numbers(1), st.floats(allow_nan=False))
def test_fluid_pressure(frame: str, stamp_ns: int, values: FloatArray, variance: float) -> None:
    got = read(wire.fluid_pressure(frame, variance)(stamp_ns, values), FluidPressure, frame, stamp_ns)
    assert (got.fluid_pressure, got.variance) == (values[0], variance)


@given(NAMES, STAMPS, numbers(3), numbers(3, 3))
def test_nav_sat_fix(frame: str, stamp_ns: int, values: FloatArray, covariance: FloatArray) -> None:
    got = read(wire.nav_sat_fix(frame, covariance)(stamp_ns, values), NavSatFix, frame, stamp_ns)
    assert [got.latitude, got.longitude, got.altitude] == values.tolist()
    assert got.position_covariance.tolist() == covariance.ravel().tolist()
    assert got.position_covariance_type == NavSatFix.COVARIANCE_TYPE_DIAGONAL_KNOWN
    assert (got.status.status, got.status.service) == (NavSatStatus.STATUS_FIX, NavSatStatus.SERVICE_GPS)


@given(NAMES, STAMPS, numbers(6), numbers(6, 6))
def test_twist(frame: str, stamp_ns: int, values: FloatArray, covariance: FloatArray) -> None:
    got = read(wire.twist(frame, covariance)(stamp_ns, values), TwistWithCovarianceStamped, frame, stamp_ns)
    assert [*xyz(got.twist.twist.linear), *xyz(got.twist.twist.angular)] == values.tolist()
    assert got.twist.covariance.tolist() == covariance.ravel().tolist()


@given(NAMES, STAMPS, numbers(6))
def test_wrench(frame: str, stamp_ns: int, values: FloatArray) -> None:
    got = read(wire.wrench(frame)(stamp_ns, values), WrenchStamped, frame, stamp_ns)
    assert [*xyz(got.wrench.force), *xyz(got.wrench.torque)] == values.tolist()


@given(NAMES, NAMES, STAMPS, numbers(13), numbers(6, 6), numbers(6, 6))
def test_odometry(
    frame: str, child: str, stamp_ns: int, values: FloatArray, pose: FloatArray, twist: FloatArray
) -> None:
    got = read(wire.odometry(frame, child, pose, twist)(stamp_ns, values), Odometry, frame, stamp_ns)
    assert got.child_frame_id == child
    at, turn = got.pose.pose.position, got.pose.pose.orientation
    moving = got.twist.twist
    found = [*xyz(at), *xyz(turn), turn.w, *xyz(moving.linear), *xyz(moving.angular)]
    assert found == values.tolist()
    assert got.pose.covariance.tolist() == pose.ravel().tolist()
    assert got.twist.covariance.tolist() == twist.ravel().tolist()


@given(NAMES, NAMES, STAMPS, numbers(13), arrays(np.float64, 6, elements=st.floats(0, 1e3)), numbers(6, 6))
def test_drifting_odometry(
    frame: str, child: str, stamp_ns: int, values: FloatArray, variances: FloatArray, twist: FloatArray
) -> None:
    """The variances are the diagonal of the pose's covariance, which is else zero."""
    write = wire.drifting_odometry(frame, child, twist)
    got = read(write(stamp_ns, np.concatenate([values, variances])), Odometry, frame, stamp_ns)
    moving = got.twist.twist
    assert xyz(got.pose.pose.position) == values[:3].tolist()
    assert [*xyz(moving.linear), *xyz(moving.angular)] == values[7:].tolist()
    assert got.pose.covariance.tolist() == np.diag(variances).ravel().tolist()
    assert got.twist.covariance.tolist() == twist.ravel().tolist()


@given(NAMES, st.lists(NAMES, min_size=1, max_size=9), STAMPS, st.data())
def test_joint_state(frame: str, names: Sequence[str], stamp_ns: int, data: st.DataObject) -> None:
    values = data.draw(numbers(3, len(names)))
    got = read(wire.joint_state(frame, names)(stamp_ns, values.ravel()), JointState, frame, stamp_ns)
    assert got.name == names
    assert [got.position.tolist(), got.velocity.tolist(), got.effort.tolist()] == values.tolist()


def test_a_message_written_twice_has_nothing_of_the_first() -> None:
    write = wire.magnetic_field("mag", np.eye(3))
    first = write(1, np.array([1.0, 2.0, 3.0]))
    second = write(2 * SECOND, np.array([4.0, 5.0, 6.0]))
    assert xyz(deserialize_message(first, MagneticField).magnetic_field) == [1.0, 2.0, 3.0]
    got = deserialize_message(second, MagneticField)
    assert (xyz(got.magnetic_field), got.header.stamp.sec, got.header.stamp.nanosec) == ([4.0, 5.0, 6.0], 2, 0)


def test_a_time_that_stamps_do_not_hold_is_refused() -> None:
    with pytest.raises(OverflowError, match="32 bits wide"):
        wire.fluid_pressure("baro", 0.0)(2**31 * SECOND, np.zeros(1))
