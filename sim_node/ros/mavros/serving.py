"""A vehicle's topics and services under MAVROS' names: what comes in becomes messages of MAVLink at once."""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable
from typing import Any

from rclpy.node import Node

from sim_node.mavlink.bridge import Bridge
from sim_node.mavlink.goto import Goto
from sim_node.mavlink.mavros.names import MavrosNames
from sim_node.mavlink.mavros.setpoints import SETPOINTS, THRUST, THRUST_TYPE, TURNS, SetpointRow, message_of
from sim_node.mavlink.setpoints import SetpointRefused, checked_thrust
from sim_node.mavlink.topics import Profile
from sim_node.mavlink.transaction import Result
from sim_node.mavlink.vehicle import Vehicle
from sim_node.rate_limit import RateLimit
from sim_node.ros.bridge_parameters import limits_of
from sim_node.ros.mavros.commands import serve_commands
from sim_node.ros.mavros.missions import serve_missions
from sim_node.ros.mavros.parameters import serve_parameters
from sim_node.ros.newest_pair import NewestPair
from sim_node.ros.publishers import message_class, profile, publishers_of
from sim_node.ros.vehicle_commands import VehicleCommandServices


class MavrosServing:
    """Subscriptions and services of a vehicle under MAVROS' names. Belongs to the executor's thread.

    As MAVROS does, each setpoint is forwarded once. Unlike MAVROS, numbers that are not finite and those beyond the
    limits of setpoints are refused; the log tells it.

    Args:
        node: Whose topics they are.
        bridge: Its bridge.
        vehicle: The vehicle.
        namespace: MAVROS' namespace of the vehicle.
        names: The vehicle under these names.
        commands: Begins transactions.
    """

    def __init__(
        self,
        node: Node,
        bridge: Bridge,
        vehicle: Vehicle,
        namespace: str,
        names: MavrosNames,
        commands: VehicleCommandServices,
    ) -> None:
        self.node, self.bridge, self.vehicle, self.names, self.commands = node, bridge, vehicle, names, commands
        self._prefix = f"{namespace}/" if namespace else ""
        self._logged = RateLimit()
        timeout_s: float = node.get_parameter("setpoint_timeout").value
        self._pair: NewestPair[tuple[SetpointRow, Any], float] = NewestPair(("attitude", "thrust"), timeout_s)
        for row in SETPOINTS:
            self._subscribe(row.name, row.type, row.profile, self._forward(row))
        for row in TURNS:
            self._subscribe(row.name, row.type, row.profile, self._turn(row))
        self._subscribe(THRUST, THRUST_TYPE, Profile.RELIABLE, self._thrust)
        serve_commands(self)
        serve_missions(self)
        serve_parameters(self)

    def serve(self, kind: Any, name: str, answer: Callable[[Any, Any], Awaitable[Any]]) -> None:
        """Offer a service. An exception is reported, and the response is as it was.

        Args:
            kind: The service's class.
            name: Its name below the namespace.
            answer: Fills the response of a request.
        """

        async def guarded(request: Any, response: Any) -> Any:
            try:
                await answer(request, response)
            except Exception as error:
                self.bridge.failed(f"{self._prefix}{name}", error)
            return response

        self.node.create_service(kind, self._prefix + name, guarded)

    def send(self, name: str, fields: Any) -> None:
        """Send a message to the vehicle."""
        self.bridge.post(lambda now_ns: self.vehicle.send(name, fields, now_ns))

    def refuse(self, topic: str, why: str) -> None:
        """Log why something is refused, once in a while."""
        publishers = publishers_of(self.node, self._prefix + topic)
        line = f"{self._prefix}{topic}: {why}{publishers}"
        if line := self._logged.admit(topic, line, time.monotonic_ns()):
            self.node.get_logger().warning(line)
        self.commands.report(topic, Result(False, why))

    def _subscribe(self, name: str, type: str, qos: Profile, receive: Callable[[Any], None]) -> None:
        def callback(message: Any) -> None:
            try:
                receive(message)
            except SetpointRefused as refusal:
                self.refuse(name, str(refusal))
            except Exception as error:
                self.bridge.failed(f"{self._prefix}{name}", error)

        # A best-effort subscription is compatible with reliable publishers, too.
        qos = Profile.SENSOR if qos is Profile.RELIABLE else qos
        self.node.create_subscription(message_class(type), self._prefix + name, callback, profile(qos.value))

    def _forward(self, row: SetpointRow) -> Callable[[Any], None]:
        def receive(message: Any) -> None:
            self._put(row, message)

        return receive

    def _put(self, row: SetpointRow, message: Any, **more: Any) -> None:
        vehicle = self.vehicle
        fields = message_of(row, message, vehicle.telemetry, limits_of(self.node), **more)

        def act(now_ns: int) -> None:
            if row.is_setpoint:
                vehicle.cancel(Goto.key, f"cancelled by {row.name}", now_ns)
                vehicle.stream.stop()
            vehicle.send(row.message, fields, now_ns)

        self.bridge.post(act)

    def _turn(self, row: SetpointRow) -> Callable[[Any], None]:
        def receive(message: Any) -> None:
            self._pair.put_first((row, message), time.monotonic_ns())
            self._send_pair()

        return receive

    def _thrust(self, message: Any) -> None:
        thrust = float(message.thrust)
        self._pair.put_second(checked_thrust(thrust if math.isfinite(thrust) else -1.0), time.monotonic_ns())
        self._send_pair()

    def _send_pair(self) -> None:
        try:
            (row, message), thrust, _ = self._pair.complete(time.monotonic_ns())
        except ValueError:
            return  # as in MAVROS, which waits for both
        self._put(row, message, thrust=thrust)
