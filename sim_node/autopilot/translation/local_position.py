"""LOCAL_POSITION_NED: where the estimator has the vehicle, and how fast it moves."""

from __future__ import annotations

from typing import Any

from sim_node.autopilot.axes import ned_enu, rotate_inverse
from sim_node.autopilot.telemetry import Telemetry
from sim_node.autopilot.topics import Profile, topic
from sim_node.autopilot.translation.registry import translates
from sim_node.wire import telemetry_messages as wire

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


@translates("LOCAL_POSITION_NED")
def local_position(fields: Any, vehicle: Telemetry) -> None:
    """Pose and twists; those that need the attitude come once it is known."""
    stamp_ns = vehicle.clock.stamp_ms(fields.time_boot_ms, vehicle.arrival_ns)
    position = ned_enu(fields.x, fields.y, fields.z)
    velocity = ned_enu(fields.vx, fields.vy, fields.vz)
    vehicle.poses.add_position(stamp_ns, position)
    q = vehicle.attitude
    if q is None:
        return
    rates = vehicle.rates
    pose = (*position, *q)
    body = (*rotate_inverse(q, velocity), *rates)
    vehicle.pack(POSE, stamp_ns, pose)
    vehicle.pack(ODOM, stamp_ns, pose + body)
    vehicle.pack(VELOCITY_BODY, stamp_ns, body)
    turned = rotate_inverse((-q[0], -q[1], -q[2], q[3]), rates)
    vehicle.pack(VELOCITY_LOCAL, stamp_ns, (*velocity, *turned))
