"""Table of the topics that PX4 reads below fmu/in, and the MAVLink messages that each becomes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from sim_node.mavlink.commands import DO_SET_MODE
from sim_node.mavlink.dialects import Convert, Input
from sim_node.mavlink.modes import CUSTOM
from sim_node.mavlink.px4 import state
from sim_node.mavlink.px4.names import SET_NAV_STATE
from sim_node.mavlink.setpoints import (
    LOCAL_NED,
    NO_ACCELERATION,
    NO_ATTITUDE,
    NO_POSITION,
    NO_RATES,
    NO_YAW,
    NO_YAW_RATE,
    SetpointRefused,
)
from sim_node.mavlink.telemetry import Telemetry
from sim_node.mavlink.transaction import Outgoing

_LOCAL, _ATTITUDE = "SET_POSITION_TARGET_LOCAL_NED", "SET_ATTITUDE_TARGET"
_TARGET_FIELDS = ("x", "y", "z", "vx", "vy", "vz", "afx", "afy", "afz", "yaw", "yaw_rate")
_MASK_BITS = (*range(9), 10, 11)
_GLOBAL_INT = 5  # MAV_FRAME_GLOBAL_INT
# Commands whose fifth and sixth parameters are degrees, which COMMAND_LONG would round to a metre.
_AT_A_PLACE = frozenset((16, 19, 21, 22, 34, 35, 84, 85, 179, 192, 195))
# Commands of VehicleCommand that MAVLink does not have.
_SET_ORIGIN = 100_000
_MAX_COMMAND = 65535
_BODY_FRD, _LOCAL_FRD = 12, 20  # MAV_FRAME
_POSE_FRAMES = {1: LOCAL_NED, 2: _LOCAL_FRD}  # VehicleOdometry.POSE_FRAME_*
_VELOCITY_FRAMES = {1: LOCAL_NED, 2: _LOCAL_FRD, 3: _BODY_FRD}
_VISION, _MOCAP = 2, 6  # MAV_ESTIMATOR_TYPE
# The diagonal of a symmetric 6 x 6 matrix in the order of its upper triangle.
_DIAGONAL = (0, 6, 11, 15, 18, 20)
MODES = {
    nav: (main, sub) for main, subs in ((4, state.AUTO_MODES), (3, state.POSITION_MODES)) for sub, nav in subs.items()
} | {nav: (main, 0) for main, nav in state.MAIN_MODES.items() if main != 4}


def _target(numbers: Sequence[float]) -> Outgoing:
    """Return the setpoint for position, velocity, acceleration, yaw and yaw rate; NaN for those that do not apply."""
    mask = sum(1 << bit for bit, number in zip(_MASK_BITS, numbers, strict=True) if math.isnan(number))
    given = [0.0 if math.isnan(number) else float(number) for number in numbers]
    fields = dict(zip(_TARGET_FIELDS, given, strict=True))
    return _LOCAL, {"coordinate_frame": LOCAL_NED, "type_mask": mask, **fields}


def hold() -> Outgoing:
    """Return the setpoint for an OffboardControlMode without a setpoint, which is enough for PX4 to enter OFFBOARD."""
    mask = NO_POSITION | NO_ACCELERATION | NO_YAW | NO_YAW_RATE
    return _LOCAL, {"coordinate_frame": LOCAL_NED, "type_mask": mask, **dict.fromkeys(_TARGET_FIELDS, 0.0)}


def _trajectory(message: Any, vehicle: Telemetry) -> Sequence[Outgoing]:
    numbers = (*message.position, *message.velocity, *message.acceleration, message.yaw, message.yawspeed)
    if all(map(math.isnan, numbers[:9])):
        raise SetpointRefused("no position, velocity or acceleration is given: all are NaN")
    return (_target(numbers),)


def _goto(message: Any, vehicle: Telemetry) -> Sequence[Outgoing]:
    yaw = message.heading if message.flag_control_heading else math.nan
    return (_target((*message.position, *[math.nan] * 6, yaw, math.nan)),)


def _limits_of_goto(message: Any) -> str:
    asked = [name for name in _GOTO_LIMITS if getattr(message, f"flag_set_{name}")]
    return f"{', '.join(asked)}: not carried by MAVLink, the vehicle has its own" if asked else ""


_GOTO_LIMITS = ("max_horizontal_speed", "max_vertical_speed", "max_heading_rate")


def _turn(mask: int, q: Sequence[float], rates: Sequence[float], thrust_body: Sequence[float]) -> Sequence[Outgoing]:
    names = ("body_roll_rate", "body_pitch_rate", "body_yaw_rate")
    fields = {"type_mask": mask, "q": tuple(map(float, q)), "thrust": -float(thrust_body[2])}
    return ((_ATTITUDE, fields | dict(zip(names, map(float, rates), strict=True))),)


def _attitude(message: Any, vehicle: Telemetry) -> Sequence[Outgoing]:
    norm = math.hypot(*map(float, message.q_d))
    if not abs(norm - 1.0) <= 0.01:
        raise SetpointRefused(f"q_d: norm is {norm:.3g}, a rotation needs 1")
    # The roll and pitch rates are ignored, the yaw rate is fed forward.
    rate = float(message.yaw_sp_move_rate)
    mask = NO_RATES if math.isnan(rate) else NO_RATES & ~4
    return _turn(mask, message.q_d, (0.0, 0.0, 0.0 if math.isnan(rate) else rate), message.thrust_body)


def _rates(message: Any, vehicle: Telemetry) -> Sequence[Outgoing]:
    rates = message.roll, message.pitch, message.yaw
    return _turn(NO_ATTITUDE, (1.0, 0.0, 0.0, 0.0), rates, message.thrust_body)


def _command(message: Any, vehicle: Telemetry) -> Sequence[Outgoing]:
    params = [float(getattr(message, f"param{number}")) for number in range(1, 8)]
    command, altitude = int(message.command), params[6]
    if command == SET_NAV_STATE:
        found = MODES.get(int(params[0]) if math.isfinite(params[0]) else -1)
        if found is None:
            raise SetpointRefused(f"VEHICLE_CMD_SET_NAV_STATE: MAVLink has no mode for nav_state {params[0]:g}")
        command, params = DO_SET_MODE, [float(CUSTOM), *map(float, found), *[0.0] * 4]
    if command == _SET_ORIGIN:
        origin = {"latitude": _degrees(params[4]), "longitude": _degrees(params[5])}
        return (("SET_GPS_GLOBAL_ORIGIN", {**origin, "altitude": _rounded("altitude", altitude * 1e3)}),)
    if command > _MAX_COMMAND:
        raise SetpointRefused(f"command {command} is PX4's own: MAVLink's commands end at {_MAX_COMMAND}")
    fields: dict[str, Any] = {f"param{number}": params[number - 1] for number in range(1, 5)}
    if command in _AT_A_PLACE and any(params[4:6]) and all(map(math.isfinite, params[4:6])):
        place: dict[str, Any] = {
            "frame": _GLOBAL_INT,
            "x": _degrees(params[4]),
            "y": _degrees(params[5]),
            "z": altitude,
        }
        return (("COMMAND_INT", {"command": command, **fields, **place}),)
    last = {f"param{number}": params[number - 1] for number in range(5, 8)}
    return (("COMMAND_LONG", {"command": command, "confirmation": int(message.confirmation), **fields, **last}),)


def _degrees(degrees: float) -> int:
    return _rounded("degrees", degrees * 1e7)


def _rounded(what: str, number: float) -> int:
    if not math.isfinite(number):
        raise SetpointRefused(f"{what}: not finite")
    return round(number)


def _sticks(message: Any, vehicle: Telemetry) -> Sequence[Outgoing]:
    """Convert sticks, -1 to 1, by the inverse of PX4's own conversion of MANUAL_CONTROL."""
    if not message.valid:
        raise SetpointRefused("valid is false")
    thrust = (message.throttle + 1.0) * 0.5
    numbers = {"x": message.pitch, "y": message.roll, "z": thrust, "r": message.yaw}
    fields = {name: _rounded(name, float(number) * 1e3) for name, number in numbers.items()}
    return (("MANUAL_CONTROL", {**fields, "target": vehicle.system, "buttons": int(getattr(message, "buttons", 0))}),)


