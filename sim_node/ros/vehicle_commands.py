"""Commands, setpoints and missions of a vehicle on the graph."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from geometry_msgs.msg import PoseStamped, TwistStamped, Vector3Stamped
from nav_msgs.msg import Odometry
from rclpy.node import Node
from rclpy.task import Future
from sensor_msgs.msg import NavSatFix
from std_msgs.msg import Float64, String
from std_srvs.srv import SetBool, Trigger

from sim_node.mavlink import commands, setpoints
from sim_node.mavlink.bridge import Bridge
from sim_node.mavlink.codec import EncodeError, kind_named
from sim_node.mavlink.commands import Goto, start_mission
from sim_node.mavlink.mission import Clear, Download, Upload, as_json, read_plan
from sim_node.mavlink.mission.plan import as_messages, fence_messages, from_messages, rally_messages
from sim_node.mavlink.mission.transfer import FENCE, RALLY
from sim_node.mavlink.setpoints import Setpoint, SetpointLimits, SetpointRefused, odometry, vision_pose
from sim_node.mavlink.telemetry import Telemetry
from sim_node.mavlink.topics import RESULTS, WAYPOINTS, Profile
from sim_node.mavlink.transaction import Result, Transaction, TransactionRefused
from sim_node.mavlink.vehicle import ClockReading, Vehicle
from sim_node.rate_limit import RateLimit
from sim_node.ros.bridge_parameters import limits_of
from sim_node.ros.calls import Orders, settle
from sim_node.ros.command_stamps import stamp_age_ns, stamp_fault, wait_fault, with_wait
from sim_node.ros.graph_clock import nanoseconds
from sim_node.ros.newest_pair import NewestPair
from sim_node.ros.publishers import profile, publishers_of
from sim_node.world import WorldError

GOTO = "goto"
SERVICE_TYPES = (SetBool, Trigger)

# Creates a transaction. Called in the executor's thread, because reading a mission may take a while.
Make = Callable[[], Transaction]


class VehicleCommandServices:
    """Services and command topics of a vehicle. Results are published on command_result.

    Created and called in the executor's thread; transactions run in the bridge's thread. graph_ns: returns the graph's
    time, ns.
    """

    def __init__(self, node: Node, bridge: Bridge, vehicle: Vehicle, name: str, graph_ns: Callable[[], int]) -> None:
        self._node, self._bridge, self._vehicle, self._graph_ns = node, bridge, vehicle, graph_ns
        self._prefix = f"{name}/" if name else ""
        self._results = node.create_publisher(DiagnosticStatus, self._prefix + RESULTS, profile(Profile.RELIABLE.value))

    def offer(self) -> None:
        """Offer the services and command topics of our own naming scheme."""
        telemetry = self._vehicle.telemetry
        self.serve(SetBool, "cmd/arming", lambda request: commands.arm(request.data), engages=True)
        self.serve(Trigger, "cmd/takeoff", lambda request: self._takeoff(self._value("takeoff_height")))
        self.serve(Trigger, "cmd/land", lambda request: commands.set_mode_for("land", telemetry))
        self.serve(Trigger, "cmd/return", lambda request: commands.set_mode_for("return", telemetry))
        self.serve(Trigger, "cmd/guided", lambda request: commands.set_mode_for("guided", telemetry), engages=True)
        self.subscribe(String, "set_mode", lambda message: commands.set_mode(message.data, telemetry))
        self.subscribe(Float64, "cmd/takeoff_to", lambda message: self._takeoff(message.data))
        self.subscribe(Float64, "cmd/speed", lambda message: self._speed(message.data), engages=True)
        self.subscribe(PoseStamped, GOTO, self._goto, engages=True)

    def begin(self, make: Make, *, engages: bool = False) -> Any:
        """Start the transaction that `make` returns. Return a future of its Result.

        engages: whether it works together with setpoints; otherwise it stops the setpoint stream.
        """
        future = Future()

        def ended(transaction: Transaction, result: Result) -> None:
            stream = self._vehicle.stream
            if isinstance(transaction, Goto) and not result.ok and stream.setpoint is transaction.setpoint:
                stream.stop()
            self.report(transaction.name, result)
            settle(self._node, future, lambda: result)

        def act(now_ns: int) -> None:
            if not engages:
                self._vehicle.stream.stop()
                self._vehicle.cancel(Goto.key, "cancelled by another command", now_ns)
            if isinstance(transaction, Goto):
                self._vehicle.cancel(Goto.key, "cancelled by another goto", now_ns)
                if self._vehicle.route.accepts_commands:
                    self._vehicle.stream.set(transaction.setpoint, GOTO)
            self._vehicle.begin(transaction, ended, now_ns)

        try:
            transaction = make()
        except Exception as error:
            self._bridge.failed(f"system {self._vehicle.system}: a command", error)
            transaction = TransactionRefused(
                "command", f"internal error: {type(error).__name__}; the log has the details"
            )
        transaction.report = lambda text: self.report(transaction.name, Result(True, text), done=False)
        self._bridge.post(act)
        return future

    def report(self, name: str, result: Result, *, done: bool = True) -> None:
        """Publish a result on command_result."""
        status = DiagnosticStatus(name=name, message=result.text, hardware_id=f"system {self._vehicle.system}")
        status.level = DiagnosticStatus.OK if result.ok else DiagnosticStatus.ERROR
        status.values = [KeyValue(key="done", value="true" if done else "false")]
        self._results.publish(status)

    def serve(self, kind: Any, name: str, make: Callable[[Any], Transaction], *, engages: bool = False) -> None:
        """Offer a service whose response is the success and message of a transaction."""

        async def answer(request: Any, response: Any) -> Any:
            result = await self.begin(lambda: make(request), engages=engages)
            response.success, response.message = result.ok, result.text
            return response

        self._node.create_service(kind, self._prefix + name, answer)

    def subscribe(self, kind: Any, name: str, make: Callable[[Any], Transaction], *, engages: bool = False) -> None:
        """Subscribe to a topic whose messages start transactions."""
        self._node.create_subscription(
            kind,
            self._prefix + name,
            lambda message: self.begin(lambda: make(message), engages=engages),
            profile(Profile.RELIABLE.value),
        )

    def _takeoff(self, height: float) -> Transaction:
        return commands.takeoff(height, limits_of(self._node).height, self._vehicle.telemetry)

    def _speed(self, speed: float) -> Transaction:
        return commands.set_speed(speed, limits_of(self._node).velocity)

    def _goto(self, message: PoseStamped) -> Transaction:
        telemetry = self._vehicle.telemetry
        if (fault := stamp_fault(message, self._graph_ns(), self._value("setpoint_timeout"))) is not None:
            return TransactionRefused(GOTO, f"{GOTO}: {fault}")
        rotation = _xyzw(message.pose.orientation)
        if not any(rotation):
            rotation = (0.0, 0.0, 0.0, 1.0)  # not set: east, along the map's x axis
        try:
            setpoint = setpoints.goto(
                message.header.frame_id,
                _xyz(message.pose.position),
                rotation,
                telemetry.frames.map,
                limits_of(self._node),
                telemetry.home,
            )
        except SetpointRefused as refusal:
            return TransactionRefused(GOTO, str(refusal))
        return Goto(setpoint, telemetry, self._value("goto_tolerance"))

    def _value(self, name: str) -> Any:
        return self._node.get_parameter(name).value


MAX_FILE = 1_000_000


class VehicleMissions:
    """The topics and services mission/push, pull, clear, start, upload, and waypoints (the pulled mission)."""

    def __init__(self, node: Node, vehicle: Vehicle, name: str, commands: VehicleCommandServices) -> None:
        self._node, self._vehicle, self._commands = node, vehicle, commands
        prefix = f"{name}/" if name else ""
        self._waypoints = node.create_publisher(String, prefix + WAYPOINTS, profile(Profile.LATCHED.value))
        commands.serve(Trigger, "mission/push", lambda request: self._push(), engages=True)
        commands.serve(Trigger, "mission/clear", lambda request: Clear(), engages=True)
        commands.serve(Trigger, "mission/start", lambda request: start_mission(vehicle.telemetry))
        commands.subscribe(
            String, "mission/upload", lambda message: self._upload(message.data, "mission"), engages=True
        )
        node.create_service(Trigger, prefix + "mission/pull", self._pull)

    def _push(self) -> Transaction:
        path = self._node.get_parameter("mission_file").value
        if not path:
            return TransactionRefused(Upload.name, "the parameter mission_file is empty")
        try:
            with Path(path).open(encoding="utf-8") as file:
                text = file.read(MAX_FILE + 1)
        except (OSError, UnicodeDecodeError) as error:
            return TransactionRefused(
                Upload.name, f"mission_file {path!r}: {getattr(error, 'strerror', None) or error}"
            )
        if len(text) > MAX_FILE:
            return TransactionRefused(Upload.name, f"mission_file {path!r}: is larger than {MAX_FILE} characters")
        return self._upload(text, path)

    def _upload(self, text: str, name: str) -> Transaction:
        telemetry = self._vehicle.telemetry
        try:
            plan = read_plan(text, name)
        except WorldError as error:
            return TransactionRefused(Upload.name, str(error))
        for problem in plan.unread:
            self._node.get_logger().warning(str(problem))
        if telemetry.home is None:
            return TransactionRefused(Upload.name, "no HOME_POSITION received yet, to which positions are relative")
        items = as_messages(plan, telemetry.home, telemetry.autopilot)
        others = {FENCE: fence_messages(plan), RALLY: rally_messages(plan)}
        try:
            for item in chain(items, *others.values()):
                kind_named("MISSION_ITEM_INT").pack(item)
        except EncodeError as error:
            return TransactionRefused(Upload.name, f"{name}: {error}")
        return Upload(items, others)

    async def _pull(self, request: Any, response: Any) -> Any:
        result = await self._commands.begin(Download, engages=True)
        response.success, response.message = result.ok, result.text
        if result.ok:
            entries = from_messages(result.value, self._vehicle.telemetry.autopilot)
            self._waypoints.publish(String(data=as_json(entries)))
        return response


# Minimum time between two results of a topic on command_result, ns: of rejections, and of ended setpoint streams.
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


# Message type of each topic, and a function that makes a setpoint from a message, the vehicle's telemetry, and a third
# argument: the limits, the thrust received on THRUST, or the stamp, ns.
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
    """An attitude or body rates: the topic, and a function that makes a setpoint with a thrust."""

    topic: str
    with_thrust: Callable[[float], Setpoint]


class VehicleSetpoints:
    """Setpoint and estimate topics of a vehicle. Use it in the executor's thread only.

    graph_ns: returns the graph's time, ns.
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
        # An attitude or body rates, and the thrust, each with its time of arrival.
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
        """Subscribe to a topic. Errors in a message are handled in the callback."""

        def callback(message: Any, waited_ns: int) -> None:
            graph_ns = self._graph_ns()
            try:
                fault = stamp_fault(message, graph_ns, self._timeout_s) or wait_fault(waited_ns, self._timeout_s)
                if fault is not None:
                    raise SetpointRefused(fault)
                age_ns = max(waited_ns, stamp_age_ns(message, graph_ns))
                receive(message, ClockReading(time.monotonic_ns() - age_ns, graph_ns - age_ns))
            except SetpointRefused as refusal:
                self._report(topic, Result(False, str(refusal)))
            except Exception as error:
                self._report(topic, Result(False, f"internal error: {type(error).__name__}"))
                self._bridge.failed(f"{self._prefix}{topic}", error)

        # A best-effort subscription is also compatible with reliable publishers.
        self._node.create_subscription(kind, self._prefix + topic, with_wait(callback), profile(Profile.SENSOR.value))

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

            with_thrust(0.0)  # reject invalid values here, not when a thrust arrives later
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
        """Repeat a setpoint until its message expires."""

        def expired() -> None:
            result = Result(True, f"stopped: no message for {self._timeout_s:g} s")
            self._orders.add(lambda: self._report(topic, result))

        def act(now_ns: int) -> None:
            self._vehicle.cancel(Goto.key, f"cancelled by {topic}", now_ns)
            self._vehicle.stream.set(setpoint, topic, received, expired)

        self._bridge.post(act)

    def _estimate(self, make: Callable[[Any, Telemetry, int], Setpoint]) -> Callable[[Any, ClockReading], None]:
        """Return a callback that sends each estimate once."""

        def receive(message: Any, received: ClockReading) -> None:
            stamp_ns = nanoseconds(message.header.stamp) or received.graph_ns
            estimate = make(message, self._vehicle.telemetry, stamp_ns)
            self._bridge.post(lambda now_ns: self._vehicle.send(estimate.name, estimate.fields, now_ns))

        return receive

    def _report(self, topic: str, result: Result) -> None:
        """Publish a result and log it, each rate-limited."""
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
