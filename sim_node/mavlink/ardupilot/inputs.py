"""Table of the topics that ArduPilot reads over DDS, and the MAVLink messages that each becomes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from sim_node.mavlink.commands import DO_CHANGE_SPEED, THROTTLE_AS_IS
from sim_node.mavlink.dialects import Input
from sim_node.mavlink.parameters import ParamValue
from sim_node.mavlink.setpoints import (
    LOCAL_NED,
    NO_POSITION,
    NO_YAW,
    NO_YAW_RATE,
    POSITION_MASK,
    VELOCITY_MASK,
    SetpointRefused,
    local_vision_pose,
)
from sim_node.mavlink.telemetry import Telemetry
from sim_node.mavlink.transaction import Outgoing
from sim_node.spatial.frames import Flu
from sim_node.world.problems import quoted

_LOCAL, _GLOBAL = "SET_POSITION_TARGET_LOCAL_NED", "SET_POSITION_TARGET_GLOBAL_INT"
_MAP, _BASE, _ODOM = "map", "base_link", "odom"
_ALTITUDES = {5: "above mean sea level", 6: "above home", 11: "above terrain"}  # MAV_FRAME
_AIRSPEED = 0.0  # SPEED_TYPE
_AXES, _MIN_AXES = 8, 4
_UNCHANGED = 65535  # RC_CHANNELS_OVERRIDE
# ArduPilot's defaults of RCn_MIN and RCn_MAX (us).
_PULSES = 1100.0, 1900.0
JOY, JOY_TYPE = "joy", "sensor_msgs/Joy"


def _velocity(message: Any, vehicle: Telemetry) -> Sequence[Outgoing]:
    linear, turn = message.twist.linear, -message.twist.angular.z
    frame = message.header.frame_id
    ned: tuple[float, ...]
    if frame == _MAP:
        ned = (linear.y, linear.x, -linear.z)
    elif frame != _BASE:
        raise SetpointRefused(f"cmd_vel: frame_id is {quoted(frame)}; allowed: {_MAP}, {_BASE}")
    elif math.isnan(linear.y) and math.isnan(linear.z):
        if not math.isfinite(linear.x):
            raise SetpointRefused(f"cmd_vel: an airspeed of {linear.x} m/s")
        speed = {"command": DO_CHANGE_SPEED, "param1": _AIRSPEED, "param2": linear.x, "param3": THROTTLE_AS_IS}
        return (("COMMAND_LONG", speed),)
    elif vehicle.attitude is None:
        raise SetpointRefused(f"cmd_vel: no attitude received yet, to turn a velocity in {_BASE}")
    else:
        # As in AP_DDS, y is to the right.
        ned = tuple(vehicle.attitude.to_world(Flu((linear.x, -linear.y, linear.z))).to_ned())
    mask = VELOCITY_MASK | NO_YAW_RATE if math.isnan(turn) else VELOCITY_MASK
    fields: dict[str, Any] = {"coordinate_frame": LOCAL_NED, "type_mask": mask}
    fields |= dict(zip(("vx", "vy", "vz"), map(float, ned), strict=True))
    return ((_LOCAL, fields | {"yaw_rate": 0.0 if math.isnan(turn) else float(turn)}),)


def _place(message: Any, vehicle: Telemetry) -> Sequence[Outgoing]:
    """Convert a geographic position. Like AP_DDS, ignore the message's velocity, acceleration and yaw."""
    frame, altitudes = message.header.frame_id, message.coordinate_frame
    if frame != _MAP:
        raise SetpointRefused(f"cmd_gps_pose: frame_id is {quoted(frame)}; allowed: {_MAP}")
    if altitudes not in _ALTITUDES:
        allowed = ", ".join(f"{number} ({what})" for number, what in _ALTITUDES.items())
        raise SetpointRefused(f"cmd_gps_pose: coordinate_frame is {altitudes}; allowed: {allowed}")
    if message.type_mask & NO_POSITION:
        raise SetpointRefused(f"cmd_gps_pose: type_mask {message.type_mask} ignores the place, and AP_DDS all else")
    place = message.latitude, message.longitude, message.altitude
    if not all(map(math.isfinite, place)):
        raise SetpointRefused(f"cmd_gps_pose: {place} has numbers that are not finite")
    fields = {"coordinate_frame": int(altitudes), "type_mask": POSITION_MASK | NO_YAW, "alt": float(place[2])}
    return ((_GLOBAL, fields | {"lat_int": round(place[0] * 1e7), "lon_int": round(place[1] * 1e7)}),)


def _estimates(message: Any, vehicle: Telemetry) -> Sequence[Outgoing]:
    """Convert the transforms from odom to base_link to external estimates. Like AP_DDS, ignore all others."""
    found = []
    for each in message.transforms:
        if (each.header.frame_id, each.child_frame_id) == (_ODOM, _BASE):
            at, turn, stamp = each.transform.translation, each.transform.rotation, each.header.stamp
            pose = at.x, at.y, at.z, turn.x, turn.y, turn.z, turn.w
            found.append(local_vision_pose(vehicle, stamp.sec * 10**9 + stamp.nanosec, pose)[:2])
    return found


INPUTS: tuple[Input, ...] = (
    Input("cmd_vel", "geometry_msgs/TwistStamped", _velocity, True),
    Input("cmd_gps_pose", "ardupilot_msgs/GlobalPosition", _place, True),
    Input("tf", "tf2_msgs/TFMessage", _estimates),
)


def joy_input(parameters: Mapping[str, ParamValue]) -> Input:
    """Return the topic of joystick axes, which become pulses between RCn_MIN and RCn_MAX. NaN releases a channel.

    Args:
        parameters: The autopilot's parameters, as far as they are known.

    Returns:
        The topic.
    """

    def pulse(channel: int, axis: float) -> int:
        if math.isnan(axis):
            return 0
        low, high = (
            float(found.value) if (found := parameters.get(f"RC{channel}_{end}")) else default
            for end, default in zip(("MIN", "MAX"), _PULSES, strict=True)
        )
        return int(low + (high - low) * (min(max(axis, -1.0), 1.0) + 1.0) / 2.0)

    def convert(message: Any, vehicle: Telemetry) -> Sequence[Outgoing]:
        if len(message.axes) < _MIN_AXES:
            raise SetpointRefused(f"{JOY}: {len(message.axes)} axes; at least {_MIN_AXES} are needed")
        pulses = [pulse(channel, axis) for channel, axis in enumerate(message.axes[:_AXES], start=1)]
        pulses += [_UNCHANGED] * (_AXES - len(pulses))
        return (("RC_CHANNELS_OVERRIDE", {f"chan{channel}_raw": each for channel, each in enumerate(pulses, start=1)}),)

    return Input(JOY, JOY_TYPE, convert, True)
