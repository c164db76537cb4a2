"""ArduPilot's DDS names: frames, units and unknown values as in AP_DDS, read back by an independent library."""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from dialect_messages import HeardVehicle, installed, typestore
from hypothesis import given
from hypothesis import strategies as st
from pymavlink import mavutil
from pymavlink.dialects.v20 import all as mavlink
from scipy.spatial.transform import Rotation

from sim_node.mavlink.ardupilot.inputs import INPUTS, joy_input
from sim_node.mavlink.ardupilot.names import ApNames, mode_number, set_mode_number
from sim_node.mavlink.ardupilot.telemetry import readers, topics
from sim_node.mavlink.codec import frame_bytes
from sim_node.mavlink.dialects import checked
from sim_node.mavlink.parameters import ParamValue
from sim_node.mavlink.setpoints import SetpointLimits, SetpointRefused
from sim_node.mavlink.telemetry import ARDUPILOT, PX4, Heartbeat, Home, Telemetry
from sim_node.mavlink.topics import FrameNames
from sim_node.spatial.frames import AttitudeEnu, Ned

MS = 1_000_000
NAN = math.nan
TILTED = Rotation.from_euler("ZYX", [0.7, -0.2, 0.4])
# AP_DDS turns an attitude (w, x, y, z) of FRD in NED by aux = (w, y, x, -z) and a quarter turn about z, on the right.
QUARTER = Rotation.from_euler("Z", math.pi / 2)
PACKAGES = ("geographic_msgs", "ardupilot_msgs")


@pytest.fixture(scope="module", autouse=True)
def _definitions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with installed(tmp_path_factory.mktemp("prefix"), PACKAGES, readers):
        yield


class Heard(HeardVehicle):
    """A vehicle under ArduPilot's names; topics are below ap."""

    names: ApNames

    def __init__(self, autopilot: int = ARDUPILOT) -> None:
        super().__init__(typestore(*PACKAGES), autopilot)
        self.names = ApNames(self.vehicle, FrameNames(), self.send, readers())


def xyz(vector: Any) -> list[float]:
    return [vector.x, vector.y, vector.z]


def attitude(ned: Rotation) -> Any:
    x, y, z, w = ned.as_quat()
    return mavlink.MAVLink_attitude_quaternion_message(1000, w, x, y, z, 0.1, 0.2, 0.3)


def by_ap_dds(ned: Rotation) -> Rotation:
    x, y, z, w = ned.as_quat()
    return Rotation.from_quat([y, x, -z, w]) * QUARTER


def turned(found: Any, expected: Rotation) -> float:
    got = Rotation.from_quat([found.x, found.y, found.z, found.w])
    return float((got.inv() * expected).magnitude())


def local(x: float, y: float, z: float, vx: float = 0.0, vy: float = 0.0, vz: float = 0.0) -> Any:
    return mavlink.MAVLink_local_position_ned_message(1000, x, y, z, vx, vy, vz)


def test_quality_of_service_is_that_of_the_topic_table() -> None:
    qos = {topic.name: topic.profile.value for topic in topics()}
    for name in ("time", "clock"):
        assert (qos[name].reliability, qos[name].durability, qos[name].depth) == ("reliable", "volatile", 20)
    for name in ("tf_static", "goal_lla", "status"):
        assert (qos[name].reliability, qos[name].durability, qos[name].depth) == ("reliable", "transient_local", 1)
    assert (qos["rc"].reliability, qos["rc"].depth) == ("best_effort", 1)
    others = qos.keys() - {"time", "clock", "tf_static", "goal_lla", "status", "rc"}
    assert {(qos[name].reliability, qos[name].durability, qos[name].depth) for name in others} == {
        ("best_effort", "volatile", 5)
    }


def test_pose_and_twist_by_ap_dds_formula() -> None:
    heard = Heard()
    heard.vehicle.home = Home(47.0, 8.0, 400.0, Ned((10.0, 20.0, -1.0)))
    heard.give(attitude(TILTED))
    out = heard.give(local(12.0, 23.0, -6.0, 0.1, 0.2, -0.3))
    [pose], [twist] = out["pose/filtered"], out["twist/filtered"]
    assert xyz(pose.pose.position) == pytest.approx([3.0, 2.0, 5.0], abs=1e-6), "east, north and up of home"
    assert turned(pose.pose.orientation, by_ap_dds(TILTED)) < 1e-6
    assert xyz(twist.twist.linear) == pytest.approx([0.2, 0.1, 0.3], abs=1e-7)
    assert xyz(twist.twist.angular) == pytest.approx([0.1, -0.2, -0.3], abs=1e-7)
    assert pose.header.frame_id == twist.header.frame_id == "base_link"