def _odometry(estimator: int) -> Convert:
    def convert(message: Any, vehicle: Telemetry) -> Sequence[Outgoing]:
        frame, moving = _POSE_FRAMES.get(message.pose_frame), _VELOCITY_FRAMES.get(message.velocity_frame)
        if frame is None:
            raise SetpointRefused(f"pose_frame is {message.pose_frame}; allowed: 1 (NED), 2 (FRD)")
        fields: dict[str, Any] = dict(zip("xyz", map(float, message.position), strict=True))
        fields |= dict(zip(("vx", "vy", "vz"), map(float, message.velocity), strict=True))
        fields |= dict(zip(("rollspeed", "pitchspeed", "yawspeed"), map(float, message.angular_velocity), strict=True))
        variances = (*message.position_variance, *message.orientation_variance)
        return (
            (
                "ODOMETRY",
                {
                    **fields,
                    "time_usec": int(getattr(message, "timestamp_sample", 0) or message.timestamp),
                    "frame_id": frame,
                    "child_frame_id": moving or _BODY_FRD,
                    "q": tuple(map(float, message.q)),
                    "pose_covariance": _upper(variances),
                    "velocity_covariance": _upper((*message.velocity_variance, *[math.nan] * 3)),
                    "reset_counter": int(message.reset_counter),
                    "estimator_type": estimator,
                    "quality": int(message.quality),
                },
            ),
        )

    return convert


