"""MAVROS' topics: rows of a message with its fields, signs, units, frame and QoS, and functions of what is no row."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from sim_node.mavlink.contents import CENTI, GAUSS, HECTO, MILLI, MILLI_G, MILLIGAUSS, Unit
from sim_node.mavlink.dialects import Readers, TopicFunction, TopicRow, ValueSource, by, row_readers, row_topics
from sim_node.mavlink.mavros.names import FORCE_STDEV, ORIENTATION_STDEV, RATE_STDEV, MavrosNames, diagonal
from sim_node.mavlink.modes import ARMED, mode_name
from sim_node.mavlink.telemetry import Heartbeat, Telemetry
from sim_node.mavlink.topics import FrameNames, Profile, VehicleTopic
from sim_node.mavlink.translation.state import GUIDED, MANUAL

# sensor_msgs/BatteryState by MAV_BATTERY_TYPE: unknown, LiPo, LiFe, LiIon, NiMH
_TECHNOLOGY = {0: 0, 1: 3, 2: 4, 3: 2, 4: 1}
_DISCHARGING = 2
_INTEGER, _DOUBLE = 2, 3  # rcl_interfaces/ParameterType
_NO_CELL, _MORE = 65535, 65534
_MAX_CHANNELS, _OUTPUTS, _MAX_PORTS = 18, 16, 16
_FIRST_UNIX_US = 1_234_567_890 * 1_000_000

STATE = VehicleTopic("state", "mavros_msgs/State", profile=Profile.STATE)
BATTERY = VehicleTopic("battery", "sensor_msgs/BatteryState")
TEXT = VehicleTopic("statustext/recv", "mavros_msgs/StatusText")
RC_IN = VehicleTopic("rc/in", "mavros_msgs/RCIn", profile=Profile.RELIABLE)
RC_OUT = VehicleTopic("rc/out", "mavros_msgs/RCOut", profile=Profile.RELIABLE)
WAYPOINTS = VehicleTopic("mission/waypoints", "mavros_msgs/WaypointList", profile=Profile.LATCHED)
REACHED = VehicleTopic("mission/reached", "mavros_msgs/WaypointReached", profile=Profile.LATCHED)
REFERENCE = VehicleTopic("time_reference", "sensor_msgs/TimeReference")
TIMESYNC = VehicleTopic("timesync_status", "mavros_msgs/TimesyncStatus")
PARAMETER = VehicleTopic("param/event", "mavros_msgs/ParamEvent", profile=Profile.PARAMETERS)


def publish_state(names: MavrosNames, *, connected: bool) -> None:
    """Publish the state of the last heartbeat; without a connection, nothing else is known."""
    state = names.vehicle.heartbeat if connected else None
    beat = state or Heartbeat()
    flags = {"armed": ARMED, "guided": GUIDED, "manual_input": MANUAL}
    names.encode(
        STATE,
        {
            "header.stamp": names.vehicle.arrival_ns,
            "connected": connected,
            **{name: bool(beat.base_mode & bit) for name, bit in flags.items()},
            "mode": mode_name(beat) if state else "",
            "system_status": beat.system_status,
        },
    )


def _heartbeat(fields: Any, names: MavrosNames) -> None:
    publish_state(names, connected=True)


def _battery(fields: Any, names: MavrosNames) -> None:
    """The voltage is the sum of the cells; one that is continued in the next entry is 65,534 mV."""
    names.has_battery_status = names.has_battery_status or fields.id == 0
    cells, before = [], 0.0
    for voltages, ends in ((fields.voltages, (_NO_CELL,)), (fields.voltages_ext, (_NO_CELL, 0))):
        for each in voltages:
            if each in ends:
                break
            if each == _MORE:
                before += _MORE * 1e-3
            else:
                cells.append(before + each * 1e-3)
                before = 0.0
    _publish_battery(
        names,
        (sum(cells), fields.current_battery, fields.battery_remaining),
        {"cell_voltage": cells, "location": f"id{fields.id}"},
        _TECHNOLOGY.get(fields.type, 0),
    )


def _sys_status(fields: Any, names: MavrosNames) -> None:
    if not names.has_battery_status:
        values = fields.voltage_battery * 1e-3, fields.current_battery, fields.battery_remaining
        _publish_battery(names, values, {}, 0)


def _publish_battery(names: MavrosNames, values: tuple[float, int, int], more: dict[str, Any], technology: int) -> None:
    """Publish a battery: volts, hundredths of an ampere, percent; unknown ones as MAVROS, 0.01 A and -0.01."""
    voltage, current, remaining = values
    names.encode(
        BATTERY,
        {
            "header.stamp": names.vehicle.arrival_ns,
            "voltage": voltage,
            "current": -(current / 100.0),
            "percentage": remaining / 100.0,
            **dict.fromkeys(("charge", "capacity", "design_capacity"), math.nan),
            "power_supply_status": _DISCHARGING,
            "power_supply_technology": technology,
            "present": True,
            **more,
        },
    )


def _text(fields: Any, names: MavrosNames) -> None:
    stamp = {"header.stamp": names.vehicle.arrival_ns}
    names.encode(TEXT, {**stamp, "severity": fields.severity, "text": fields.text.replace("\0", "")})


def _channels(fields: Any, names: MavrosNames) -> None:
    names.channels = list(fields[2 : 2 + min(fields.chancount, _MAX_CHANNELS)])
    _publish_channels(fields, names)


def _raw_channels(fields: Any, names: MavrosNames) -> None:
    if "RC_CHANNELS" not in names.last and fields.port < _MAX_PORTS:
        _put(names.channels, 8 * fields.port, fields[2:10])
        _publish_channels(fields, names)


def _publish_channels(fields: Any, names: MavrosNames) -> None:
    stamp = {"header.stamp": names.stamp_of(fields)}
    names.encode(RC_IN, {**stamp, "rssi": fields.rssi, "channels": list(names.channels)})


def _servos(fields: Any, names: MavrosNames) -> None:
    if fields.port < _MAX_PORTS:
        _put(names.outputs, _OUTPUTS * fields.port, fields[2:18])
        # Its 32 bits of microseconds wrap after 71 minutes.
        names.encode(RC_OUT, {"header.stamp": names.vehicle.arrival_ns, "channels": list(names.outputs)})


def _put(numbers: list[int], first: int, new: tuple[int, ...]) -> None:
    """Write numbers into a list, which grows with zeros."""
    numbers.extend([0] * (first + len(new) - len(numbers)))
    numbers[first : first + len(new)] = new


def _current(fields: Any, names: MavrosNames) -> None:
    if fields.seq != names.current:
        names.current = fields.seq
        publish_waypoints(names)


def publish_waypoints(names: MavrosNames) -> None:
    """Publish the mission, if it is known, and which item is flown."""
    if names.waypoints is not None:
        names.encode(WAYPOINTS, {"current_seq": names.current, "waypoints": names.waypoints})


def _reached(fields: Any, names: MavrosNames) -> None:
    names.encode(REACHED, {"header.stamp": names.vehicle.arrival_ns, "wp_seq": fields.seq})


def _system_time(fields: Any, names: MavrosNames) -> None:
    if _FIRST_UNIX_US < fields.time_unix_usec < 2**31 * 1_000_000:
        stamps = {"header.stamp": names.vehicle.arrival_ns, "time_ref": fields.time_unix_usec * 1000}
        names.encode(REFERENCE, {**stamps, "source": "fcu"})


def _timesync(fields: Any, names: MavrosNames) -> None:
    """The answers to our requests."""
    now_ns, offset_ns = names.vehicle.arrival_ns, names.vehicle.clock.offset_ns
    if not 0 < fields.tc1 < 2**62 or not 0 < fields.ts1 <= now_ns:
        return
    names.encode(
        TIMESYNC,
        {
            "header.stamp": now_ns,
            "remote_timestamp_ns": fields.tc1,
            "observed_offset_ns": (fields.ts1 + now_ns) // 2 - fields.tc1,
            "estimated_offset_ns": offset_ns or 0,
            "round_trip_time_ms": (now_ns - fields.ts1) * 1e-6,
        },
    )


def _parameter(fields: Any, names: MavrosNames) -> None:
    """Keep a parameter, and publish its value."""
    found = names.keep_parameter(fields)
    if found is None:
        return
    value = {"type": _INTEGER, "integer_value": found.value}
    if isinstance(found.value, float):
        value = {"type": _DOUBLE, "double_value": found.value}
    names.encode(
        PARAMETER,
        {
            "header.stamp": names.vehicle.arrival_ns,
            "param_id": fields.param_id,
            "value": value,
            "param_index": found.number,
            "param_count": found.of,
        },
    )


FUNCTIONS: tuple[TopicFunction, ...] = (
    TopicFunction(("HEARTBEAT",), (STATE,), _heartbeat),
    TopicFunction(("BATTERY_STATUS",), (BATTERY,), _battery),
    TopicFunction(("SYS_STATUS",), (), _sys_status),
    TopicFunction(("STATUSTEXT",), (TEXT,), _text),
    TopicFunction(("RC_CHANNELS",), (RC_IN,), _channels),
    TopicFunction(("RC_CHANNELS_RAW",), (), _raw_channels),
    TopicFunction(("SERVO_OUTPUT_RAW",), (RC_OUT,), _servos),
    TopicFunction(("MISSION_CURRENT",), (WAYPOINTS,), _current),
    TopicFunction(("MISSION_ITEM_REACHED",), (REACHED,), _reached),
    TopicFunction(("SYSTEM_TIME",), (REFERENCE,), _system_time),
    TopicFunction(("TIMESYNC",), (TIMESYNC,), _timesync),
    TopicFunction(("PARAM_VALUE",), (PARAMETER,), _parameter),
)


of = ValueSource
_DEGREES = Unit(1e-7, 1e7)
_SENSOR, _RELIABLE, _STATE, _LATCHED = Profile.SENSOR, Profile.RELIABLE, Profile.STATE, Profile.LATCHED
_NOT_MEASURED = (-1.0, *[0.0] * 8)
_NOT_KNOWN = (-1.0, *[0.0] * 35)


def _imu(names: MavrosNames) -> dict[str, Any]:
    deviations = names.vehicle.deviations
    return {
        "orientation_covariance": diagonal(deviations.orientation or ORIENTATION_STDEV),
        "angular_velocity_covariance": diagonal(deviations.rate or RATE_STDEV),
    }


def _imu_raw(names: MavrosNames) -> dict[str, Any]:
    force = {"linear_acceleration_covariance": diagonal(names.vehicle.deviations.force or FORCE_STDEV)}
    return {**_imu(names), "orientation_covariance": _NOT_MEASURED, **force}


def _compass(names: MavrosNames) -> dict[str, Any]:
    return {"magnetic_field_covariance": diagonal(names.vehicle.deviations.field)}


def _attitude(message: str, orientation: ValueSource, *unless: str) -> TopicRow:
    fields = {"orientation": orientation, "angular_velocity": of("rollspeed -pitchspeed -yawspeed")}
    fields |= {"linear_acceleration": by("force"), "linear_acceleration_covariance": by("force_covariance")}
    return TopicRow("imu/data", "sensor_msgs/Imu", message, "base_link", fields, unless=unless, constants=_imu)


def _updates(bits: int) -> Callable[[Any], bool] | None:
    """Return whether a message has one of these bits of fields_updated; None for 0, which is no condition."""
    return (lambda fields: bool(fields.fields_updated & bits)) if bits else None


def _raw(message: str, rates: Unit, force: ValueSource, *unless: str, bits: int = 0) -> TopicRow:
    fields = {"angular_velocity": of("xgyro -ygyro -zgyro", rates), "linear_acceleration": force}
    name, type = "imu/data_raw", "sensor_msgs/Imu"
    return TopicRow(name, type, message, "base_link", fields, unless=unless, constants=_imu_raw, when=_updates(bits))


def _mag(message: str, unit: Unit, *unless: str, bits: int = 0) -> TopicRow:
    fields = {"magnetic_field": of("xmag -ymag -zmag", unit)}
    name, type = "imu/mag", "sensor_msgs/MagneticField"
    return TopicRow(name, type, message, "base_link", fields, unless=unless, constants=_compass, when=_updates(bits))


def _air(name: str, message: str, fields: str, unit: Unit, *unless: str, bits: int = 0) -> TopicRow:
    pressure = "pressure" in name
    type, path = ("FluidPressure", "fluid_pressure") if pressure else ("Temperature", "temperature")
    source = {path: of(fields, unit)}
    return TopicRow(
        f"imu/{name}", f"sensor_msgs/{type}", message, "base_link", source, unless=unless, when=_updates(bits)
    )


_SI = Unit(1.0, 1.0)
_ACCELEROMETER_OR_GYROSCOPE, _MAGNETOMETER, _PRESSURE, _DIFFERENTIAL, _TEMPERATURE = 0x3F, 0x1C0, 0x200, 0x400, 0x1000
_HIGHRES, _SCALED = "HIGHRES_IMU", "SCALED_IMU"
_FORCE = "xacc -yacc -zacc"
_IMU = (
    _attitude("ATTITUDE_QUATERNION", by("quaternion", "q1 q2 q3 q4")),
    _attitude("ATTITUDE", by("angles", "roll pitch yaw"), "ATTITUDE_QUATERNION"),
    _raw(_HIGHRES, _SI, of(_FORCE), bits=_ACCELEROMETER_OR_GYROSCOPE),
    _raw(_SCALED, MILLI, of(_FORCE, MILLI_G), _HIGHRES),
    _raw("RAW_IMU", MILLI, by("raw_force", _FORCE), _HIGHRES, _SCALED),
    _mag(_HIGHRES, GAUSS, bits=_MAGNETOMETER),
    _mag(_SCALED, MILLIGAUSS, _HIGHRES),
    _mag("RAW_IMU", MILLIGAUSS, _HIGHRES, _SCALED),
    _air("static_pressure", _HIGHRES, "abs_pressure", HECTO, bits=_PRESSURE),
    _air("static_pressure", "SCALED_PRESSURE", "press_abs", HECTO, _HIGHRES),
    _air("diff_pressure", _HIGHRES, "diff_pressure", HECTO, bits=_DIFFERENTIAL),
    _air("diff_pressure", "SCALED_PRESSURE", "press_diff", HECTO, _HIGHRES),
    _air("temperature_imu", _HIGHRES, "temperature", _SI, bits=_TEMPERATURE),
    _air("temperature_baro", "SCALED_PRESSURE", "temperature", CENTI, _HIGHRES),
)

_NED, _COV = "LOCAL_POSITION_NED", "LOCAL_POSITION_NED_COV"
_POSITION, _VELOCITY, _IN_BODY = of("y x -z"), of("vy vx -vz"), by("body", "vy vx -vz")
# Of the upper triangle of 9 x 9: the variances of y, x and z, and of their velocities and accelerations.
_VARIANCES = by("position_variances", "covariance[9] covariance[0] covariance[17]")
_VELOCITY_VARIANCES = by("body_variances", "covariance[30] covariance[24] covariance[35]")
_POSE = {"pose.position": _POSITION, "pose.orientation": by("orientation")}
_TWIST = {"twist.linear": _IN_BODY, "twist.angular": by("rates")}
_POSE_2 = {f"pose.{path}": source for path, source in _POSE.items()}
_TWIST_2 = {f"twist.{path}": source for path, source in _TWIST.items()}
_WITH_POSE, _WITH_TWIST = {"pose.covariance": _VARIANCES}, {"twist.covariance": _VELOCITY_VARIANCES}


def _local(
    name: str, type: str, message: str, frames: str, fields: Mapping[str, ValueSource], *unless: str
) -> TopicRow:
    return TopicRow(f"local_position/{name}", type, message, frames, fields, unless=unless)


_LOCAL = (
    _local("pose", "geometry_msgs/PoseStamped", _NED, "map", _POSE),
    _local("pose", "geometry_msgs/PoseStamped", _COV, "map", _POSE, _NED),
    _local("pose_cov", "geometry_msgs/PoseWithCovarianceStamped", _COV, "map", _POSE_2 | _WITH_POSE),
    _local("odom", "nav_msgs/Odometry", _NED, "map base_link", _POSE_2 | _TWIST_2, _COV),
    _local("odom", "nav_msgs/Odometry", _COV, "map base_link", _POSE_2 | _WITH_POSE | _TWIST_2 | _WITH_TWIST),
    _local("velocity_body", "geometry_msgs/TwistStamped", _NED, "base_link", _TWIST),
    _local("velocity_body", "geometry_msgs/TwistStamped", _COV, "base_link", _TWIST, _NED),
    _local("velocity_body_cov", "geometry_msgs/TwistWithCovarianceStamped", _COV, "base_link", _TWIST_2 | _WITH_TWIST),
    _local(
        *("velocity_local", "geometry_msgs/TwistStamped", _NED, "map"),
        {"twist.linear": _VELOCITY, "twist.angular": by("world_rates")},
    ),
    _local(
        *("accel", "geometry_msgs/AccelWithCovarianceStamped", _COV, "map"),
        {
            "accel.accel.linear": of("ay ax -az"),
            "accel.covariance": by("position_variances", "covariance[42] covariance[39] covariance[44]"),
        },
    ),
)

_PLACE = "latitude longitude altitude"


def _place(*fields: str) -> ValueSource:
    latitude, longitude, altitude = fields
    return by("sea_level_place", f"{latitude} {longitude} {altitude}")


def _global(
    name: str, type: str, message: str, frames: str, fields: Mapping[str, ValueSource], **more: Any
) -> TopicRow:
    return TopicRow(f"global_position/{name}", type, message, frames, fields, **more)


_COVARIANCE_OF_FIX = {"position_covariance position_covariance_type": by("fix_covariance")}
_EARTH = ("lat", "lon", "alt")
_GLOBAL = (
    _global(
        *("raw/fix", "sensor_msgs/NavSatFix", "GPS_RAW_INT", "base_link"),
        {
            "status.status status.service": by("fix", "fix_type h_acc v_acc eph epv"),
            _PLACE: _place(*_EARTH),
            **_COVARIANCE_OF_FIX,
        },
    ),
    _global(
        *("raw/gps_vel", "geometry_msgs/TwistStamped", "GPS_RAW_INT", "map"),
        {"twist.linear": by("ground_speed", "vel cog")},
    ),
    _global("raw/satellites", "std_msgs/UInt32", "GPS_RAW_INT", "", {"data": of("satellites_visible")}),
    _global(
        *("global", "sensor_msgs/NavSatFix", "GLOBAL_POSITION_INT", "base_link"),
        {"status.status status.service": by("last_fix"), _PLACE: _place(*_EARTH), **_COVARIANCE_OF_FIX},
    ),
    _global(
        *("local", "nav_msgs/Odometry", "GLOBAL_POSITION_INT", "map base_link"),
        {
            "pose.pose.position": by("from_home", "lat lon alt relative_alt"),
            "pose.pose.orientation": by("orientation"),
            "pose.covariance": by("fix_covariances"),
            "twist.twist.linear": of("vy vx -vz", CENTI),
        },
        constants={"twist.covariance": _NOT_KNOWN},
    ),
    _global("rel_alt", "std_msgs/Float64", "GLOBAL_POSITION_INT", "", {"data": of("relative_alt", MILLI)}),
    _global("compass_hdg", "std_msgs/Float64", "GLOBAL_POSITION_INT", "", {"data": of("hdg", CENTI, 65535)}),
    _global(
        *("gp_origin", "geographic_msgs/GeoPointStamped", "GPS_GLOBAL_ORIGIN", "earth"),
        {f"position.{_PLACE.replace(' ', ' position.')}": _place("latitude", "longitude", "altitude")},
        profile=_LATCHED,
    ),
    _global(
        *("gp_lp_offset", "geometry_msgs/PoseStamped", "LOCAL_POSITION_NED_SYSTEM_GLOBAL_OFFSET", "earth"),
        {"pose.position": _POSITION, "pose.orientation": by("angles", "roll pitch yaw")},
    ),
    TopicRow(
        *("home_position/home", "mavros_msgs/HomePosition", "HOME_POSITION", ""),
        {
            f"geo.{_PLACE.replace(' ', ' geo.')}": _place("latitude", "longitude", "altitude"),
            "position": _POSITION,
            "orientation": by("turned", "q"),
            "approach": of("approach_y approach_x -approach_z"),
        },
        _STATE,
    ),
)

_TARGET = {
    "coordinate_frame": of("coordinate_frame"),
    "type_mask": of("type_mask"),
}
_MOTION = {
    "velocity": _VELOCITY,
    "acceleration_or_force": of("afy afx -afz"),
    "yaw": by("yaw", "yaw"),
    "yaw_rate": of("-yaw_rate"),
}
_TARGETS = (
    TopicRow(
        *("setpoint_raw/target_local", "mavros_msgs/PositionTarget", "POSITION_TARGET_LOCAL_NED", ""),
        {**_TARGET, "position": _POSITION, **_MOTION},
    ),
    TopicRow(
        *("setpoint_raw/target_global", "mavros_msgs/GlobalPositionTarget", "POSITION_TARGET_GLOBAL_INT", ""),
        {**_TARGET, "latitude longitude": of("lat_int lon_int", _DEGREES), "altitude": of("alt"), **_MOTION},
    ),
    TopicRow(
        *("setpoint_raw/target_attitude", "mavros_msgs/AttitudeTarget", "ATTITUDE_TARGET", ""),
        {
            "type_mask": of("type_mask"),
            "orientation": by("quaternion", "q"),
            "body_rate": of("body_roll_rate -body_pitch_rate -body_yaw_rate"),
            "thrust": of("thrust"),
        },
    ),
)

_FLAGS = (
    *("attitude", "velocity_horiz", "velocity_vert", "pos_horiz_rel", "pos_horiz_abs", "pos_vert_abs"),
    *("pos_vert_agl", "const_pos_mode", "pred_pos_horiz_rel", "pred_pos_horiz_abs", "gps_glitch", "accel_error"),
)


def _same(names: str, **renamed: str) -> dict[str, ValueSource]:
    """Return fields that have the same names and numbers in both messages, and some that are renamed."""
    return {name: of(renamed.get(name, name)) for name in names.split()}


_STICKS = " ".join(f"aux{number}" for number in range(1, 7))
_STATUS = (
    TopicRow(
        *("altitude", "mavros_msgs/Altitude", "ALTITUDE", "map"),
        {
            **{name: of(f"altitude_{name}") for name in ("monotonic", "amsl", "local", "relative", "terrain")},
            "bottom_clearance": of("bottom_clearance"),
        },
    ),
    TopicRow(
        *("vfr_hud", "mavros_msgs/VfrHud", "VFR_HUD", ""),
        {
            **_same("airspeed groundspeed heading"),
            "throttle": of("throttle", CENTI),
            **_same("altitude climb", altitude="alt"),
        },
        *(_RELIABLE, True),
    ),
    TopicRow(
        *("wind_estimation", "geometry_msgs/TwistWithCovarianceStamped", "WIND", ""),
        {"twist.twist.linear": by("wind", "direction speed speed_z")},
        is_now=True,
        constants={"twist.covariance": _NOT_KNOWN},
    ),
    TopicRow(
        *("wind_estimation", "geometry_msgs/TwistWithCovarianceStamped", "WIND_COV", ""),
        {
            "twist.twist.linear": of("wind_y wind_x -wind_z"),
            "twist.covariance": by("wind_variances", "var_horiz var_vert"),
        },
    ),
    TopicRow(
        *("extended_state", "mavros_msgs/ExtendedState", "EXTENDED_SYS_STATE", ""),
        _same("vtol_state landed_state"),
        *(_STATE, True),
    ),
    TopicRow(
        *("sys_status", "mavros_msgs/SysStatus", "SYS_STATUS", ""),
        {
            **{f"sensors_{name}": of(f"onboard_control_sensors_{name}") for name in ("present", "enabled", "health")},
            **_same("load voltage_battery current_battery battery_remaining drop_rate_comm errors_comm"),
            **_same("errors_count1 errors_count2 errors_count3 errors_count4"),
        },
        *(_STATE, True),
    ),
    TopicRow(
        *("estimator_status", "mavros_msgs/EstimatorStatus", "ESTIMATOR_STATUS", ""),
        {" ".join(f"{name}_status_flag" for name in _FLAGS): by("bits", "flags")},
        *(_STATE, True),
    ),
    TopicRow(
        *("manual_control/control", "mavros_msgs/ManualControl", "MANUAL_CONTROL", ""),
        {
            **{name: of(name, MILLI) for name in "xyzr"},
            **_same("buttons buttons2 enabled_extensions"),
            **{name: of(name, MILLI) for name in ("s", "t", *_STICKS.split())},
        },
        *(_RELIABLE, True),
    ),
    TopicRow(
        *("nav_controller_output/output", "mavros_msgs/NavControllerOutput", "NAV_CONTROLLER_OUTPUT", ""),
        {
            **_same("nav_roll nav_pitch nav_bearing target_bearing wp_dist"),
            **_same("alt_error aspd_error xtrack_error"),
        },
        *(_RELIABLE, True),
    ),
    TopicRow(
        *("gpsstatus/gps1/raw", "mavros_msgs/GPSRAW", "GPS_RAW_INT", ""),
        {
            **_same("fix_type lat lon alt eph epv vel cog satellites_visible alt_ellipsoid h_acc v_acc"),
            **_same("vel_acc"),
            "hdg_acc": by("signed", "hdg_acc"),
            **_same("yaw"),
        },
        # The message does not have them.
        constants={"dgps_numch": 255, "dgps_age": 2**32 - 1},
    ),
)

ROWS: tuple[TopicRow, ...] = (*_IMU, *_LOCAL, *_GLOBAL, *_TARGETS, *_STATUS)


def topics() -> tuple[VehicleTopic, ...]:
    """Return all topics, each once."""
    return tuple(row_topics(ROWS, FUNCTIONS).values())


@cache
def readers() -> Readers:
    """Return the functions that publish a message, by its name."""
    return row_readers(ROWS, FUNCTIONS, MavrosNames)


class MavrosVehicle(MavrosNames):
    """Publishes a vehicle as MAVROS does. Belongs to the bridge's thread.

    Args:
        vehicle: The vehicle's telemetry, which has translated each message before.
        frames: The names of frames in MAVROS' messages.
        send: Called with a topic and its message as CDR.
    """

    def __init__(self, vehicle: Telemetry, frames: FrameNames, send: Callable[[VehicleTopic, bytes], None]) -> None:
        super().__init__(vehicle, frames, send, readers())

    def disconnected(self) -> None:
        """Publish that nothing is received from the vehicle, and forget which messages it sends."""
        super().disconnected()
        publish_state(self, connected=False)
