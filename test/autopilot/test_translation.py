"""Each group of messages: units, frames and what is unknown, read back by the real rclpy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import (
    AccelWithCovarianceStamped,
    PoseStamped,
    PoseWithCovarianceStamped,
    Quaternion,
    TwistStamped,
    TwistWithCovarianceStamped,
    Vector3Stamped,
)
from hypothesis import given
from hypothesis import strategies as st
from nav_msgs.msg import Odometry
from pymavlink.dialects.v20 import all as mavlink
from rclpy.serialization import deserialize_message
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import (
    BatteryState,
    FluidPressure,
    Imu,
    MagneticField,
    NavSatFix,
    Range,
    Temperature,
    TimeReference,
)
from std_msgs.msg import Bool, Float64, String, UInt8, UInt16, UInt16MultiArray, UInt32

from sim_node.mavlink.modes import mode_name
from sim_node.mavlink.parser import Parser
from sim_node.mavlink.setpoints import SetpointLimits, SetpointRefused, goto
from sim_node.mavlink.telemetry import ARDUPILOT, PX4, Heartbeat, Telemetry
from sim_node.mavlink.topics import TOPICS, Deviations, FrameNames
from sim_node.mavlink.translation import TRANSLATIONS
from sim_node.mavlink.translation.state import publish_overdue_texts
from sim_node.ros.publishers import message_class
from sim_node.spatial.frames import Ned

ARRIVAL = 1_700_000_000_000_000_000
MAV = mavlink.MAVLink(None, 1, 1)
TYPES = {
    "diagnostic_msgs/DiagnosticStatus": DiagnosticStatus, "geometry_msgs/PoseStamped": PoseStamped,
    "geometry_msgs/AccelWithCovarianceStamped": AccelWithCovarianceStamped,
    "geometry_msgs/PoseWithCovarianceStamped": PoseWithCovarianceStamped,
    "geometry_msgs/TwistWithCovarianceStamped": TwistWithCovarianceStamped,
    "geometry_msgs/TwistStamped": TwistStamped, "nav_msgs/Odometry": Odometry, "sensor_msgs/Imu": Imu,
    "sensor_msgs/BatteryState": BatteryState, "sensor_msgs/FluidPressure": FluidPressure,
    "sensor_msgs/MagneticField": MagneticField, "sensor_msgs/NavSatFix": NavSatFix, "sensor_msgs/Range": Range,
    "sensor_msgs/Temperature": Temperature, "sensor_msgs/TimeReference": TimeReference, "std_msgs/Bool": Bool,
    "std_msgs/Float64": Float64, "std_msgs/String": String, "std_msgs/UInt16": UInt16,
    "std_msgs/UInt16MultiArray": UInt16MultiArray, "std_msgs/UInt8": UInt8, "std_msgs/UInt32": UInt32,
    "geometry_msgs/Quaternion": Quaternion, "geometry_msgs/Vector3Stamped": Vector3Stamped,
}  # fmt: skip


class Heard:
    """A vehicle, and the messages that came of what it was given."""

    def __init__(self, autopilot: int = ARDUPILOT, deviations: Deviations | None = None) -> None:
        self.messages: dict[str, list[Any]] = {}
        self.frames: dict[str, Any] = {}
        self.vehicle = Telemetry(1, FrameNames(), self._send, self.frames.__setitem__, deviations)
        self.vehicle.heartbeat = Heartbeat(autopilot=autopilot, type=2)
        self.vehicle.arrival_ns = ARRIVAL

    def _send(self, topic: Any, data: bytes) -> None:
        message = deserialize_message(data, TYPES[topic.type])
        self.messages.setdefault(topic.name, []).append(message)

    def give(self, message: Any) -> dict[str, list[Any]]:
        """What came of one message."""
        self.messages.clear()
        [parsed] = Parser(datagrams=True).feed(message.pack(MAV))
        TRANSLATIONS[parsed.name](parsed.fields, self.vehicle)
        return self.messages


def xyz(vector: Any) -> list[float]:
    return [vector.x, vector.y, vector.z]


def highres(**what: float) -> Any:
    fields = {"time_usec": 1_000_000, **dict.fromkeys(
        ("xacc", "yacc", "zacc", "xgyro", "ygyro", "zgyro", "xmag", "ymag", "zmag", "abs_pressure", "diff_pressure",
         "pressure_alt", "temperature"), 0.0), "abs_pressure": 955.0, "fields_updated": 0x1FFF}  # fmt: skip
    return mavlink.MAVLink_highres_imu_message(**{**fields, **what})


def test_every_type_of_every_topic_exists() -> None:
    assert {topic.type for topic in TOPICS.values()} <= TYPES.keys()
    for topic in TOPICS.values():
        assert message_class(topic.type) is TYPES[topic.type]


def test_level_at_rest_gravity_pushes_up() -> None:
    """HIGHRES_IMU's z is down, so it reads -9.81 at rest; REP 145 has +9.81 upwards."""
    got = Heard().give(highres(xacc=0.1, yacc=0.2, zacc=-9.81, xgyro=0.3, ygyro=0.4, zgyro=0.5))["imu/data_raw"][0]
    np.testing.assert_allclose(xyz(got.linear_acceleration), [0.1, -0.2, 9.81], rtol=1e-6)
    np.testing.assert_allclose(xyz(got.angular_velocity), [0.3, -0.4, -0.5], rtol=1e-6)
    assert got.orientation_covariance[0] == -1.0


@pytest.mark.parametrize(
    ("autopilot", "sent"), [(PX4, (0.217, 0.02, 0.42)), (ARDUPILOT, (217407.0, 20000.0, 420000.0))]
)
def test_fields_of_both_autopilots_come_out_as_earths(autopilot: int, sent: tuple[float, float, float]) -> None:
    """Earth's field is 25 to 65 microtesla; ArduPilot 4.7-dev sends milligauss times 1000 as gauss."""
    got = Heard(autopilot).give(highres(xmag=sent[0], ymag=sent[1], zmag=sent[2]))["imu/mag"][0]
    assert xyz(got.magnetic_field) == pytest.approx([21.7e-6, -2e-6, -42e-6], rel=0.01)


