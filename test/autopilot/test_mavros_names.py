"""MAVROS' names: frames, signs, units and unknown values as in its sources, read back by an independent library."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from dialect_messages import ARRIVAL, HeardVehicle, installed, typestore
from hypothesis import given
from hypothesis import strategies as st
from nightly import only
from pymavlink import mavutil
from pymavlink.dialects.v20 import all as mavlink
from scipy.spatial.transform import Rotation
from test_hostile import NUMBERS, framed, payload

from sim_node.mavlink.codec import frame_bytes
from sim_node.mavlink.mavros.commands import COMMANDS, command_of
from sim_node.mavlink.mavros.setpoints import SETPOINTS, STICKS, TURNS, message_of
from sim_node.mavlink.mavros.state import FUNCTIONS
from sim_node.mavlink.mavros.telemetry import ROWS, MavrosVehicle, readers, topics
from sim_node.mavlink.mavros.waypoints import item, waypoint
from sim_node.mavlink.parameters import ParamList, ParamSet, decoded, encoded
from sim_node.mavlink.parser import Parser
from sim_node.mavlink.setpoints import SetpointLimits, SetpointRefused
from sim_node.mavlink.telemetry import ARDUPILOT, PX4, Home
from sim_node.mavlink.topics import FrameNames, Profile
from sim_node.spatial.frames import Ned

FLU_FRD = np.diag([1.0, -1.0, -1.0])
# MAVROS' NED_ENU_Q and AIRCRAFT_BASELINK_Q (ftf_frame_conversions.cpp), scalar last.
NED_ENU_Q = Rotation.from_euler("ZYX", [math.pi / 2, 0.0, math.pi])
AIRCRAFT_BASELINK_Q = Rotation.from_euler("ZYX", [0.0, 0.0, math.pi])
PACKAGES = ("geographic_msgs", "mavros_msgs")


@pytest.fixture(scope="module", autouse=True)
def _definitions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with installed(tmp_path_factory.mktemp("prefix"), PACKAGES, readers):
        yield


class Heard(HeardVehicle):
    """A vehicle under MAVROS' names."""

    names: MavrosVehicle

    def __init__(self, autopilot: int = PX4) -> None:
        super().__init__(typestore(*PACKAGES), autopilot, frames=FrameNames("map", "v/odom", "v/base_link"))
        self.names = MavrosVehicle(self.vehicle, FrameNames(), self.send)


def xyz(vector: Any) -> list[float]:
    return [vector.x, vector.y, vector.z]


def rotation(q: Any) -> Rotation:
    return Rotation.from_quat([q.x, q.y, q.z, q.w])


def attitude(ned: Rotation, rates: tuple[float, float, float] = (0.1, 0.2, 0.3)) -> Any:
    x, y, z, w = ned.as_quat()
    return mavlink.MAVLink_attitude_quaternion_message(1000, w, x, y, z, *rates)


TILTED = Rotation.from_euler("ZYX", [0.7, -0.2, 0.4])


def test_quality_of_service_is_that_of_the_sources() -> None:
    qos = {topic.name: topic.profile for topic in topics()}
    for name in ("state", "extended_state", "sys_status", "estimator_status", "home_position/home"):
        assert qos[name] is Profile.STATE, name  # QoS(10).transient_local()
    for name in ("global_position/gp_origin", "mission/waypoints", "mission/reached"):
        assert qos[name] is Profile.LATCHED, name  # LatchedStateQoS
    for name in ("rc/in", "rc/out", "vfr_hud", "manual_control/control"):
        assert qos[name] is Profile.RELIABLE, name  # 10
    for name in ("imu/data", "local_position/pose", "global_position/global", "battery", "altitude"):
        assert qos[name] is Profile.SENSOR, name  # SensorDataQoS


def test_attitude_by_mavros_formula() -> None:
    heard = Heard()
    [imu] = heard.give(attitude(TILTED))["imu/data"]
    expected = NED_ENU_Q * TILTED * AIRCRAFT_BASELINK_Q
    assert (expected.inv() * rotation(imu.orientation)).magnitude() < 1e-6
    assert xyz(imu.angular_velocity) == pytest.approx([0.1, -0.2, -0.3])
    assert imu.header.frame_id == "base_link"
    assert imu.orientation_covariance[[0, 4, 8]] == pytest.approx([1.0, 1.0, 1.0])
    assert imu.angular_velocity_covariance[0] == pytest.approx(math.radians(0.02) ** 2)
    assert imu.linear_acceleration_covariance[0] == -1.0, "no force has been received"


