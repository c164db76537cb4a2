"""Setpoints from topics to a vehicle: checked, converted, and repeated while they have a publisher."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from geometry_msgs.msg import PoseStamped, TwistStamped, Vector3Stamped
from nav_msgs.msg import Odometry
from rclpy.node import Node
from sensor_msgs.msg import NavSatFix
from std_msgs.msg import Float64

from sim_node.autopilot import setpoints
from sim_node.autopilot.bridge import Bridge
from sim_node.autopilot.external_odometry import odometry, vision_pose
from sim_node.autopilot.goto import Goto
from sim_node.autopilot.setpoints import Limits, Setpoint, SetpointRefused
from sim_node.autopilot.topics import Profile
from sim_node.autopilot.transaction import Result
from sim_node.autopilot.vehicle import Vehicle
from sim_node.nodes.bridge_parameters import limits_of
from sim_node.nodes.graph_clock import nanoseconds
from sim_node.nodes.publishers import profile
from sim_node.nodes.vehicle_commands import VehicleCommands
from sim_node.rate_limit import RateLimit

# Minimum time between two reports of a refusal.
REPEAT_REFUSAL_S = 1.0


class VehicleSetpoints:
    """Setpoint and vision topics of a vehicle. Belongs to the executor's thread."""

    def __init__(self, node: Node, bridge: Bridge, vehicle: Vehicle, name: str, commands: VehicleCommands) -> None:
        self._node, self._bridge, self._vehicle, self._commands = node, bridge, vehicle, commands
        self._prefix = f"{name}/" if name else ""
        self._thrust = 0.0
        self._reported: dict[str, float] = {}
        self._limit = RateLimit()
        self._owner = ""
        self._setpoint(PoseStamped, "setpoint_position/local", self._position)
        self._setpoint(NavSatFix, "setpoint_position/global", self._place)
        self._setpoint(TwistStamped, "setpoint_velocity/cmd_vel", self._velocity)
        self._setpoint(Vector3Stamped, "setpoint_accel/accel", self._acceleration)
        self._setpoint(PoseStamped, "setpoint_attitude/attitude", self._attitude)
        self._setpoint(TwistStamped, "setpoint_attitude/cmd_vel", self._rates)
        self._subscribe(Float64, "setpoint_attitude/thrust", self._set_thrust)
        self._subscribe(Odometry, "odometry/out", self._odometry)
        self._subscribe(PoseStamped, "vision_pose/pose", self._vision)

    def _subscribe(self, kind: Any, topic: str, callback: Callable[[Any], None]) -> None:
        # A best-effort subscription is compatible with reliable publishers, too.
        self._node.create_subscription(kind, self._prefix + topic, callback, profile(Profile.SENSOR.value))

    def _setpoint(self, kind: Any, topic: str, convert: Callable[[Any, Limits], Setpoint]) -> None:
        def callback(message: Any) -> None:
            try:
                setpoint = convert(message, limits_of(self._node))
            except SetpointRefused as refusal:
                self._refuse(topic, str(refusal))
                return
            self._owner = topic

            def act(now_ns: int) -> None:
                self._vehicle.cancel(Goto.key, f"cancelled by {topic}", now_ns)
                self._vehicle.stream.set(setpoint, topic)

            self._bridge.post(act)

        self._subscribe(kind, topic, callback)

    def update(self) -> None:
        """Stop the stream if its last publisher is gone. Call this about ten times a second."""
        owner = self._owner
        if not owner or self._node.count_publishers(self._prefix + owner):
            return
        self._owner = ""

        def act(now_ns: int) -> None:
            if self._vehicle.stream.stop(owner):
                self._commands.report(owner, Result(True, "stopped: the topic has no publisher any more"))

        self._bridge.post(act)

    def _refuse(self, topic: str, reason: str) -> None:
        now = time.monotonic()
        if now - self._reported.get(topic, -REPEAT_REFUSAL_S) >= REPEAT_REFUSAL_S:
            self._reported[topic] = now
            self._commands.report(topic, Result(False, reason))
            if line := self._limit.admit(topic, f"{self._prefix}{topic}: {reason}", int(now * 1e9)):
                self._node.get_logger().warning(line)

    def _position(self, message: Any, limit: Limits) -> Setpoint:
        telemetry = self._vehicle.telemetry
        pose = message.pose
        return setpoints.position(
            message.header.frame_id, _xyz(pose.position), _xyzw(pose.orientation), telemetry.frames.map, limit,
            telemetry.home,
        )  # fmt: skip

    def _place(self, message: Any, limit: Limits) -> Setpoint:
        telemetry = self._vehicle.telemetry
        at = message.latitude, message.longitude
        undulation = telemetry.ellipsoid_altitude(0.0, *at) if all(map(math.isfinite, at)) else math.nan
        return setpoints.place(message.header.frame_id, (*at, message.altitude), undulation, limit, telemetry.home)

    def _velocity(self, message: Any, limit: Limits) -> Setpoint:
        frames = self._vehicle.telemetry.frames
        twist = message.twist
        return setpoints.velocity(
            message.header.frame_id, _xyz(twist.linear), twist.angular.z, frames.map, frames.base, limit
        )

    def _acceleration(self, message: Any, limit: Limits) -> Setpoint:
        frames = self._vehicle.telemetry.frames
        return setpoints.acceleration(message.header.frame_id, _xyz(message.vector), frames.map, limit)

    def _attitude(self, message: Any, limit: Limits) -> Setpoint:
        frames = self._vehicle.telemetry.frames
        return setpoints.attitude(message.header.frame_id, _xyzw(message.pose.orientation), self._thrust, frames.map)

    def _rates(self, message: Any, limit: Limits) -> Setpoint:
        frames = self._vehicle.telemetry.frames
        return setpoints.body_rates(message.header.frame_id, _xyz(message.twist.angular), self._thrust, frames.base)

    def _set_thrust(self, message: Any) -> None:
        self._thrust = message.data

    def _odometry(self, message: Any) -> None:
        pose, twist = message.pose, message.twist
        self._estimate(
            "odometry/out",
            lambda: odometry(
                self._vehicle.telemetry,
                nanoseconds(message.header.stamp),
                (message.header.frame_id, message.child_frame_id),
                (*_xyz(pose.pose.position), *_xyzw(pose.pose.orientation)),
                (*_xyz(twist.twist.linear), *_xyz(twist.twist.angular)),
                pose.covariance,
                twist.covariance,
            ),
        )

    def _vision(self, message: Any) -> None:
        pose = (*_xyz(message.pose.position), *_xyzw(message.pose.orientation))
        stamp_ns = nanoseconds(message.header.stamp)
        self._estimate(
            "vision_pose/pose",
            lambda: vision_pose(self._vehicle.telemetry, stamp_ns, message.header.frame_id, pose),
        )

    def _estimate(self, topic: str, convert: Callable[[], Setpoint]) -> None:
        """Send an estimate once."""
        try:
            estimate = convert()
        except SetpointRefused as refusal:
            self._refuse(topic, str(refusal))
            return
        self._bridge.post(lambda now_ns: self._vehicle.send(estimate.name, estimate.fields, now_ns))


def _xyz(vector: Any) -> tuple[float, float, float]:
    return vector.x, vector.y, vector.z


def _xyzw(q: Any) -> tuple[float, float, float, float]:
    return q.x, q.y, q.z, q.w
