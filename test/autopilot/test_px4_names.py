"""PX4's names: versions, frames, units and unknown values as in its sources, read back by an independent library."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from dialect_messages import ARRIVAL, MAV, HeardVehicle, install, installed, typestore
from hypothesis import given
from hypothesis import strategies as st
from pymavlink import mavutil
from pymavlink.dialects.v20 import all as mavlink
from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from scipy.spatial.transform import Rotation

from sim_node.cli.build import interface_texts
from sim_node.mavlink.codec import frame_bytes
from sim_node.mavlink.dialects import checked
from sim_node.mavlink.px4.inputs import INPUTS, controlled, hold
from sim_node.mavlink.px4.names import Px4Names, topics_of, versioned
from sim_node.mavlink.px4.state import control_flags, nav_state
from sim_node.mavlink.px4.telemetry import readers, topics
from sim_node.mavlink.setpoints import SetpointLimits, SetpointRefused
from sim_node.mavlink.telemetry import ARDUPILOT, PX4, Heartbeat, Home, Telemetry
from sim_node.mavlink.topics import FrameNames
from sim_node.spatial.frames import Ned

TILTED = Rotation.from_euler("ZYX", [0.7, -0.2, 0.4])
NAN = math.nan


@pytest.fixture(scope="module", autouse=True)
def _definitions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with installed(tmp_path_factory.mktemp("prefix"), ("px4_msgs",), readers, topics_of):
        yield


class Heard(HeardVehicle):
    """A vehicle under PX4's names; topics are below fmu/out."""

    names: Px4Names

    def __init__(self, autopilot: int = PX4) -> None:
        super().__init__(typestore("px4_msgs"), autopilot, system=3)
        self.names = Px4Names(self.vehicle, self.send, readers())


def attitude(ned: Rotation) -> Any:
    x, y, z, w = ned.as_quat()
    return mavlink.MAVLink_attitude_quaternion_message(1000, w, x, y, z, 0.1, 0.2, 0.3)


def heartbeat(main: int, sub: int = 0, *, armed: bool = False, status: int = 4) -> Any:
    base = 1 | (128 if armed else 0)
    return mavlink.MAVLink_heartbeat_message(2, 12, base, main << 16 | sub << 24, status, 3)


def test_topics_have_the_version_of_their_message_and_the_plain_name() -> None:
    names = {topic.name for topic in topics()}
    assert {"fmu/out/vehicle_status_v1", "fmu/out/vehicle_status", "fmu/out/vehicle_odometry"} <= names
    assert "fmu/out/vehicle_odometry_v0" not in names
    assert versioned("fmu/in/trajectory_setpoint", "TrajectorySetpoint") == ("fmu/in/trajectory_setpoint",)
    qos = {topic.profile.value for topic in topics()}
    assert [(each.reliability, each.durability) for each in qos] == [("best_effort", "transient_local")]


def test_attitude_is_that_of_the_wire() -> None:
    [found] = Heard().give(attitude(TILTED))["vehicle_attitude"]
    x, y, z, w = TILTED.as_quat()
    assert found.q == pytest.approx([w, x, y, z], abs=1e-7)
    assert found.timestamp == found.timestamp_sample == ARRIVAL // 1000