def test_a_raw_imu_is_kept_for_the_attitude() -> None:
    heard = Heard()
    zeros = dict.fromkeys(("xmag", "ymag", "zmag", "diff_pressure", "pressure_alt"), 0.0)
    sent = {"time_usec": 1_000_000, "xacc": 0.5, "yacc": 0.25, "zacc": -9.75, "xgyro": 0.1, "ygyro": 0.2, "zgyro": 0.3}
    message = mavlink.MAVLink_highres_imu_message(
        **sent, **zeros, abs_pressure=955.0, temperature=20.0, fields_updated=0x1FFF
    )
    got = heard.give(message)
    [raw], [pressure] = got["imu/data_raw"], got["imu/static_pressure"]
    assert xyz(raw.linear_acceleration) == pytest.approx([0.5, -0.25, 9.75])
    assert raw.orientation_covariance[0] == -1.0
    assert raw.linear_acceleration_covariance[0] == pytest.approx(0.0003**2)
    assert pressure.fluid_pressure == pytest.approx(95_500.0)
    [imu] = heard.give(attitude(TILTED))["imu/data"]
    assert xyz(imu.linear_acceleration) == pytest.approx([0.5, -0.25, 9.75])
    assert imu.linear_acceleration_covariance[0] == pytest.approx(0.0003**2)
    assert "imu/data_raw" not in heard.give(mavlink.MAVLink_scaled_imu_message(1010, *range(1, 10)))


def test_position_and_velocity() -> None:
    heard = Heard()
    heard.give(attitude(TILTED))
    got = heard.give(mavlink.MAVLink_local_position_ned_message(1010, 1, 2, -3, 4, 5, -6))
    [pose], [odom] = got["local_position/pose"], got["local_position/odom"]
    [body], [local] = got["local_position/velocity_body"], got["local_position/velocity_local"]
    assert xyz(pose.pose.position) == [2.0, 1.0, 3.0]
    assert (pose.header.frame_id, odom.child_frame_id, body.header.frame_id) == ("map", "base_link", "base_link")
    assert xyz(local.twist.linear) == [5.0, 4.0, 6.0]
    in_body = (NED_ENU_Q * TILTED * AIRCRAFT_BASELINK_Q).inv().apply([5.0, 4.0, 6.0])
    assert xyz(body.twist.linear) == pytest.approx(in_body, abs=1e-6)
    assert xyz(odom.twist.twist.linear) == pytest.approx(in_body, abs=1e-6)
    # MAVROS tells where it is before it knows its attitude.
    [early] = Heard().give(mavlink.MAVLink_local_position_ned_message(1010, 1, 2, -3, 4, 5, -6))["local_position/pose"]
    assert (early.pose.orientation.w, xyz(early.pose.position)) == (1.0, [2.0, 1.0, 3.0])


def test_a_covariance_replaces_the_odometry() -> None:
    heard = Heard()
    heard.give(attitude(Rotation.identity()))
    upper = np.arange(45.0)
    message = mavlink.MAVLink_local_position_ned_cov_message(1_010_000, 1, *range(1, 10), upper)
    got = heard.give(message)
    [odom], [accel] = got["local_position/odom"], got["local_position/accel"]
    # The diagonal of 9 x 9 is at 0, 9, 17, 24, 30, 35, 39, 42, 44. East is the second axis of NED.
    assert np.diag(odom.pose.covariance.reshape(6, 6)).tolist() == [9.0, 0.0, 17.0, 0.0, 0.0, 0.0]
    # A vehicle that looks north moves forward by north.
    assert np.diag(odom.twist.covariance.reshape(6, 6))[:3] == pytest.approx([24.0, 30.0, 35.0])
    assert np.diag(accel.accel.covariance.reshape(6, 6))[:3].tolist() == [42.0, 39.0, 44.0]
    assert "local_position/pose" in got
    got = heard.give(mavlink.MAVLink_local_position_ned_message(1020, 1, 2, -3, 4, 5, -6))
    assert "local_position/odom" not in got
    assert "local_position/pose" in got


FIX = {"time_usec": 1_000_000, "lat": -353632620, "lon": 1491652370, "alt": 584_000, "satellites_visible": 10}


