"""The bytes of telemetry read by the real rclpy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from cdr_reading import SECOND, read
from geometry_msgs.msg import Point, Pose, PoseStamped, Quaternion, Twist, TwistStamped, Vector3
from hypothesis import given
from hypothesis import strategies as st
from nav_msgs.msg import Odometry
from sensor_msgs.msg import BatteryState, FluidPressure, Imu, MagneticField, NavSatFix, Temperature

from sim_node.messages import telemetry_messages as wire
from sim_node.messages.encoding import encode

NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=24)
STAMPS = st.integers(-(2**31) * SECOND, 2**31 * SECOND - 1)


def numbers(count: int) -> st.SearchStrategy[Any]:
    return st.lists(st.floats(allow_nan=False), min_size=count, max_size=count)


def xyz(vector: Point | Quaternion | Vector3) -> list[float]:
    return [vector.x, vector.y, vector.z]


def read_plain(kind: type[Any], frame: str, stamp_ns: int, values: Sequence[float]) -> Any:
    """A message of wire.PLAIN with these values."""
    name = f"{kind.__module__.partition('.')[0]}/msg/{kind.__name__}"
    return read(wire.plain(name, frame)(stamp_ns, values), kind, frame, stamp_ns)


def posed(pose: Pose) -> list[float]:
    return [*xyz(pose.position), *xyz(pose.orientation), pose.orientation.w]


def twisted(twist: Twist) -> list[float]:
    return [*xyz(twist.linear), *xyz(twist.angular)]


@given(NAMES, STAMPS, numbers(10))
def test_imu(frame: str, stamp_ns: int, values: Sequence[float]) -> None:
    got = read(wire.imu_with_attitude(frame)(stamp_ns, values), Imu, frame, stamp_ns)
    assert [*xyz(got.orientation), got.orientation.w] == values[:4]
    assert [*xyz(got.angular_velocity), *xyz(got.linear_acceleration)] == values[4:]
    raw = read(wire.imu_raw(frame)(stamp_ns, values[4:]), Imu, frame, stamp_ns)
    assert [*xyz(raw.angular_velocity), *xyz(raw.linear_acceleration)] == values[4:]
    assert raw.orientation_covariance[0] == -1.0
    assert not raw.angular_velocity_covariance.any()


@given(NAMES, STAMPS, numbers(7))
def test_pose_twist_field_and_pressure(frame: str, stamp_ns: int, values: Sequence[float]) -> None:
    assert posed(read_plain(PoseStamped, frame, stamp_ns, values).pose) == values
    assert twisted(read_plain(TwistStamped, frame, stamp_ns, values[:6]).twist) == values[:6]
    field = read(wire.magnetic_field(frame)(stamp_ns, values[:3]), MagneticField, frame, stamp_ns)
    assert xyz(field.magnetic_field) == values[:3]
    pressure = read_plain(FluidPressure, frame, stamp_ns, values[:1])
    assert pressure.fluid_pressure == values[0]
    warm = read_plain(Temperature, frame, stamp_ns, values[:1])
    assert (warm.temperature, warm.variance) == (values[0], 0.0)


@given(NAMES, NAMES, STAMPS, numbers(85))
def test_odometry(frame: str, child: str, stamp_ns: int, values: Sequence[float]) -> None:
    got = read(wire.odometry_with_covariance(frame, child)(stamp_ns, values), Odometry, frame, stamp_ns)
    assert got.child_frame_id == child
    assert posed(got.pose.pose) + got.pose.covariance.tolist() == values[:43]
    assert twisted(got.twist.twist) + got.twist.covariance.tolist() == values[43:]
    plain = read(wire.odometry(frame, child)(stamp_ns, values[:13]), Odometry, frame, stamp_ns)
    assert posed(plain.pose.pose) + twisted(plain.twist.twist) == values[:13]


@given(NAMES, STAMPS, numbers(12), st.sampled_from([-1, 0, 1, 2]), st.integers(0, 3))
def test_fix(frame: str, stamp_ns: int, values: Sequence[float], status: int, kind: int) -> None:
    got = read(wire.receiver_fix(frame)(stamp_ns, [status, *values, kind]), NavSatFix, frame, stamp_ns)
    assert [got.latitude, got.longitude, got.altitude, *got.position_covariance.tolist()] == values
    assert (got.status.status, got.status.service, got.position_covariance_type) == (status, 1, kind)
    estimated = read_plain(NavSatFix, frame, stamp_ns, values[:3])
    assert [estimated.latitude, estimated.longitude, estimated.altitude] == values[:3]
    assert not estimated.position_covariance.any()
    assert (estimated.status.status, estimated.status.service, estimated.position_covariance_type) == (0, 1, 0)


@given(NAMES, STAMPS, st.lists(st.floats(width=32, allow_nan=False), max_size=5), NAMES)
def test_fields_encoded_once(frame: str, stamp_ns: int, cells: Sequence[float], location: str) -> None:
    fields = {
        "header": {"stamp": stamp_ns, "frame_id": frame},
        "percentage": 6.0,
        "power_supply_technology": 3,
        "present": True,
        "cell_voltage": cells,
        "location": location,
    }
    got = read(encode("sensor_msgs/msg/BatteryState", fields), BatteryState, frame, stamp_ns)
    assert (got.voltage, got.percentage, got.power_supply_technology, got.present) == (0.0, 6.0, 3, True)
    assert got.cell_voltage.tolist() == np.array(cells, np.float32).tolist()
    assert got.location == location


def test_a_stamp_that_32_bits_do_not_hold_is_refused() -> None:
    with pytest.raises(OverflowError, match="32 bits"):
        wire.plain("geometry_msgs/msg/PoseStamped", "map")(2**31 * SECOND, [0.0] * 7)
