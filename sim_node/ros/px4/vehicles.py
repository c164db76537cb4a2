"""Vehicles of a bridge under PX4's names, too: what they publish, what they subscribe to, and their service."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from px4_msgs.srv import VehicleCommand
from rclpy.node import Node

from sim_node.mavlink.bridge import Bridge
from sim_node.mavlink.commands import FAILED, CommandLong, Goto
from sim_node.mavlink.dialects import VehicleNames
from sim_node.mavlink.px4.inputs import (
    INPUTS,
    OFFBOARD_FIELDS,
    OFFBOARD_MODE,
    OFFBOARD_TYPE,
    Input,
    checked,
    controlled,
    hold,
)
from sim_node.mavlink.px4.names import Px4Names, versioned
from sim_node.mavlink.px4.telemetry import readers, topics
from sim_node.mavlink.setpoints import SetpointRefused
from sim_node.mavlink.topics import Profile
from sim_node.mavlink.transaction import Outgoing, Result
from sim_node.mavlink.vehicle import Vehicle
from sim_node.rate_limit import RateLimit
from sim_node.ros.bridge_parameters import Naming, limits_of
from sim_node.ros.dialect_vehicles import DialectVehicles
from sim_node.ros.publishers import message_class, profile, publishers_of
from sim_node.ros.vehicle_commands import VehicleCommandServices
from sim_node.ros.vehicle_topics import VehiclePublishers, VehicleTf

# After this, PX4 holds an offboard signal for lost: the default of COM_OF_LOSS_T.
_OFFBOARD_NS = 1_000_000_000
# An OffboardControlMode whose setpoint is younger stands for nothing itself.
_SETPOINT_NS = 500_000_000


class Px4Topics:
    """Subscriptions of a vehicle under PX4's names. Belongs to the executor's thread.

    As in PX4, a setpoint works while an OffboardControlMode that asks for its kind is at most a second old; each
    setpoint is forwarded once. Unlike in PX4, numbers beyond the limits of setpoints are refused; the log tells it.

    Args:
        node: Whose subscriptions they are.
        bridge: Its bridge.
        vehicle: The vehicle.
        namespace: The namespace of fmu; empty for none.
        names: The vehicle under these names.
        commands: Begins transactions.
    """

    def __init__(
        self,
        node: Node,
        bridge: Bridge,
        vehicle: Vehicle,
        namespace: str,
        names: Px4Names,
        commands: VehicleCommandServices,
    ) -> None:
        self._node, self._bridge, self._vehicle, self._names, self._commands = node, bridge, vehicle, names, commands
        self._prefix = f"{namespace}/fmu/" if namespace else "fmu/"
        self._logged = RateLimit()
        # When both came last, by the graph's clock: a program in simulated time sends as often as that runs.
        self._offboard_ns = self._setpoint_ns = -_OFFBOARD_NS
        self._subscribe(OFFBOARD_MODE, OFFBOARD_TYPE, self._offboard)
        for row in INPUTS:
            self._subscribe(row.name, row.type, self._forward(row))
        node.create_service(VehicleCommand, f"{self._prefix}vehicle_command", self._command)

    def _subscribe(self, name: str, type: str, receive: Callable[[Any], None]) -> None:
        def callback(message: Any) -> None:
            try:
                receive(message)
            except SetpointRefused as refusal:
                self._refuse(name, str(refusal))
            except Exception as error:
                self._bridge.failed(f"{self._prefix}in/{name}", error)

        for topic in versioned(f"{self._prefix}in/{name}", type):
            self._node.create_subscription(
                message_class(f"px4_msgs/{type}"), topic, callback, profile(Profile.SENSOR.value)
            )

    def _now_ns(self) -> int:
        return int(self._node.get_clock().now().nanoseconds)

    def _offboard(self, message: Any) -> None:
        now_ns = self._offboard_ns = self._now_ns()
        self._names.offboard = {name: bool(getattr(message, name, False)) for name in OFFBOARD_FIELDS}
        control = controlled(self._names.offboard)
        if control in ("thrust_and_torque", "direct_actuator"):
            raise SetpointRefused(f"{control} cannot be sent over MAVLink")
        if control in ("position", "velocity", "acceleration") and abs(now_ns - self._setpoint_ns) > _SETPOINT_NS:
            self._send([hold()], moves=True)

    def _forward(self, row: Input) -> Callable[[Any], None]:
        def receive(message: Any) -> None:
            now_ns = self._now_ns()
            if row.needs:
                found = controlled(self._names.offboard)
                if abs(now_ns - self._offboard_ns) > _OFFBOARD_NS or found not in row.needs:
                    wanted = " or ".join(row.needs)
                    raise SetpointRefused(
                        f"nothing is sent without an {OFFBOARD_MODE} with {wanted} in the last second"
                    )
            messages = row.convert(message, self._vehicle.telemetry)
            self._send(checked(messages, self._vehicle.telemetry, limits_of(self._node)), moves=bool(row.needs))
            if row.needs:
                self._setpoint_ns = now_ns
            if lost := row.lost(message):
                self._warn(row.name, lost)

        return receive

    def _send(self, messages: Any, *, moves: bool) -> None:
        vehicle, sent = self._vehicle, list[Outgoing](messages)

        def act(now_ns: int) -> None:
            if moves:
                vehicle.cancel(Goto.key, "cancelled by fmu/in", now_ns)
                vehicle.stream.stop()
            for name, fields in sent:
                vehicle.send(name, fields, now_ns)

        self._bridge.post(act)

    async def _command(self, request: Any, response: Any) -> Any:
        asked = request.request
        params = [float(getattr(asked, f"param{number}")) for number in range(1, 8)]
        transaction = CommandLong(f"command {asked.command}", int(asked.command), *params)
        result = await self._commands.begin(lambda: transaction, engages=True)
        reply = response.reply
        reply.timestamp = self._now_ns() // 1000
        reply.command, reply.target_system = asked.command, asked.source_system
        reply.target_component = asked.source_component
        reply.result = FAILED if result.value is None else result.value
        return response

    def _refuse(self, topic: str, why: str) -> None:
        """Log and report why something is refused."""
        self._warn(topic, why)
        self._commands.report(topic, Result(False, why))

    def _warn(self, topic: str, what: str) -> None:
        """Log something of a topic, once in a while."""
        line = f"{self._prefix}in/{topic}: {what}{publishers_of(self._node, f'{self._prefix}in/{topic}')}"
        if line := self._logged.admit(topic, line, time.monotonic_ns()):
            self._node.get_logger().warning(line)


class Px4Vehicles(DialectVehicles):
    """Publishes and serves vehicles under PX4's names.

    Args:
        node: Whose topics they are.
        bridge: Its bridge.
        naming: The namespaces.

    Raises:
        ImportError: px4_msgs is not installed.
    """

    example = "px4_namespace:=px4_{id}"

    def __init__(self, node: Node, bridge: Bridge, naming: Naming) -> None:
        super().__init__(node, bridge, naming, topics())
        readers()

    def namespace(self, system: int) -> str:
        """Return the namespace of a vehicle; empty for none."""
        return self.naming.px4_namespace(system)

    def publish(
        self, vehicle: Vehicle, publishers: VehiclePublishers, tf: VehicleTf, now_ns: Callable[[], int]
    ) -> Px4Names:
        """Return what publishes a vehicle's messages, which name no frames."""
        return Px4Names(vehicle.telemetry, publishers.send, readers())

    def offer(self, vehicle: Vehicle, made: VehicleNames, commands: VehicleCommandServices) -> Px4Topics:
        """Offer a vehicle's service and subscriptions."""
        assert isinstance(made, Px4Names)
        return Px4Topics(self.node, self.bridge, vehicle, self.namespace(vehicle.system), made, commands)