def test_fixes_and_their_covariances() -> None:
    heard = Heard()
    raw = {"vel": 500, "cog": 9000, "eph": 121, "epv": 200}
    got = heard.give(mavlink.MAVLink_gps_raw_int_message(**FIX, **raw, fix_type=3, h_acc=2000, v_acc=3000))
    [fix], [vel] = got["global_position/raw/fix"], got["global_position/raw/gps_vel"]
    assert fix.position_covariance[[0, 4, 8]].tolist() == [4.0, 4.0, 9.0]
    assert (fix.position_covariance_type, fix.status.status, fix.status.service) == (2, 0, 1)
    # EGM96 at Canberra: 19.3 m (ArduPilot's own AP_Math test).
    assert fix.altitude == pytest.approx(584.0 + 19.3, abs=0.5)
    assert xyz(vel.twist.linear) == pytest.approx([5.0, 0.0, 0.0], abs=1e-9)
    [whole] = heard.give(
        mavlink.MAVLink_global_position_int_message(1010, *list(FIX.values())[1:4], 0, 0, 0, 0, 65535)
    )["global_position/global"]
    assert whole.position_covariance.tolist() == fix.position_covariance.tolist()
    assert math.isnan(heard.messages["global_position/compass_hdg"][0].data)
    [fix] = heard.give(mavlink.MAVLink_gps_raw_int_message(**FIX, **raw, fix_type=1))["global_position/raw/fix"]
    assert (fix.status.status, fix.position_covariance_type) == (-1, 1)
    assert fix.position_covariance[[0, 8]] == pytest.approx([1.21**2, 4.0])
    unknown = raw | {"eph": 65535}
    [fix] = heard.give(mavlink.MAVLink_gps_raw_int_message(**FIX, **unknown, fix_type=3))["global_position/raw/fix"]
    assert (fix.position_covariance_type, fix.position_covariance[0]) == (0, -1.0)


def test_the_global_odometry_counts_from_home() -> None:
    """A hundred-thousandth of a degree of latitude is 1.1094 m at 35.4 degrees (meridian radius of WGS84)."""
    heard = Heard()
    heard.vehicle.home = Home(-35.363262, 149.165237, 584.0, None)
    sent = (FIX["lat"] + 1000, FIX["lon"], 594_000, 9_000, 100, 200, 300, 9000)
    [odom] = heard.give(mavlink.MAVLink_global_position_int_message(1010, *sent))["global_position/local"]
    a, e2 = 6378137.0, 0.00669437999014
    north = math.radians(1e-4) * a * (1 - e2) / (1 - e2 * math.sin(math.radians(35.363262)) ** 2) ** 1.5
    assert xyz(odom.pose.pose.position) == pytest.approx([0.0, north, 9.0], abs=2e-3)
    assert xyz(odom.twist.twist.linear) == [2.0, 1.0, -3.0]
    assert np.diag(odom.pose.covariance.reshape(6, 6))[3:].tolist() == [99999.0] * 3
    assert odom.twist.covariance[0] == -1.0


def test_home() -> None:
    w, x, y, z = 0.5, 0.5, 0.5, 0.5
    message = mavlink.MAVLink_home_position_message(
        *(-353632620, 1491652370, 584_000, 1.0, 2.0, -3.0, [w, x, y, z], 4.0, 5.0, -6.0)
    )
    [home] = Heard().give(message)["home_position/home"]
    assert home.geo.latitude == pytest.approx(-35.363262)
    assert (xyz(home.position), xyz(home.approach)) == ([2.0, 1.0, 3.0], [5.0, 4.0, 6.0])
    expected = NED_ENU_Q * Rotation.from_quat([x, y, z, w])
    assert (expected.inv() * rotation(home.orientation)).magnitude() < 1e-6


def test_an_old_time_is_no_reboot() -> None:
    """PX4 sends its home every now and then, with the time at which it was set."""
    heard = Heard()
    for number in range(50):
        heard.vehicle.arrival_ns = ARRIVAL + number * 20_000_000
        heard.give(mavlink.MAVLink_local_position_ned_message(600_000 + 20 * number, 1, 2, -3, 4, 5, -6))
    sent = mavlink.MAVLink_home_position_message(
        *(-353632620, 1491652370, 584_000), *[0.0] * 3, [1, 0, 0, 0], *[0.0] * 3, 5_000_000
    )
    [home] = heard.give(sent)["home_position/home"]
    assert heard.vehicle.clock.events.reboots == 0
    stamp_ns = home.header.stamp.sec * 1_000_000_000 + home.header.stamp.nanosec
    assert ARRIVAL - stamp_ns == 595_000_000_000
    [pose] = heard.give(mavlink.MAVLink_local_position_ned_message(601_000, 1, 2, -3, 4, 5, -6))["local_position/pose"]
    assert pose.header.stamp.sec == (ARRIVAL + 980_000_000) // 1_000_000_000


