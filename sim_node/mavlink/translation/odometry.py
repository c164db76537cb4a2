"""ODOMETRY: an estimate in the frames that the message names, with covariances."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sim_node.mavlink.codec import enum_name
from sim_node.mavlink.contents import reader
from sim_node.mavlink.telemetry import Telemetry
from sim_node.mavlink.topics import topic
from sim_node.mavlink.translation.covariances import known, symmetric, twist
from sim_node.mavlink.translation.rows import translates
from sim_node.messages import telemetry_messages as wire
from sim_node.spatial.frames import Covariance, Frame
from sim_node.spatial.geometry.arrays import FloatArray

LOCAL_NED, BODY_FRD, LOCAL_FRD = 1, 12, 20  # MAV_FRAME

_IN_MAP = "position attitude velocity body_velocity rates"
_IN_ODOM = "local_position local_attitude body_velocity body_velocity rates"
# What is read, the topic's frame, and the frames of the covariance before and after, by the message's frame.
_POSES = {
    LOCAL_NED: (reader("ODOMETRY", _IN_MAP), "map", Frame.NED, Frame.ENU),
    LOCAL_FRD: (
        reader("ODOMETRY", _IN_ODOM),
        "odom",
        Frame.FRD,
        Frame.FLU,
    ),
}
# The frame is that of the message: odom where the sender does not know north.
ODOMETRY = topic("odometry/in", "nav_msgs/Odometry", layout=wire.odometry_with_covariance)


@translates("ODOMETRY")
def odometry(fields: Any, vehicle: Telemetry) -> None:
    """Translate the pose in its frame_id and the velocity in its child_frame_id, which is LOCAL_NED for PX4.

    Messages with other frames than LOCAL_NED, LOCAL_FRD and BODY_FRD are counted. So are those of a pose in one local
    frame and a velocity in the other: the heading between these is unknown.
    """
    found = _POSES.get(fields.frame_id)
    if found is None or fields.child_frame_id not in (fields.frame_id, BODY_FRD):
        vehicle.drop(fields, f"frames {_name(fields.frame_id)} and {_name(fields.child_frame_id)}")
        return
    read, frame, world, target = found
    position, q, velocity, body_velocity, rates = read(fields)
    if fields.quality < 0:
        vehicle.drop(fields, "has failed")
        return
    if q is None:
        vehicle.drop(fields, "no attitude")
        return
    if position is None:
        vehicle.drop(fields, "position is not finite")
        return
    stamp_ns = vehicle.clock.stamp_us(fields.time_usec, vehicle.arrival_ns)
    if not vehicle.accepts(fields, "odometry", vehicle.component, stamp_ns):
        return
    pose_covariance = Covariance(_covariance(fields.pose_covariance), world).to(target)
    # Rates are in the body already; the velocity is turned if it is along the world's axes.
    if fields.child_frame_id == BODY_FRD:
        twist_covariance = Covariance(_covariance(fields.velocity_covariance), Frame.FRD).to(Frame.FLU)
    else:
        body_velocity = None if velocity is None else q.to_body(velocity)
        in_world = Covariance(_covariance(fields.velocity_covariance), (world, Frame.FRD)).to((target, Frame.FLU))
        twist_covariance = in_world.to_body(q)
    moving = twist(body_velocity, rates, _entries(twist_covariance.in_frames(Frame.FLU)))
    values = (*position, *q, *_entries(pose_covariance.in_frames(target)), *moving)
    vehicle.pack_variant(ODOMETRY, stamp_ns, values, vehicle.frames.named(frame), vehicle.frames.base)


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
