"""Conversion of setpoints and external estimates from ENU/FLU to MAVLink's NED/FRD, with type masks.

SET_POSITION_TARGET_LOCAL_NED, SET_ATTITUDE_TARGET: https://mavlink.io/en/messages/common.html
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sim_node.mavlink.codec import EncodeError, kind_named
from sim_node.mavlink.contents import written
from sim_node.mavlink.telemetry import PX4, Home, Telemetry
from sim_node.spatial.frames import (
    AttitudeEnu,
    AttitudeFlu,
    Covariance,
    Enu,
    Flu,
    Frame,
    Ned,
    Position,
    YawEnu,
)
from sim_node.spatial.geometry import quaternions
from sim_node.world.problems import quoted

LOCAL_NED, GLOBAL_RELATIVE_ALT_INT, BODY_NED = 1, 6, 8  # MAV_FRAME
# MAV_FRAME_GLOBAL and MAV_FRAME_GLOBAL_INT, whose altitudes are above mean sea level.
_ABOVE_SEA = (0, 5)
# The frame of latitude and longitude (REP 105).
EARTH = "earth"
# POSITION_TARGET_TYPEMASK: each bit marks a field to ignore.
NO_POSITION, NO_VELOCITY, NO_ACCELERATION = 7, 7 << 3, 7 << 6
NO_YAW, NO_YAW_RATE = 1 << 10, 1 << 11
POSITION_MASK = NO_VELOCITY | NO_ACCELERATION | NO_YAW_RATE
VELOCITY_MASK = NO_POSITION | NO_ACCELERATION | NO_YAW
ACCELERATION_MASK = NO_POSITION | NO_VELOCITY | NO_YAW | NO_YAW_RATE
# Origin of local NED.
_START = Ned((0.0, 0.0, 0.0))
# Largest coordinate of a setpoint's position, m.
MAX_ALTITUDE = 1e5
# Range of autopilots' gyroscopes, 2000 degrees/s (rad/s): no vehicle turns faster.
MAX_TURN_RATE = math.radians(2000.0)
# ATTITUDE_TARGET_TYPEMASK.
NO_RATES, NO_ATTITUDE = 7, 128


class SetpointRefused(ValueError):
    """A setpoint is not sent. The message gives the reason."""


@dataclass(frozen=True)
class SetpointLimits:
    """Limits of setpoints.

    Attributes:
        distance: Maximum distance from home, m.
        height: Maximum height above home, m.
        velocity: Maximum velocity, m/s.
        acceleration: Maximum acceleration, m/s².
    """

    distance: float = 1000.0
    height: float = 120.0
    velocity: float = 20.0
    acceleration: float = 10.0


class Setpoint(NamedTuple):
    """A message to the vehicle.

    Attributes:
        name: Name of the message.
        fields: Its fields.
        ned: Target position in local NED, m; None if it has none.
    """

    name: str
    fields: Mapping[str, Any]
    ned: Ned | None = None


def position(
    frame: str, xyz: Sequence[float], q: Sequence[float], map_frame: str, limits: SetpointLimits, home: Home | None
) -> Setpoint:
    """Return the setpoint for a position (m) and yaw in the map. Raises SetpointRefused."""
    _in_frame("position", frame, (map_frame,))
    ned = Enu(_finite("position", xyz)).to_ned()
    _within(ned, (home and home.ned) or _START, limits)
    return _position(ned, _unit(q).yaw)


def goto(
    frame: str, xyz: Sequence[float], q: Sequence[float], map_frame: str, limits: SetpointLimits, home: Home | None
) -> Setpoint:
    """Return the setpoint for a position (m) east, north and up of home, and a yaw. Raises SetpointRefused."""
    _in_frame("goto", frame, (map_frame,))
    target = Enu(_finite("goto", xyz))
    if home is None:
        raise SetpointRefused("goto: no HOME_POSITION received yet, to which the target is relative")
    if home.ned is None:
        raise SetpointRefused("goto: home's place in the map is not known: it and the origin were not received yet")
    ned = home.ned + target.to_ned()
    _within(ned, home.ned, limits)
    return _position(ned, _unit(q).yaw)


def place(frame: str, lla: Sequence[float], undulation: float, limits: SetpointLimits, home: Home | None) -> Setpoint:
    """Return the setpoint for a geographic position. The yaw is free.

    Args:
        frame: Name of the position's frame.
        lla: Latitude, longitude (degrees) and altitude above the ellipsoid (m).
        undulation: Height of the geoid above the ellipsoid there (m), because autopilots use mean sea level.
        limits: Limits of setpoints.
        home: The vehicle's home, if known.

    Raises:
        SetpointRefused: The position is invalid or beyond a limit, or home is not known.
    """
    _in_frame("place", frame, ("", EARTH))
    latitude, longitude, altitude = check_place(lla)
    if home is None:
        raise SetpointRefused("place: no HOME_POSITION received yet, to which limits are relative")
    altitude_msl = altitude - undulation
    _near((latitude, longitude, altitude_msl), home, limits)
    fields = {"coordinate_frame": GLOBAL_RELATIVE_ALT_INT, "type_mask": POSITION_MASK | NO_YAW}
    fields |= {"alt": altitude_msl - home.altitude_msl}
    return _setpoint("SET_POSITION_TARGET_GLOBAL_INT", fields, place=(latitude, longitude))


def check_place(lla: Sequence[float]) -> tuple[Any, ...]:
    """Return latitude, longitude (degrees) and altitude (m) if they are valid. Raises SetpointRefused."""
    latitude, longitude, altitude = _finite("place", lla)
    if abs(latitude) > 90.0 or abs(longitude) > 180.0:
        raise SetpointRefused(f"place: latitude {latitude:g}, longitude {longitude:g}; needs [-90, 90] and [-180, 180]")
    if abs(altitude) > MAX_ALTITUDE:
        raise SetpointRefused(f"place: altitude {altitude:g} m; allowed: up to {MAX_ALTITUDE:g} m")
    return latitude, longitude, altitude


def velocity(
    frame: str, linear: Sequence[float], yaw_rate: float, map_frame: str, base_frame: str, limits: SetpointLimits
) -> Setpoint:
    """Return the setpoint for a velocity (m/s) along the axes of the map or of base_link, and a yaw rate (rad/s).

    In base_link, x points along the vehicle's heading, y to its left and z up, whatever its tilt. Raises
    SetpointRefused.
    """
    _in_frame("velocity", frame, (map_frame, base_frame))
    v = _finite("velocity", (*linear, yaw_rate))
    _below("velocity", v[:3], limits.velocity, "m/s")
    _turning("velocity", v[3:])
    in_map = frame == map_frame
    fields = {"coordinate_frame": LOCAL_NED if in_map else BODY_NED, "type_mask": VELOCITY_MASK}
    along = {"velocity": Enu(v[:3])} if in_map else {"body_velocity": Flu(v[:3])}
    return _setpoint("SET_POSITION_TARGET_LOCAL_NED", fields, yaw_rate=v[3], **along)


def acceleration(frame: str, xyz: Sequence[float], map_frame: str, limits: SetpointLimits) -> Setpoint:
    """Return the setpoint for an acceleration (m/s²) along the map's axes. Raises SetpointRefused."""
    _in_frame("acceleration", frame, (map_frame,))
    a = _finite("acceleration", xyz)
    _below("acceleration", a, limits.acceleration, "m/s²")
    fields = {"coordinate_frame": LOCAL_NED, "type_mask": ACCELERATION_MASK}
    return _setpoint("SET_POSITION_TARGET_LOCAL_NED", fields, acceleration=Enu(a))


