"""LANDING_TARGET and POSITION_TARGET_GLOBAL_INT: the vehicle's landing site and its target."""

from __future__ import annotations

from functools import partial
from typing import Any

from sim_node.mavlink.codec import enum_name
from sim_node.mavlink.contents import reader
from sim_node.mavlink.telemetry import PX4, Telemetry
from sim_node.mavlink.topics import Profile, topic
from sim_node.mavlink.translation.global_position import NO_ORIGIN, NOT_ON_EARTH
from sim_node.mavlink.translation.rows import reads, translates
from sim_node.messages import telemetry_messages as wire
from sim_node.spatial.frames import Frame, Ned, convert_position

_LOCAL_NED, _BODY_NED, _BODY_FRD, _LOCAL_FRD = 1, 8, 12, 20  # MAV_FRAME
_read_ned = reader("LANDING_TARGET", "position attitude")
_read_frd = reader("LANDING_TARGET", "local_position local_attitude")
# Reader of the pose, and its frame, by the message's frame.
_FRAMES = {
    **{_LOCAL_NED: (_read_ned, "map"), _LOCAL_FRD: (_read_frd, "odom")},
    **dict.fromkeys((_BODY_NED, _BODY_FRD), (_read_frd, "base_link")),
}
_IGNORE_PLACE = 0b11  # POSITION_TARGET_TYPEMASK
_LEVEL = (0.0, 0.0, 0.0, 1.0)

# The frame is that of the message.
LANDING_TARGET = topic(
    "landing_target/pose_in", "geometry_msgs/PoseStamped", layout=partial(wire.plain, "geometry_msgs/msg/PoseStamped")
)
GOAL = topic("move_base_simple/goal", "geometry_msgs/PoseStamped", "map", profile=Profile.RELIABLE)


@translates("LANDING_TARGET")
def landing_target(fields: Any, vehicle: Telemetry) -> None:
    """Translate the position in the message's frame. PX4 sends it relative to the vehicle, along north, east, down."""
    read, frame = _FRAMES.get(fields.frame, (_read_ned, ""))
    position, rotation = read(fields)
    if not fields.position_valid or position is None:
        vehicle.drop(fields, "no position")
        return
    if fields.frame == _LOCAL_NED and vehicle.autopilot == PX4 and not vehicle.component:
        if vehicle.attitude is None:
            vehicle.drop(fields, "no attitude yet")
            return
        frame, position, rotation = "base_link", vehicle.attitude.to_body(position), None
    elif not frame:
        vehicle.drop(fields, f"frame {enum_name('MAV_FRAME', fields.frame).removeprefix('MAV_FRAME_')}")
        return
    stamp_ns = vehicle.stamp_of(fields)
    if vehicle.accepts(fields, LANDING_TARGET.name, vehicle.component, stamp_ns):
        vehicle.pack_variant(LANDING_TARGET, stamp_ns, (*position, *(rotation or _LEVEL)), vehicle.frames.named(frame))


@reads("POSITION_TARGET_GLOBAL_INT", "place")
def position_target(fields: Any, vehicle: Telemetry, place: tuple[float, float, float] | None) -> None:
    """Publish the position when it changes, as MAVROS does, so that planners do not plan for the same one again."""
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