def test_state_and_battery() -> None:
    heard = Heard()
    [state] = heard.give(mavlink.MAVLink_heartbeat_message(2, 12, 0b1000_1001, 6 << 16, 4, 3))["state"]
    assert (state.connected, state.armed, state.guided, state.manual_input) == (True, True, True, False)
    assert (state.mode, state.system_status) == ("OFFBOARD", 4)
    heard.messages.clear()
    heard.names.disconnected()
    [state] = heard.messages["state"]
    assert (state.connected, state.armed, state.mode, state.system_status) == (False, False, "", 0)
    cells = [65534, 1000] + [65535] * 8
    sent = mavlink.MAVLink_battery_status_message(0, 0, 1, 2500, cells, 1500, -1, -1, 80)
    [battery] = heard.give(sent)["battery"]
    assert battery.voltage == pytest.approx(66.534, abs=1e-4)
    assert (battery.current, battery.percentage) == pytest.approx((-15.0, 0.8))
    assert (battery.location, battery.power_supply_technology) == ("id0", 3)
    assert "battery" not in heard.give(mavlink.MAVLink_sys_status_message(0, 0, 0, 500, 12_000, 100, 50, *[0] * 6))


def test_channels_of_two_ports() -> None:
    heard = Heard()
    [out] = heard.give(mavlink.MAVLink_servo_output_raw_message(1_000_000, 1, *range(1001, 1017)))["rc/out"]
    assert out.channels.tolist() == [0] * 16 + list(range(1001, 1017))
    [rc] = heard.give(mavlink.MAVLink_rc_channels_message(1000, 2, *range(1101, 1119), 200))["rc/in"]
    assert (rc.channels.tolist(), rc.rssi) == ([1101, 1102], 200)


numbers = st.floats(-19.0, 19.0, width=32)
vectors = st.builds(lambda x, y, z: SimpleNamespace(x=x, y=y, z=z), *[st.floats(-5.0, 5.0, width=32)] * 3)
yaws = st.floats(-3.125, 3.125, width=32)
LIMITS = SetpointLimits()


@given(vectors, vectors, vectors, yaws, numbers)
def test_a_raw_setpoint_comes_back_as_the_target(p: Any, v: Any, a: Any, yaw: float, rate: float) -> None:
    """What the autopilot would tell of a setpoint in its local frame is what was sent (setpoint_raw/target_local)."""
    row = next(row for row in SETPOINTS if row.name == "setpoint_raw/local")
    sent = {"position": p, "velocity": v, "acceleration_or_force": a, "yaw": yaw, "yaw_rate": rate}
    heard = Heard()
    fields = message_of(row, SimpleNamespace(**sent, coordinate_frame=1, type_mask=0), heard.vehicle, LIMITS)
    heard.take(frame_bytes("POSITION_TARGET_LOCAL_NED", fields, 1, 1, 0))
    [target] = heard.messages["setpoint_raw/target_local"]
    for name in ("position", "velocity", "acceleration_or_force"):
        assert xyz(getattr(target, name)) == pytest.approx(xyz(sent[name]), abs=1e-5)
    assert math.remainder(target.yaw - yaw, 2 * math.pi) == pytest.approx(0.0, abs=1e-5)
    assert target.yaw_rate == pytest.approx(rate)


@given(st.lists(st.floats(-1.0, 1.0), min_size=4, max_size=4).filter(lambda q: math.hypot(*q) > 0.1))
def test_an_attitude_setpoint_by_mavros_formula(q: list[float]) -> None:
    x, y, z, w = (part / math.hypot(*q) for part in q)
    row = next(row for row in SETPOINTS if row.name == "setpoint_raw/attitude")
    rates = SimpleNamespace(x=0.1, y=0.2, z=0.3)
    orientation = SimpleNamespace(x=x, y=y, z=z, w=w)
    sent = SimpleNamespace(orientation=orientation, body_rate=rates, type_mask=0, thrust=0.5)
    fields = message_of(row, sent, Heard().vehicle, LIMITS)
    found = Rotation.from_quat([*fields["q"][1:], fields["q"][0]])
    expected = NED_ENU_Q * Rotation.from_quat([x, y, z, w]) * AIRCRAFT_BASELINK_Q
    assert (expected.inv() * found).magnitude() < 1e-6
    assert [fields[f"body_{axis}_rate"] for axis in ("roll", "pitch", "yaw")] == [0.1, -0.2, -0.3]


