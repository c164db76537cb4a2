"""Setpoints and estimates from topics to a vehicle: checked, converted, sent; setpoints again while they are young."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from geometry_msgs.msg import PoseStamped, TwistStamped, Vector3Stamped
from nav_msgs.msg import Odometry
from rclpy.node import Node
from sensor_msgs.msg import NavSatFix
from std_msgs.msg import Float64

from sim_node.mavlink import setpoints
from sim_node.mavlink.bridge import Bridge
from sim_node.mavlink.commands import Goto
from sim_node.mavlink.external_odometry import odometry, vision_pose
from sim_node.mavlink.setpoints import Setpoint, SetpointLimits, SetpointRefused
from sim_node.mavlink.telemetry import Telemetry
from sim_node.mavlink.topics import Profile
from sim_node.mavlink.transaction import Result
from sim_node.mavlink.vehicle import ClockReading, Vehicle
from sim_node.rate_limit import RateLimit
from sim_node.ros.bridge_parameters import limits_of
from sim_node.ros.calls import Orders
from sim_node.ros.command_stamps import stamp_age_ns, stamp_fault
from sim_node.ros.graph_clock import nanoseconds
from sim_node.ros.newest_pair import NewestPair
from sim_node.ros.publishers import profile, publishers_of
from sim_node.ros.vehicle_commands import VehicleCommandServices

# Minimum time between two results of a topic on command_result (ns): of refusals, and of setpoints that have ended.
REPEAT_RESULT_NS = 1_000_000_000


def _position(message: Any, vehicle: Telemetry, limits: SetpointLimits) -> Setpoint:
    pose = message.pose
    return setpoints.position(
        message.header.frame_id, _xyz(pose.position), _xyzw(pose.orientation), vehicle.frames.map, limits, vehicle.home
    )


def _place(message: Any, vehicle: Telemetry, limits: SetpointLimits) -> Setpoint:
    place = message.latitude, message.longitude, message.altitude
    setpoints.check_place(place)
    undulation = vehicle.ellipsoid_altitude(0.0, *place[:2])
    return setpoints.place(message.header.frame_id, place, undulation, limits, vehicle.home)


def _velocity(message: Any, vehicle: Telemetry, limits: SetpointLimits) -> Setpoint:
    twist, frames = message.twist, vehicle.frames
    frame = message.header.frame_id
    return setpoints.velocity(frame, _xyz(twist.linear), twist.angular.z, frames.map, frames.base, limits)


def _acceleration(message: Any, vehicle: Telemetry, limits: SetpointLimits) -> Setpoint:
    return setpoints.acceleration(message.header.frame_id, _xyz(message.vector), vehicle.frames.map, limits)


def _attitude(message: Any, vehicle: Telemetry, thrust: float) -> Setpoint:
    return setpoints.attitude(message.header.frame_id, _xyzw(message.pose.orientation), thrust, vehicle.frames.map)


def _rates(message: Any, vehicle: Telemetry, thrust: float) -> Setpoint:
    return setpoints.body_rates(message.header.frame_id, _xyz(message.twist.angular), thrust, vehicle.frames.base)


def _odometry(message: Any, vehicle: Telemetry, stamp_ns: int) -> Setpoint:
    pose, twist = message.pose, message.twist
    return odometry(
        vehicle,
        stamp_ns,
        (message.header.frame_id, message.child_frame_id),
        (*_xyz(pose.pose.position), *_xyzw(pose.pose.orientation)),
        (*_xyz(twist.twist.linear), *_xyz(twist.twist.angular)),
        pose.covariance,
        twist.covariance,
    )


def _vision(message: Any, vehicle: Telemetry, stamp_ns: int) -> Setpoint:
    pose = (*_xyz(message.pose.position), *_xyzw(message.pose.orientation))
    return vision_pose(vehicle, stamp_ns, message.header.frame_id, pose)


# The type of each topic's messages, and what makes a setpoint of one, a vehicle's telemetry, and the third argument:
# the limits, the thrust that comes on THRUST, or the stamp (ns).
SETPOINTS: Mapping[str, tuple[Any, Callable[[Any, Telemetry, SetpointLimits], Setpoint]]] = {
    "setpoint_position/local": (PoseStamped, _position),
    "setpoint_position/global": (NavSatFix, _place),
    "setpoint_velocity/cmd_vel": (TwistStamped, _velocity),
    "setpoint_accel/accel": (Vector3Stamped, _acceleration),
}
TURNS: Mapping[str, tuple[Any, Callable[[Any, Telemetry, float], Setpoint]]] = {
    "setpoint_attitude/attitude": (PoseStamped, _attitude),
    "setpoint_attitude/cmd_vel": (TwistStamped, _rates),
}
THRUST = "setpoint_attitude/thrust"
ESTIMATES: Mapping[str, tuple[Any, Callable[[Any, Telemetry, int], Setpoint]]] = {
    "odometry/out": (Odometry, _odometry),
    "vision_pose/pose": (PoseStamped, _vision),
}


class _Turn(NamedTuple):
    """An attitude or body rates: their topic, and what makes a setpoint with a thrust."""

    topic: str
    with_thrust: Callable[[float], Setpoint]


class VehicleSetpoints:
    """Setpoint and estimate topics of a vehicle. Belongs to the executor's thread.

    graph_ns: returns the time of the graph's clock (ns).
    """

    def __init__(
        self,
        node: Node,
        bridge: Bridge,
        vehicle: Vehicle,
        name: str,
        commands: VehicleCommandServices,
        graph_ns: Callable[[], int],
    ) -> None:
        self._node, self._bridge, self._vehicle, self._commands = node, bridge, vehicle, commands
        self._prefix = f"{name}/" if name else ""
        self._graph_ns = graph_ns
        self._timeout_s: float = node.get_parameter("setpoint_timeout").value
        # An attitude or body rates, with the thrust; both with when they came.
        self._pair: NewestPair[tuple[_Turn, ClockReading], tuple[float, ClockReading]]
        self._pair = NewestPair(("attitude", "thrust"), self._timeout_s)
        self._orders = Orders(node)
        self._told, self._logged = RateLimit(REPEAT_RESULT_NS), RateLimit()
        for topic, (kind, make) in SETPOINTS.items():
            self._subscribe(kind, topic, self._setpoint(topic, make))
        for topic, (kind, with_thrust) in TURNS.items():
            self._subscribe(kind, topic, self._turn(topic, with_thrust))
        self._subscribe(Float64, THRUST, self._thrust)
        for topic, (kind, estimate) in ESTIMATES.items():
            self._subscribe(kind, topic, self._estimate(estimate))

    def _subscribe(self, kind: Any, topic: str, receive: Callable[[Any, ClockReading], None]) -> None:
        """Subscribe to a topic. What is wrong with a message ends there."""

        def callback(message: Any) -> None:
            graph_ns = self._graph_ns()
            try:
                fault = stamp_fault(message, graph_ns, self._timeout_s)
                if fault is not None:
                    raise SetpointRefused(fault)
                age_ns = max(0, stamp_age_ns(message, graph_ns))
                receive(message, ClockReading(time.monotonic_ns() - age_ns, graph_ns - age_ns))
            except SetpointRefused as refusal:
                self._report(topic, Result(False, str(refusal)))
            except Exception as error:
                self._report(topic, Result(False, f"internal error: {type(error).__name__}"))
                self._bridge.failed(f"{self._prefix}{topic}", error)

        # A best-effort subscription is compatible with reliable publishers, too.
        self._node.create_subscription(kind, self._prefix + topic, callback, profile(Profile.SENSOR.value))

    def _setpoint(
        self, topic: str, make: Callable[[Any, Telemetry, SetpointLimits], Setpoint]
    ) -> Callable[[Any, ClockReading], None]:
        def receive(message: Any, received: ClockReading) -> None:
            setpoint = make(message, self._vehicle.telemetry, limits_of(self._node))
            self._pair.forget()
            self._stream(topic, setpoint, received)

        return receive

    def _turn(
        self, topic: str, make: Callable[[Any, Telemetry, float], Setpoint]
    ) -> Callable[[Any, ClockReading], None]:
        def receive(message: Any, received: ClockReading) -> None:
            def with_thrust(thrust: float) -> Setpoint:
                return make(message, self._vehicle.telemetry, thrust)

            with_thrust(0.0)  # what is wrong with it is refused here, not with a thrust that comes later
            self._pair.put_first((_Turn(topic, with_thrust), received), received.steady_ns)
            self._send_pair()

        return receive

    def _thrust(self, message: Any, received: ClockReading) -> None:
        self._pair.put_second((setpoints.checked_thrust(message.data), received), received.steady_ns)
        self._send_pair()

    def _send_pair(self) -> None:
        try:
            (turn, turned), (thrust, thrusted), _ = self._pair.complete(time.monotonic_ns())
        except ValueError as missing:
            raise SetpointRefused(str(missing)) from None
        self._stream(turn.topic, turn.with_thrust(thrust), min(turned, thrusted))

    def _stream(self, topic: str, setpoint: Setpoint, received: ClockReading) -> None:
        """Repeat a setpoint for as long as its message is young."""

        def expired() -> None:
            result = Result(True, f"stopped: no message for {self._timeout_s:g} s")
            self._orders.add(lambda: self._report(topic, result))

        def act(now_ns: int) -> None:
            self._vehicle.cancel(Goto.key, f"cancelled by {topic}", now_ns)
            self._vehicle.stream.set(setpoint, topic, received, expired)

        self._bridge.post(act)

    def _estimate(self, make: Callable[[Any, Telemetry, int], Setpoint]) -> Callable[[Any, ClockReading], None]:
        """Return what sends an estimate once."""

        def receive(message: Any, received: ClockReading) -> None:
            stamp_ns = nanoseconds(message.header.stamp) or received.graph_ns
            estimate = make(message, self._vehicle.telemetry, stamp_ns)
            self._bridge.post(lambda now_ns: self._vehicle.send(estimate.name, estimate.fields, now_ns))

        return receive

    def _report(self, topic: str, result: Result) -> None:
        """Publish a result, and log it, once in a while each."""
        now_ns, about = time.monotonic_ns(), f"{topic} {result.ok}"
        if not self._told.admit(about, result.text, now_ns):
            return
        self._commands.report(topic, result)
        publishers = publishers_of(self._node, self._prefix + topic)
        line = f"{self._prefix}{topic}: {result.text}{publishers}"
        if line := self._logged.admit(about + publishers, line, now_ns):
            self._node.get_logger().warning(line)


def _xyz(vector: Any) -> tuple[float, float, float]:
    return vector.x, vector.y, vector.z


def _xyzw(q: Any) -> tuple[float, float, float, float]:
    return q.x, q.y, q.z, q.w
