"""The vehicles of a bridge under names of others, each in a namespace of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from rclpy.node import Node

from sim_node.mavlink.bridge import Bridge
from sim_node.mavlink.dialects import VehicleNames
from sim_node.mavlink.topics import VehicleTopic
from sim_node.mavlink.vehicle import Vehicle
from sim_node.messages.encoding import encode
from sim_node.messages.topic import Outlet
from sim_node.ros.bridge_parameters import Naming
from sim_node.ros.publishers import load_type_support, message_class
from sim_node.ros.vehicle_commands import VehicleCommandServices
from sim_node.ros.vehicle_topics import VehiclePublishers, VehicleTf


class DialectVehicles(ABC):
    """Publishes and serves vehicles under names of others.

    What the first messages need is imported and compiled when this is made, not in the bridge's loop.

    Args:
        node: Whose topics they are.
        bridge: Its bridge.
        naming: The namespaces and frames.
        topics: All topics of these names.

    Attributes:
        example: A parameter that gives each vehicle a namespace of its own.

    Raises:
        ImportError: The package of the messages is not installed.
    """

    example = ""

    def __init__(self, node: Node, bridge: Bridge, naming: Naming, topics: Sequence[VehicleTopic]) -> None:
        self.node, self.bridge, self.naming = node, bridge, naming
        # The system ids by their namespaces.
        self._namespaces: dict[str, int] = {}
        self._vehicles: dict[int, VehicleNames] = {}
        self._served: list[object] = []
        load_type_support(message_class(topic.type) for topic in topics)
        for topic in topics:
            encode(topic.type.replace("/", "/msg/"), {})

    @abstractmethod
    def namespace(self, system: int) -> str:
        """Return the namespace of a vehicle; empty for none."""

    @abstractmethod
    def publish(
        self, vehicle: Vehicle, publishers: VehiclePublishers, tf: VehicleTf, now_ns: Callable[[], int]
    ) -> VehicleNames:
        """Return what publishes a vehicle's messages; called in the bridge's thread."""

    @abstractmethod
    def offer(self, vehicle: Vehicle, made: VehicleNames, commands: VehicleCommandServices) -> object:
        """Offer a vehicle's services and subscriptions, and return what has to be kept for them."""

    def found(self, vehicle: Vehicle, outlet: Outlet, tf: VehicleTf, now_ns: Callable[[], int]) -> None:
        """Publish a vehicle; called in the bridge's thread.

        Args:
            vehicle: The vehicle.
            outlet: Where its messages go.
            tf: Its frames.
            now_ns: The graph's clock.
        """
        system = vehicle.system
        namespace = self.namespace(system)
        other = self._namespaces.setdefault(namespace, system)
        if other != system:
            text = f"system {system}: {namespace or '/'} is already system {other}; give each a namespace of its own"
            self.node.get_logger().error(f"{text}, such as {self.example}")
            return
        made = self.publish(vehicle, VehiclePublishers(outlet, namespace, "", now_ns), tf, now_ns)
        self._vehicles[system] = made
        vehicle.names.append(made)

    def serve(self, vehicle: Vehicle, commands: VehicleCommandServices) -> None:
        """Offer the services and subscriptions of a vehicle; called in the executor's thread.

        Args:
            vehicle: The vehicle.
            commands: Begins its transactions.
        """
        made = self._vehicles.get(vehicle.system)
        if made is not None:
            self._served.append(self.offer(vehicle, made, commands))
