"""Bridge vehicles under MAVROS' names: their publishers and subscriptions."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from rclpy.node import Node

from sim_node.mavlink.bridge import Bridge
from sim_node.mavlink.dialects import VehicleNames
from sim_node.mavlink.mavros.setpoints import SETPOINTS, THRUST, THRUST_TYPE, TURNS, SetpointRow, message_of
from sim_node.mavlink.mavros.telemetry import MavrosVehicle, readers, topics
from sim_node.mavlink.setpoints import checked_thrust
from sim_node.mavlink.vehicle import Vehicle
from sim_node.ros.bridge_parameters import Naming, limits_of
from sim_node.ros.dialect_vehicles import DialectVehicles
from sim_node.ros.mavros.services import MavrosServices, serve_commands, serve_missions, serve_parameters
from sim_node.ros.newest_pair import NewestPair
from sim_node.ros.vehicle_commands import VehicleCommandServices
from sim_node.ros.vehicle_topics import VehiclePublishers, VehicleTf


class MavrosTopics:
    """Subscriptions of a vehicle under MAVROS' names. Use it in the executor's thread only.

    As in MAVROS, each setpoint is forwarded once. Unlike in MAVROS, non-finite values and values beyond the setpoint
    limits are rejected and logged.

    Args:
        services: The vehicle's services.
    """

    def __init__(self, services: MavrosServices) -> None:
        self._services = services
        timeout_s: float = services.node.get_parameter("setpoint_timeout").value
        self._pair: NewestPair[tuple[SetpointRow, Any], float] = NewestPair(("attitude", "thrust"), timeout_s)
        for row in SETPOINTS:
            services.subscribe(row.name, row.type, self._forward(row), is_input=True)
        for row in TURNS:
            services.subscribe(row.name, row.type, self._turn(row), is_input=True)
        services.subscribe(THRUST, THRUST_TYPE, self._thrust, is_input=True)

    def _forward(self, row: SetpointRow) -> Callable[[Any], None]:
        def receive(message: Any) -> None:
            self._put(row, message)

        return receive

    def _put(self, row: SetpointRow, message: Any, **more: Any) -> None:
        services = self._services
        fields = message_of(row, message, services.vehicle.telemetry, limits_of(services.node), **more)
        services.send([(row.message, fields)], row.name if row.is_setpoint else "")

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
            return  # like MAVROS, which waits for both
        self._put(row, message, thrust=thrust)


class MavrosVehicles(DialectVehicles):
    """Publishes and serves vehicles under MAVROS' names.

    Args:
        node: The node that publishes and serves.
        bridge: The node's bridge.
        naming: The namespaces and frames.

    Raises:
        ImportError: mavros_msgs or geographic_msgs is not installed.
    """

    word, example = "mavros", "uas{id}/mavros"

    def __init__(self, node: Node, bridge: Bridge, naming: Naming) -> None:
        readers()
        super().__init__(node, bridge, naming, topics())

    def publish(
        self, vehicle: Vehicle, publishers: VehiclePublishers, tf: VehicleTf, now_ns: Callable[[], int]
    ) -> MavrosVehicle:
        """Return the publisher of a vehicle's messages, and publish how its frame is fixed to ours."""
        frames = self.frames_of(vehicle, tf, now_ns)
        return MavrosVehicle(vehicle.telemetry, frames, publishers.send)

    def offer(self, vehicle: Vehicle, made: VehicleNames, commands: VehicleCommandServices) -> MavrosTopics:
        """Offer a vehicle's services and subscriptions."""
        assert isinstance(made, MavrosVehicle)
        services = MavrosServices(self.node, self.bridge, vehicle, self.prefix(vehicle.system), made, commands)
        for serve in (serve_commands, serve_missions, serve_parameters):
            serve(services)
        return MavrosTopics(services)
