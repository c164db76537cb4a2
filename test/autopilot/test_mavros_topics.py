"""What MAVROS publishes with standard messages beside the estimate: its units and formulas, along REP 103's axes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from nav_msgs.msg import Odometry
from pymavlink.dialects.v20 import all as mavlink
from rclpy.serialization import deserialize_message
from recordings import EXCERPT
from scipy.spatial.transform import Rotation
from test_translation import ARRIVAL, ATTITUDE, Heard, xyz

from sim_node.mavlink.codec import MavlinkMessage
from sim_node.mavlink.parser import Parser
from sim_node.mavlink.telemetry import ARDUPILOT, PX4, Telemetry
from sim_node.mavlink.tlog import read_tlog
from sim_node.mavlink.topics import TOPICS, FrameNames, Profile
from sim_node.mavlink.translation import TRANSLATIONS
from sim_node.mavlink.translation.health import STALE_NS, reports
from sim_node.mavlink.vehicle import OF_ANY_COMPONENT, OtherComponents

# MAVROS 2.12: SensorDataQoS, or reliable and keep last 10 (the calibration's: 2).
RELIABLE = {
    *("mount_control/orientation", "mount_control/status", "optical_flow/ground_distance", "px4flow/ground_distance"),
    *("px4flow/temperature", "rangefinder/rangefinder", "mag_calibration/status", "move_base_simple/goal"),
}
SENSOR = {
    *("global_position/raw/satellites", "global_position/local", "global_position/gp_lp_offset"),
    *("imu/temperature_imu", "landing_target/pose_in"),
}
ORIGIN = mavlink.MAVLink_gps_global_origin_message(473977420, 85455940, 488_000)
ENU_NED = np.array([[0, 1, 0], [1, 0, 0], [0, 0, -1]])
FLU_FRD = np.diag([1, -1, -1])


def quaternion(q: Any) -> Rotation:
    return Rotation.from_quat([q.x, q.y, q.z, q.w])


def same(one: Rotation, other: Rotation) -> bool:
    return float((one.inv() * other).magnitude()) < 1e-6


def test_quality_of_service() -> None:
    assert {name for name in RELIABLE | SENSOR if TOPICS[name].profile is Profile.RELIABLE} == RELIABLE
    assert {name for name in RELIABLE | SENSOR if TOPICS[name].profile is Profile.SENSOR} == SENSOR


def test_satellites() -> None:
    fix = {"time_usec": 1_000_000, "fix_type": 3, "lat": 473977420, "lon": 85455940, "alt": 488_000}
    rest = {"eph": 121, "epv": 200, "vel": 500, "cog": 9000}
    heard = Heard()
    got = heard.give(mavlink.MAVLink_gps_raw_int_message(**fix, **rest, satellites_visible=11))
    assert got["global_position/raw/satellites"][0].data == 11
    assert "global_position/raw/satellites" not in heard.give(
        mavlink.MAVLink_gps_raw_int_message(**fix, **rest, satellites_visible=255)
    )
    assert heard.vehicle.dropped == {"GPS_RAW_INT: satellites_visible not known": 1}


def test_a_global_position_in_the_map() -> None:
    """A hundred-thousandth of a degree of latitude is 1.1117 m at 47.4 degrees (meridian radius of WGS84)."""
    heard = Heard()
    heard.give(ORIGIN)
    heard.give(mavlink.MAVLink_attitude_quaternion_message(1000, math.sqrt(0.5), 0, 0, math.sqrt(0.5), 0.1, 0.2, 0.3))
    sent = (473977420 + 1000, 85455940, 498_000, 9_000, 100, 200, 300, 9000)
    [odom] = heard.give(mavlink.MAVLink_global_position_int_message(1010, *sent))["global_position/local"]
    a, e2 = 6378137.0, 0.00669437999014
    sine = math.sin(math.radians(47.397742))
    north = math.radians(1e-4) * a * (1 - e2) / (1 - e2 * sine**2) ** 1.5
    # The tangential plane of the origin: north also grows by the height above it.
    assert xyz(odom.pose.pose.position) == pytest.approx([0.0, north, 10.0], abs=2e-3)
    assert (odom.header.frame_id, odom.child_frame_id) == ("map", "base_link")
    assert same(quaternion(odom.pose.pose.orientation), Rotation.identity()), "it looks east"
    # North is left of it; cm/s.
    assert xyz(odom.twist.twist.linear) == pytest.approx([2.0, 1.0, -3.0])
    assert xyz(odom.twist.twist.angular) == pytest.approx([0.1, -0.2, -0.3])
    assert not odom.pose.covariance.any()


def test_both_estimates_of_a_recorded_flight_agree() -> None:
    """ArduPilot sends its position locally and globally; both come out at one place of the map."""
    near: dict[str, list[Any]] = {"local_position/odom": [], "global_position/local": []}

    def hear(topic: Any, data: bytes) -> None:
        if topic.name in near:
            near[topic.name].append(deserialize_message(data, Odometry))

    vehicle = Telemetry(1, FrameNames(), hear)
    for time_ns, message in read_tlog(Path(EXCERPT)):
        vehicle.arrival_ns = time_ns
        if message.name in TRANSLATIONS:
            TRANSLATIONS[message.name](message.fields, vehicle)
    local, globally = near.values()
    assert len(globally) > 20

    def path(odometry: list[Any]) -> tuple[np.ndarray, np.ndarray]:
        stamps = [each.header.stamp.sec + 1e-9 * each.header.stamp.nanosec for each in odometry]
        values = [[*xyz(each.pose.pose.position), *xyz(each.twist.twist.linear)] for each in odometry]
        return np.array(stamps), np.array(values)

    (when, other), (times, values) = path(local), path(globally)
    inside = (times >= when[0]) & (times <= when[-1])
    expected = np.stack([np.interp(times[inside], when, column) for column in other.T]).T
    assert np.abs(values[inside, :3] - expected[:, :3]).max() < 0.5
    assert np.abs(values[inside, 3:] - expected[:, 3:]).max() < 0.3


def test_the_offset_of_a_map() -> None:
    """MAVROS: transform_frame_ned_enu, and both rotations of the orientation."""
    sent = mavlink.MAVLink_local_position_ned_system_global_offset_message(1000, 1.0, 2.0, 3.0, 0.1, -0.2, 0.7)
    [got] = Heard().give(sent)["global_position/gp_lp_offset"]
    assert xyz(got.pose.position) == [2.0, 1.0, -3.0]
    ned = Rotation.from_euler("ZYX", [0.7, -0.2, 0.1]).as_matrix()
    assert same(quaternion(got.pose.orientation), Rotation.from_matrix(ENU_NED @ ned @ FLU_FRD))
    assert got.header.frame_id == "earth"


@pytest.mark.parametrize("name", ["scaled_imu", "raw_imu"])
def test_the_temperature_of_an_imu(name: str) -> None:
    """Hundredths of a degree; 0 is none (common.xml)."""

    def sent(temperature: int) -> Any:
        return getattr(mavlink, f"MAVLink_{name}_message")(1000, *[1] * 9, temperature=temperature)

    heard = Heard(ARDUPILOT)
    assert heard.give(sent(-1234))["imu/temperature_imu"][0].temperature == pytest.approx(-12.34)
    assert "imu/temperature_imu" not in heard.give(sent(0))


def test_gimbals() -> None:
    """Degrees; axes are forward, right, down there and forward, left, up here."""
    heard = Heard()
    got = heard.give(mavlink.MAVLink_mount_orientation_message(1000, 10.0, -30.0, 40.0))["mount_control/orientation"]
    frd = Rotation.from_euler("ZYX", [40, -30, 10], degrees=True).as_matrix()
    assert same(quaternion(got[0]), Rotation.from_matrix(FLU_FRD @ frd @ FLU_FRD))
    both = heard.give(mavlink.MAVLink_mount_status_message(1, 154, -3000, 1000, 4000))
    assert same(quaternion(both["mount_control/orientation"][0]), quaternion(got[0]))
    status = both["mount_control/status"][0]
    assert xyz(status.vector) == pytest.approx(np.radians([10.0, 30.0, -40.0]))
    assert not heard.give(mavlink.MAVLink_mount_orientation_message(1010, 10.0, math.nan, 40.0))


@pytest.mark.parametrize(
    ("topic", "message", "kind"),
    [
        ("optical_flow/ground_distance", lambda d: mavlink.MAVLink_optical_flow_message(1000, 0, 1, 1, 0, 0, 90, d), 0),
        ("px4flow/ground_distance", lambda d: flow(d, 2345), 0),
        ("rangefinder/rangefinder", lambda d: mavlink.MAVLink_rangefinder_message(d, 1.0), 1),
    ],
)
def test_distances_to_the_ground(topic: str, message: Any, kind: int) -> None:
    heard = Heard()
    [got] = heard.give(message(2.5))[topic]
    assert (got.range, got.radiation_type, got.header.frame_id) == (2.5, kind, "base_link_distance_down")
    assert got.min_range <= got.range <= got.max_range
    # The sensor looks along x of its frame: down.
    x = Rotation.from_quat(heard.frames["base_link_distance_down"]).apply([1.0, 0.0, 0.0])
    np.testing.assert_allclose(x, [0.0, 0.0, -1.0], atol=1e-12)
    assert topic not in heard.give(message(-1.0)), "unknown"
    assert sum(heard.vehicle.dropped.values()) == 1


def flow(distance: float, temperature: int) -> Any:
    return mavlink.MAVLink_optical_flow_rad_message(1000, 0, 10, 0, 0, 0, 0, 0, temperature, 90, 0, distance)


def test_the_temperature_of_a_flow_sensor() -> None:
    heard = Heard()
    assert heard.give(flow(1.0, 2345))["px4flow/temperature"][0].temperature == pytest.approx(23.45)
    assert "px4flow/temperature" not in heard.give(flow(1.0, 0)), "PX4 does not fill it in"


def target(frame: int, q: tuple[float, ...], valid: int = 1) -> Any:
    return mavlink.MAVLink_landing_target_message(1_000_000, 0, frame, 0, 0, 5, 0, 0, 1.0, 2.0, 3.0, q, 0, valid)


def test_landing_targets_are_in_the_frame_of_the_message() -> None:
    heard = Heard(ARDUPILOT)
    heard.give(ATTITUDE)
    [local] = heard.give(target(mavlink.MAV_FRAME_LOCAL_NED, (1.0, 0, 0, 0)))["landing_target/pose_in"]
    assert (local.header.frame_id, xyz(local.pose.position)) == ("map", [2.0, 1.0, -3.0])
    assert same(quaternion(local.pose.orientation), Rotation.from_matrix(ENU_NED @ FLU_FRD)), "it looks north"
    [body] = heard.give(target(mavlink.MAV_FRAME_BODY_FRD, (0.0, 0, 0, 0)))["landing_target/pose_in"]
    assert (body.header.frame_id, xyz(body.pose.position)) == ("base_link", [1.0, -2.0, -3.0])
    assert same(quaternion(body.pose.orientation), Rotation.identity()), "not sent"
    assert not heard.give(target(mavlink.MAV_FRAME_LOCAL_NED, (1.0, 0, 0, 0), valid=0))
    assert not heard.give(target(mavlink.MAV_FRAME_GLOBAL, (1.0, 0, 0, 0)))
    assert heard.vehicle.dropped == {"LANDING_TARGET: no position": 1, "LANDING_TARGET: frame GLOBAL": 1}


def test_px4_sends_its_landing_target_relative_to_itself() -> None:
    """LANDING_TARGET.hpp: x_rel, y_rel, z_rel of landing_target_pose, along north, east and down; no orientation."""
    heard = Heard(PX4)
    assert not heard.give(target(mavlink.MAV_FRAME_LOCAL_NED, (0.0, 0, 0, 0))), "which way is north?"
    half = math.radians(90.0) / 2
    heard.give(mavlink.MAVLink_attitude_quaternion_message(1000, math.cos(half), 0, 0, math.sin(half), 0, 0, 0))
    [got] = heard.give(target(mavlink.MAV_FRAME_LOCAL_NED, (0.0, 0, 0, 0)))["landing_target/pose_in"]
    # It looks east: what is north of it is on its left.
    assert got.header.frame_id == "base_link"
    assert xyz(got.pose.position) == pytest.approx([2.0, 1.0, -3.0])


def test_where_the_autopilot_flies_to_is_published_when_it_changes() -> None:
    heard = Heard()

    def fly_to(ms: int, east: int, mask: int = 0) -> dict[str, list[Any]]:
        place = (473977420, 85455940 + east, 30.0)
        return heard.give(mavlink.MAVLink_position_target_global_int_message(ms, 6, mask, *place, *[0.0] * 8))

    assert not fly_to(1000, 1000), "without an origin"
    heard.give(ORIGIN)
    [goal] = fly_to(1010, 1000)["move_base_simple/goal"]
    a, e2, latitude = 6378137.0, 0.00669437999014, math.radians(47.397742)
    east = math.radians(1e-4) * a * math.cos(latitude) / math.sqrt(1 - e2 * math.sin(latitude) ** 2)
    assert xyz(goal.pose.position) == pytest.approx([east, 0.0, 0.0], abs=2e-3)
    assert goal.header.frame_id == "map"
    assert not fly_to(1020, 1000), "the same"
    assert fly_to(1030, 2000)
    assert not fly_to(1040, 3000, mask=1), "its latitude is to be ignored"


def test_the_calibration_of_compasses() -> None:
    """mag_calibration_status.cpp: the mean of the compasses in the mask."""
    heard = Heard()

    def progress(compass: int, percent: int, mask: int = 0b101) -> list[Any]:
        sent = mavlink.MAVLink_mag_cal_progress_message(compass, mask, 2, 0, percent, [0] * 10, 0.0, 0.0, 0.0)
        return [each.data for each in heard.give(sent).get("mag_calibration/status", [])]

    assert progress(0, 40) == [20]
    assert progress(2, 80) == [60]
    assert progress(0, 100) == [90]
    assert progress(1, 50) == [], "it is not in the mask"


def test_the_channels_of_older_autopilots() -> None:
    """rc_io.cpp: RC_CHANNELS_RAW counts while there is no RC_CHANNELS; UINT16_MAX is no channel (common.xml)."""
    heard = Heard()
    raw = mavlink.MAVLink_rc_channels_raw_message(1000, 0, *range(1101, 1108), 65535, 100)
    assert heard.give(raw)["rc/in"][0].data.tolist() == [*range(1101, 1108), 0]
    assert heard.give(mavlink.MAVLink_rc_channels_message(1010, 2, *[1500] * 18, 100))["rc/in"]
    assert not heard.give(raw)


def told(heard: Heard, now_ns: int = ARRIVAL) -> dict[str, Any]:
    return dict(reports(heard.vehicle, now_ns))


def test_reports_of_health() -> None:
    """The levels of MAVROS' diagnostics (sys_status.cpp, global_position.cpp); d% and mV are those of common.xml."""
    ok, warn, error, stale = (
        each[0] for each in (DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR, b"\x03")
    )
    gyro, gps = mavlink.MAV_SYS_STATUS_SENSOR_3D_GYRO, mavlink.MAV_SYS_STATUS_SENSOR_GPS
    heard = Heard()
    counts = (345, 12600, 100, 50, 12, 3, 0, 0, 0, 7)
    heard.give(mavlink.MAVLink_sys_status_message(gyro | gps, gyro | gps, gyro, *counts))
    level, text, values = told(heard)["sensors"]
    assert (level, text) == (error, "not healthy: gps")
    assert (values["load (%)"], values["drop rate (%)"], values["errors 4"]) == ("34.5", "0.12", 7)
    heard.give(mavlink.MAVLink_sys_status_message(gyro | gps, gyro, gyro, *counts))
    assert told(heard)["sensors"][0] == ok, "the receiver is not enabled"
    heard.give(mavlink.MAVLink_meminfo_message(0, 65535, 70000))
    assert told(heard)["memory"] == (ok, "normal", {"free memory (bytes)": 70000})
    heard.give(mavlink.MAVLink_meminfo_message(0, 199))
    assert told(heard)["memory"][0] == warn
    heard.give(mavlink.MAVLink_hwstatus_message(4499, 2))
    assert told(heard)["board"] == (warn, "low voltage", {"voltage (V)": "4.499", "I2C errors": 2})
    fix = (1_000_000, 3, 473977420, 85455940, 488_000, 121, 65535, 0, 0, 11)
    heard.give(mavlink.MAVLink_gps_raw_int_message(*fix))
    dilutions = {"satellites": 11, "horizontal dilution": "1.21", "vertical dilution": "unknown"}
    assert told(heard)["GPS"] == (ok, "3d_fix", dilutions)
    heard.give(mavlink.MAVLink_gps_raw_int_message(1_000_000, 1, *fix[2:]))
    assert told(heard)["GPS"][0] == warn
    assert {level for level, _, _ in told(heard, ARRIVAL + STALE_NS + 1).values()} == {stale}


def test_batteries_of_other_components_have_their_own_names() -> None:
    heard = Heard()
    others = OtherComponents(heard.vehicle, 1_000_000_000)
    cells = [4000, *[65535] * 9]

    def battery(component: int) -> MavlinkMessage:
        link = mavlink.MAVLink(None, 1, component)
        sent = mavlink.MAVLink_battery_status_message(0, 0, 1, 2000, cells, 100, -1, -1, 50)
        return Parser(datagrams=True).feed(sent.pack(link))[0]

    TRANSLATIONS["BATTERY_STATUS"](battery(1).fields, heard.vehicle)
    others.receive(battery(180), None, None, 0, ARRIVAL)
    assert [each.location for each in heard.messages["battery"]] == ["id0", "id0 of component 180"]
    assert set(OF_ANY_COMPONENT) <= set(TRANSLATIONS)
