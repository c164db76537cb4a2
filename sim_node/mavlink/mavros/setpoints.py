"""Table of the topics that MAVROS subscribes to: the MAVLink message that each becomes, field by field."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from sim_node.mavlink.codec import kind_named
from sim_node.mavlink.contents import Unit
from sim_node.mavlink.dialects import ValueSource, by, compiled
from sim_node.mavlink.setpoints import (
    NO_ACCELERATION,
    NO_POSITION,
    NO_VELOCITY,
    NO_YAW,
    NO_YAW_RATE,
    SetpointLimits,
    SetpointRefused,
    check_message,
    check_place,
)
from sim_node.mavlink.telemetry import Telemetry
from sim_node.spatial.frames import AttitudeEnu, YawEnu
from sim_node.spatial.geometry import quaternions

of = ValueSource
Fields = Mapping[str, Any]
_LOCAL_NED, _GLOBAL_INT = 1, 5  # MAV_FRAME
_BODY = (8, 9)  # MAV_FRAME_BODY_NED, MAV_FRAME_BODY_OFFSET_NED
_NO_RATES, _NO_ATTITUDE = 7, 128
_DEGREES = Unit(1e7, 1e-7)


class Conversions:
    """Methods for rows: conversion of numbers from ENU and FLU to NED and FRD, for a vehicle."""

    def __init__(self, vehicle: Telemetry) -> None:
        self._vehicle = vehicle

    def yaw_of(self, x: float, y: float, z: float, w: float) -> tuple[float, ...]:
        """Return the yaw in NED of an orientation in ENU."""
        _is_rotation(x, y, z, w)
        return self.yaw(float(quaternions.to_rpy((x, y, z, w))[2]))

    def yaw(self, yaw: float) -> tuple[float, ...]:
        """Return a yaw in NED."""
        return (float(YawEnu(yaw).to_ned().radians) if math.isfinite(yaw) else math.nan,)

    def attitude(self, x: float, y: float, z: float, w: float) -> tuple[float, ...]:
        """Return an attitude [w, x, y, z] of FRD in NED."""
        norm = _is_rotation(x, y, z, w)
        return tuple(AttitudeEnu((x / norm, y / norm, z / norm, w / norm)).to_ned())

    def vector(self, frame: int, x: float, y: float, z: float) -> tuple[float, ...]:
        """Return a vector along the axes of a frame: from FLU for the vehicle's own frames, else from ENU."""
        return (x, -y, -z) if frame in _BODY else (y, x, -z)

    def yaw_in(self, frame: int, yaw: float) -> tuple[float, ...]:
        """Return a yaw relative to the vehicle's heading in its own frames, else from north."""
        return (-yaw,) if frame in _BODY else self.yaw(yaw)

    def inverted(self, x: float, y: float, z: float, w: float) -> tuple[float, ...]:
        """Return NED_ENU_Q * q as [w, x, y, z]: an orientation that keeps its own axes."""
        root = math.sqrt(0.5)
        return root * -(x + y), root * (w + z), root * (w - z), root * (y - x)

    def millimetres(self, latitude: float, longitude: float, altitude: float) -> tuple[float, ...]:
        """Return millimetres above mean sea level from metres above the ellipsoid."""
        check_place((latitude, longitude, altitude))
        undulation = self._vehicle.ellipsoid_altitude(0.0, latitude, longitude)
        return ((altitude - undulation) * 1e3,)


def _is_rotation(x: float, y: float, z: float, w: float) -> float:
    norm = math.hypot(x, y, z, w)
    if not abs(norm - 1.0) <= 0.01:
        raise SetpointRefused(f"orientation: norm is {norm:.3g}, a rotation needs 1")
    return norm


@dataclass(frozen=True)
class SetpointRow:
    """A topic that becomes a MAVLink message.

    Attributes:
        name: Name below MAVROS' namespace.
        type: package/Name.
        message: MAVLink message.
        fields: Sources of its fields. A key may be several fields.
        constants: Further fields.
        is_setpoint: Whether it moves the vehicle, and so ends a setpoint stream under our own names.
    """

    name: str
    type: str
    message: str
    fields: Mapping[str, ValueSource]
    constants: Mapping[str, Any] = field(default_factory=dict)
    is_setpoint: bool = True