def test_a_pose_waits_for_home() -> None:
    heard = Heard()
    out = heard.give(local(1.0, 2.0, -3.0))
    assert "pose/filtered" not in out
    assert "twist/filtered" in out
    assert heard.vehicle.dropped["LOCAL_POSITION_NED as pose/filtered: home is not known"] == 1


def test_topics_come_no_more_often_than_from_ap_dds() -> None:
    """Of a hundred messages in a second, those that are due: every 33 ms, and every 10 ms."""
    heard, poses, times = Heard(), 0, 0
    heard.vehicle.home = Home(47.0, 8.0, 400.0, Ned((0.0, 0.0, 0.0)))
    for _ in range(250):
        out = heard.give(local(0.0, 0.0, 0.0), after_ns=4 * MS)
        poses, times = poses + len(out.get("pose/filtered", [])), times + len(out.get("time", []))
    assert poses in (30, 31)
    assert times in (100, 101)


def test_time_is_the_clock_of_the_graph() -> None:
    heard = Heard()
    heard.vehicle.arrival_ns = 12_340_000_000
    out = heard.give(attitude(TILTED))
    [time], [clock] = out["time"], out["clock"]
    assert (time.sec, time.nanosec) == (clock.clock.sec, clock.clock.nanosec) == (12, 340_000_000)


def test_geopose_is_above_mean_sea_level() -> None:
    heard = Heard()
    heard.give(attitude(TILTED))
    message = mavlink.MAVLink_global_position_int_message(1000, 473977420, 85455940, 488_123, 10_000, 0, 0, 0, 0)
    [found] = heard.give(message)["geopose/filtered"]
    place = found.pose.position
    assert (place.latitude, place.longitude, place.altitude) == pytest.approx((47.397742, 8.545594, 488.123))
    assert turned(found.pose.orientation, by_ap_dds(TILTED)) < 1e-6


def gps(fix_type: int, h_acc: int = 1500, v_acc: int = 2500) -> Any:
    accuracies = {"alt_ellipsoid": 535_000, "h_acc": h_acc, "v_acc": v_acc, "vel_acc": 300, "hdg_acc": 0}
    place = (473977420, 85455940, 488_123)
    return mavlink.MAVLink_gps_raw_int_message(5_000_000, fix_type, *place, 80, 120, 500, 27_000, 9, **accuracies)


@pytest.mark.parametrize(("fix_type", "status"), [(0, -1), (1, -1), (2, 0), (3, 0), (4, 1), (5, 2), (6, 2)])
def test_navsat_of_each_kind_of_fix(fix_type: int, status: int) -> None:
    out = Heard().give(gps(fix_type))
    [fix], [still] = out["navsat"], out["tf_static"]
    assert (fix.status.status, fix.status.service, fix.header.frame_id) == (status, 1, "0")
    if status < 0:
        assert (fix.latitude, fix.position_covariance_type) == (0.0, 0)
    else:
        assert (fix.latitude, fix.longitude, fix.altitude) == pytest.approx((47.397742, 8.545594, 488.123))
        assert fix.position_covariance.reshape(3, 3) == pytest.approx(np.diag([2.25, 2.25, 6.25]))
        assert fix.position_covariance_type == 2
    [transform] = still.transforms
    assert (transform.header.frame_id, transform.child_frame_id) == ("base_link", "GPS_0")
    assert transform.transform.rotation.w == 1.0


def test_a_fix_without_accuracies_has_an_unknown_covariance() -> None:
    [fix] = Heard().give(gps(3, 0, 0))["navsat"]
    assert fix.position_covariance_type == 0
    assert not fix.position_covariance.any()


def test_the_antenna_is_where_the_parameters_say_in_flu() -> None:
    heard = Heard()
    assert len(heard.give(gps(3))["tf_static"]) == 1
    assert "tf_static" not in heard.give(gps(3)), "it is latched"
    for number, (axis, metres) in enumerate(zip("XYZ", (0.5, 0.25, -0.75), strict=True)):
        heard.give(mavlink.MAVLink_param_value_message(f"GPS1_POS_{axis}".encode(), metres, 9, 3, number))
    [still] = heard.give(gps(3))["tf_static"]
    assert xyz(still.transforms[0].transform.translation) == pytest.approx([0.5, -0.25, 0.75])


