"""LOCAL_POSITION_NED, LOCAL_POSITION_NED_COV and ODOMETRY: estimates of position and velocity, with covariances."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from sim_node.mavlink.codec import enum_name
from sim_node.mavlink.contents import reader
from sim_node.mavlink.telemetry import Telemetry
from sim_node.mavlink.topics import topic
from sim_node.mavlink.translation.rows import reads, translates
from sim_node.messages import telemetry_messages as wire
from sim_node.spatial.frames import Covariance, Enu, Flu, Frame
from sim_node.spatial.geometry.arrays import FloatArray, IntArray

UNKNOWN_COVARIANCE = (0.0,) * 36
_NOT_KNOWN = -1.0
_NOTHING = (0.0, 0.0, 0.0)
# First entries of the diagonal blocks of velocity and rates in a 6 x 6.
_VELOCITY, _RATES = 0, 21


def known(covariance: FloatArray) -> FloatArray:
    """Return a covariance with zeros for entries that are not finite."""
    return np.where(np.isfinite(covariance), covariance, 0.0)


@cache
def _places(size: int) -> IntArray:
    """Return, for each entry of a symmetric matrix, its index in the row-major upper triangle."""
    places = np.zeros((size, size), np.intp)
    places[np.triu_indices(size)] = np.arange(size * (size + 1) // 2)
    whole: IntArray = np.maximum(places, places.T)
    return whole


def symmetric(upper: Sequence[float], size: int) -> FloatArray:
    """Return the matrix of MAVLink's row-major upper triangle, with NaN for entries that are not finite."""
    entries = np.array(upper, dtype=np.float64)
    entries[~np.isfinite(entries)] = np.nan
    return np.asarray(entries[_places(size)])


def twist_numbers(
    velocity: Flu | None, rates: Flu | None, covariance: Sequence[float] = UNKNOWN_COVARIANCE
) -> tuple[float, ...]:
    """Return the numbers of a TwistWithCovariance that may be unknown in part or as a whole.

    Args:
        velocity: Velocity, m/s.
        rates: Angular rates, rad/s.
        covariance: Covariance (36,), row-major.

    Returns:
        The six numbers of the twist, and the covariance.
    """
    if velocity is not None and rates is not None:
        return (*velocity, *rates, *covariance)
    entries = list(covariance)
    if velocity is None:
        entries[_VELOCITY] = _NOT_KNOWN
    if rates is None:
        entries[_RATES] = _NOT_KNOWN
    return (*(velocity or _NOTHING), *(rates or _NOTHING), *entries)


POSE = topic("local_position/pose", "geometry_msgs/PoseStamped", "map")
ODOM = topic(
    "local_position/odom", "nav_msgs/Odometry", "map base_link", lambda frame, child, layout: layout(frame, child)
)
VELOCITY_LOCAL = topic("local_position/velocity_local", "geometry_msgs/TwistStamped", "map")
VELOCITY_BODY = topic("local_position/velocity_body", "geometry_msgs/TwistStamped", "base_link")
POSE_COV = topic("local_position/pose_cov", "geometry_msgs/PoseWithCovarianceStamped", "map")
VELOCITY_COV = topic("local_position/velocity_body_cov", "geometry_msgs/TwistWithCovarianceStamped", "base_link")
ACCELERATION = topic("local_position/accel", "geometry_msgs/AccelWithCovarianceStamped", "map")


@reads("LOCAL_POSITION_NED", "position velocity")
def local_position(fields: Any, vehicle: Telemetry, position: Enu | None, velocity: Enu | None) -> None:
    """Publish position and velocity. Topics that need the attitude are published once that is known."""
    stamp_ns = vehicle.clock.stamp_ms(fields.time_boot_ms, vehicle.arrival_ns)
    _publish(fields, vehicle, stamp_ns, position, velocity, 0, 1)


@reads("LOCAL_POSITION_NED_COV", "position velocity acceleration")
def local_position_cov(
    fields: Any, vehicle: Telemetry, position: Enu | None, velocity: Enu | None, acceleration: Enu | None
) -> None:
    """Translate position, velocity and acceleration with covariance: the upper triangle of 9 x 9, NaN for unknown.

    As in MAVROS, its odometry is preferred to that of LOCAL_POSITION_NED. Its pose and velocity are published only if
    that is not received.
    """
    stamp_ns = vehicle.clock.stamp_us(fields.time_usec, vehicle.arrival_ns)
    covariance = Covariance(symmetric(fields.covariance, 9), Frame.NED).to(Frame.ENU)
    in_enu = known(covariance.in_frames(Frame.ENU))
    if acceleration is not None:
        accelerations = _block(in_enu[6:, 6:])
        vehicle.pack(ACCELERATION, stamp_ns, (*acceleration, 0.0, 0.0, 0.0, *accelerations))
    else:
        vehicle.drop(fields, "acceleration is not finite")
    positions, velocities = _block(in_enu[:3, :3]), list(UNKNOWN_COVARIANCE)
    q = vehicle.attitude
    if q is not None:
        in_body = known(covariance.to_body(q, block=1).in_frames((Frame.ENU, Frame.FLU, Frame.ENU)))
        velocities = _block(in_body[3:6, 3:6])
    state = _publish(fields, vehicle, stamp_ns, position, velocity, 1, 0, (positions, velocities))
    if state is not None:
        pose, body = state
        vehicle.pack(POSE_COV, stamp_ns, (*pose, *positions))
        if body is not None:
            vehicle.pack(VELOCITY_COV, stamp_ns, (*body, *velocities))


