"""LANDING_TARGET and POSITION_TARGET_GLOBAL_INT: where the vehicle lands, and where it flies to."""

from __future__ import annotations

from typing import Any

from sim_node.mavlink.axes import finite, unit_quaternion
from sim_node.mavlink.codec import enum_name
from sim_node.mavlink.telemetry import PX4, Telemetry
from sim_node.mavlink.topics import Profile, topic
from sim_node.mavlink.translation.global_position import NO_ORIGIN, NOT_ON_EARTH, is_on_earth
from sim_node.mavlink.translation.registry import translates
from sim_node.messages import telemetry_messages as wire
from sim_node.spatial.frames import (
    AttitudeEnu,
    AttitudeFlu,
    AttitudeFrd,
    AttitudeNed,
    Enu,
    Flu,
    Frame,
    Ned,
    convert_position,
)

_LOCAL_NED, _BODY_NED, _BODY_FRD, _LOCAL_FRD = 1, 8, 12, 20  # MAV_FRAME
_IGNORE_PLACE = 0b11  # of POSITION_TARGET_TYPEMASK
_LEVEL = (0.0, 0.0, 0.0, 1.0)

LANDING_TARGET = topic(
    "landing_target/pose_in",
    "geometry_msgs/PoseStamped",
    Profile.SENSOR,
    "map, odom or base_link, as the message names it",
    "pose of the landing target (m); its orientation is 0 0 0 1 if it is not sent",
    lambda frames, frame: wire.plain("geometry_msgs/msg/PoseStamped", frame),
)
GOAL = topic(
    "move_base_simple/goal",
    "geometry_msgs/PoseStamped",
    Profile.RELIABLE,
    "map",
    "the place to which the autopilot flies (m, ENU) when it changes, at height 0, its orientation east",
)


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


@translates("POSITION_TARGET_GLOBAL_INT")
def position_target(fields: Any, vehicle: Telemetry) -> None:
    """Publish the place when it changes, as MAVROS does, so that a planner does not plan again for the same one."""
    latitude, longitude = fields.lat_int * 1e-7, fields.lon_int * 1e-7
    if fields.type_mask & _IGNORE_PLACE or not (fields.lat_int or fields.lon_int):
        vehicle.drop(fields, "no position")
    elif not is_on_earth(latitude, longitude):
        vehicle.drop(fields, NOT_ON_EARTH)
    elif vehicle.origin is None:
        vehicle.drop(fields, NO_ORIGIN)
    elif vehicle.goal != (latitude, longitude, vehicle.origin):
        vehicle.goal = latitude, longitude, vehicle.origin
        place = latitude, longitude, vehicle.origin[2]
        east, north, _ = Ned(convert_position(place, Frame.LLA, Frame.NED, vehicle.origin).tolist()).to_enu()
        vehicle.pack(GOAL, vehicle.stamp_of(fields), (east, north, 0.0, *_LEVEL))
