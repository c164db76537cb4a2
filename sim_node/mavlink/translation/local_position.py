"""LOCAL_POSITION_NED and LOCAL_POSITION_NED_COV: the estimator's position and velocity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sim_node.mavlink.telemetry import Telemetry
from sim_node.mavlink.topics import topic
from sim_node.mavlink.translation.covariances import UNKNOWN, known, symmetric, twist
from sim_node.mavlink.translation.rows import reads
from sim_node.messages import telemetry_messages as wire
from sim_node.spatial.frames import Covariance, Enu, Frame
from sim_node.spatial.geometry.arrays import FloatArray

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
    """Publish position and velocity. Topics that need the attitude are published once it is known."""
    stamp_ns = vehicle.clock.stamp_ms(fields.time_boot_ms, vehicle.arrival_ns)
    _publish(fields, vehicle, stamp_ns, position, velocity, 0, 1)


@reads("LOCAL_POSITION_NED_COV", "position velocity acceleration")
def local_position_cov(
    fields: Any, vehicle: Telemetry, position: Enu | None, velocity: Enu | None, acceleration: Enu | None
) -> None:
    """Translate position, velocity and acceleration with covariance: the upper triangle of 9 x 9, NaN for unknown.

    As in MAVROS, its odometry is preferred to that of LOCAL_POSITION_NED, and its pose and velocity are published if
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
    positions, velocities = _block(in_enu[:3, :3]), list(UNKNOWN)
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
    """Publish what both messages have.

    pose_rank, odometry_rank: the ranks of the message as a source of pose and velocity, and of odometry. covariances:
    of the pose in the map and of the twist in base_link (36 each), if it has any.

    Return the pose in the map, and the twist in base_link if it is known; None if the pose is not.
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
            positions, velocities = covariances or (UNKNOWN, UNKNOWN)
            moving = twist(linear, rates, velocities)
            vehicle.pack_variant(ODOM, stamp_ns, (*pose, *positions, *moving), wire.odometry_with_covariance)
    if is_pose:
        vehicle.pack(POSE, stamp_ns, pose)
        if body is not None and rates is not None and velocity is not None:
            vehicle.pack(VELOCITY_BODY, stamp_ns, body)
            vehicle.pack(VELOCITY_LOCAL, stamp_ns, (*velocity, *q.to_world(rates)))
    return pose, body


def _block(covariance: FloatArray) -> list[float]:
    """Return a covariance (36) whose first block is this 3 x 3."""
    whole = np.zeros((6, 6))
    whole[:3, :3] = covariance
    entries: list[float] = whole.ravel().tolist()
    return entries