def test_pressures_are_pascal_and_ardupilots_difference_is_none() -> None:
    got = Heard(PX4).give(highres(abs_pressure=955.98, diff_pressure=1.5, temperature=25.4))
    assert got["imu/static_pressure"][0].fluid_pressure == pytest.approx(95598.0, rel=1e-6)
    assert got["imu/diff_pressure"][0].fluid_pressure == pytest.approx(150.0)
    assert got["imu/temperature_baro"][0].temperature == pytest.approx(25.4, rel=1e-6)
    assert "imu/diff_pressure" not in Heard(ARDUPILOT).give(highres(diff_pressure=1.5))


def test_only_what_was_updated_is_told() -> None:
    assert set(Heard().give(highres(fields_updated=0x3F))) == {"imu/data_raw"}
    assert set(Heard().give(highres(fields_updated=0x1C0))) == {"imu/mag"}
    assert not Heard().give(highres(id=1))


def test_raw_imu_has_units_with_ardupilot_alone() -> None:
    """mG, mrad/s and mgauss: GCS_Common.cpp, send_raw_imu."""
    raw = mavlink.MAVLink_raw_imu_message(1_000_000, 0, 0, -1000, 100, 200, 300, 217, 20, 420, 0, 2500)
    got = Heard(ARDUPILOT).give(raw)
    assert xyz(got["imu/data_raw"][0].linear_acceleration) == pytest.approx([0.0, 0.0, 9.80665])
    assert xyz(got["imu/data_raw"][0].angular_velocity) == pytest.approx([0.1, -0.2, -0.3])
    assert xyz(got["imu/mag"][0].magnetic_field) == pytest.approx([21.7e-6, -2e-6, -42e-6])
    assert not Heard(PX4).give(raw)


def test_a_better_source_silences_the_others_while_it_speaks() -> None:
    heard = Heard()
    scaled = mavlink.MAVLink_scaled_imu_message(1001, 0, 0, -1000, 0, 0, 0, 1, 1, 1)
    assert "imu/data_raw" in heard.give(highres())
    assert "imu/data_raw" not in heard.give(scaled)
    heard.vehicle.arrival_ns += 3_000_000_000
    later = mavlink.MAVLink_scaled_imu_message(4001, 0, 0, -1000, 0, 0, 0, 1, 1, 1)
    assert "imu/data_raw" in heard.give(later)


def test_a_late_message_of_another_source_does_not_overtake() -> None:
    """PX4's SCALED_PRESSURE waits longer than its HIGHRES_IMU: stamps went back by up to 76 ms."""
    heard = Heard(PX4)
    assert "imu/static_pressure" in heard.give(highres(time_usec=1_100_000))
    late = mavlink.MAVLink_scaled_pressure_message(1024, 955.0, 0.0, 2000)
    assert not heard.give(late)


@given(
    st.lists(
        st.tuples(st.sampled_from([0, 1, 2]), st.integers(0, 3_000_000_000), st.integers(0, 500_000_000)), max_size=60
    )
)
def test_stamps_of_a_quantity_never_go_back(sent: list[tuple[int, int, int]]) -> None:
    """Messages come at increasing times, each with a delay of its source's; only a clock that is set back goes back."""
    vehicle, now, latest = Heard().vehicle, 10**12, [0, 0, 0]
    published: list[int] = []
    for rank, pause, delay in sent:
        now += pause
        stamp = latest[rank] = max(latest[rank], now - delay)  # each source's own messages are in order
        if vehicle.best_source("imu", rank, stamp):
            published.append(stamp)
    assert published == sorted(published)


def test_a_clock_that_is_set_back_is_followed() -> None:
    vehicle = Heard().vehicle
    assert vehicle.best_source("imu", 0, 10**12)
    assert vehicle.best_source("imu", 1, 10**12 - 60 * 10**9)


def test_deviations_become_covariances_and_unknown_ones_stay_zero() -> None:
    """sensor_msgs/Imu: zeros are unknown, -1 in the orientation's first entry is no orientation."""
    heard = Heard(deviations=Deviations(orientation=0.1, rate=0.02, force=0.3, field=4e-7))
    got = heard.give(highres(xmag=0.2))
    np.testing.assert_allclose(got["imu/data_raw"][0].angular_velocity_covariance, 4e-4 * np.eye(3).ravel())
    np.testing.assert_allclose(got["imu/data_raw"][0].linear_acceleration_covariance, 0.09 * np.eye(3).ravel())
    assert got["imu/data_raw"][0].orientation_covariance[0] == -1.0
    np.testing.assert_allclose(got["imu/mag"][0].magnetic_field_covariance, 1.6e-13 * np.eye(3).ravel())
    data = heard.give(mavlink.MAVLink_attitude_quaternion_message(1000, 1.0, 0, 0, 0, 0, 0, 0))["imu/data"][0]
    np.testing.assert_allclose(data.orientation_covariance, 0.01 * np.eye(3).ravel())
    np.testing.assert_allclose(data.angular_velocity_covariance, 4e-4 * np.eye(3).ravel())
    np.testing.assert_allclose(data.linear_acceleration_covariance, 0.09 * np.eye(3).ravel())
    assert not Heard().give(highres(xmag=0.2))["imu/mag"][0].magnetic_field_covariance.any()


ATTITUDE = mavlink.MAVLink_attitude_quaternion_message(1000, 1.0, 0, 0, 0, 0, 0, 0)


def test_an_acceleration_that_was_not_received_is_not_known() -> None:
    """sensor_msgs/Imu: -1 in the first entry of a covariance; imu/data said 0 m/s², a free fall."""
    heard = Heard(deviations=Deviations(force=0.3))
    assert heard.give(ATTITUDE)["imu/data"][0].linear_acceleration_covariance[0] == -1.0
    heard.give(highres(time_usec=1_010_000, zacc=-9.81))
    known = heard.give(mavlink.MAVLink_attitude_quaternion_message(1020, 1.0, 0, 0, 0, 0, 0, 0))["imu/data"][0]
    assert known.linear_acceleration.z == pytest.approx(9.81)
    assert known.linear_acceleration_covariance[0] == pytest.approx(0.09)
    heard.vehicle.arrival_ns += 2_080_000_000
    old = heard.give(mavlink.MAVLink_attitude_quaternion_message(3100, 1.0, 0, 0, 0, 0, 0, 0))["imu/data"][0]
    assert xyz(old.linear_acceleration) == [0.0, 0.0, 0.0]
    assert old.linear_acceleration_covariance[0] == -1.0
    turning = heard.give(highres(time_usec=4_000_000, fields_updated=0x38))["imu/data_raw"][0]
    assert turning.linear_acceleration_covariance[0] == -1.0
    assert not turning.angular_velocity_covariance.any()