def test_position_velocity_and_attitude_stay_in_ned() -> None:
    heard = Heard()
    heard.give(attitude(TILTED))
    heard.give(mavlink.MAVLink_gps_global_origin_message(473977420, 85455940, 488_000, 0))
    out = heard.give(mavlink.MAVLink_local_position_ned_message(1000, 1.0, 2.0, -3.0, 0.1, 0.2, -0.3))
    [local], [odometry] = out["vehicle_local_position_v1"], out["vehicle_odometry"]
    assert len(out["vehicle_local_position"]) == 1
    assert (local.x, local.y, local.z) == (1.0, 2.0, -3.0)
    assert (local.vx, local.vy, local.vz, local.z_deriv) == pytest.approx((0.1, 0.2, -0.3, -0.3))
    assert local.heading == pytest.approx(0.7, abs=1e-6)
    assert local.xy_valid
    assert local.v_z_valid
    assert local.heading_good_for_control
    assert local.xy_global
    assert (local.ref_lat, local.ref_lon, local.ref_alt) == pytest.approx((47.397742, 8.545594, 488.0))
    assert math.isinf(local.vxy_max)
    assert math.isnan(local.ax), "no force has been received"
    assert list(odometry.position) == [1.0, 2.0, -3.0]
    assert (odometry.pose_frame, odometry.velocity_frame) == (1, 1)
    found = Rotation.from_quat(np.roll(odometry.q, -1))
    assert (found.inv() * TILTED).magnitude() < 1e-6
    assert odometry.angular_velocity == pytest.approx([0.1, 0.2, 0.3])
    assert np.isnan(odometry.position_variance).all()


def test_a_hovering_vehicle_does_not_accelerate() -> None:
    heard = Heard()
    heard.give(attitude(TILTED))
    force = TILTED.inv().apply([0.0, 0.0, -9.80665])  # of FRD, by NED
    zeros = dict.fromkeys(("xmag", "ymag", "zmag", "diff_pressure", "pressure_alt"), 0.0)
    sent = dict(zip(("xacc", "yacc", "zacc"), force, strict=True)) | {"xgyro": 0.1, "ygyro": 0.2, "zgyro": 0.3}
    rest = {"abs_pressure": 955.0, "temperature": 20.0, "fields_updated": 0x1FFF}
    for time_us in (1_000_000, 1_004_000):
        out = heard.give(mavlink.MAVLink_highres_imu_message(time_us, **sent, **zeros, **rest))
    [sensors] = out["sensor_combined"]
    assert sensors.accelerometer_m_s2 == pytest.approx(force, abs=1e-5)
    assert sensors.gyro_rad == pytest.approx([0.1, 0.2, 0.3])
    assert (sensors.gyro_integral_dt, sensors.accelerometer_integral_dt) == (4000, 4000)
    [local] = heard.give(mavlink.MAVLink_local_position_ned_message(1010, *[0.0] * 6))["vehicle_local_position"]
    assert (local.ax, local.ay, local.az) == pytest.approx((0.0, 0.0, 0.0), abs=1e-5)


def test_gps_in_metres_degrees_and_radians() -> None:
    message = mavlink.MAVLink_gps_raw_int_message(
        *(5_000_000, 3, 473977420, 85455940, 488_123, 80, 120, 500, 27_000, 9),
        **{"alt_ellipsoid": 535_000, "h_acc": 1500, "v_acc": 2500, "vel_acc": 300, "hdg_acc": 0},
    )
    [fix] = Heard().give(message)["vehicle_gps_position"]
    assert (fix.latitude_deg, fix.longitude_deg) == pytest.approx((47.397742, 8.545594))
    assert fix.altitude_msl_m == pytest.approx(488.123)
    assert (fix.eph, fix.epv, fix.hdop, fix.vdop, fix.s_variance_m_s) == pytest.approx((1.5, 2.5, 0.8, 1.2, 0.3))
    assert (fix.vel_m_s, fix.vel_n_m_s, fix.vel_e_m_s) == pytest.approx((5.0, 0.0, -5.0), abs=1e-6), "course 270"
    assert fix.cog_rad == pytest.approx(-math.pi / 2)
    assert (fix.fix_type, fix.satellites_used) == (3, 9)