def _publish(
    fields: Any,
    vehicle: Telemetry,
    stamp_ns: int,
    position: Enu | None,
    velocity: Enu | None,
    pose_rank: int,
    odometry_rank: int,
    covariances: tuple[Sequence[float], Sequence[float]] | None = None,
) -> tuple[Sequence[float], Sequence[float] | None] | None:
    """Publish the common contents of both messages.

    Args:
        fields: Fields of the message.
        vehicle: The vehicle.
        stamp_ns: Stamp of the message, ns.
        position: Position, m.
        velocity: Velocity, m/s.
        pose_rank: Rank of the message as a source of pose and velocity.
        odometry_rank: Rank of the message as a source of odometry.
        covariances: Covariances (36,) of the pose in the map and of the twist in base_link, if any.

    Returns:
        The pose in the map, and the twist in base_link or None; None if the pose is unknown.
    """
    if position is None:
        vehicle.drop(fields, "position is not finite")
        return None
    is_pose = vehicle.best_source("local position", pose_rank, stamp_ns)
    if is_pose:
        vehicle.poses.add_position(stamp_ns, position)
    q, rates = vehicle.attitude, vehicle.rates
    if q is None:
        vehicle.drop(fields, "no attitude yet")
        return None
    if velocity is None:
        vehicle.drop(fields, "velocity is not finite")
    elif rates is None:
        vehicle.drop(fields, "no angular rate")
    pose, linear = (*position, *q), None if velocity is None else q.to_body(velocity)
    body = (*linear, *rates) if linear is not None and rates is not None else None
    if vehicle.best_source("local odometry", odometry_rank, stamp_ns):
        if covariances is None and body is not None:
            vehicle.pack_variant(ODOM, stamp_ns, pose + body, wire.odometry)
        else:
            positions, velocities = covariances or (UNKNOWN_COVARIANCE, UNKNOWN_COVARIANCE)
            moving = twist_numbers(linear, rates, velocities)
            vehicle.pack_variant(ODOM, stamp_ns, (*pose, *positions, *moving), wire.odometry_with_covariance)
    if is_pose:
        vehicle.pack(POSE, stamp_ns, pose)
        if body is not None and rates is not None and velocity is not None:
            vehicle.pack(VELOCITY_BODY, stamp_ns, body)
            vehicle.pack(VELOCITY_LOCAL, stamp_ns, (*velocity, *q.to_world(rates)))
    return pose, body


def _block(covariance: FloatArray) -> list[float]:
    """Return a covariance (36,) with this 3 x 3 as its first block."""
    whole = np.zeros((6, 6))
    whole[:3, :3] = covariance
    entries: list[float] = whole.ravel().tolist()
    return entries


LOCAL_NED, BODY_FRD, LOCAL_FRD = 1, 12, 20  # MAV_FRAME

_IN_MAP = "position attitude velocity body_velocity rates"
_IN_ODOM = "local_position local_attitude body_velocity body_velocity rates"
# By the message's frame: the reader, the topic's frame, and the frames of the covariance before and after.
_POSES = {
    LOCAL_NED: (reader("ODOMETRY", _IN_MAP), "map", Frame.NED, Frame.ENU),
    LOCAL_FRD: (
        reader("ODOMETRY", _IN_ODOM),
        "odom",
        Frame.FRD,
        Frame.FLU,
    ),
}
# The frame is that of the message: odom if the sender does not know north.
ODOMETRY = topic("odometry/in", "nav_msgs/Odometry", layout=wire.odometry_with_covariance)


@translates("ODOMETRY")
def odometry(fields: Any, vehicle: Telemetry) -> None:
    """Translate the pose in its frame_id and the velocity in its child_frame_id, which is LOCAL_NED for PX4.

    Messages with frames other than LOCAL_NED, LOCAL_FRD and BODY_FRD are counted and dropped. So are those with a pose
    in one local frame and a velocity in another, because the heading between them is unknown.
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
    # Rates are in the body's axes; the velocity is rotated if it is along the world's.
    if fields.child_frame_id == BODY_FRD:
        twist_covariance = Covariance(_covariance(fields.velocity_covariance), Frame.FRD).to(Frame.FLU)
    else:
        body_velocity = None if velocity is None else q.to_body(velocity)
        in_world = Covariance(_covariance(fields.velocity_covariance), (world, Frame.FRD)).to((target, Frame.FLU))
        twist_covariance = in_world.to_body(q)
    moving = twist_numbers(body_velocity, rates, _entries(twist_covariance.in_frames(Frame.FLU)))
    values = (*position, *q, *_entries(pose_covariance.in_frames(target)), *moving)
    vehicle.pack_variant(ODOMETRY, stamp_ns, values, vehicle.frames.named(frame), vehicle.frames.base)


def _name(frame: int) -> str:
    """Return the name of a MAV_FRAME, such as BODY_NED."""
    return enum_name("MAV_FRAME", frame).removeprefix("MAV_FRAME_")


def _covariance(upper: tuple[float, ...]) -> FloatArray:
    """Return the 6 x 6 covariance with NaN for unknown entries: all of them, if the first entry is NaN."""
    return np.full((6, 6), np.nan) if math.isnan(upper[0]) else symmetric(upper, 6)


def _entries(covariance: FloatArray) -> list[float]:
    """Return the entries in row-major order, with zeros for unknown ones, as in ROS."""
    values: list[float] = known(covariance).ravel().tolist()
    return values