def attitude(frame: str, q: Sequence[float], thrust: float, map_frame: str) -> Setpoint:
    """Return the setpoint for an orientation in the map and a thrust, 0 to 1. Raises SetpointRefused."""
    _in_frame("attitude", frame, (map_frame,))
    turned = _unit(q)
    fields = {"type_mask": NO_RATES, "thrust": checked_thrust(thrust)}
    return _setpoint("SET_ATTITUDE_TARGET", fields, attitude=turned)


def body_rates(frame: str, rates: Sequence[float], thrust: float, base_frame: str) -> Setpoint:
    """Return the setpoint for angular rates (rad/s) about the vehicle's axes and a thrust, 0 to 1.

    Raises SetpointRefused.
    """
    _in_frame("rates", frame, (base_frame,))
    _turning("rates", _finite("rates", rates))
    fields = {"type_mask": NO_ATTITUDE, "q": (1.0, 0.0, 0.0, 0.0), "thrust": checked_thrust(thrust)}
    return _setpoint("SET_ATTITUDE_TARGET", fields, rates=Flu(rates))


def check_message(name: str, fields: Mapping[str, Any], limits: SetpointLimits, home: Home | None) -> None:
    """Check a message from another source: setpoints as in `check_target`, and that all fields can be sent.

    Args:
        name: Name of the message.
        fields: Its fields; missing ones are zero.
        limits: Limits of setpoints.
        home: The vehicle's home, if known.

    Raises:
        SetpointRefused: A number is not finite, is beyond a limit, or does not fit into its field.
    """
    if name in _TARGETS:
        check_target(name, {**_ZEROS, **fields}, limits, home)
    try:
        kind_named(name).pack(fields)
    except EncodeError as error:
        raise SetpointRefused(str(error)) from None


