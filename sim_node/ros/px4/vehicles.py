"""The vehicles of a bridge that are published under PX4's names, too."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.node import Node

from sim_node.mavlink.bridge import Bridge
from sim_node.mavlink.px4.names import Px4Names
from sim_node.mavlink.px4.telemetry import readers, topics
from sim_node.mavlink.vehicle import Vehicle
from sim_node.messages.topic import Outlet
from sim_node.ros.bridge_parameters import Naming
from sim_node.ros.publishers import load_type_support, message_class
from sim_node.ros.px4.topics import Px4Topics
from sim_node.ros.vehicle_commands import VehicleCommandServices
from sim_node.ros.vehicle_topics import VehiclePublishers, VehicleTf


class Px4Vehicles:
    """Publishes and serves vehicles under PX4's names, each in a namespace of its own.

    Args:
        node: Whose topics they are.
        bridge: Its bridge.
        naming: The namespaces.

    Raises:
        ImportError: px4_msgs is not installed.
    """

    def __init__(self, node: Node, bridge: Bridge, naming: Naming) -> None:
        self._node, self._bridge, self._naming = node, bridge, naming
        self._namespaces: dict[str, int] = {}
        self._vehicles: dict[int, Px4Names] = {}
        self._subscribed: list[Px4Topics] = []
        load_type_support(message_class(topic.type) for topic in topics())
        readers()

    def found(self, vehicle: Vehicle, outlet: Outlet, tf: VehicleTf, now_ns: Callable[[], int]) -> None:
        """Publish a vehicle; called in the bridge's thread.

        Args:
            vehicle: The vehicle.
            outlet: Where its messages go.
            tf: Its frames, of which PX4's messages name none.
            now_ns: The graph's clock.
        """
        system = vehicle.system
        namespace = self._naming.px4_namespace(system)
        other = self._namespaces.setdefault(namespace, system)
        if other != system:
            text = f"system {system}: {namespace or '/'} is already system {other}; give each a namespace of its own"
            self._node.get_logger().error(f"{text}, such as px4_namespace:=px4_{{id}}")
            return
        publishers = VehiclePublishers(outlet, namespace, "", now_ns)
        made = self._vehicles[system] = Px4Names(vehicle.telemetry, publishers.send, readers())
        vehicle.names.append(made)

    def serve(self, vehicle: Vehicle, commands: VehicleCommandServices) -> None:
        """Offer the service and the subscriptions of a vehicle; called in the executor's thread.

        Args:
            vehicle: The vehicle.
            commands: Begins its transactions.
        """
        made = self._vehicles.get(vehicle.system)
        if made is not None:
            namespace = self._naming.px4_namespace(vehicle.system)
            self._subscribed.append(Px4Topics(self._node, self._bridge, vehicle, namespace, made, commands))
