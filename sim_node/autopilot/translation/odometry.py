"""ODOMETRY: an estimate in the frames that the message names, with covariances."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sim_node.autopilot.axes import finite, unit_quaternion
from sim_node.autopilot.codec import enum_name
from sim_node.autopilot.telemetry import Telemetry
from sim_node.autopilot.topics import topic
from sim_node.autopilot.translation.covariances import known, symmetric, twist
from sim_node.autopilot.translation.registry import translates
from sim_node.frames import (
    AttitudeEnu,
    AttitudeFlu,
    AttitudeFrd,
    AttitudeNed,
    Covariance,
    Enu,
    Flu,
    Frame,
    Frd,
    Ned,
)
from sim_node.geometry.arrays import FloatArray
from sim_node.wire import telemetry_messages as wire

LOCAL_NED, BODY_FRD, LOCAL_FRD = 1, 12, 20  # MAV_FRAME

# The frame is that of the message: odom where the sender does not know north.
ODOMETRY = topic("odometry/in", "nav_msgs/Odometry", layout=wire.odometry_with_covariance)


@translates("ODOMETRY")
def odometry(fields: Any, vehicle: Telemetry) -> None:
    """Translate the pose in its frame_id and the velocity in its child_frame_id, which is LOCAL_NED for PX4.

    Messages with other frames than LOCAL_NED, LOCAL_FRD and BODY_FRD are counted. So are those of a pose in one local
    frame and a velocity in the other: the heading between these is unknown.
    """
    in_map = fields.frame_id == LOCAL_NED
    if fields.frame_id not in (LOCAL_NED, LOCAL_FRD) or fields.child_frame_id not in (fields.frame_id, BODY_FRD):
        vehicle.drop(fields, f"frames {_name(fields.frame_id)} and {_name(fields.child_frame_id)}")
        return
    unit = unit_quaternion(*fields.q)
    if fields.quality < 0:
        vehicle.drop(fields, "has failed")
        return
    if unit is None:
        vehicle.drop(fields, "no attitude")
        return
    if not finite(fields.x, fields.y, fields.z):
        vehicle.drop(fields, "position is not finite")
        return
    stamp_ns = vehicle.clock.stamp_us(fields.time_usec, vehicle.arrival_ns)
    if not vehicle.accepts(fields, "odometry", vehicle.component, stamp_ns):
        return
    place, linear = (fields.x, fields.y, fields.z), (fields.vx, fields.vy, fields.vz)
    position: Enu | Flu
    q: AttitudeEnu | AttitudeFlu
    if in_map:
        in_enu = AttitudeNed(unit).to_enu()
        position, q, velocity = Ned(place).to_enu(), in_enu, in_enu.to_body(Ned(linear).to_enu())
        frame, world, target = vehicle.frames.map, Frame.NED, Frame.ENU
    else:
        in_flu = AttitudeFrd(unit).to_flu()
        position, q, velocity = Frd(place).to_flu(), in_flu, in_flu.to_body(Frd(linear).to_flu())
        frame, world, target = vehicle.frames.odom, Frame.FRD, Frame.FLU
    pose_covariance = Covariance(_covariance(fields.pose_covariance), world).to(target)
    # Rates are in the body already; the velocity is turned if it is along the world's axes.
    if fields.child_frame_id == BODY_FRD:
        velocity = Frd(linear).to_flu()
        twist_covariance = Covariance(_covariance(fields.velocity_covariance), Frame.FRD).to(Frame.FLU)
    else:
        in_world = Covariance(_covariance(fields.velocity_covariance), (world, Frame.FRD)).to((target, Frame.FLU))
        twist_covariance = in_world.to_body(q)
    rates = Frd((fields.rollspeed, fields.pitchspeed, fields.yawspeed)).to_flu()
    moving = twist(
        velocity if finite(*velocity) else None,
        rates if finite(*rates) else None,
        _entries(twist_covariance.in_frames(Frame.FLU)),
    )
    values = (*position, *q, *_entries(pose_covariance.in_frames(target)), *moving)
    vehicle.pack_variant(ODOMETRY, stamp_ns, values, frame, vehicle.frames.base)


def _name(frame: int) -> str:
    """Return the name of a MAV_FRAME, such as BODY_NED."""
    return enum_name("MAV_FRAME", frame).removeprefix("MAV_FRAME_")


def _covariance(upper: tuple[float, ...]) -> FloatArray:
    """Return the 6x6 with NaN for what is unknown: everything, if the first entry is NaN."""
    return np.full((6, 6), np.nan) if math.isnan(upper[0]) else symmetric(upper, 6)


def _entries(covariance: FloatArray) -> list[float]:
    """Return the entries in row-major order, with zeros for unknown ones, as in ROS."""
    values: list[float] = known(covariance).ravel().tolist()
    return values