def test_differential_pressure_comes_from_scaled_pressure_too() -> None:
    """hPa; zeros are no airspeed tube, until it has shown something (GCS_Common.cpp, send_scaled_pressure_instance)."""
    heard = Heard(ARDUPILOT)
    assert "imu/diff_pressure" not in heard.give(mavlink.MAVLink_scaled_pressure_message(1000, 955.0, 0.0, 2000))
    got = heard.give(mavlink.MAVLink_scaled_pressure_message(1100, 955.0, 1.5, 2000))["imu/diff_pressure"]
    assert got[0].fluid_pressure == pytest.approx(150.0)
    got = heard.give(mavlink.MAVLink_scaled_pressure_message(1200, 955.0, 0.0, 2000))["imu/diff_pressure"]
    assert got[0].fluid_pressure == 0.0
    no_barometer = heard.give(mavlink.MAVLink_scaled_pressure_message(1300, 0.0, 1.5, 0))
    assert set(no_barometer) == {"imu/diff_pressure"}


@pytest.mark.parametrize(("covariance", "variance"), [(0, 0.0), (36, 36e-4), (255, 0.0)])
def test_a_distance_has_its_variance(covariance: int, variance: float) -> None:
    """cm² in MAVLink, 255 for unknown; m² in sensor_msgs/Range, 0 for unknown."""
    message = mavlink.MAVLink_distance_sensor_message(1000, 20, 4000, 150, 0, 0, 25, covariance)
    assert Heard().give(message)["distance_sensor"][0].variance == pytest.approx(variance)


def test_a_distance_with_an_invalid_signal_is_none() -> None:
    """MAVLink: a quality of 1 is an invalid signal, 0 unknown; REP 117: NaN for a measurement that is invalid."""
    heard = Heard()

    def give(quality: int) -> float:
        message = mavlink.MAVLink_distance_sensor_message(1000, 20, 4000, 150, 0, 0, 25, 255, signal_quality=quality)
        found: float = heard.give(message)["distance_sensor"][0].range
        return found

    assert give(0) == pytest.approx(1.5)
    assert not heard.vehicle.signal_qualities
    assert math.isnan(give(1))
    assert give(80) == pytest.approx(1.5)
    assert heard.vehicle.signal_qualities == {"base_link_distance_down": 80}


def distance(orientation: int, sensor: int = 0, quaternion: Any = (0.0, 0.0, 0.0, 0.0)) -> Any:
    return mavlink.MAVLink_distance_sensor_message(1000, 20, 4000, 150, 0, sensor, orientation, 0, 0.1, 0.1, quaternion)


@pytest.mark.parametrize(
    ("orientation", "name", "along"),
    [(0, "forward", (1, 0, 0)), (2, "right", (0, -1, 0)), (4, "back", (-1, 0, 0)), (6, "left", (0, 1, 0)),
     (24, "up", (0, 0, 1)), (25, "down", (0, 0, -1)), (1, "yaw_45", (0.5**0.5, -(0.5**0.5), 0)),
     (39, "pitch_315", (0.5**0.5, 0, -(0.5**0.5)))],
)  # fmt: skip
def test_a_distance_sensor_looks_along_x_of_its_own_frame(
    orientation: int, name: str, along: tuple[float, float, float]
) -> None:
    """Yaw is clockwise and pitch up in MAVLink; x forward, y left, z up in ROS (REP 103, REP 117)."""
    heard = Heard()
    [got] = heard.give(distance(orientation))["distance_sensor"]
    assert got.range == pytest.approx(1.5)
    assert got.header.frame_id == f"base_link_distance_{name}"
    np.testing.assert_allclose(
        Rotation.from_quat(heard.frames[got.header.frame_id]).apply([1.0, 0.0, 0.0]), along, atol=1e-7
    )


def test_every_orientation_of_mavlink_has_its_frame() -> None:
    """scipy's intrinsic ZYX is the oracle; FRD and FLU differ by half a turn about x."""
    half = Rotation.from_euler("x", 180, degrees=True)
    names = set()
    for number, entry in mavlink.enums["MAV_SENSOR_ORIENTATION"].items():
        if number >= 100:
            continue
        words = entry.name.removeprefix("MAV_SENSOR_ROTATION_").split("_")
        angles = {axis: float(angle) for axis, angle in zip(words[::2], words[1::2], strict=False)}
        frd = Rotation.from_euler("ZYX", [angles.get(axis, 0.0) for axis in ("YAW", "PITCH", "ROLL")], degrees=True)
        heard = Heard()
        [got] = heard.give(distance(number))["distance_sensor"]
        names.add(got.header.frame_id)
        found = Rotation.from_quat(heard.frames[got.header.frame_id])
        assert (found.inv() * (half * frd * half)).magnitude() < 1e-7, entry.name
    assert len(names) == 41


def test_a_distance_sensor_may_state_its_own_orientation() -> None:
    heard = Heard()
    x, y, z, w = Rotation.from_euler("y", -30, degrees=True).as_quat()  # 30 degrees down, FRD
    heard.give(distance(100, 3, (w, x, y, z)))
    looks = Rotation.from_quat(heard.frames["base_link_distance_custom_3"]).apply([1.0, 0.0, 0.0])
    np.testing.assert_allclose(looks, [math.cos(math.radians(30)), 0.0, -0.5], atol=1e-6)


@pytest.mark.parametrize(
    ("message", "frame"),
    [
        (distance(57), "base_link_distance_57"),
        (distance(100), "base_link_distance_custom_0"),
        (distance(100, 2, (math.nan, 0.0, 0.0, 0.0)), "base_link_distance_custom_2"),
    ],
)
def test_a_distance_in_an_unknown_direction_has_a_frame_without_a_place(message: Any, frame: str) -> None:
    heard = Heard()
    [got] = heard.give(message)["distance_sensor"]
    assert got.header.frame_id == frame
    assert not heard.frames


