"""What a vehicle's services under MAVROS' names share: where they are, and how they reach the vehicle."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

from rclpy.node import Node

from sim_node.mavlink.bridge import Bridge
from sim_node.mavlink.mavros.names import MavrosNames
from sim_node.mavlink.transaction import Result
from sim_node.mavlink.vehicle import Vehicle
from sim_node.rate_limit import RateLimit
from sim_node.ros.publishers import publishers_of
from sim_node.ros.vehicle_commands import VehicleCommandServices


class MavrosServices:
    """Offers services of a vehicle under MAVROS' names. Belongs to the executor's thread.

    Args:
        node: Whose services they are.
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
        self.prefix = f"{namespace}/" if namespace else ""
        self._logged = RateLimit()

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
                self.bridge.failed(f"{self.prefix}{name}", error)
            return response

        self.node.create_service(kind, self.prefix + name, guarded)

    def send(self, name: str, fields: Any) -> None:
        """Send a message to the vehicle."""
        self.bridge.post(lambda now_ns: self.vehicle.send(name, fields, now_ns))

    def refuse(self, topic: str, why: str) -> None:
        """Log why something is refused, once in a while."""
        publishers = publishers_of(self.node, self.prefix + topic)
        line = f"{self.prefix}{topic}: {why}{publishers}"
        if line := self._logged.admit(topic, line, time.monotonic_ns()):
            self.node.get_logger().warning(line)
        self.commands.report(topic, Result(False, why))