def pose(x: float, y: float, z: float, yaw: float = 0.0) -> Any:
    quaternion = SimpleNamespace(x=0.0, y=0.0, z=math.sin(yaw / 2), w=math.cos(yaw / 2))
    return SimpleNamespace(pose=SimpleNamespace(position=SimpleNamespace(x=x, y=y, z=z), orientation=quaternion))


def test_a_position_setpoint() -> None:
    """Without a frame_id and a stamp, as MAVROS' own example sends it."""
    row = next(row for row in SETPOINTS if row.name == "setpoint_position/local")
    fields = message_of(row, pose(1.0, 2.0, 3.0, math.pi / 2), Heard().vehicle, LIMITS)
    assert [fields[axis] for axis in "xyz"] == [2.0, 1.0, -3.0]
    assert fields["yaw"] == pytest.approx(0.0, abs=1e-12), "north"
    assert fields["type_mask"] == (1 << 11) | (7 << 6) | (7 << 3)
    with pytest.raises(SetpointRefused, match="limit_height"):
        message_of(row, pose(0.0, 0.0, 500.0), Heard().vehicle, LIMITS)
    with pytest.raises(SetpointRefused, match="not finite"):
        message_of(row, pose(math.nan, 0.0, 1.0), Heard().vehicle, LIMITS)


def test_a_velocity_in_the_vehicles_axes() -> None:
    row = next(row for row in SETPOINTS if row.name == "setpoint_raw/local")
    forward = SimpleNamespace(x=1.0, y=2.0, z=3.0)
    sent = {"position": forward, "velocity": forward, "acceleration_or_force": forward, "yaw": 0.5, "yaw_rate": 0.25}
    message = SimpleNamespace(**sent, coordinate_frame=8, type_mask=0b0000_0110_0000_0111)
    fields = message_of(row, message, Heard().vehicle, LIMITS)
    assert [fields[f"v{axis}"] for axis in "xyz"] == [1.0, -2.0, -3.0]
    assert (fields["yaw"], fields["yaw_rate"]) == (-0.5, -0.25)


EXTREMES = (math.nan, math.inf, -math.inf, 1e308, -1e308, 3.5e38, 181.0, -1e6, 2.0, 0.0, 0.5)