def test_velocities_say_which_frame_they_are_in() -> None:
    """East at 2 m/s while looking east is straight ahead."""
    heard = Heard()
    w, x, y, z = np.roll(Rotation.from_euler("z", np.pi / 2).as_quat(), 1)
    heard.give(mavlink.MAVLink_attitude_quaternion_message(1000, w, x, y, z, 0.0, 0.0, 0.7))
    got = heard.give(mavlink.MAVLink_local_position_ned_message(1010, 10.0, 20.0, -30.0, 0.0, 2.0, 0.0))
    pose, odom = got["local_position/pose"][0], got["local_position/odom"][0]
    local, body = got["local_position/velocity_local"][0], got["local_position/velocity_body"][0]
    assert xyz(pose.pose.position) == [20.0, 10.0, 30.0]
    assert (pose.header.frame_id, local.header.frame_id, body.header.frame_id) == ("map", "map", "base_link")
    assert xyz(local.twist.linear) == [2.0, 0.0, 0.0]
    assert xyz(body.twist.linear) == pytest.approx([2.0, 0.0, 0.0], abs=1e-6)
    assert (odom.header.frame_id, odom.child_frame_id) == ("map", "base_link")
    assert xyz(odom.twist.twist.linear) == pytest.approx([2.0, 0.0, 0.0], abs=1e-6)
    assert body.twist.angular.z == pytest.approx(-0.7)


def odometry(
    frame: int,
    child: int,
    velocity: tuple[float, float, float],
    variances: tuple[float, float, float],
    norm: float = 1.0,
) -> Any:
    w, x, y, z = norm * np.roll(Rotation.from_euler("z", np.pi / 2).as_quat(), 1)
    upper = [0.0] * 21
    upper[0], upper[6], upper[11] = variances
    return mavlink.MAVLink_odometry_message(
        1_000_000, frame, child, 10.0, 20.0, -30.0, [w, x, y, z], *velocity, 0.1, 0.2, 0.3, upper, upper, 0, 8
    )


def test_px4s_odometry_has_its_velocity_in_ned() -> None:
    """Looking east: 2 m/s east is ahead, and the variance of north is that of left."""
    got = Heard(PX4).give(odometry(1, 1, (0.0, 2.0, 0.0), (1.0, 4.0, 9.0)))["odometry/in"][0]
    assert (got.header.frame_id, got.child_frame_id) == ("map", "base_link")
    assert xyz(got.pose.pose.position) == [20.0, 10.0, 30.0]
    assert xyz(got.twist.twist.linear) == pytest.approx([2.0, 0.0, 0.0], abs=1e-6)
    assert xyz(got.twist.twist.angular) == pytest.approx([0.1, -0.2, -0.3])
    assert np.diag(got.pose.covariance.reshape(6, 6))[:3] == pytest.approx([4.0, 1.0, 9.0])
    assert np.diag(got.twist.covariance.reshape(6, 6))[:3] == pytest.approx([4.0, 1.0, 9.0], rel=1e-6)


def test_odometry_in_body_axes_and_without_north() -> None:
    body = Heard(PX4).give(odometry(1, 12, (2.0, 1.0, 0.5), (1.0, 4.0, 9.0)))["odometry/in"][0]
    assert xyz(body.twist.twist.linear) == [2.0, -1.0, -0.5]
    assert np.diag(body.twist.covariance.reshape(6, 6))[:3] == pytest.approx([1.0, 4.0, 9.0])
    local = Heard(PX4).give(odometry(20, 12, (2.0, 1.0, 0.5), (1.0, 4.0, 9.0)))["odometry/in"][0]
    assert local.header.frame_id == "odom"
    assert xyz(local.pose.pose.position) == [10.0, -20.0, 30.0]
    q = local.pose.pose.orientation
    yaw = Rotation.from_quat([q.x, q.y, q.z, q.w]).as_euler("ZYX")[0]
    assert yaw == pytest.approx(-np.pi / 2), "a quarter turn to the right"
    assert not Heard(PX4).give(odometry(20, 1, (2.0, 1.0, 0.5), (1.0, 4.0, 9.0))), "which way is north?"


def test_a_covariance_that_is_not_known_is_zeros() -> None:
    got = Heard(PX4).give(odometry(1, 1, (0.0, 0.0, 0.0), (math.nan, 0.0, 0.0)))["odometry/in"][0]
    assert not got.pose.covariance.any()


def test_variances_of_rates_are_known_where_those_of_the_velocity_are_not() -> None:
    upper = [0.0] * 21
    upper[0] = math.inf
    upper[15], upper[18], upper[20] = 0.1, 0.2, 0.3
    message = odometry(1, 1, (0.0, 0.0, 0.0), (1.0, 1.0, 1.0))
    message.velocity_covariance = upper
    got = Heard(PX4).give(message)["odometry/in"][0]
    covariance = got.twist.covariance.reshape(6, 6)
    assert np.diag(covariance)[3:] == pytest.approx([0.1, 0.2, 0.3])
    assert not covariance[:3, :3].any()


@pytest.mark.parametrize(
    ("frame", "child", "reason"),
    [
        (4, 8, "frames LOCAL_ENU and BODY_NED"),
        (1, 20, "frames LOCAL_NED and LOCAL_FRD"),
        (1, 8, "frames LOCAL_NED and BODY_NED"),
        (77, 12, "frames 77 and BODY_FRD"),
    ],
)
def test_odometry_in_other_frames_is_counted(frame: int, child: int, reason: str) -> None:
    heard = Heard(PX4)
    for _ in range(3):
        assert not heard.give(odometry(frame, child, (0.0, 2.0, 0.0), (1.0, 1.0, 1.0)))
    assert heard.vehicle.dropped == {f"ODOMETRY: {reason}": 3}


@pytest.mark.parametrize("norm", [0.0, 2.0, math.nan])
def test_a_quaternion_that_is_no_rotation_turns_nothing(norm: float) -> None:
    """With norm 2 a velocity became four times as fast, with norm 0 none."""
    heard = Heard(PX4)
    assert not heard.give(odometry(1, 1, (0.0, 2.0, 0.0), (1.0, 1.0, 1.0), norm))
    assert not heard.give(mavlink.MAVLink_attitude_quaternion_message(1000, norm, 0, 0, 0, 0, 0, 0))
    assert heard.vehicle.dropped == {"ODOMETRY: no attitude": 1, "ATTITUDE_QUATERNION: no attitude": 1}


