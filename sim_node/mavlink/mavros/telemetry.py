"""Table of MAVROS' topics: rows from a message's fields, with signs, units, frame and QoS."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from sim_node.mavlink.contents import CENTI, GAUSS, HECTO, MILLI, MILLI_G, MILLIGAUSS, Unit
from sim_node.mavlink.dialects import Readers, TopicRow, ValueSource, by, row_readers, row_topics
from sim_node.mavlink.mavros.names import FORCE_STDEV, ORIENTATION_STDEV, RATE_STDEV, MavrosNames, diagonal
from sim_node.mavlink.mavros.state import FUNCTIONS, publish_state
from sim_node.mavlink.telemetry import Telemetry
from sim_node.mavlink.topics import FrameNames, Profile, VehicleTopic

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
    """Return a condition that a message has one of these bits of fields_updated; None for 0."""
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
    """Return the sources of fields with the same names and numbers in both messages, and of renamed ones."""
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
        # Not in the MAVLink message.
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
        """Publish that the vehicle is no longer received, and forget which messages it sends."""
        super().disconnected()
        publish_state(self, connected=False)
