"""Messages to YAML and back, whatever their fields are."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("rclpy", reason="needs rclpy")

from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseWithCovarianceStamped
from sensor_msgs.msg import Imu, JointState, LaserScan, NavSatFix, PointCloud2, PointField
from std_msgs.msg import Bool, ByteMultiArray, Float32, Header, Int8, String, UInt64

from sim_node.ros.message_values import BadValue, as_csv, as_yaml, check_field, filled, parsed, type_named

NUMBERS = st.floats(allow_nan=False)


def again(message: Any) -> Any:
    return filled(type(message), parsed(as_yaml(message, limit=None)))


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))), st.lists(NUMBERS))
def test_texts_and_numbers_come_back(names: list[str], numbers: list[float]) -> None:
    message = JointState(name=names, position=numbers)
    assert again(message) == message


@given(
    st.integers(-(2**31), 2**31 - 1),
    st.integers(0, 2**32 - 1),
    st.lists(NUMBERS, min_size=36, max_size=36),
    st.floats(width=32, allow_nan=False),
)
def test_stamps_and_fixed_arrays_come_back(sec: int, nanosec: int, covariance: list[float], angle: float) -> None:
    message = PoseWithCovarianceStamped()
    message.header.stamp.sec, message.header.stamp.nanosec = sec, nanosec
    message.pose.covariance = covariance
    assert again(message) == message
    scan = LaserScan(angle_min=angle, ranges=[angle, math.inf])
    assert again(scan) == scan


@given(st.binary(max_size=40), st.booleans(), st.integers(0, 2**64 - 1), st.integers(-128, 127))
def test_bytes_and_integers_come_back(data: bytes, flag: bool, large: int, small: int) -> None:
    cloud = PointCloud2(data=list(data), is_dense=flag, fields=[PointField(name="x", datatype=7)])
    assert again(cloud) == cloud
    for message in (Bool(data=flag), UInt64(data=large), Int8(data=small)):
        assert again(message) == message


@given(st.text())
def test_any_text_is_values_or_one_line(text: str) -> None:
    error = None
    try:
        filled(Imu, parsed(text))
    except BadValue as raised:
        error = raised
    assert error is None or str(error).isprintable()


@pytest.mark.parametrize(
    ("kind", "text", "error"),
    [
        (Imu, "{header: {stmp: now}}", "header.stmp: std_msgs/msg/Header has no such field; did you mean stamp?"),
        (Imu, "{orientation_covariance: [1, 2]}", "orientation_covariance: 2 elements; 9 are needed"),
        (Imu, "{linear_acceleration: {x: fast}}", "linear_acceleration.x: a number (double) is needed, found 'fast'"),
        (Imu, "{linear_acceleration: 3}", "linear_acceleration: a mapping of fields of geometry_msgs/msg/Vector3"),
        (Imu, "{header: {}, header: {}}", "header is given twice at line 1, column 14"),
        (Imu, "{header: [", "the values are not YAML: "),
        (Bool, "{data: 2}", "data: true or false is needed, found '2'"),
        (Int8, "{data: 200}", "data: 200 does not fit into int8; allowed: -128 to 127"),
        (Int8, "{data: 1.5}", "data: an integer (int8) is needed, found '1.5'"),
        (Float32, "{data: 1e39}", "data: a number (float) is needed, found '1e39'"),
        (String, "{data: [a]}", "data: a string is needed, found a list"),
        (JointState, "{name: a}", "name: a list (string[]) is needed, found 'a'"),
        (JointState, "{position: [1, x]}", "position[1]: a number (double) is needed, found 'x'"),
    ],
)
def test_an_error_names_the_field(kind: Any, text: str, error: str) -> None:
    with pytest.raises(BadValue) as raised:
        filled(kind, parsed(text))
    assert error in str(raised.value)


@pytest.mark.parametrize(
    ("text", "number"),
    [("1", 1.0), ("1e-3", 0.001), ("-.5", -0.5), (".inf", math.inf), ("-.inf", -math.inf), ("0x10", 16.0)],
)
def test_spellings_of_numbers(text: str, number: float) -> None:
    assert filled(NavSatFix, parsed(f"{{altitude: {text}}}")).altitude == number


def test_texts_stay_as_they_are_written() -> None:
    """PyYAML's own rules would make True and 1.5 of them."""
    assert [filled(String, parsed(f"{{data: {text}}}")).data for text in ("yes", "1.50", "~")] == ["yes", "1.50", "~"]


def test_now_and_auto_are_the_time() -> None:
    for values in ("{header: auto}", "{header: {stamp: now}}"):
        stamp = filled(JointState, parsed(values), 12_000_000_345).header.stamp
        assert (stamp.sec, stamp.nanosec) == (12, 345)
    assert filled(String, parsed("{data: now}")).data == "now"


def test_a_message_as_text() -> None:
    status = DiagnosticStatus(level=b"\2", name="a: b", message="x" * 5)
    assert as_yaml(status, limit=4) == "level: \"\\x02\"\nname: 'a: b'\nmessage: xxxx...\nhardware_id: ''\nvalues: []\n"
    assert as_yaml(ByteMultiArray(data=[b"a"]), flow=True) == "layout:\n  dim: []\n  data_offset: 0\ndata: [a]\n"
    assert as_csv(Header(frame_id="\x1b[31mred")) == "0,0,\\x1b[31mred"


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("geometry_msgs/Pont", "geometry_msgs/msg/Pont: geometry_msgs has no such msg; did you mean Point?"),
        ("nowhere_msgs/msg/Pont", "nowhere_msgs/msg/Pont cannot be imported: nowhere_msgs is not installed"),
        ("std_msgs.String", "'std_msgs.String' is not a type; write package/msg/Name"),
        ("std_srvs/srv/Trigger", "'std_srvs/srv/Trigger' is not a type; write package/msg/Name"),
        ("os/path", "os/msg/path cannot be imported: "),
        ("", "'' is not a type"),
    ],
)
def test_a_type_that_is_none(name: str, error: str) -> None:
    with pytest.raises(BadValue, match=re.escape(error)):
        type_named(name, "msg")


def test_a_type_has_one_or_two_slashes() -> None:
    assert type_named("sensor_msgs/Imu", "msg") is type_named("sensor_msgs/msg/Imu", "msg") is Imu


def test_a_path_leads_to_a_field() -> None:
    check_field(Imu, ("linear_acceleration", "x"))
    with pytest.raises(BadValue, match=r"no field 'linear_acceleration.w' of geometry_msgs/msg/Vector3"):
        check_field(Imu, ("linear_acceleration", "w"))
    with pytest.raises(BadValue, match=r"no field 'header.stamp.sec.x' inside a field that is no message"):
        check_field(Imu, ("header", "stamp", "sec", "x"))
