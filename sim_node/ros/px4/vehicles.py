"""Bridge vehicles under PX4's names: their publishers, subscriptions and service."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from px4_msgs.srv import VehicleCommand
from rclpy.node import Node

from sim_node.mavlink.bridge import Bridge
from sim_node.mavlink.commands import FAILED, CommandLong
from sim_node.mavlink.dialects import Input, VehicleNames
from sim_node.mavlink.px4.inputs import (
    INPUTS,
    OFFBOARD_FIELDS,
    OFFBOARD_MODE,
    OFFBOARD_TYPE,
    controlled,
    hold,
)
from sim_node.mavlink.px4.names import Px4Names, versioned
from sim_node.mavlink.px4.telemetry import readers, topics
from sim_node.mavlink.setpoints import SetpointRefused
from sim_node.mavlink.vehicle import Vehicle
from sim_node.ros.bridge_parameters import Naming
from sim_node.ros.dialect_vehicles import DialectVehicles, ServedVehicle
from sim_node.ros.px4.program_modes import ProgramModes
from sim_node.ros.vehicle_commands import VehicleCommandServices
from sim_node.ros.vehicle_topics import VehiclePublishers, VehicleTf

# Time without a message after which PX4 considers the offboard signal lost: the default of COM_OF_LOSS_T.
_OFFBOARD_NS = 1_000_000_000
# If the last setpoint is older than this, an OffboardControlMode alone commands a hold.
_SETPOINT_NS = 500_000_000
# Source name that ends a goto or a setpoint stream of our own.
_BY = "fmu/in"


class Px4Topics(ServedVehicle[Px4Names]):
    """Subscriptions of a vehicle under PX4's names, and its service. Use it in the executor's thread only.

    As in PX4, a setpoint takes effect only while an OffboardControlMode that enables its kind is at most one second
    old, and each setpoint is forwarded once. Unlike in PX4, values beyond the setpoint limits are rejected and logged.
    """

    # Times of the last messages by the graph's clock, because programs in simulated time send at the simulation's pace.
    _offboard_ns = _setpoint_ns = -_OFFBOARD_NS

    def offer(self) -> None:
        """Subscribe to the topics below fmu/in, which is the prefix, and offer fmu/vehicle_command."""
        modes = self._modes = ProgramModes(
            self.node, self.prefix.removesuffix("in/"), self.names, self.send, self.bridge.post
        )
        inputs = (
            (OFFBOARD_MODE, OFFBOARD_TYPE, self._offboard),
            ("register_ext_component_request", "RegisterExtComponentRequest", modes.register),
            ("unregister_ext_component", "UnregisterExtComponent", modes.unregister),
            ("arming_check_reply", "ArmingCheckReply", modes.answer),
            ("config_control_setpoints", "VehicleControlMode", modes.configure),
            *((i.name, i.type, self._forward(i)) for i in INPUTS),
        )
        present = {OFFBOARD_MODE, *(i.name for i in INPUTS)}
        for name, type, receive in inputs:
            topics = versioned(self.prefix + name, type)
            self.subscribe(name, f"px4_msgs/{type}", receive, *topics, is_input=name in present)
        self.node.create_service(VehicleCommand, f"{self.prefix.removesuffix('in/')}vehicle_command", self._command)

    def _now_ns(self) -> int:
        return int(self.node.get_clock().now().nanoseconds)

    def _offboard(self, message: Any) -> None:
        if self._modes.flown:
            return  # like PX4, which reads it only in OFFBOARD
        now_ns = self._offboard_ns = self._now_ns()
        self.names.offboard = {name: bool(getattr(message, name, False)) for name in OFFBOARD_FIELDS}
        control = controlled(self.names.offboard)
        if control in ("thrust_and_torque", "direct_actuator"):
            raise SetpointRefused(f"{control} cannot be sent over MAVLink")
        if control in ("position", "velocity", "acceleration") and abs(now_ns - self._setpoint_ns) > _SETPOINT_NS:
            self.send([hold()], _BY)

    def _forward(self, row: Input) -> Callable[[Any], None]:
        forward = self.forward(row, _BY)

        def setpoint(message: Any) -> None:
            now_ns = self._now_ns()
            asked = self._modes.flown or abs(now_ns - self._offboard_ns) <= _OFFBOARD_NS
            if not asked or controlled(self.names.offboard) not in row.needs:
                wanted = " or ".join(row.needs)
                raise SetpointRefused(f"nothing is sent without an {OFFBOARD_MODE} with {wanted} in the last second")
            forward(message)
            self._setpoint_ns = now_ns

        if row.type == "VehicleCommand":
            return self._modes.commanded(forward)
        return setpoint if row.needs else forward

    async def _command(self, request: Any, response: Any) -> Any:
        asked = request.request
        params = [float(getattr(asked, f"param{number}")) for number in range(1, 8)]
        transaction = CommandLong(f"command {asked.command}", int(asked.command), *params)
        result = await self.commands.begin(lambda: transaction, engages=True)
        reply = response.reply
        reply.timestamp = self._now_ns() // 1000
        reply.command, reply.target_system = asked.command, asked.source_system
        reply.target_component = asked.source_component
        reply.result = FAILED if result.value is None else result.value
        return response


class Px4Vehicles(DialectVehicles):
    """Publishes and serves vehicles under PX4's names.

    Args:
        node: The node that publishes and serves.
        bridge: The node's bridge.
        naming: The namespaces.

    Raises:
        ImportError: px4_msgs is not installed.
    """

    word, example = "px4", "px4_{id}"

    def __init__(self, node: Node, bridge: Bridge, naming: Naming) -> None:
        super().__init__(node, bridge, naming, topics())
        readers()

    def publish(
        self, vehicle: Vehicle, publishers: VehiclePublishers, tf: VehicleTf, now_ns: Callable[[], int]
    ) -> Px4Names:
        """Return the publisher of a vehicle's messages, which contain no frame names."""
        return Px4Names(vehicle.telemetry, publishers.send, readers())

    def offer(self, vehicle: Vehicle, made: VehicleNames, commands: VehicleCommandServices) -> Px4Topics:
        """Offer a vehicle's service and subscriptions."""
        assert isinstance(made, Px4Names)
        prefix = self.prefix(vehicle.system)
        topics = Px4Topics(self.node, self.bridge, vehicle, f"{prefix}fmu/in/", made, commands)
        topics.offer()
        return topics