_TARGETS = ("SET_POSITION_TARGET_LOCAL_NED", "SET_POSITION_TARGET_GLOBAL_INT", "SET_ATTITUDE_TARGET")
_ZEROS = dict.fromkeys(("x", "y", "z", "vx", "vy", "vz", "afx", "afy", "afz", "yaw", "yaw_rate"), 0.0)


def check_target(name: str, fields: Mapping[str, Any], limits: SetpointLimits, home: Home | None) -> None:
    """Check those fields of a setpoint from another source that its type mask does not ignore.

    Args:
        name: SET_POSITION_TARGET_LOCAL_NED, SET_POSITION_TARGET_GLOBAL_INT or SET_ATTITUDE_TARGET.
        fields: Its fields.
        limits: Limits. Those of positions do not apply to offsets from the vehicle.
        home: The vehicle's home, if known.

    Raises:
        SetpointRefused: A number is not finite or beyond a limit.
    """
    mask = fields["type_mask"]
    if name == "SET_ATTITUDE_TARGET":
        if not mask & NO_ATTITUDE:
            _finite("orientation", fields["q"])
        rates = tuple(fields[f"body_{axis}_rate"] for axis in ("roll", "pitch", "yaw"))
        used = [rate for bit, rate in enumerate(rates) if not mask >> bit & 1]
        _turning("rates", _finite("rates", (*used, 0.0)))
        checked_thrust(fields["thrust"])
        return
    is_place, frame = name == "SET_POSITION_TARGET_GLOBAL_INT", fields["coordinate_frame"]
    velocity = [fields[f"v{axis}"] for bit, axis in enumerate("xyz", 3) if not mask >> bit & 1]
    acceleration = [fields[f"af{axis}"] for bit, axis in enumerate("xyz", 6) if not mask >> bit & 1]
    _below("velocity", _finite("velocity", velocity), limits.velocity, "m/s")
    _below("acceleration", _finite("acceleration", acceleration), limits.acceleration, "m/s²")
    if not mask & NO_YAW:
        _finite("yaw", (fields["yaw"],))
    if not mask & NO_YAW_RATE:
        _turning("yaw rate", _finite("yaw rate", (fields["yaw_rate"],)))
    if mask & NO_POSITION == NO_POSITION:
        return
    if not is_place:
        ned = Ned(_finite("position", [0.0 if mask >> bit & 1 else fields[axis] for bit, axis in enumerate("xyz")]))
        if frame == LOCAL_NED:
            _within(ned, (home and home.ned) or _START, limits)
        elif math.hypot(*ned) > limits.distance:
            raise SetpointRefused(f"position: {_metres(math.hypot(*ned))}; limit_distance is {limits.distance:g} m")
        return
    if home is None:
        raise SetpointRefused("place: no HOME_POSITION received yet, to which limits are relative")
    latitude, longitude, altitude = check_place((fields["lat_int"] * 1e-7, fields["lon_int"] * 1e-7, fields["alt"]))
    if frame not in _ABOVE_SEA:
        altitude += home.altitude_msl
    _near((latitude, longitude, altitude), home, limits)


def _position(ned: Ned, yaw: YawEnu) -> Setpoint:
    fields = {"coordinate_frame": LOCAL_NED, "type_mask": POSITION_MASK}
    return _setpoint("SET_POSITION_TARGET_LOCAL_NED", fields, ned, position=ned.to_enu(), yaw=yaw)


def _setpoint(name: str, fields: Mapping[str, Any], ned: Ned | None = None, **values: Any) -> Setpoint:
    return Setpoint(name, {**fields, **written(name, **values)}, ned)


def _in_frame(what: str, frame: str, allowed: tuple[str, ...]) -> None:
    if frame not in allowed:
        raise SetpointRefused(f"{what}: frame_id is {quoted(frame)}; allowed: {', '.join(allowed)}")