def test_the_imu_is_in_frd_with_the_quaternion_in_ap_dds_order() -> None:
    heard = Heard()
    heard.give(attitude(TILTED))
    message = mavlink.MAVLink_raw_imu_message(1_000_000, 10, -20, -1000, 100, 200, 300, 0, 0, 0)
    [imu] = heard.give(message)["imu/experimental/data"]
    x, y, z, w = TILTED.as_quat()
    assert [*xyz(imu.orientation), imu.orientation.w] == pytest.approx([w, x, y, z], abs=1e-6)
    assert xyz(imu.angular_velocity) == pytest.approx([0.1, 0.2, 0.3])
    assert xyz(imu.linear_acceleration) == pytest.approx([0.0980665, -0.196133, -9.80665])
    assert imu.header.frame_id == "base_link_ned"
    for name in ("orientation", "angular_velocity", "linear_acceleration"):
        assert list(getattr(imu, f"{name}_covariance")) == [-1.0, *[0.0] * 8]


def battery(current: int = 1234, left: int = 75, **more: Any) -> Any:
    voltages = [4100, 4000, 3900, *[65535] * 7]
    return mavlink.MAVLink_battery_status_message(0, 0, 3, 2500, voltages, current, 800, -1, left, **more)


def test_batteries_once_a_second_with_the_capacity_of_the_parameters() -> None:
    heard = Heard()
    [found] = heard.give(battery())["battery"]
    assert (found.voltage, found.current, found.percentage) == pytest.approx((12.0, -12.34, 0.75))
    assert (found.power_supply_status, found.power_supply_health, found.present) == (2, 1, True)
    assert (found.header.frame_id, found.temperature) == ("0", 25.0)
    assert list(found.cell_voltage) == pytest.approx([4.1, 4.0, 3.9])
    assert math.isnan(found.design_capacity)
    assert math.isnan(found.charge)
    assert "battery" not in heard.give(battery(), after_ns=900 * MS)
    heard.give(mavlink.MAVLink_param_value_message(b"BATT_CAPACITY", 5000.0, 6, 1, 0))
    [found] = heard.give(battery(left=100), after_ns=100 * MS)["battery"]
    assert (found.design_capacity, found.charge, found.power_supply_status) == pytest.approx((5.0, 5.0, 4))


@pytest.mark.parametrize(("current", "status"), [(-1, 0), (-500, 1), (500, 2), (0, 3)])
def test_a_battery_is_charged_by_the_sign_of_its_current(current: int, status: int) -> None:
    [found] = Heard().give(battery(current))["battery"]
    assert found.power_supply_status == status
    assert math.isnan(found.current) == (current == -1)


def test_the_airspeed_is_the_velocity_through_the_wind() -> None:
    heard = Heard()
    heard.give(attitude(Rotation.from_euler("Z", math.pi / 2)))  # heading east
    hud = mavlink.MAVLink_vfr_hud_message(20.0, 20.0, 90, 50, 0.0, 0.0)
    [found] = heard.give(hud)["airspeed"]
    assert xyz(found.true_airspeed) == pytest.approx([20.0, 0.0, 0.0])
    assert found.eas_2_tas == pytest.approx(1.0)
    heard.give(mavlink.MAVLink_wind_message(0.0, 4.0, 0.0))  # from the north
    heard.give(local(0.0, 0.0, 0.0, 0.0, 10.0, -1.0))
    [found] = heard.give(hud, after_ns=40 * MS)["airspeed"]
    assert xyz(found.true_airspeed) == pytest.approx([10.0, 4.0, 1.0], abs=1e-6), "east at 10, the wind from its left"


@pytest.mark.parametrize(("metres", "density"), [(0.0, 1.225), (1000.0, 1.11164), (5000.0, 0.736116), (1e4, 0.412707)])
def test_the_density_factor_is_that_of_the_standard_atmosphere(metres: float, density: float) -> None:
    """ICAO's table, Doc 7488, by geopotential altitude."""
    [factor] = Heard().names.density_factor(metres)
    assert factor == pytest.approx(math.sqrt(1.2250 / density), rel=1e-4)


