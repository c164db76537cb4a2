"""The table of MAVROS' topics: the message of MAVLink, its fields with their signs and units, the frame, the QoS."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from sim_node.mavlink.codec import kind_named
from sim_node.mavlink.contents import CENTI, GAUSS, HECTO, MILLI, MILLI_G, MILLIGAUSS, Unit
from sim_node.mavlink.mavros.functions import FUNCTIONS
from sim_node.mavlink.mavros.names import FORCE_STDEV, ORIENTATION_STDEV, RATE_STDEV, MavrosNames, diagonal
from sim_node.mavlink.mavros.rows import Unknown, ValueSource, by, compiled
from sim_node.mavlink.topics import Profile, VehicleTopic
from sim_node.messages.layout import MessageLayout, Pack

of = ValueSource
_DEGREES = Unit(1e-7, 1e7)
_SENSOR, _RELIABLE, _STATE, _LATCHED = Profile.SENSOR, Profile.RELIABLE, Profile.STATE, Profile.LATCHED
_NOT_MEASURED = (-1.0, *[0.0] * 8)
_NOT_KNOWN = (-1.0, *[0.0] * 35)


@dataclass(frozen=True)
class MavrosRow:
    """A topic, or one of several sources of one.

    Attributes:
        name: The name below MAVROS' namespace.
        type: package/Name.
        message: The message of MAVLink.
        frames: Names of frames: of the header's, and of the child's if there is one. Empty for none.
        fields: Where the fields of the message come from, in its order. A key may be several paths.
        profile: QoS.
        is_now: Whether the stamp is the time of arrival, as in MAVROS; otherwise that of the message.
        unless: Messages that are preferred to this one while they are received.
        bits: Bits of the field fields_updated of which one has to be set; 0 for no such condition.
        constants: Further fields, from the standard deviations of the vehicle's sensors if it is a function.
    """

    name: str
    type: str
    message: str
    frames: str
    fields: Mapping[str, ValueSource]
    profile: Profile = _SENSOR
    is_now: bool = False
    unless: tuple[str, ...] = ()
    bits: int = 0
    constants: Mapping[str, Any] | Callable[[MavrosNames], Mapping[str, Any]] = field(default_factory=dict)

    @property
    def topic(self) -> VehicleTopic:
        """The topic, as it is advertised."""
        return VehicleTopic(self.name, self.type, self.frames, profile=self.profile)


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


def _attitude(message: str, orientation: ValueSource, *unless: str) -> MavrosRow:
    fields = {"orientation": orientation, "angular_velocity": of("rollspeed -pitchspeed -yawspeed")}
    fields |= {"linear_acceleration": by("force"), "linear_acceleration_covariance": by("force_covariance")}
    return MavrosRow("imu/data", "sensor_msgs/Imu", message, "base_link", fields, unless=unless, constants=_imu)


def _raw(message: str, rates: Unit, force: ValueSource, *unless: str, bits: int = 0) -> MavrosRow:
    fields = {"angular_velocity": of("xgyro -ygyro -zgyro", rates), "linear_acceleration": force}
    name, type = "imu/data_raw", "sensor_msgs/Imu"
    return MavrosRow(name, type, message, "base_link", fields, unless=unless, bits=bits, constants=_imu_raw)


def _mag(message: str, unit: Unit, *unless: str, bits: int = 0) -> MavrosRow:
    fields = {"magnetic_field": of("xmag -ymag -zmag", unit)}
    name, type = "imu/mag", "sensor_msgs/MagneticField"
    return MavrosRow(name, type, message, "base_link", fields, unless=unless, bits=bits, constants=_compass)


def _air(name: str, message: str, fields: str, unit: Unit, *unless: str, bits: int = 0) -> MavrosRow:
    pressure = "pressure" in name
    type, path = ("FluidPressure", "fluid_pressure") if pressure else ("Temperature", "temperature")
    source = {path: of(fields, unit)}
    return MavrosRow(f"imu/{name}", f"sensor_msgs/{type}", message, "base_link", source, unless=unless, bits=bits)


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
) -> MavrosRow:
    return MavrosRow(f"local_position/{name}", type, message, frames, fields, unless=unless)


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
) -> MavrosRow:
    return MavrosRow(f"global_position/{name}", type, message, frames, fields, **more)


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
    MavrosRow(
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
    MavrosRow(
        *("setpoint_raw/target_local", "mavros_msgs/PositionTarget", "POSITION_TARGET_LOCAL_NED", ""),
        {**_TARGET, "position": _POSITION, **_MOTION},
    ),
    MavrosRow(
        *("setpoint_raw/target_global", "mavros_msgs/GlobalPositionTarget", "POSITION_TARGET_GLOBAL_INT", ""),
        {**_TARGET, "latitude longitude": of("lat_int lon_int", _DEGREES), "altitude": of("alt"), **_MOTION},
    ),
    MavrosRow(
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
    MavrosRow(
        *("altitude", "mavros_msgs/Altitude", "ALTITUDE", "map"),
        {
            **{name: of(f"altitude_{name}") for name in ("monotonic", "amsl", "local", "relative", "terrain")},
            "bottom_clearance": of("bottom_clearance"),
        },
    ),
    MavrosRow(
        *("vfr_hud", "mavros_msgs/VfrHud", "VFR_HUD", ""),
        {
            **_same("airspeed groundspeed heading"),
            "throttle": of("throttle", CENTI),
            **_same("altitude climb", altitude="alt"),
        },
        *(_RELIABLE, True),
    ),
    MavrosRow(
        *("wind_estimation", "geometry_msgs/TwistWithCovarianceStamped", "WIND", ""),
        {"twist.twist.linear": by("wind", "direction speed speed_z")},
        is_now=True,
        constants={"twist.covariance": _NOT_KNOWN},
    ),
    MavrosRow(
        *("wind_estimation", "geometry_msgs/TwistWithCovarianceStamped", "WIND_COV", ""),
        {
            "twist.twist.linear": of("wind_y wind_x -wind_z"),
            "twist.covariance": by("wind_variances", "var_horiz var_vert"),
        },
    ),
    MavrosRow(
        *("extended_state", "mavros_msgs/ExtendedState", "EXTENDED_SYS_STATE", ""),
        _same("vtol_state landed_state"),
        *(_STATE, True),
    ),
    MavrosRow(
        *("sys_status", "mavros_msgs/SysStatus", "SYS_STATUS", ""),
        {
            **{f"sensors_{name}": of(f"onboard_control_sensors_{name}") for name in ("present", "enabled", "health")},
            **_same("load voltage_battery current_battery battery_remaining drop_rate_comm errors_comm"),
            **_same("errors_count1 errors_count2 errors_count3 errors_count4"),
        },
        *(_STATE, True),
    ),
    MavrosRow(
        *("estimator_status", "mavros_msgs/EstimatorStatus", "ESTIMATOR_STATUS", ""),
        {" ".join(f"{name}_status_flag" for name in _FLAGS): by("bits", "flags")},
        *(_STATE, True),
    ),
    MavrosRow(
        *("manual_control/control", "mavros_msgs/ManualControl", "MANUAL_CONTROL", ""),
        {
            **{name: of(name, MILLI) for name in "xyzr"},
            **_same("buttons buttons2 enabled_extensions"),
            **{name: of(name, MILLI) for name in ("s", "t", *_STICKS.split())},
        },
        *(_RELIABLE, True),
    ),
    MavrosRow(
        *("nav_controller_output/output", "mavros_msgs/NavControllerOutput", "NAV_CONTROLLER_OUTPUT", ""),
        {
            **_same("nav_roll nav_pitch nav_bearing target_bearing wp_dist"),
            **_same("alt_error aspd_error xtrack_error"),
        },
        *(_RELIABLE, True),
    ),
    MavrosRow(
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

ROWS: tuple[MavrosRow, ...] = (*_IMU, *_LOCAL, *_GLOBAL, *_TARGETS, *_STATUS)

Read = Callable[[Any, MavrosNames], None]


def topics() -> tuple[VehicleTopic, ...]:
    """Return all topics, each once."""
    found = {row.name: row.topic for row in ROWS}
    return (*found.values(), *(topic for _, topic, _ in FUNCTIONS if topic is not None))


@cache
def readers() -> Mapping[str, tuple[Read, ...]]:
    """Return the functions that publish a message, by its name."""
    made: dict[str, list[Read]] = {}
    for message, read in _all():
        made.setdefault(message, []).append(read)
    return {message: tuple(reads) for message, reads in made.items()}


def _all() -> Iterator[tuple[str, Read]]:
    shared: dict[str, VehicleTopic] = {}
    for row in ROWS:
        yield row.message, _reader(row, shared.setdefault(row.name, row.topic))
    for message, _, read in FUNCTIONS:
        yield message, read


def _reader(row: MavrosRow, topic: VehicleTopic) -> Read:
    """Return the function that publishes a row."""
    read = compiled(row.fields.values(), kind_named(row.message).arrays, MavrosNames)
    paths = [path for key in row.fields for path in key.split()]
    type = row.type.replace("/", "/msg/")

    def make(names: MavrosNames) -> Pack:
        keys = ("header.frame_id", "child_frame_id")
        frames = dict(zip(keys, map(names.frames.named, row.frames.split()), strict=False))
        constants = row.constants(names) if callable(row.constants) else row.constants
        return MessageLayout(type, {**frames, **constants}).packer(*paths)

    def publish(fields: Any, names: MavrosNames) -> None:
        if row.unless and not names.seen.isdisjoint(row.unless):
            return
        if row.bits and not fields.fields_updated & row.bits:
            return
        vehicle = names.vehicle
        try:
            values = read(fields, names)
        except Unknown as unknown:
            vehicle.count_dropped(f"{row.message} as {row.name}", str(unknown))
            return
        stamp_ns = vehicle.arrival_ns if row.is_now else names.stamp_of(fields)
        names.pack(topic, row.message, make, stamp_ns, values)

    return publish