def _finite(what: str, values: Sequence[float]) -> tuple[Any, ...]:
    if not all(map(math.isfinite, values)):
        raise SetpointRefused(f"{what}: {tuple(values)} has numbers that are not finite")
    return tuple(values)


def _unit(q: Sequence[float]) -> AttitudeEnu:
    norm = math.hypot(*_finite("orientation", q))
    if abs(norm - 1.0) > 0.01:
        raise SetpointRefused(f"orientation: norm is {norm:.3g}, a rotation needs 1")
    return AttitudeEnu([part / norm for part in q])


def checked_thrust(thrust: float) -> float:
    """Return a thrust if it is valid. Raises SetpointRefused."""
    if not 0.0 <= thrust <= 1.0:
        raise SetpointRefused(f"thrust is {thrust:g}; allowed: 0 to 1")
    return thrust


def _within(ned: Ned, home: Ned, limits: SetpointLimits) -> None:
    north, east, down = ned - home
    distance, height = math.hypot(north, east), -down
    if distance > limits.distance:
        raise SetpointRefused(f"position: {_metres(distance)} from home; limit_distance is {limits.distance:g} m")
    if height > limits.height:
        raise SetpointRefused(f"position: {_metres(height)} above home; limit_height is {limits.height:g} m")
    if -height > limits.distance:
        raise SetpointRefused(f"position: {_metres(-height)} below home; limit_distance is {limits.distance:g} m")


def _near(lla: tuple[float, float, float], home: Home, limits: SetpointLimits) -> None:
    """Check that a position (degrees, m above mean sea level) is within the limits from home."""
    about = (home.latitude, home.longitude, home.altitude_msl)
    target = Position(lla, Frame.LLA).to(Frame.NED, about)
    _within(Ned(target.in_frame(Frame.NED).tolist()), _START, limits)


def _metres(length: float) -> str:
    return f"{length:.1f} m" if length < 1e6 else f"{length:.3g} m"


def _below(what: str, values: Sequence[float], limit: float, unit: str) -> None:
    size = math.hypot(*values)
    if size > limit:
        raise SetpointRefused(f"{what}: {size:.3g} {unit}; limit_{what} is {limit:g} {unit}")


def _turning(what: str, rates: Sequence[float]) -> None:
    if max(map(abs, rates)) > MAX_TURN_RATE:
        raise SetpointRefused(f"{what}: turns at {max(map(abs, rates)):.3g} rad/s; allowed: {MAX_TURN_RATE:.3g} rad/s")


_BODY_FRD, _LOCAL_FRD = 12, 20  # MAV_FRAME
_ESTIMATOR_VISION = 2  # MAV_ESTIMATOR_TYPE
_UPPER = np.triu_indices(6)
# Largest plausible numbers of estimates, m, m/s and rad/s.
MAX_DISTANCE = 1e6
# Larger covariances mean no more than this: MAVLink's floats have 32 bits.
_MAX_COVARIANCE = 1e30


def odometry(
    vehicle: Telemetry,
    stamp_ns: int,
    frames: tuple[str, str],
    pose: Sequence[float],
    twist: Sequence[float],
    pose_covariance: npt.ArrayLike,
    twist_covariance: npt.ArrayLike,
) -> Setpoint:
    """Convert a nav_msgs/Odometry to ODOMETRY.

    Args:
        vehicle: The vehicle's telemetry.
        stamp_ns: Stamp of the message, ns.
        frames: Its frame_id, which is the vehicle's map (ENU) or odom (any heading), and its child_frame_id, the
            vehicle.
        pose: Pose (7,) [x, y, z, qx, qy, qz, qw], m.
        twist: Twist (6,) in the child's axes, m/s and rad/s.
        pose_covariance: Covariance (36,) of the pose, row-major; zeros for unknown.
        twist_covariance: Covariance (36,) of the twist, row-major; zeros for unknown.

    Raises:
        SetpointRefused: A frame or a number is invalid.
    """
    frame, child = frames
    known = vehicle.frames
    if frame not in (known.map, known.odom):
        raise SetpointRefused(f"odometry: frame_id is {quoted(frame)}; allowed: {known.map}, {known.odom}")
    if child != known.base:
        raise SetpointRefused(f"odometry: child_frame_id is {quoted(child)}; allowed: {known.base}")
    usable = _usable("odometry", pose)
    _bounded("odometry", twist)
    # NED is a local frame whose forward axis is north, so it can be sent as LOCAL_FRD.
    fields = {
        "time_usec": _time_us(vehicle, stamp_ns),
        "frame_id": LOCAL_NED if frame == known.map and vehicle.autopilot == PX4 else _LOCAL_FRD,
        "child_frame_id": _BODY_FRD,
        "velocity_covariance": _upper(twist_covariance, Frame.FLU, Frame.FRD),
        "estimator_type": _ESTIMATOR_VISION,
    }
    if frame == known.map:
        fields["pose_covariance"] = _upper(pose_covariance, Frame.ENU, Frame.NED)
        place = {"position": Enu(usable[:3]), "attitude": AttitudeEnu(usable[3:])}
    else:
        fields["pose_covariance"] = _upper(pose_covariance, Frame.FLU, Frame.FRD)
        place = {"local_position": Flu(usable[:3]), "local_attitude": AttitudeFlu(usable[3:])}
    moving = {"body_velocity": Flu(twist[:3]), "rates": Flu(twist[3:6])}
    return Setpoint("ODOMETRY", fields | written("ODOMETRY", **place, **moving))