@pytest.mark.parametrize("name", sorted(mavutil.px4_map), ids=str)
def test_modes_are_those_of_the_heartbeat(name: str) -> None:
    """pymavlink's table of PX4's modes, and the words of VehicleStatus."""
    # The words of pymavlink that are not those of VehicleStatus; RATTITUDE and READY are not among the states.
    others = {"STABILIZED": "STAB", "LOITER": "AUTO_LOITER", "FOLLOWME": "AUTO_FOLLOW_TARGET", "READY": "AUTO_LOITER"}
    others |= {each: f"AUTO_{each}" for each in ("MISSION", "RTL", "LAND", "TAKEOFF")}
    others |= {"RTGS": "AUTO_LOITER", "RATTITUDE": "MANUAL"}
    _, main, sub = mavutil.px4_map[name]
    expected = getattr(
        typestore("px4_msgs").types["px4_msgs/msg/VehicleStatus"], f"NAVIGATION_STATE_{others.get(name, name)}"
    )
    assert nav_state(Heartbeat(PX4, 2, 1, main << 16 | sub << 24, 4)) == expected


def test_status_and_control_mode_of_heartbeats() -> None:
    heard = Heard()
    [status] = heard.give(heartbeat(3))["vehicle_status_v1"]
    assert (status.arming_state, status.nav_state, status.vehicle_type, status.system_id) == (1, 2, 1, 3)
    assert status.pre_flight_checks_pass
    assert not status.failsafe
    assert not heard.give(heartbeat(3, status=0))["vehicle_status"][0].pre_flight_checks_pass
    heard.vehicle.arrival_ns += 2_000_000_000
    heard.names.offboard = {"velocity": True}
    out = heard.give(heartbeat(6, armed=True, status=5))
    [status], [mode] = out["vehicle_status_v1"], out["vehicle_control_mode"]
    assert (status.arming_state, status.nav_state, status.failsafe) == (2, 14, True)
    assert status.armed_time == status.nav_state_timestamp == ARRIVAL // 1000 + 2_000_000
    assert mode.flag_armed
    assert mode.flag_control_offboard_enabled
    assert mode.flag_control_velocity_enabled
    assert not mode.flag_control_position_enabled
    assert not mode.flag_control_manual_enabled


@pytest.mark.parametrize(
    ("state", "offboard", "flags"),
    [
        (0, {}, "manual attitude rates allocation"),
        (1, {}, "manual altitude climb_rate attitude rates allocation"),
        (2, {}, "manual position velocity altitude climb_rate attitude rates allocation"),
        (3, {}, "auto position velocity altitude climb_rate attitude rates allocation"),
        (10, {}, "manual rates allocation"),
        (13, {}, "termination"),
        (14, {}, "offboard"),
        (14, {"attitude": True, "body_rate": True}, "offboard attitude rates allocation"),
        (21, {}, "position velocity altitude climb_rate attitude rates allocation"),
        (23, {}, ""),
    ],
)
def test_controllers_of_each_mode(state: int, offboard: dict[str, bool], flags: str) -> None:
    """As PX4's getVehicleControlMode has them for a multicopter."""
    assert control_flags(state, offboard) == {f"flag_control_{name}_enabled": True for name in flags.split()}