def test_quaternions_are_normalised() -> None:
    """A norm that is off by 4 % lengthened velocities by 8 %."""
    heard = Heard(PX4)
    got = heard.give(odometry(1, 1, (0.0, 2.0, 0.0), (1.0, 1.0, 1.0), 1.04))["odometry/in"][0]
    assert xyz(got.twist.twist.linear) == pytest.approx([2.0, 0.0, 0.0], abs=1e-6)
    heard.give(mavlink.MAVLink_attitude_quaternion_message(1000, 0.96, 0, 0, 0, 0, 0, 0))
    fast = heard.give(mavlink.MAVLink_local_position_ned_message(1010, 0, 0, 0, 3.0, 4.0, 0.0))
    body = fast["local_position/velocity_body"][0].twist.linear
    assert math.hypot(*xyz(body)) == pytest.approx(5.0)


def test_odometry_without_a_velocity_or_rates_says_so() -> None:
    """PX4 sends NaN for what its source does not estimate. A covariance begins with -1 where nothing is estimated."""
    for velocity, rate, first, angular in [(2.0, math.nan, 1.0, -1.0), (math.nan, 0.2, -1.0, 0.0)]:
        message = odometry(20, 12, (velocity, 0.0, 0.0), (1.0, 4.0, 9.0))
        message.rollspeed = rate
        message.pack(MAV)
        got = Heard(PX4).give(message)["odometry/in"][0]
        assert xyz(got.pose.pose.position) == [10.0, -20.0, 30.0]
        covariance = got.twist.covariance.reshape(6, 6)
        assert (covariance[0, 0], covariance[3, 3]) == pytest.approx((first, angular))
        assert np.isfinite([*xyz(got.twist.twist.linear), *xyz(got.twist.twist.angular)]).all()


@pytest.mark.filterwarnings("error")
def test_an_infinite_variance_is_not_known_and_the_others_are() -> None:
    got = Heard(PX4).give(odometry(1, 1, (0.0, 0.0, 0.0), (math.inf, 4.0, 9.0)))["odometry/in"][0]
    assert np.diag(got.pose.covariance.reshape(6, 6))[:3] == pytest.approx([4.0, 0.0, 9.0])
    assert np.isfinite(got.twist.covariance).all()


def gps(**what: int) -> Any:
    fields = {"time_usec": 1_000_000, "fix_type": 3, "lat": 473977420, "lon": 85455940, "alt": 488_000, "eph": 121,
              "epv": 200, "vel": 500, "cog": 9000, "satellites_visible": 10}  # fmt: skip
    return mavlink.MAVLink_gps_raw_int_message(**{**fields, **what})


def test_altitudes_are_above_the_ellipsoid() -> None:
    """What the receiver says of the ellipsoid is believed; the estimator's altitude is converted with EGM96."""
    heard = Heard()
    fix = heard.give(gps(alt_ellipsoid=535_200))["global_position/raw/fix"][0]
    assert fix.altitude == pytest.approx(535.2)
    assert (fix.latitude, fix.longitude) == (pytest.approx(47.397742), pytest.approx(8.545594))
    # EGM96 near Zurich: 47.2 m, to a metre. PX4's simulation has one altitude for both fields.
    fix = heard.give(gps(time_usec=2_000_000, alt_ellipsoid=488_000))["global_position/raw/fix"][0]
    assert fix.altitude == pytest.approx(488.0 + 47.2, abs=1.0)
    got = heard.give(
        mavlink.MAVLink_global_position_int_message(1000, 473977420, 85455940, 498_000, 10_000, 0, 0, 0, 9000)
    )
    assert got["global_position/global"][0].altitude == pytest.approx(498.0 + 47.2, abs=1.0)
    assert got["global_position/rel_alt"][0].data == 10.0
    assert got["global_position/compass_hdg"][0].data == 90.0


def test_before_there_is_a_position_none_is_told() -> None:
    got = Heard().give(mavlink.MAVLink_global_position_int_message(1000, 0, 0, 0, 0, 0, 0, 0, 65535))
    assert not got
    fix = Heard().give(gps(fix_type=0))["global_position/raw/fix"][0]
    assert fix.status.status == -1
    assert math.isnan(fix.latitude)


def test_covariances_come_from_accuracy_else_from_dilution() -> None:
    """sensor_msgs/NavSatFix: 2 diagonal known, 1 approximated, 0 unknown. PX4's simulation sends no dilution."""
    known = Heard().give(gps(eph=0, epv=0, h_acc=700, v_acc=1100))["global_position/raw/fix"][0]
    assert known.position_covariance_type == 2
    assert np.diag(known.position_covariance.reshape(3, 3)) == pytest.approx([0.49, 0.49, 1.21])
    diluted = Heard().give(gps())["global_position/raw/fix"][0]
    assert diluted.position_covariance_type == 1
    assert np.diag(diluted.position_covariance.reshape(3, 3)) == pytest.approx([1.21**2, 1.21**2, 4.0])
    assert Heard().give(gps(eph=65535))["global_position/raw/fix"][0].position_covariance_type == 0


def test_course_over_ground_is_clockwise_from_north() -> None:
    got = Heard().give(gps())["global_position/raw/gps_vel"][0]
    assert xyz(got.twist.linear) == pytest.approx([5.0, 0.0, 0.0], abs=1e-9)


def test_home_and_origin() -> None:
    heard = Heard()
    home = mavlink.MAVLink_home_position_message(
        473977420, 85455940, 488_000, 1.0, 2.0, -3.0, [math.nan] * 4, 0.0, 0.0, 0.0
    )
    got = heard.give(home)
    assert xyz(got["home_position/local"][0].pose.position) == [2.0, 1.0, 3.0]
    assert heard.vehicle.home is not None
    assert heard.vehicle.home.ned == Ned((1.0, 2.0, -3.0))
    assert got["home_position/home"][0].latitude == pytest.approx(47.397742)
    origin = heard.give(mavlink.MAVLink_gps_global_origin_message(473977420, 85455940, 488_000))
    assert origin["global_position/gp_origin"][0].longitude == pytest.approx(8.545594)