_LOCAL, _GLOBAL, _ATTITUDE = (
    *("SET_POSITION_TARGET_LOCAL_NED", "SET_POSITION_TARGET_GLOBAL_INT"),
    "SET_ATTITUDE_TARGET",
)


def _enu(path: str) -> ValueSource:
    return of(f"{path}.y {path}.x -{path}.z")


def _rotation(method: str, path: str) -> ValueSource:
    return by(method, " ".join(f"{path}.{axis}" for axis in "xyzw"))


def _in_frame(path: str) -> ValueSource:
    return by("vector", f"coordinate_frame {path}.x {path}.y {path}.z")


def _velocity(name: str, type: str, twist: str) -> SetpointRow:
    mask = NO_POSITION | NO_ACCELERATION | NO_YAW
    fields = {"vx vy vz": _enu(f"{twist}linear"), "yaw_rate": of(f"-{twist}angular.z")}
    constants = {"coordinate_frame": _LOCAL_NED, "type_mask": mask}
    return SetpointRow(f"setpoint_velocity/{name}", type, _LOCAL, fields, constants)


_RAW = {"coordinate_frame": of("coordinate_frame"), "type_mask": of("type_mask")}
STICKS = "x y z r buttons buttons2 enabled_extensions s t aux1 aux2 aux3 aux4 aux5 aux6"
_PLACE = {"latitude longitude": of("geo.latitude geo.longitude", _DEGREES)}
SETPOINTS: tuple[SetpointRow, ...] = (
    SetpointRow(
        *("setpoint_position/local", "geometry_msgs/PoseStamped", _LOCAL),
        {"x y z": _enu("pose.position"), "yaw": _rotation("yaw_of", "pose.orientation")},
        {"coordinate_frame": _LOCAL_NED, "type_mask": NO_VELOCITY | NO_ACCELERATION | NO_YAW_RATE},
    ),
    SetpointRow(
        *("setpoint_position/global", "geographic_msgs/GeoPoseStamped", _GLOBAL),
        {
            "lat_int lon_int": of("pose.position.latitude pose.position.longitude", _DEGREES),
            "alt": of("pose.position.altitude"),
            "yaw": _rotation("yaw_of", "pose.orientation"),
        },
        {"coordinate_frame": _GLOBAL_INT, "type_mask": NO_VELOCITY | NO_ACCELERATION},
    ),
    _velocity("cmd_vel", "geometry_msgs/TwistStamped", "twist."),
    _velocity("cmd_vel_unstamped", "geometry_msgs/Twist", ""),
    SetpointRow(
        *("setpoint_accel/accel", "geometry_msgs/Vector3Stamped", _LOCAL),
        {"afx afy afz": _enu("vector")},
        {"coordinate_frame": _LOCAL_NED, "type_mask": NO_POSITION | NO_VELOCITY | NO_YAW | NO_YAW_RATE},
    ),
    SetpointRow(
        *("setpoint_raw/local", "mavros_msgs/PositionTarget", _LOCAL),
        {
            **_RAW,
            "x y z": _in_frame("position"),
            "vx vy vz": _in_frame("velocity"),
            "afx afy afz": _in_frame("acceleration_or_force"),
            "yaw": by("yaw_in", "coordinate_frame yaw"),
            "yaw_rate": of("-yaw_rate"),
        },
    ),
    SetpointRow(
        *("setpoint_raw/global", "mavros_msgs/GlobalPositionTarget", _GLOBAL),
        {
            **_RAW,
            "lat_int lon_int": of("latitude longitude", _DEGREES),
            "alt": of("altitude"),
            "vx vy vz": _enu("velocity"),
            "afx afy afz": _enu("acceleration_or_force"),
            "yaw": by("yaw", "yaw"),
            "yaw_rate": of("-yaw_rate"),
        },
    ),
    SetpointRow(
        *("setpoint_raw/attitude", "mavros_msgs/AttitudeTarget", _ATTITUDE),
        {
            "type_mask": of("type_mask"),
            "q": _rotation("attitude", "orientation"),
            "body_roll_rate body_pitch_rate body_yaw_rate": of("body_rate.x -body_rate.y -body_rate.z"),
            "thrust": of("thrust"),
        },
    ),
    SetpointRow(
        *("manual_control/send", "mavros_msgs/ManualControl", "MANUAL_CONTROL"),
        {STICKS: of(STICKS)},
    ),
    SetpointRow(
        *("rc/override", "mavros_msgs/OverrideRCIn", "RC_CHANNELS_OVERRIDE"),
        {
            " ".join(f"chan{number}_raw" for number in range(1, 19)): of(
                " ".join(f"channels[{number}]" for number in range(18))
            )
        },
    ),
    SetpointRow(
        *("home_position/set", "mavros_msgs/HomePosition", "SET_HOME_POSITION"),
        {
            **_PLACE,
            "altitude": by("millimetres", "geo.latitude geo.longitude geo.altitude"),
            "x y z": _enu("position"),
            "q": _rotation("inverted", "orientation"),
            "approach_x approach_y approach_z": _enu("approach"),
        },
        is_setpoint=False,
    ),
    SetpointRow(
        *("global_position/set_gp_origin", "geographic_msgs/GeoPointStamped", "SET_GPS_GLOBAL_ORIGIN"),
        {
            "latitude longitude": of("position.latitude position.longitude", _DEGREES),
            "altitude": by("millimetres", "position.latitude position.longitude position.altitude"),
        },
        is_setpoint=False,
    ),
)
# Attitudes and body rates, each with the thrust of THRUST: MAV_FIELD of SET_ATTITUDE_TARGET but thrust.
TURNS: tuple[SetpointRow, ...] = (
    SetpointRow(
        *("setpoint_attitude/attitude", "geometry_msgs/PoseStamped", _ATTITUDE),
        {"q": _rotation("attitude", "pose.orientation")},
        {"type_mask": _NO_RATES, **dict.fromkeys(("body_roll_rate", "body_pitch_rate", "body_yaw_rate"), 0.0)},
    ),
    SetpointRow(
        *("setpoint_attitude/cmd_vel", "geometry_msgs/TwistStamped", _ATTITUDE),
        {"body_roll_rate body_pitch_rate body_yaw_rate": of("twist.angular.x -twist.angular.y -twist.angular.z")},
        {"type_mask": _NO_ATTITUDE, "q": (1.0, 0.0, 0.0, 0.0)},
    ),
)
THRUST, THRUST_TYPE = "setpoint_attitude/thrust", "mavros_msgs/Thrust"