def _upper(variances: Sequence[float]) -> tuple[float, ...]:
    """Return a covariance (21,), the upper triangle, with these on its diagonal; NaN in front if none is known."""
    numbers = [0.0] * 21
    for at, variance in zip(_DIAGONAL, variances, strict=True):
        numbers[at] = float(variance)
    return tuple(numbers) if math.isfinite(numbers[0]) else (math.nan, *[0.0] * 20)


def _distance(message: Any, vehicle: Telemetry) -> Sequence[Outgoing]:
    lengths = {name: _rounded(name, float(getattr(message, name)) * 1e2) for name in _DISTANCES}
    variance = float(message.variance) * 1e4
    fields = {
        **lengths,
        "time_boot_ms": int(message.timestamp // 1000) & 0xFFFFFFFF,
        "type": int(message.type),
        "orientation": int(message.orientation),
        "covariance": round(min(max(variance, 0.0), 254.0)) if math.isfinite(variance) else 255,
        "horizontal_fov": float(message.h_fov),
        "vertical_fov": float(message.v_fov),
        "quaternion": tuple(map(float, message.q)),
        # There, 0 means unknown, and 1 invalid.
        "signal_quality": 0 if message.signal_quality < 0 else max(int(message.signal_quality), 1),
    }
    return (("DISTANCE_SENSOR", fields),)


_DISTANCES = ("min_distance", "max_distance", "current_distance")


def _obstacles(message: Any, vehicle: Telemetry) -> Sequence[Outgoing]:
    same: Mapping[str, Any] = {name: int(getattr(message, name)) for name in ("frame", "sensor_type", *_DISTANCES[:2])}
    fields = {
        **same,
        "time_usec": int(message.timestamp),
        "distances": tuple(map(int, message.distances)),
        "increment_f": float(message.increment),
        "angle_offset": float(message.angle_offset),
    }
    return (("OBSTACLE_DISTANCE", fields),)


_MOVES = ("position", "velocity", "acceleration")
INPUTS: tuple[Input, ...] = (
    Input("trajectory_setpoint", "TrajectorySetpoint", _trajectory, True, _MOVES),
    Input("goto_setpoint", "GotoSetpoint", _goto, True, ("position",), _limits_of_goto),
    Input("vehicle_attitude_setpoint", "VehicleAttitudeSetpoint", _attitude, True, ("attitude",)),
    Input("vehicle_rates_setpoint", "VehicleRatesSetpoint", _rates, True, ("body_rate",)),
    Input("vehicle_command", "VehicleCommand", _command),
    Input("vehicle_command_mode_executor", "VehicleCommand", _command),
    Input("manual_control_input", "ManualControlSetpoint", _sticks),
    Input("vehicle_visual_odometry", "VehicleOdometry", _odometry(_VISION)),
    Input("vehicle_mocap_odometry", "VehicleOdometry", _odometry(_MOCAP)),
    Input("distance_sensor", "DistanceSensor", _distance),
    Input("obstacle_distance", "ObstacleDistance", _obstacles),
)
OFFBOARD_MODE, OFFBOARD_TYPE = "offboard_control_mode", "OffboardControlMode"
# Fields of OffboardControlMode, from the outermost controller on. The first one that is set counts.
OFFBOARD_FIELDS = (*_MOVES, "attitude", "body_rate", "thrust_and_torque", "direct_actuator")


def controlled(offboard: Mapping[str, bool]) -> str:
    """Return the outermost controller that an OffboardControlMode sets; empty for none."""
    return next((name for name in OFFBOARD_FIELDS if offboard.get(name)), "")