@pytest.mark.parametrize("origin_first", [True, False])
def test_a_home_without_a_local_position_is_placed_by_the_origin(origin_first: bool) -> None:
    """PX4 sends NaN while its local position is not valid. The oracle: a thousandth of a degree on the ellipsoid."""
    heard, nan = Heard(PX4), [math.nan] * 3
    home = mavlink.MAVLink_home_position_message(474000000, 85455940, 490_000, *nan, [math.nan] * 4, *nan)
    origin = mavlink.MAVLink_gps_global_origin_message(473990000, 85455940, 488_000)
    if origin_first:
        heard.give(origin)
    got = heard.give(home)
    assert got["home_position/home"][0].latitude == pytest.approx(47.4)
    assert heard.vehicle.home is not None
    assert heard.vehicle.home.altitude_msl == 490.0
    if not origin_first:
        assert "home_position/local" not in got
        assert heard.vehicle.home.ned is None
        assert heard.vehicle.dropped == {"HOME_POSITION: home's place in the map is not known yet": 1}
        with pytest.raises(SetpointRefused, match="home's place in the map is not known"):
            goto("map", (1.0, 2.0, 3.0), (0.0, 0.0, 0.0, 1.0), "map", SetpointLimits(), heard.vehicle.home)
        got = heard.give(origin)
    # The radius of curvature of the meridian at 47.4 degrees.
    e2 = 0.00669437999014
    radius = 6_378_137.0 * (1.0 - e2) / (1.0 - e2 * math.sin(math.radians(47.3995)) ** 2) ** 1.5
    place = got["home_position/local"][0].pose.position
    assert xyz(place) == pytest.approx([0.0, radius * math.radians(0.001), 2.0], abs=0.01)
    assert heard.vehicle.home is not None
    assert heard.vehicle.home.ned == pytest.approx((place.y, place.x, -place.z))


def test_a_pack_of_more_than_65_volts_is_one_voltage() -> None:
    """MAVLink: 65,534 mV, and the rest in the next entry. Tesla's packs have 400 V: six such entries and 6.796 V."""
    for volts, entries in [(100.0, [65534, 34466]), (400.0, [*[65534] * 6, 6796]), (65.534, [65534])]:
        voltages = entries + [65535] * (10 - len(entries))
        got = Heard().give(mavlink.MAVLink_battery_status_message(0, 0, 0, 32767, voltages, -1, -1, -1, -1))
        assert got["battery"][0].voltage == pytest.approx(volts)
        assert not got["battery"][0].cell_voltage
    cells = mavlink.MAVLink_battery_status_message(
        0, 0, 0, 32767, [4000] * 10, -1, -1, -1, -1, voltages_ext=[4000, 4000, 0, 0]
    )
    assert Heard().give(cells)["battery"][0].cell_voltage.tolist() == pytest.approx([4.0] * 12)


def sys_status(millivolt: int, centiampere: int, percent: int) -> Any:
    return mavlink.MAVLink_sys_status_message(0, 0, 0, 0, millivolt, centiampere, percent, *[0] * 6)


def test_a_battery_is_known_by_sys_status_until_it_has_messages_of_its_own() -> None:
    """As in MAVROS; 65535 and -1 are not sent, and ArduPilot sends 0 V without a monitor."""
    heard = Heard(PX4)
    got = heard.give(sys_status(15200, 1250, 76))["battery"][0]
    assert (got.voltage, got.current, got.percentage) == pytest.approx((15.2, -12.5, 0.76))
    assert not got.cell_voltage
    got = heard.give(sys_status(65535, -1, 50))["battery"][0]
    assert math.isnan(got.voltage)
    assert math.isnan(got.current)
    assert got.percentage == pytest.approx(0.5)
    for nothing in (65535, 0):
        assert not heard.give(sys_status(nothing, -1, -1))
    assert heard.vehicle.dropped == {"SYS_STATUS: no battery": 2}
    heard.give(mavlink.MAVLink_battery_status_message(0, 0, 1, 32767, [15200, *[65535] * 9], -1, -1, -1, 76))
    assert not heard.give(sys_status(15200, 1250, 76))


def test_battery() -> None:
    """sensor_msgs/BatteryState: current negative while discharging, NaN for what is not known."""
    cells = [4100, 4110, 4120, *[65535] * 7]
    got = Heard().give(mavlink.MAVLink_battery_status_message(0, 0, 1, 32767, cells, 1250, -1, -1, 76))["battery"][0]
    assert got.voltage == pytest.approx(12.33)
    assert got.cell_voltage.tolist() == pytest.approx([4.1, 4.11, 4.12])
    assert got.current == pytest.approx(-12.5)
    assert got.percentage == pytest.approx(0.76)
    assert math.isnan(got.temperature)
    assert got.power_supply_technology == BatteryState.POWER_SUPPLY_TECHNOLOGY_LIPO
    pack = Heard().give(mavlink.MAVLink_battery_status_message(0, 0, 0, 2500, [12600, *[65535] * 9], -1, -1, -1, -1))
    assert pack["battery"][0].voltage == pytest.approx(12.6)
    assert not pack["battery"][0].cell_voltage
    assert math.isnan(pack["battery"][0].current)
    assert math.isnan(pack["battery"][0].percentage)


def test_pulses_texts_and_times() -> None:
    heard = Heard()
    channels = [1500, 1500, 1000, 1500, *[0] * 14]
    assert (
        list(heard.give(mavlink.MAVLink_rc_channels_message(1000, 4, *channels, 255))["rc/in"][0].data) == channels[:4]
    )
    outputs = [1000 + n for n in range(16)]
    servo = mavlink.MAVLink_servo_output_raw_message(1_000_000, 0, *outputs[:8], *outputs[8:])
    assert list(heard.give(servo)["rc/out"][0].data) == outputs
    text = heard.give(mavlink.MAVLink_statustext_message(2, b"PreArm: Compass"))["statustext/recv"][0]
    assert (text.level, text.name, text.message) == (DiagnosticStatus.ERROR, "critical", "PreArm: Compass")
    time = heard.give(mavlink.MAVLink_system_time_message(1_700_000_000_500_000, 1000))["time_reference"][0]
    assert (time.time_ref.sec, time.time_ref.nanosec) == (1_700_000_000, 500_000_000)


