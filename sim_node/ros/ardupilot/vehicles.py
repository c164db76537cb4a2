"""Bridge vehicles under ArduPilot's DDS names: topics, and services for modes, arming and parameters."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ardupilot_msgs.srv import ArmMotors, ModeSwitch, Takeoff
from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import GetParameters, SetParameters
from rclpy.node import Node
from std_srvs.srv import Trigger

from sim_node.mavlink.ardupilot.inputs import INPUTS, joy_input
from sim_node.mavlink.ardupilot.names import ApNames, mode_number, set_mode_number
from sim_node.mavlink.ardupilot.telemetry import readers, topics
from sim_node.mavlink.bridge import Bridge
from sim_node.mavlink.commands import arm, takeoff
from sim_node.mavlink.dialects import VehicleNames
from sim_node.mavlink.modes import is_armable
from sim_node.mavlink.telemetry import Heartbeat
from sim_node.mavlink.vehicle import Vehicle
from sim_node.ros.bridge_parameters import Naming, limits_of
from sim_node.ros.dialect_parameters import parameter_value, pull_parameters, put_parameter
from sim_node.ros.dialect_vehicles import DialectVehicles, ServedVehicle
from sim_node.ros.vehicle_commands import VehicleCommandServices
from sim_node.ros.vehicle_topics import VehiclePublishers, VehicleTf

# GUIDED of copters, and of rovers and planes: the modes that follow setpoints.
_GUIDED = (4, 15)
_FRD = (1.0, 0.0, 0.0, 0.0)


class ApServices(ServedVehicle[ApNames]):
    """Subscriptions and services of a vehicle under ArduPilot's DDS names. Use it in the executor's thread only."""

    def offer(self) -> None:
        """Subscribe to the topics, offer the services, and pull the parameters."""
        for row in (*INPUTS, joy_input(self.names.parameters)):
            self.subscribe(row.name, row.type, self.forward(row), is_input=True)
        self.serve(ArmMotors, "arm_motors", self._arm)
        self.serve(ModeSwitch, "mode_switch", self._mode)
        self.serve(Trigger, "prearm_check", self._check)
        self.serve(Takeoff, "experimental/takeoff", self._takeoff)
        self.serve(GetParameters, "get_parameters", self._get)
        self.serve(SetParameters, "set_parameters", self._set)
        pull_parameters(self)

    @property
    def _beat(self) -> Heartbeat:
        return self.vehicle.telemetry.heartbeat or Heartbeat()

    async def _arm(self, request: Any, response: Any) -> None:
        response.result = (await self.commands.begin(lambda: arm(request.arm), engages=True)).ok

    async def _mode(self, request: Any, response: Any) -> None:
        make = partial(set_mode_number, request.mode, self.vehicle.telemetry)
        response.status = (await self.commands.begin(make, engages=request.mode in _GUIDED)).ok
        # The heartbeat that reports it arrives later.
        response.curr_mode = request.mode if response.status else mode_number(self._beat)

    async def _check(self, request: Any, response: Any) -> None:
        response.success = is_armable(self._beat, self.names.last.get("SYS_STATUS"))
        response.message = "Vehicle is Armable" if response.success else "Vehicle is Not Armable"

    async def _takeoff(self, request: Any, response: Any) -> None:
        height, highest = request.alt, limits_of(self.node).height
        result = await self.commands.begin(lambda: takeoff(height, highest, self.vehicle.telemetry))
        response.status = result.ok

    async def _get(self, request: Any, response: Any) -> None:
        response.values = [parameter_value(self.names.parameters.get(name)) for name in request.names]

    async def _set(self, request: Any, response: Any) -> None:
        results = []
        for each in request.parameters:
            if each.name in self.names.parameters:
                result = await put_parameter(self, each.name, each.value)
                reason = "Parameter accepted" if result.ok else result.text
                results.append(SetParametersResult(successful=result.ok, reason=reason))
            else:
                results.append(SetParametersResult(successful=False, reason="Parameter not found"))
        response.results = results


class ApVehicles(DialectVehicles):
    """Publishes and serves vehicles under ArduPilot's DDS names.

    Args:
        node: The node that publishes and serves.
        bridge: The node's bridge.
        naming: The namespaces and frames.

    Raises:
        ImportError: ardupilot_msgs or geographic_msgs is not installed.
    """

    word, example = "ap", "uas{id}/ap"

    def __init__(self, node: Node, bridge: Bridge, naming: Naming) -> None:
        super().__init__(node, bridge, naming, topics())
        readers()

    def publish(
        self, vehicle: Vehicle, publishers: VehiclePublishers, tf: VehicleTf, now_ns: Callable[[], int]
    ) -> ApNames:
        """Return the publisher of a vehicle's messages, and publish how its frame is fixed to ours."""
        frames = self.frames_of(vehicle, tf, now_ns)
        tf.publish_fixed(frames.named("base_link_ned"), _FRD, now_ns())
        return ApNames(vehicle.telemetry, frames, publishers.send, readers())

    def offer(self, vehicle: Vehicle, made: VehicleNames, commands: VehicleCommandServices) -> ApServices:
        """Offer a vehicle's services and subscriptions."""
        assert isinstance(made, ApNames)
        services = ApServices(self.node, self.bridge, vehicle, self.prefix(vehicle.system), made, commands)
        services.offer()
        return services