def vision_pose(vehicle: Telemetry, stamp_ns: int, frame: str, pose: Sequence[float]) -> Setpoint:
    """Convert a pose (7,) in the vehicle's map to VISION_POSITION_ESTIMATE. Raises SetpointRefused."""
    if frame != vehicle.frames.map:
        raise SetpointRefused(f"vision_pose: frame_id is {quoted(frame)}; allowed: {vehicle.frames.map}")
    usable = _usable("vision_pose", pose)
    name = "VISION_POSITION_ESTIMATE"
    fields = written(name, position=Enu(usable[:3]), attitude=AttitudeEnu(usable[3:]))
    fields |= {"usec": _time_us(vehicle, stamp_ns), "covariance": [math.nan, *[0.0] * 20]}
    return Setpoint(name, fields)


def local_vision_pose(vehicle: Telemetry, stamp_ns: int, pose: Sequence[float]) -> Setpoint:
    """Convert a pose (7,), FLU in a frame of any heading, to VISION_POSITION_ESTIMATE. Raises SetpointRefused."""
    x, y, z, *q = _usable("vision_pose", pose)
    roll, pitch, yaw = quaternions.to_rpy((q[0], -q[1], -q[2], q[3])).tolist()
    fields = {"x": x, "y": -y, "z": -z, "roll": roll, "pitch": pitch, "yaw": yaw}
    fields |= {"usec": _time_us(vehicle, stamp_ns), "covariance": [math.nan, *[0.0] * 20]}
    return Setpoint("VISION_POSITION_ESTIMATE", fields)


def _usable(what: str, pose: Sequence[float]) -> Sequence[float]:
    _bounded(what, pose)
    norm = math.hypot(*pose[3:])
    if abs(norm - 1.0) > 0.01:
        raise SetpointRefused(f"{what}: orientation has norm {norm:.3g}, a rotation needs 1")
    return (*pose[:3], *(part / norm for part in pose[3:]))


def _bounded(what: str, values: Sequence[float]) -> None:
    # This is False for NaN, too.
    if not all(abs(value) <= MAX_DISTANCE for value in values):
        raise SetpointRefused(f"{what}: {tuple(values)} has numbers beyond {MAX_DISTANCE:g} or NaN")


def _time_us(vehicle: Telemetry, stamp_ns: int) -> int:
    """Return the time on the autopilot's clock, if known, so that the autopilot knows the age of the estimate."""
    offset_ns = vehicle.clock.offset_ns
    return max(0, stamp_ns - offset_ns if vehicle.clock.synchronised and offset_ns is not None else stamp_ns) // 1000


def _upper(covariance: npt.ArrayLike, source: Frame, target: Frame) -> list[float]:
    """Return MAVLink's upper triangle; NaN in front for unknown covariances, which are zeros in ROS."""
    matrix = np.asarray(covariance, dtype=np.float64).reshape(6, 6)
    if not matrix.any():
        return [math.nan, *[0.0] * 20]
    if not np.isfinite(matrix).all():
        raise SetpointRefused("odometry: a covariance has numbers that are not finite")
    matrix = np.clip(matrix, -_MAX_COVARIANCE, _MAX_COVARIANCE)
    values: list[float] = Covariance(matrix, source).to(target).in_frames(target)[_UPPER].tolist()
    return values