def test_a_long_text_is_put_together() -> None:
    heard = Heard()
    first, second = "x" * 50, "the end"
    assert not heard.give(mavlink.MAVLink_statustext_message(4, first.encode(), 7, 0))
    got = heard.give(mavlink.MAVLink_statustext_message(4, second.encode(), 7, 1))["statustext/recv"][0]
    assert got.message == first + second
    assert got.level == DiagnosticStatus.WARN


def chunk(text: str, number: int, seq: int) -> Any:
    return mavlink.MAVLink_statustext_message(4, text.encode(), number, seq)


def test_texts_end_without_a_tab_and_come_once() -> None:
    heard = Heard(PX4)
    assert heard.give(chunk("Takeoff detected\t", 0, 0))["statustext/recv"][0].message == "Takeoff detected"
    assert not heard.give(chunk("x" * 50, 9, 0))
    assert not heard.give(chunk("x" * 50, 9, 0)), "it arrived twice"
    assert heard.give(chunk("y\t", 9, 1))["statustext/recv"][0].message == "x" * 50 + "y"


def test_a_text_whose_end_is_lost_is_published_as_far_as_it_arrived() -> None:
    heard = Heard()
    heard.give(chunk("x" * 50, 7, 0))
    publish_overdue_texts(heard.vehicle, ARRIVAL + 900_000_000)
    assert not heard.messages
    publish_overdue_texts(heard.vehicle, ARRIVAL + 1_100_000_000)
    assert heard.messages["statustext/recv"][0].message == "x" * 50 + "..."


def test_a_text_whose_middle_is_lost_says_so() -> None:
    heard = Heard()
    heard.give(chunk("x" * 50, 7, 0))
    assert heard.give(chunk("end", 7, 2))["statustext/recv"][0].message == "x" * 50 + "...end"


def test_an_item_is_reached_once() -> None:
    """PX4 sends MISSION_ITEM_REACHED eleven times (mavlink_mission.cpp, send)."""
    heard = Heard(PX4)
    reached: list[int] = []

    def give(message: Any) -> None:
        reached.extend(each.data for each in heard.give(message).get("mission/reached", []))

    def arrive(seq: int) -> None:
        for _ in range(11):
            give(mavlink.MAVLink_mission_item_reached_message(seq))

    give(heartbeat(PX4, 0, 1 | 128))
    for seq in (0, 1, 2):
        give(mavlink.MAVLink_mission_current_message(seq))
        arrive(seq)
    assert reached == [0, 1, 2]
    give(mavlink.MAVLink_mission_current_message(1))  # DO_JUMP
    arrive(1)
    give(mavlink.MAVLink_mission_current_message(1))
    arrive(1)
    assert reached == [0, 1, 2, 1]
    give(heartbeat(PX4, 0, 1))
    give(heartbeat(PX4, 0, 1 | 128))
    arrive(1)
    assert reached == [0, 1, 2, 1, 1], "the next flight"
    give(mavlink.MAVLink_mission_ack_message(255, 191, 0))
    arrive(1)
    assert reached == [0, 1, 2, 1, 1, 1], "another mission"


def heartbeat(autopilot: int, custom: int, base: int = 1, type: int = 2) -> Any:
    return mavlink.MAVLink_heartbeat_message(type, autopilot, base, custom, 4, 3)


@pytest.mark.parametrize(
    ("beat", "mode"),
    [
        (heartbeat(ARDUPILOT, 4), "GUIDED"),
        (heartbeat(ARDUPILOT, 9), "LAND"),
        (heartbeat(ARDUPILOT, 10, type=1), "AUTO"),
        (heartbeat(ARDUPILOT, 999), "CMODE(999)"),
        (heartbeat(PX4, 6 << 16), "OFFBOARD"),
        (heartbeat(PX4, 4 << 16 | 5 << 24), "AUTO.RTL"),
        (heartbeat(PX4, 3 << 16), "POSCTL"),
    ],
)
def test_modes_by_the_autopilots_names(beat: Any, mode: str) -> None:
    """px4_custom_mode.h; ArduCopter/mode.h, ArduPlane/mode.h."""
    heard = Heard()
    heard.vehicle.heartbeat = None
    got = heard.give(beat)
    assert heard.vehicle.heartbeat is not None
    assert got["mode"][0].data == mode
    assert got["state"][0].message == mode
    assert mode_name(heard.vehicle.heartbeat) == mode


def test_state_changes_are_told_once() -> None:
    heard = Heard()
    heard.vehicle.heartbeat = None
    first = heard.give(heartbeat(ARDUPILOT, 4))
    assert first["armed"][0].data is False
    assert set(heard.give(heartbeat(ARDUPILOT, 4))) == {"state"}
    armed = heard.give(heartbeat(ARDUPILOT, 4, base=1 | 128))
    assert armed["armed"][0].data is True
    values = {pair.key: pair.value for pair in armed["state"][0].values}
    assert values["armed"] == "true"
    assert values["type"] == "quadrotor"
    landed = heard.give(mavlink.MAVLink_extended_sys_state_message(0, 2))["extended_state"][0]
    assert landed.message == "in_air"


def test_wind_is_where_the_air_goes() -> None:
    """ArduPilot tells where it comes from (ardupilotmega.xml, WIND): from the west at 3 m/s is 3 m/s to the east."""
    twist = Heard().give(mavlink.MAVLink_wind_message(270.0, 3.0, -0.5))["wind_estimation"][0].twist
    assert xyz(twist.twist.linear) == pytest.approx([3.0, 0.0, 0.5], abs=1e-6)
    assert not any(twist.covariance)
    px4 = mavlink.MAVLink_wind_cov_message(1_000_000, 1.0, 2.0, 0.0, 0.3, math.nan, 488.0, 0.0, 0.0)
    twist = Heard(PX4).give(px4)["wind_estimation"][0].twist
    assert xyz(twist.twist.linear) == pytest.approx([2.0, 1.0, 0.0])
    assert np.diag(np.reshape(twist.covariance, (6, 6))) == pytest.approx([0.3, 0.3, 0, 0, 0, 0], abs=1e-6)


def test_the_head_up_display() -> None:
    shown = Heard().give(mavlink.MAVLink_vfr_hud_message(1.5, 2.5, 270, 40, 488.25, -0.5))["vfr_hud"][0]
    assert {value.key: value.value for value in shown.values} == {
        "airspeed": "1.500", "groundspeed": "2.500", "climb": "-0.500", "altitude": "488.250", "heading": "270",
        "throttle": "40",
    }  # fmt: skip