def test_battery_ack_home_and_landed() -> None:
    heard = Heard()
    voltages = [4100, 4000, 3900, *[65535] * 7]
    battery = mavlink.MAVLink_battery_status_message(0, 0, 3, 2500, voltages, 1234, 800, -1, 75, charge_state=2)
    [found] = heard.give(battery)["battery_status_v1"]
    assert (found.voltage_v, found.current_a, found.remaining) == pytest.approx((12.0, 12.34, 0.75))
    assert (found.cell_count, found.warning, found.temperature) == (3, 1, 25.0)
    assert found.voltage_cell_v[:4] == pytest.approx([4.1, 4.0, 3.9, 0.0])
    [ack] = heard.give(mavlink.MAVLink_command_ack_message(400, 1, 100, -7, 255, 190))["vehicle_command_ack"]
    assert (ack.command, ack.result, ack.result_param1, ack.result_param2) == (400, 1, 100, -7)
    q = [math.cos(0.25), 0.0, 0.0, math.sin(0.25)]
    for number in (1, 2):
        message = mavlink.MAVLink_home_position_message(473977420, 85455940, 488_000, 1.0, 2.0, -0.5, q, 0, 0, 0)
        [home] = heard.give(message)["home_position_v1"]
        assert home.update_count == number
    assert (home.lat, home.lon, home.alt, home.x, home.z) == pytest.approx((47.397742, 8.545594, 488.0, 1.0, -0.5))
    assert home.yaw == pytest.approx(0.5)
    assert heard.give(mavlink.MAVLink_extended_sys_state_message(0, 1))["vehicle_land_detected"][0].landed
    assert "vehicle_land_detected" not in heard.give(mavlink.MAVLink_extended_sys_state_message(0, 0)), "not known"
    [wind] = heard.give(mavlink.MAVLink_wind_message(90.0, 4.0, 0.0))["wind"]
    assert (wind.windspeed_north, wind.windspeed_east) == pytest.approx((0.0, -4.0), abs=1e-6), "from the east"


# What comes in


VEHICLE = Telemetry(1, FrameNames(), lambda topic, data: None)
VEHICLE.home = Home(47.0, 8.0, 400.0, Ned((0.0, 0.0, 0.0)))
LIMITS = SetpointLimits()


def sent(name: str, **fields: Any) -> Any:
    """The message that an input becomes, as pymavlink reads it."""
    row = next(row for row in INPUTS if row.name == name)
    [(message, values)] = checked(row.convert(SimpleNamespace(**fields), VEHICLE), VEHICLE, LIMITS)
    [found] = mavlink.MAVLink(None).parse_buffer(frame_bytes(message, values, 255, 190, 0))
    return found


def trajectory(**fields: Any) -> Any:
    nothing = [NAN] * 3
    return sent(
        "trajectory_setpoint",
        **{"position": nothing, "velocity": nothing, "acceleration": nothing, "yaw": NAN, "yawspeed": NAN} | fields,
    )


def test_a_trajectory_setpoint_ignores_what_is_nan() -> None:
    found = trajectory(position=[1.0, -2.0, -5.0], yaw=1.57)
    assert (found.x, found.y, found.z, found.coordinate_frame) == (1.0, -2.0, -5.0, 1)
    assert found.yaw == pytest.approx(1.57)
    assert found.type_mask == 0b1001_1111_1000
    found = trajectory(position=[NAN, NAN, -5.0], velocity=[2.0, 0.0, NAN], yawspeed=0.1)
    assert found.type_mask == 0b0101_1110_0011, "height by position, the rest by velocity"
    with pytest.raises(SetpointRefused, match="all are NaN"):
        trajectory(yaw=1.0)
    with pytest.raises(SetpointRefused, match="limit_velocity"):
        trajectory(velocity=[200.0, 0.0, 0.0])
    with pytest.raises(SetpointRefused):
        trajectory(position=[math.inf, 0.0, 0.0])


def test_a_goto_says_what_mavlink_does_not_carry() -> None:
    flags = dict.fromkeys(("flag_set_max_horizontal_speed", "flag_set_max_vertical_speed"), False)
    fields: dict[str, Any] = {"position": [1.0, 2.0, -3.0], "flag_control_heading": True, "heading": 0.5, **flags}
    fields["flag_set_max_heading_rate"] = True
    found = sent("goto_setpoint", **fields)
    assert (found.x, found.y, found.z, found.yaw, found.type_mask) == (1.0, 2.0, -3.0, 0.5, 0b1001_1111_1000)
    row = next(row for row in INPUTS if row.name == "goto_setpoint")
    assert row.lost(SimpleNamespace(**fields)).startswith("max_heading_rate: not carried")
    assert not row.lost(SimpleNamespace(**fields | {"flag_set_max_heading_rate": False}))