def message_of(row: SetpointRow, message: Any, vehicle: Telemetry, limits: SetpointLimits, **more: Any) -> Fields:
    """Return the fields of the MAVLink message.

    Args:
        row: Row of the topic.
        message: Message of the topic.
        vehicle: The vehicle's telemetry.
        limits: Limits of setpoints.
        more: Further fields.

    Returns:
        The fields by name.

    Raises:
        SetpointRefused: A number is not finite or beyond a limit.
    """
    numbers = iter(_reader(row.name)(message, Conversions(vehicle)))
    kind = kind_named(row.message)
    fields: dict[str, Any] = {}
    for key in row.fields:
        if kind.arrays.get(key):
            fields[key] = tuple(next(numbers) for _ in range(4))
            continue
        for name in key.split():
            number = next(numbers)
            if name in kind.integers:
                if not math.isfinite(number):
                    raise SetpointRefused(f"{name} is {number}")
                number = round(number)
            fields[name] = number
    fields |= {**row.constants, **more}
    check_message(row.message, fields, limits, vehicle.home)
    return fields


@cache
def _reader(name: str) -> Callable[[Any, Any], tuple[Any, ...]]:
    row = next(row for row in (*SETPOINTS, *TURNS) if row.name == name)
    return compiled(row.fields.values(), None, Conversions)