def test_covariances_of_the_local_position_are_turned_on_both_sides() -> None:
    """P C P^T by scipy's rotations, of a symmetric 9 x 9; a rate, an orientation and what is NaN are unknown: 0."""
    root = np.random.default_rng(3).normal(size=(9, 9))
    ned = np.float64(np.float32(root @ root.T))
    heard = Heard()
    heard.give(mavlink.MAVLink_attitude_message(1000, 0.1, -0.2, 0.7, 0.0, 0.0, 0.0))

    def give(matrix: np.ndarray) -> dict[str, list[Any]]:
        upper = matrix[np.triu_indices(9)].tolist()
        return heard.give(
            mavlink.MAVLink_local_position_ned_cov_message(1_000_000, 8, *(1, 2, 3), *(4, 5, 6), *(7, 8, 9), upper)
        )

    told = give(ned)
    to_enu = np.array([[0, 1, 0], [1, 0, 0], [0, 0, -1]])
    pose = told["local_position/pose_cov"][0].pose
    assert xyz(pose.pose.position) == [2.0, 1.0, -3.0]
    expected = np.zeros((6, 6))
    expected[:3, :3] = to_enu @ ned[:3, :3] @ to_enu.T
    np.testing.assert_allclose(np.reshape(pose.covariance, (6, 6)), expected, atol=1e-5)
    to_frd = Rotation.from_euler("ZYX", [0.7, -0.2, 0.1]).as_matrix().T
    to_flu = np.diag([1, -1, -1]) @ to_frd
    twist = told["local_position/velocity_body_cov"][0].twist
    assert xyz(twist.twist.linear) == pytest.approx(to_flu @ [4, 5, 6], abs=1e-5)
    covariance = np.reshape(twist.covariance, (6, 6))[:3, :3]
    np.testing.assert_allclose(covariance, to_flu @ ned[3:6, 3:6] @ to_flu.T, atol=1e-4)
    assert xyz(told["local_position/accel"][0].accel.accel.linear) == [8.0, 7.0, -9.0]
    ned[0, 0] = math.nan
    unknown = give(ned)["local_position/pose_cov"][0].pose.covariance
    assert unknown[7] == 0.0, "north is y"
    assert unknown[0] == pytest.approx(ned[1, 1], abs=1e-5)


def local_cov(time_us: int, place: tuple[float, float, float], velocity: tuple[float, float, float]) -> Any:
    upper = np.diag([1.0, 4.0, 9.0, 0.1, 0.2, 0.3, 0.0, 0.0, 0.0])[np.triu_indices(9)].tolist()
    return mavlink.MAVLink_local_position_ned_cov_message(time_us, 8, *place, *velocity, 0, 0, 0, upper)


def test_a_local_position_with_covariance_suffices() -> None:
    """MAVROS: its odometry always, pose and velocity unless there is LOCAL_POSITION_NED (local_position.cpp)."""
    heard = Heard()
    heard.give(ATTITUDE)
    got = heard.give(local_cov(1_010_000, (10.0, 20.0, -30.0), (0.0, 2.0, 0.0)))
    assert {f"local_position/{name}" for name in ("pose", "odom", "velocity_body", "velocity_local")} < set(got)
    assert xyz(got["local_position/pose"][0].pose.position) == [20.0, 10.0, 30.0]
    odom = got["local_position/odom"][0]
    assert np.diag(odom.pose.covariance.reshape(6, 6)) == pytest.approx([4.0, 1.0, 9.0, 0.0, 0.0, 0.0])
    # Looking north, east is right.
    assert xyz(odom.twist.twist.linear) == pytest.approx([0.0, -2.0, 0.0], abs=1e-6)
    assert np.diag(odom.twist.covariance.reshape(6, 6))[:3] == pytest.approx([0.1, 0.2, 0.3])
    assert heard.vehicle.poses.at(ARRIVAL) is not None, "and with it /tf"
    plain = heard.give(mavlink.MAVLink_local_position_ned_message(1020, 10.0, 20.0, -30.0, 0.0, 2.0, 0.0))
    assert {"local_position/pose", "local_position/velocity_body"} < set(plain)
    assert "local_position/odom" not in plain, "the one without covariances"
    both = heard.give(local_cov(1_030_000, (10.0, 20.0, -30.0), (0.0, 2.0, 0.0)))
    assert "local_position/odom" in both
    assert "local_position/pose" not in both


def test_a_position_without_a_velocity_is_a_position() -> None:
    heard = Heard()
    heard.give(ATTITUDE)
    got = heard.give(mavlink.MAVLink_local_position_ned_message(1010, 1.0, 2.0, 3.0, math.nan, 0.0, 0.0))
    assert set(got) == {"local_position/pose", "local_position/odom"}
    assert got["local_position/odom"][0].twist.covariance[0] == -1.0
    assert heard.vehicle.dropped == {"LOCAL_POSITION_NED: velocity is not finite": 1}


def test_a_velocity_without_rates_is_in_the_odometry_alone() -> None:
    """A twist without covariance cannot say that its angular part is unknown."""
    heard = Heard()
    turning = mavlink.MAVLink_attitude_quaternion_message(1000, 1.0, 0, 0, 0, math.nan, 0, 0)
    assert heard.give(turning)["imu/data"][0].angular_velocity_covariance[0] == -1.0
    got = heard.give(mavlink.MAVLink_local_position_ned_message(1010, 1.0, 2.0, 3.0, 4.0, 0.0, 0.0))
    assert set(got) == {"local_position/pose", "local_position/odom"}
    covariance = got["local_position/odom"][0].twist.covariance
    assert (covariance[0], covariance[21]) == (0.0, -1.0)
    assert heard.vehicle.dropped["LOCAL_POSITION_NED: no angular rate"] == 1


def test_what_a_terminal_would_obey_is_escaped_in_texts() -> None:
    made = Heard()
    [text] = made.give(mavlink.MAVLink_statustext_message(4, b"\x1b[2Jcompass\r\n", 0, 0))["statustext/recv"]
    assert text.message == "\\x1b[2Jcompass\\r\\n"