def channels(count: int) -> Any:
    return mavlink.MAVLink_rc_channels_message(1000, count, *[1500] * 18, 127)


def test_the_radio_as_often_as_it_is_connected() -> None:
    heard = Heard()
    [found] = heard.give(channels(8))["rc"]
    assert found.is_connected
    assert found.receiver_rssi == 50
    assert list(found.channels) == [1500] * 8
    assert len(found.active_overrides) == 8
    assert len(heard.give(channels(8), after_ns=100 * MS)["rc"]) == 1
    failing = mavlink.MAVLink_sys_status_message(1 << 16, 1 << 16, 0, 0, 12_000, 0, 50, *[0] * 6)
    heard.give(failing)
    assert not heard.give(channels(8), after_ns=1000 * MS)["rc"][0].is_connected
    assert "rc" not in heard.give(channels(8), after_ns=900 * MS)
    assert not heard.give(channels(0), after_ns=100 * MS)["rc"][0].is_connected


def goal(lat: float, lon: float, alt: float, frame: int = 0, mask: int = 0) -> Any:
    place = round(lat * 1e7), round(lon * 1e7), alt
    return mavlink.MAVLink_position_target_global_int_message(1000, frame, mask, *place, *[0.0] * 8)


def test_the_goal_is_published_when_it_changes() -> None:
    heard = Heard()
    heard.vehicle.home = Home(47.0, 8.0, 400.0, Ned((0.0, 0.0, 0.0)))
    [found] = heard.give(goal(47.1, 8.2, 450.0))["goal_lla"]
    place = found.position
    assert (place.latitude, place.longitude, place.altitude) == pytest.approx((47.1, 8.2, 450.0))
    assert "goal_lla" not in heard.give(goal(47.1, 8.2, 450.0), after_ns=300 * MS)
    assert "goal_lla" not in heard.give(goal(47.1, 8.3, 450.0, mask=7), after_ns=300 * MS)
    [found] = heard.give(goal(47.1, 8.3, 50.0, frame=6), after_ns=300 * MS)["goal_lla"]
    assert found.position.altitude == pytest.approx(450.0), "above home"


def test_a_goal_in_local_ned_has_its_place() -> None:
    heard = Heard()
    heard.give(mavlink.MAVLink_gps_global_origin_message(470000000, 80000000, 400_000, 0))
    message = mavlink.MAVLink_position_target_local_ned_message(1000, 1, 0, 1000.0, 0.0, -10.0, *[0.0] * 8)
    [found] = heard.give(message)["goal_lla"]
    # A minute of latitude has 1853 m there.
    assert (found.position.latitude - 47.0) * 60.0 == pytest.approx(1000.0 / 1852.9, rel=1e-3)
    assert found.position.altitude == pytest.approx(410.0, abs=0.1)


def heartbeat(mode: int, *, armed: bool = False, status: int = 3, kind: int = 2) -> Any:
    return mavlink.MAVLink_heartbeat_message(kind, 3, 1 | (128 if armed else 0), mode, status, 3)


def test_status_and_origin_with_heartbeats() -> None:
    heard = Heard()
    heard.give(mavlink.MAVLink_gps_global_origin_message(470000000, 80000000, 400_000, 0))
    out = heard.give(heartbeat(0))
    [status], [origin] = out["status"], out["gps_global_origin/filtered"]
    assert (status.vehicle_type, status.armed, status.mode, status.flying, status.external_control) == (
        2,
        False,
        0,
        False,
        True,
    )
    assert (origin.position.latitude, origin.position.altitude) == pytest.approx((47.0, 400.0))
    assert "status" not in heard.give(heartbeat(0)), "nothing has changed"
    [status] = heard.give(heartbeat(4, armed=True, status=4))["status"]
    assert (status.armed, status.mode, status.flying) == (True, 4, True)
    [status] = heard.give(mavlink.MAVLink_extended_sys_state_message(0, 1))["status"]
    assert not status.flying, "it has landed"
    low = 1 << 25
    [status] = heard.give(mavlink.MAVLink_sys_status_message(low, low, 0, 0, 12_000, 0, 5, *[0] * 6))["status"]
    assert list(status.failsafe) == [22]


