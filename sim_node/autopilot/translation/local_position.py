"""LOCAL_POSITION_NED and LOCAL_POSITION_NED_COV: the estimator's position and velocity."""

from __future__ import annotations

from typing import Any

import numpy as np

from sim_node.autopilot.telemetry import Telemetry
from sim_node.autopilot.topics import Profile, topic
from sim_node.autopilot.translation.registry import translates
from sim_node.frames import Covariance, Enu, Frame
from sim_node.geometry.arrays import FloatArray
from sim_node.wire import telemetry_messages as wire

_UPPER = np.triu_indices(9)

POSE = topic(
    "local_position/pose",
    "geometry_msgs/PoseStamped",
    Profile.SENSOR,
    "map",
    "position (m) from the estimator's origin and orientation, ENU",
    lambda frames: wire.pose(frames.map),
)
ODOM = topic(
    "local_position/odom",
    "nav_msgs/Odometry",
    Profile.SENSOR,
    "map, child base_link",
    "pose in the map; velocity (m/s) and rates (rad/s) in base_link",
    lambda frames: wire.odometry(frames.map, frames.base),
)
VELOCITY_LOCAL = topic(
    "local_position/velocity_local",
    "geometry_msgs/TwistStamped",
    Profile.SENSOR,
    "map",
    "velocity (m/s) and rates (rad/s), along the map's axes",
    lambda frames: wire.twist(frames.map),
)
VELOCITY_BODY = topic(
    "local_position/velocity_body",
    "geometry_msgs/TwistStamped",
    Profile.SENSOR,
    "base_link",
    "velocity (m/s) and rates (rad/s), along the vehicle's axes",
    lambda frames: wire.twist(frames.base),
)
POSE_COV = topic(
    "local_position/pose_cov",
    "geometry_msgs/PoseWithCovarianceStamped",
    Profile.SENSOR,
    "map",
    "pose as above, with the variances of the position (m²); those of the orientation are unknown: 0",
    lambda frames: wire.pose_with_covariance(frames.map),
)
VELOCITY_COV = topic(
    "local_position/velocity_body_cov",
    "geometry_msgs/TwistWithCovarianceStamped",
    Profile.SENSOR,
    "base_link",
    "twist as above, with the variances of the velocity (m²/s²); those of the rates are unknown: 0",
    lambda frames: wire.twist_with_covariance(frames.base),
)
ACCELERATION = topic(
    "local_position/accel",
    "geometry_msgs/AccelWithCovarianceStamped",
    Profile.SENSOR,
    "map",
    "the estimator's acceleration (m/s²), with variances; along the map's axes",
    lambda frames: wire.acceleration_with_covariance(frames.map),
)


@translates("LOCAL_POSITION_NED")
def local_position(fields: Any, vehicle: Telemetry) -> None:
    """Translate position and velocity. Topics that need the attitude are published once it is known."""
    stamp_ns = vehicle.clock.stamp_ms(fields.time_boot_ms, vehicle.arrival_ns)
    position = Enu.of_ned(fields.x, fields.y, fields.z)
    velocity = Enu.of_ned(fields.vx, fields.vy, fields.vz)
    vehicle.poses.add_position(stamp_ns, position)
    q = vehicle.attitude
    if q is None:
        return
    rates = vehicle.rates
    pose, body = (*position, *q), (*q.to_body(velocity), *rates)
    vehicle.pack(POSE, stamp_ns, pose)
    vehicle.pack(ODOM, stamp_ns, pose + body)
    vehicle.pack(VELOCITY_BODY, stamp_ns, body)
    vehicle.pack(VELOCITY_LOCAL, stamp_ns, (*velocity, *q.to_world(rates)))


@translates("LOCAL_POSITION_NED_COV")
def local_position_cov(fields: Any, vehicle: Telemetry) -> None:
    """Translate position, velocity and acceleration with covariance: the upper triangle of 9 x 9, NaN for unknown."""
    stamp_ns = vehicle.clock.stamp_us(fields.time_usec, vehicle.arrival_ns)
    upper = np.full((9, 9), np.nan)
    upper[_UPPER] = fields.covariance
    covariance = Covariance(np.where(np.isnan(upper), upper.T, upper), Frame.NED).to(Frame.ENU)
    in_enu = _known(covariance.in_frames(Frame.ENU))
    acceleration = np.zeros((6, 6))
    acceleration[:3, :3] = in_enu[6:, 6:]
    linear = Enu.of_ned(fields.ax, fields.ay, fields.az)
    vehicle.pack(ACCELERATION, stamp_ns, (*linear, 0.0, 0.0, 0.0, *acceleration.ravel().tolist()))
    q = vehicle.attitude
    if q is None:
        return
    position = Enu.of_ned(fields.x, fields.y, fields.z)
    velocity = Enu.of_ned(fields.vx, fields.vy, fields.vz)
    place, motion = np.zeros((2, 6, 6))
    place[:3, :3] = in_enu[:3, :3]
    in_body = covariance.to_body(q, block=1).in_frames((Frame.ENU, Frame.FLU, Frame.ENU))
    motion[:3, :3] = _known(in_body)[3:6, 3:6]
    vehicle.pack(POSE_COV, stamp_ns, (*position, *q, *place.ravel().tolist()))
    body = (*q.to_body(velocity), *vehicle.rates)
    vehicle.pack(VELOCITY_COV, stamp_ns, (*body, *motion.ravel().tolist()))


def _known(covariance: FloatArray) -> FloatArray:
    """Return a covariance with zeros for unknown entries, as in ROS."""
    return np.nan_to_num(covariance, nan=0.0, posinf=0.0, neginf=0.0)
