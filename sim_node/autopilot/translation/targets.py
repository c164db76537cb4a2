"""LANDING_TARGET and POSITION_TARGET_GLOBAL_INT: where the vehicle lands, and where it flies to."""

from __future__ import annotations

from functools import partial
from typing import Any

from sim_node.autopilot.axes import finite, unit_quaternion
from sim_node.autopilot.codec import enum_name
from sim_node.autopilot.telemetry import PX4, Telemetry
from sim_node.autopilot.topics import Profile, topic
from sim_node.autopilot.translation.global_position import NO_ORIGIN, NOT_ON_EARTH
from sim_node.autopilot.translation.registry import reads, translates
from sim_node.frames import AttitudeEnu, AttitudeFlu, AttitudeFrd, AttitudeNed, Enu, Flu, Frame, Ned, convert_position
from sim_node.wire import telemetry_messages as wire

_LOCAL_NED, _BODY_NED, _BODY_FRD, _LOCAL_FRD = 1, 8, 12, 20  # MAV_FRAME
_IGNORE_PLACE = 0b11  # of POSITION_TARGET_TYPEMASK
_LEVEL = (0.0, 0.0, 0.0, 1.0)

# The frame is that of the message.
LANDING_TARGET = topic(
    "landing_target/pose_in", "geometry_msgs/PoseStamped", layout=partial(wire.plain, "geometry_msgs/msg/PoseStamped")
)
GOAL = topic("move_base_simple/goal", "geometry_msgs/PoseStamped", "map", profile=Profile.RELIABLE)


@translates("LANDING_TARGET")
def landing_target(fields: Any, vehicle: Telemetry) -> None:
    """Translate the position in the frame of the message. PX4 sends it relative to itself, along north, east, down."""
    place, unit = (fields.x, fields.y, fields.z), unit_quaternion(*fields.q)
    frames, frame = vehicle.frames, fields.frame
    position: Enu | Flu
    rotation: AttitudeEnu | AttitudeFlu | None
    if not fields.position_valid or not finite(*place):
        vehicle.drop(fields, "no position")
        return
    if frame == _LOCAL_NED and vehicle.autopilot == PX4 and not vehicle.component:
        if vehicle.attitude is None:
            vehicle.drop(fields, "no attitude yet")
            return
        name, position, rotation = frames.base, vehicle.attitude.to_body(Enu.of_ned(*place)), None
    elif frame == _LOCAL_NED:
        name, position = frames.map, Enu.of_ned(*place)
        rotation = unit and AttitudeNed(unit).to_enu()
    elif frame in (_BODY_NED, _BODY_FRD, _LOCAL_FRD):
        name, position = frames.odom if frame == _LOCAL_FRD else frames.base, Flu.of_frd(*place)
        rotation = unit and AttitudeFrd(unit).to_flu()
    else:
        vehicle.drop(fields, f"frame {enum_name('MAV_FRAME', frame).removeprefix('MAV_FRAME_')}")
        return
    stamp_ns = vehicle.stamp_of(fields)
    if vehicle.accepts(fields, LANDING_TARGET.name, vehicle.component, stamp_ns):
        vehicle.pack_variant(LANDING_TARGET, stamp_ns, (*position, *(rotation or _LEVEL)), name)


@reads("POSITION_TARGET_GLOBAL_INT", "place")
def position_target(fields: Any, vehicle: Telemetry, place: tuple[float, float, float] | None) -> None:
    """Publish the place when it changes, as MAVROS does, so that a planner does not plan again for the same one."""
    if fields.type_mask & _IGNORE_PLACE or not (fields.lat_int or fields.lon_int):
        vehicle.drop(fields, "no position")
    elif place is None:
        vehicle.drop(fields, NOT_ON_EARTH)
    elif vehicle.origin is None:
        vehicle.drop(fields, NO_ORIGIN)
    elif vehicle.goal != (*place[:2], vehicle.origin):
        vehicle.goal = (*place[:2], vehicle.origin)
        level = *place[:2], vehicle.origin[2]
        east, north, _ = Ned(convert_position(level, Frame.LLA, Frame.NED, vehicle.origin).tolist()).to_enu()
        vehicle.pack(GOAL, vehicle.stamp_of(fields), (east, north, 0.0, *_LEVEL))