def test_attitude_and_rates_with_the_thrust_upwards() -> None:
    q = [0.8, 0.0, 0.6, 0.0]
    found = sent("vehicle_attitude_setpoint", q_d=q, yaw_sp_move_rate=0.2, thrust_body=[0.0, 0.0, -0.6])
    assert list(found.q) == pytest.approx(q)
    assert (found.thrust, found.type_mask) == (pytest.approx(0.6), 3)
    assert found.body_yaw_rate == pytest.approx(0.2)
    found = sent("vehicle_rates_setpoint", roll=0.1, pitch=0.2, yaw=0.3, thrust_body=[0.0, 0.0, -0.5])
    assert (found.type_mask, found.thrust) == (128, 0.5)
    assert (found.body_roll_rate, found.body_pitch_rate, found.body_yaw_rate) == pytest.approx((0.1, 0.2, 0.3))
    with pytest.raises(SetpointRefused, match="norm"):
        sent("vehicle_attitude_setpoint", q_d=[0.0] * 4, yaw_sp_move_rate=0.0, thrust_body=[0.0, 0.0, -0.6])


def command(number: int, *params: float) -> Any:
    filled = {f"param{at}": each for at, each in enumerate([*params, *[0.0] * (7 - len(params))], start=1)}
    return sent("vehicle_command", command=number, confirmation=0, **filled)


def test_commands_keep_degrees_to_a_centimetre() -> None:
    found = command(400, 1.0)
    assert (found.get_type(), found.command, found.param1) == ("COMMAND_LONG", 400, 1.0)
    found = command(192, -1.0, 1.0, 0.0, NAN, 47.3977421, 8.5455943, 500.0)
    assert (found.get_type(), found.x, found.y, found.z, found.frame) == ("COMMAND_INT", 473977421, 85455943, 500.0, 5)
    found = command(100_001, 14.0)
    assert (found.command, found.param1, found.param2, found.param3) == (176, 1.0, 6.0, 0.0), "OFFBOARD"
    assert (command(100_001, 5.0).param2, command(100_001, 5.0).param3) == (4.0, 5.0), "AUTO.RTL"
    assert command(100_000, *[0.0] * 4, 47.0, 8.0, 488.5).altitude == 488_500
    with pytest.raises(SetpointRefused, match="PX4's own"):
        command(65537)
    with pytest.raises(SetpointRefused, match="no mode"):
        command(100_001, 12.0)


def test_sticks_odometry_and_distances() -> None:
    found = sent("manual_control_input", valid=True, roll=0.5, pitch=-0.25, yaw=1.0, throttle=0.0, buttons=3)
    assert (found.x, found.y, found.z, found.r, found.buttons) == (-250, 500, 500, 1000, 3)
    odometry: dict[str, Any] = {
        "pose_frame": 1,
        "velocity_frame": 3,
        "position": [1.0, 2.0, 3.0],
        "q": [1.0, 0.0, 0.0, 0.0],
    }
    odometry |= {"velocity": [0.1, 0.2, 0.3], "angular_velocity": [0.0] * 3, "reset_counter": 2, "quality": 80}
    variances: dict[str, Any] = {"position_variance": [1.0, 2.0, 3.0], "orientation_variance": [4.0, 5.0, 6.0]}
    variances |= {"velocity_variance": [NAN] * 3, "timestamp": 7, "timestamp_sample": 5}
    found = sent("vehicle_visual_odometry", **odometry, **variances)
    assert (found.frame_id, found.child_frame_id, found.estimator_type, found.time_usec) == (1, 12, 2, 5)
    matrix = np.zeros((6, 6))
    matrix[np.triu_indices(6)] = found.pose_covariance
    assert list(np.diag(matrix)) == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert math.isnan(found.velocity_covariance[0])
    ranges = {"min_distance": 0.2, "max_distance": 30.0, "current_distance": 4.25, "variance": 0.01, "type": 0}
    more = {"orientation": 25, "h_fov": 0.1, "v_fov": 0.2, "q": [1.0, 0.0, 0.0, 0.0], "signal_quality": -1}
    found = sent("distance_sensor", timestamp=2_000_000, **ranges, **more)
    assert (found.min_distance, found.max_distance, found.current_distance, found.covariance) == (20, 3000, 425, 100)
    assert (found.time_boot_ms, found.orientation, found.signal_quality) == (2000, 25, 0)