@pytest.mark.parametrize(
    ("kind", "firmware"), [(1, 3), (2, 2), (10, 1), (11, 1), (12, 7), (13, 2), (20, 3), (7, 12), (5, 4)]
)
def test_kinds_of_vehicles_are_those_of_the_firmware(kind: int, firmware: int) -> None:
    [status] = Heard().give(heartbeat(0, kind=kind))["status"]
    names = {1: "ROVER", 2: "ARDUCOPTER", 3: "ARDUPLANE", 4: "ANTENNATRACKER", 7: "ARDUSUB", 12: "BLIMP"}
    constants = typestore(*PACKAGES).types["ardupilot_msgs/msg/Status"]
    assert status.vehicle_type == firmware == getattr(constants, f"APM_{names[firmware]}")


def command_of(number: int, beat: Heartbeat) -> Any:
    """What sets a mode by ArduPilot's number: the parameters of DO_SET_MODE, or the refusal."""
    vehicle = Telemetry(1, FrameNames(), lambda topic, data: None)
    vehicle.heartbeat = beat
    transaction = set_mode_number(number, vehicle)
    if transaction.result is not None:
        return transaction.result.text
    [(name, fields)] = transaction.start(0)
    assert (name, fields["command"]) == ("COMMAND_LONG", 176)
    return tuple(fields[f"param{each}"] for each in (1, 2, 3))


@pytest.mark.parametrize("number", sorted(mavutil.mode_mapping_acm))
def test_modes_are_ardupilots_numbers(number: int) -> None:
    """pymavlink's table of ArduCopter's modes."""
    beat = Heartbeat(ARDUPILOT, 2, 1, number, 4)
    assert mode_number(beat) == number
    assert command_of(number, beat) == (1.0, float(number), 0.0)


def test_another_autopilot_has_the_nearest_modes() -> None:
    _, main, sub = mavutil.px4_map["OFFBOARD"]
    beat = Heartbeat(PX4, 2, 1, main << 16 | sub << 24, 4)
    assert mode_number(beat) == 4
    for number, name in ((4, "OFFBOARD"), (6, "RTL"), (9, "LAND"), (3, "MISSION")):
        assert command_of(number, beat) == (1.0, *map(float, mavutil.px4_map[name][1:]))
    assert command_of(7, beat).startswith("this autopilot has no mode like ArduPilot's CIRCLE (known: STABILIZE")


# What comes in


VEHICLE = Telemetry(1, FrameNames(), lambda topic, data: None)
VEHICLE.home = Home(47.0, 8.0, 400.0, Ned((0.0, 0.0, 0.0)))
VEHICLE.attitude = AttitudeEnu.of_ned(*np.roll(TILTED.as_quat(), 1).tolist())
LIMITS = SetpointLimits()


def sent(row: Any, message: Any) -> Any:
    """The message that an input becomes, as pymavlink reads it."""
    [(name, values)] = checked(row.convert(message, VEHICLE), VEHICLE, LIMITS)
    [found] = mavlink.MAVLink(None).parse_buffer(frame_bytes(name, values, 255, 190, 0))
    return found


ROWS = {row.name: row for row in INPUTS}


def vector(x: float, y: float, z: float) -> Any:
    return SimpleNamespace(x=x, y=y, z=z)


def velocity(frame: str, *linear: float, turn: float = 0.0) -> Any:
    twist = SimpleNamespace(linear=vector(*linear), angular=vector(0.0, 0.0, turn))
    return sent(ROWS["cmd_vel"], SimpleNamespace(header=SimpleNamespace(frame_id=frame), twist=twist))


def test_a_velocity_in_the_map_is_turned_to_ned() -> None:
    found = velocity("map", 1.0, 2.0, 3.0, turn=0.5)
    assert (found.vx, found.vy, found.vz, found.yaw_rate) == (2.0, 1.0, -3.0, -0.5)
    assert (found.coordinate_frame, found.type_mask) == (1, 0b0101_1100_0111)
    assert velocity("map", 1.0, 0.0, 0.0, turn=NAN).type_mask == 0b1101_1100_0111


def test_a_velocity_in_base_link_is_turned_by_the_attitude() -> None:
    """As AP_DDS does: x forward, z up, and y to the right, whatever its comment says."""
    found = velocity("base_link", 1.0, 2.0, 3.0)
    assert [found.vx, found.vy, found.vz] == pytest.approx(TILTED.apply([1.0, 2.0, -3.0]), abs=1e-6)


