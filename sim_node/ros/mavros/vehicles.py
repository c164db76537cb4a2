"""The vehicles of a bridge that are published under MAVROS' names, too."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.node import Node

from sim_node.mavlink.bridge import Bridge
from sim_node.mavlink.mavros.telemetry import readers, topics
from sim_node.mavlink.mavros.vehicle import MavrosVehicle
from sim_node.mavlink.vehicle import Vehicle
from sim_node.messages.encoding import encode
from sim_node.messages.topic import Outlet
from sim_node.ros.bridge_parameters import Naming
from sim_node.ros.mavros.commands import serve_commands
from sim_node.ros.mavros.missions import serve_missions
from sim_node.ros.mavros.parameters import serve_parameters
from sim_node.ros.mavros.services import MavrosServices
from sim_node.ros.mavros.topics import MavrosTopics
from sim_node.ros.publishers import load_type_support, message_class
from sim_node.ros.vehicle_commands import VehicleCommandServices
from sim_node.ros.vehicle_topics import VehiclePublishers, VehicleTf

_UNTURNED = (0.0, 0.0, 0.0, 1.0)


class MavrosVehicles:
    """Publishes and serves vehicles under MAVROS' names, each in a namespace of its own.

    What the first messages need is imported and compiled when this is made, not in the bridge's loop.

    Args:
        node: Whose topics they are.
        bridge: Its bridge.
        naming: The namespaces and frames.

    Raises:
        ImportError: mavros_msgs or geographic_msgs is not installed.
    """

    def __init__(self, node: Node, bridge: Bridge, naming: Naming) -> None:
        self._node, self._bridge, self._naming = node, bridge, naming
        # The system ids by their namespaces.
        self._namespaces: dict[str, int] = {}
        self._vehicles: dict[int, MavrosVehicle] = {}
        self._subscribed: list[MavrosTopics] = []
        readers()
        for topic in topics():
            encode(topic.type.replace("/", "/msg/"), {})
        load_type_support(message_class(topic.type) for topic in topics())

    def found(self, vehicle: Vehicle, outlet: Outlet, tf: VehicleTf, now_ns: Callable[[], int]) -> None:
        """Publish a vehicle; called in the bridge's thread.

        Args:
            vehicle: The vehicle.
            outlet: Where its messages go.
            tf: Its frames.
            now_ns: The graph's clock.
        """
        system = vehicle.system
        namespace = self._naming.mavros_namespace(system)
        other = self._namespaces.setdefault(namespace, system)
        if other != system:
            text = f"system {system}: {namespace} is already system {other}; give each a namespace of its own, such as"
            self._node.get_logger().error(f"{text} mavros_namespace:=uas{{id}}/mavros")
            return
        frames = self._naming.mavros_frames(system)
        publishers = VehiclePublishers(outlet, namespace, "", now_ns)
        made = self._vehicles[system] = MavrosVehicle(vehicle.telemetry, frames, publishers.send)
        vehicle.names.append(made)
        if frames.base != vehicle.telemetry.frames.base:
            tf.publish_fixed(frames.base, _UNTURNED, now_ns())

    def serve(self, vehicle: Vehicle, commands: VehicleCommandServices) -> None:
        """Offer the services and subscriptions of a vehicle; called in the executor's thread.

        Args:
            vehicle: The vehicle.
            commands: Begins its transactions.
        """
        made = self._vehicles.get(vehicle.system)
        if made is None:
            return
        namespace = self._naming.mavros_namespace(vehicle.system)
        services = MavrosServices(self._node, self._bridge, vehicle, namespace, made.names, commands)
        self._subscribed.append(MavrosTopics(services))
        for serve in (serve_commands, serve_missions, serve_parameters):
            serve(services)