class AnyNumbers:
    """A message that has any field, with any number."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def __getattr__(self, name: str) -> Any:
        if name in ("coordinate_frame", "type_mask", "buttons", "buttons2", "enabled_extensions"):
            return self._chance.choice((0, 1, 5, 6, 8, 9, 255, 65535))
        if name in ("altitude", "yaw", "yaw_rate", "thrust", "latitude", "longitude", "w", *STICKS.split()):
            return self._chance.choice(EXTREMES)
        return [self._chance.randrange(65536) for _ in range(18)] if name == "channels" else self


@pytest.mark.parametrize("row", [*SETPOINTS, *TURNS], ids=lambda row: row.name)
def test_any_setpoint_is_refused_or_fits(row: Any) -> None:
    chance = random.Random(row.name)
    vehicle = Heard().vehicle
    vehicle.home = Home(47.0, 8.0, 400.0, Ned((3.0, -2.0, 0.5)))
    more = {"thrust": 0.5} if row in TURNS else {}
    sent = 0
    for _ in range(200):
        with suppress(SetpointRefused):
            fields = message_of(row, AnyNumbers(chance), vehicle, LIMITS, **more)
            frame_bytes(row.message, fields, 1, 1, 0)
            sent += 1
    assert sent < 200 or row.name == "rc/override"


MESSAGES = {row.message for row in ROWS} | {name for each in FUNCTIONS for name in each.messages}


# Few messages are read otherwise where ArduPilot has sent them.
@pytest.mark.parametrize("autopilot", only([ARDUPILOT, PX4], 1))
@pytest.mark.parametrize("name", sorted(MESSAGES))
def test_any_payload_becomes_messages_or_nothing(name: str, autopilot: int) -> None:
    chance, heard = random.Random(name), Heard(autopilot)
    size = mavlink.mavlink_map[NUMBERS[name]].unpacker.size
    for number in range(100):
        heard.vehicle.arrival_ns = ARRIVAL + number * 20_000_000
        heard.messages.clear()
        heard.take(framed(NUMBERS[name], payload(chance, size), number & 0xFF))


def test_takeoff_and_arming_as_commands() -> None:
    by_name = {row.name: row for row in COMMANDS}
    request = SimpleNamespace(min_pitch=0.1, yaw=0.2, latitude=1.0, longitude=2.0, altitude=5.0)
    [(name, fields)] = command_of(by_name["cmd/takeoff"], request).start(0)
    assert (name, fields["command"]) == ("COMMAND_LONG", 22)
    assert [fields[f"param{number}"] for number in range(1, 8)] == [0.1, 0.0, 0.0, 0.2, 1.0, 2.0, 5.0]
    [(_, fields)] = command_of(by_name["cmd/arming"], SimpleNamespace(value=True)).start(0)
    assert (fields["command"], fields["param1"]) == (400, 1.0)


@given(st.sampled_from([0, 1, 2, 3, 6, 10]), st.floats(-90.0, 90.0), st.floats(-180.0, 180.0), st.floats(-1e4, 1e4))
def test_a_waypoint_comes_back(frame: int, latitude: float, longitude: float, altitude: float) -> None:
    point = {"frame": frame, "command": 16, "is_current": False, "autocontinue": True, "x_lat": latitude}
    point |= {"y_long": longitude, "z_alt": altitude, **{f"param{number}": 0.5 for number in range(1, 5)}}
    [parsed] = Parser(datagrams=True).feed(frame_bytes("MISSION_ITEM_INT", item(0, point), 1, 1, 0))
    step = {0: 1e-7, 3: 1e-7, 6: 1e-7, 10: 1e-7, 1: 1e-4}.get(frame, 1.0)
    found = waypoint(parsed.fields)
    assert found["x_lat"] == pytest.approx(latitude, abs=0.51 * step)
    assert found["y_long"] == pytest.approx(longitude, abs=0.51 * step)
    assert {name: found[name] for name in point if name not in ("x_lat", "y_long", "z_alt")} == {
        name: point[name] for name in point if name not in ("x_lat", "y_long", "z_alt")
    }


@pytest.mark.parametrize("autopilot", [ARDUPILOT, PX4])
@given(st.sampled_from([(1, 0, 255), (2, -128, 127), (4, -32768, 32767), (6, -(2**24), 2**24)]), st.data())
def test_parameters_survive_the_wire(autopilot: int, kind: tuple[int, int, int], data: Any) -> None:
    number, low, high = kind
    value = data.draw(st.integers(low, high))
    fields = {"param_id": "SYS", "param_index": 3, "param_count": 9, **encoded(value, autopilot, number)}
    frame = frame_bytes("PARAM_VALUE", fields, 1, 1, 0)
    [parsed] = Parser(datagrams=True).feed(frame)
    assert decoded(parsed.fields, autopilot) == (value, number, 3, 9)
    # pymavlink decodes the same bytes.
    found = mavutil.mavlink.MAVLink(None).parse_buffer(bytearray(frame))[0]
    if autopilot == ARDUPILOT:
        assert found.param_value == value


def test_lost_parameters_are_asked_for() -> None:
    listing = ParamList()
    assert listing.start(0) == [("PARAM_REQUEST_LIST", {})]

    def value(index: int, now_ns: int) -> None:
        fields = {"param_id": f"P{index}", "param_index": index, "param_count": 5, "param_type": 9}
        [parsed] = Parser(datagrams=True).feed(frame_bytes("PARAM_VALUE", fields, 1, 1, 0))
        listing.receive(parsed, now_ns)

    for index in (0, 2, 4):
        value(index, 1000)
    assert listing.tick(1_000_000) == []
    asked = listing.tick(1_000_002_000)
    assert [fields["param_index"] for _, fields in asked] == [1, 3]
    value(1, 1_000_003_000)
    value(3, 1_000_004_000)
    assert listing.result is not None
    assert listing.result.value == 5


def test_a_parameter_that_stays_is_no_success() -> None:
    setting = ParamSet("MPC_XY_VEL_MAX", encoded(5.0, PX4, 9), PX4)
    setting.start(0)
    fields = {"param_id": "MPC_XY_VEL_MAX", "param_value": 12.0, "param_type": 9, "param_count": 1}
    [parsed] = Parser(datagrams=True).feed(frame_bytes("PARAM_VALUE", fields, 1, 1, 0))
    setting.receive(parsed, 1)
    assert setting.result is not None
    assert (setting.result.ok, setting.result.value.value) == (False, 12.0)