def test_a_velocity_without_y_and_z_is_an_airspeed() -> None:
    found = velocity("base_link", 25.0, NAN, NAN)
    assert (found.get_type(), found.command, found.param1, found.param2) == ("COMMAND_LONG", 178, 0.0, 25.0)
    with pytest.raises(SetpointRefused, match="airspeed of nan"):
        velocity("base_link", NAN, NAN, NAN)


@pytest.mark.parametrize(
    ("frame", "linear", "match"),
    [
        ("odom", (1.0, 0.0, 0.0), "frame_id is 'odom'"),
        ("map", (NAN, 0.0, 0.0), "finite"),
        ("map", (200.0, 0.0, 0.0), "limit_"),
    ],
)
def test_wrong_velocities_are_refused(frame: str, linear: tuple[float, ...], match: str) -> None:
    with pytest.raises(SetpointRefused, match=match):
        velocity(frame, *linear)


def place(**fields: Any) -> Any:
    given = {"header": SimpleNamespace(frame_id="map"), "coordinate_frame": 6, "type_mask": 0}
    given |= {"latitude": 47.0001, "longitude": 8.0002, "altitude": 20.0}
    return sent(ROWS["cmd_gps_pose"], SimpleNamespace(**given | fields))


def test_a_place_keeps_its_altitude_frame() -> None:
    found = place()
    assert (found.lat_int, found.lon_int, found.alt, found.coordinate_frame) == (470001000, 80002000, 20.0, 6)
    assert found.type_mask == 0b1101_1111_1000
    assert place(coordinate_frame=5, altitude=420.0).coordinate_frame == 5
    for wrong, match in (
        ({"coordinate_frame": 0}, "coordinate_frame is 0"),
        ({"type_mask": 1}, "ignores the place"),
        ({"header": SimpleNamespace(frame_id="")}, "frame_id is ''"),
        ({"latitude": NAN}, "not finite"),
        ({"latitude": 48.0}, "limit_distance"),
    ):
        with pytest.raises(SetpointRefused, match=match):
            place(**wrong)


def test_axes_become_pulses_and_nan_releases_a_channel() -> None:
    ranges = {"RC1_MIN": ParamValue(1000, 4, 0, 2), "RC1_MAX": ParamValue(2000, 4, 1, 2)}
    found = sent(joy_input(ranges), SimpleNamespace(axes=[-1.0, 1.0, NAN, 0.0, 3.0]))
    pulses = [getattr(found, f"chan{number}_raw") for number in range(1, 10)]
    assert pulses == [1000, 1900, 0, 1500, 1900, 65535, 65535, 65535, 0]
    with pytest.raises(SetpointRefused, match="at least 4"):
        sent(joy_input({}), SimpleNamespace(axes=[0.0] * 3))


def test_odometry_by_tf_is_an_external_estimate() -> None:
    def transform(parent: str, child: str, q: Rotation) -> Any:
        x, y, z, w = q.as_quat()
        header = SimpleNamespace(frame_id=parent, stamp=SimpleNamespace(sec=5, nanosec=2_000))
        pose = SimpleNamespace(translation=vector(1.0, 2.0, 3.0), rotation=SimpleNamespace(x=x, y=y, z=z, w=w))
        return SimpleNamespace(header=header, child_frame_id=child, transform=pose)

    moving = transform("odom", "base_link", Rotation.from_euler("ZYX", [0.5, 0.1, -0.2]))
    message = SimpleNamespace(transforms=[transform("map", "odom", Rotation.identity()), moving])
    found = sent(ROWS["tf"], message)
    assert (found.get_type(), found.x, found.y, found.z) == ("VISION_POSITION_ESTIMATE", 1.0, -2.0, -3.0)
    assert (found.yaw, found.pitch, found.roll) == pytest.approx((-0.5, -0.1, -0.2), abs=1e-6)
    assert found.usec == 5_000_002
    assert ROWS["tf"].convert(SimpleNamespace(transforms=[]), VEHICLE) == []


@given(st.lists(st.floats(width=32), min_size=4, max_size=4), st.sampled_from(["map", "base_link"]))
def test_no_velocity_goes_out_with_numbers_that_are_not_finite(numbers: list[float], frame: str) -> None:
    try:
        found = velocity(frame, *numbers[:3], turn=numbers[3])
    except SetpointRefused:
        return
    names = ("vx", "vy", "vz", "yaw_rate") if found.get_type() != "COMMAND_LONG" else ("param2",)
    assert all(math.isfinite(getattr(found, name)) for name in names)