def test_offboard_control_mode_counts_from_the_outermost_controller() -> None:
    assert controlled({"velocity": True, "position": True}) == "position"
    assert controlled({"body_rate": True}) == "body_rate"
    assert controlled({}) == ""
    [(name, fields)] = checked([hold()], VEHICLE, LIMITS)
    assert (name, fields["type_mask"]) == ("SET_POSITION_TARGET_LOCAL_NED", 0b1101_1100_0111)


@given(st.lists(st.floats(width=32), min_size=11, max_size=11))
def test_no_setpoint_goes_out_with_numbers_that_are_not_finite(numbers: list[float]) -> None:
    try:
        found = trajectory(
            position=numbers[:3], velocity=numbers[3:6], acceleration=numbers[6:9], yaw=numbers[9], yawspeed=numbers[10]
        )
    except SetpointRefused:
        return
    assert all(math.isfinite(getattr(found, name)) for name in ("x", "y", "z", "vx", "afz", "yaw", "yaw_rate"))


OLDER = """
import sys
from sim_node.mavlink.parser import Parser
from sim_node.mavlink.px4.names import Px4Names
from sim_node.mavlink.px4.telemetry import readers
from sim_node.mavlink.telemetry import Heartbeat, PX4, Telemetry
from sim_node.mavlink.topics import FrameNames

vehicle = Telemetry(1, FrameNames(), lambda topic, data: None)
vehicle.heartbeat, vehicle.arrival_ns = Heartbeat(PX4, 2), 1_000_000_000
names = Px4Names(vehicle, lambda topic, data: print(topic.name, data.hex()), readers())
[parsed] = Parser(datagrams=True).feed(bytes.fromhex(sys.argv[1]))
names.receive(parsed.name, parsed.fields)
"""


def test_an_older_definition_gets_the_fields_that_it_has(tmp_path: Path) -> None:
    """PX4 1.14's VehicleGlobalPosition had no lat_lon_valid; what is installed counts."""
    text = "uint64 timestamp\nuint64 timestamp_sample\nfloat64 lat\nfloat64 lon\nfloat32 alt\nfloat32 eph\n"
    install(tmp_path, "px4_msgs", interface_texts("px4_msgs") | {"msg/VehicleGlobalPosition.msg": text})
    message = mavlink.MAVLink_global_position_int_message(1000, 473977420, 85455940, 488_000, 0, 0, 0, 0, 0)
    command = [sys.executable, "-c", OLDER, message.pack(MAV).hex()]
    environment = os.environ | {"AMENT_PREFIX_PATH": str(tmp_path)}
    printed = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()
    store = get_typestore(Stores.ROS2_JAZZY)
    store.register(get_types_from_msg(text, "px4_msgs/msg/VehicleGlobalPosition"))
    assert printed[0] == "fmu/out/vehicle_global_position"
    found: Any = store.deserialize_cdr(bytes.fromhex(printed[1]), "px4_msgs/msg/VehicleGlobalPosition")
    assert (found.lat, found.lon, found.alt) == pytest.approx((47.397742, 8.545594, 488.0))
    assert math.isnan(found.eph)


def test_ardupilot_has_the_nearest_modes() -> None:
    guided, rtl = 4, 6  # COPTER_MODE
    assert nav_state(Heartbeat(ARDUPILOT, 2, 1, guided, 4)) == 14
    assert nav_state(Heartbeat(ARDUPILOT, 2, 1, rtl, 4)) == 5
