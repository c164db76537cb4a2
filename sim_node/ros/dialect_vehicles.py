"""Vehicles of a bridge in another naming scheme, such as MAVROS', each in its own namespace."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, TypeVar

from rclpy.node import Node

from sim_node.mavlink.bridge import Bridge
from sim_node.mavlink.commands import Goto
from sim_node.mavlink.dialects import Input, VehicleNames, checked
from sim_node.mavlink.setpoints import SetpointRefused
from sim_node.mavlink.topics import FrameNames, Profile, VehicleTopic
from sim_node.mavlink.transaction import Outgoing, Result
from sim_node.mavlink.vehicle import Vehicle
from sim_node.messages.encoding import encode
from sim_node.messages.topic import Outlet
from sim_node.rate_limit import RateLimit
from sim_node.ros.bridge_parameters import Naming, limits_of
from sim_node.ros.command_stamps import wait_fault, with_wait
from sim_node.ros.publishers import load_type_support, message_class, profile, publishers_of
from sim_node.ros.vehicle_commands import VehicleCommandServices
from sim_node.ros.vehicle_topics import VehiclePublishers, VehicleTf

V = TypeVar("V", bound=VehicleNames)
_UNTURNED = (0.0, 0.0, 0.0, 1.0)


class ServedVehicle(Generic[V]):
    """Common parts of a vehicle's subscriptions and services in another naming scheme. Executor thread only.

    Args:
        node: The node that subscribes and serves.
        bridge: The node's bridge.
        vehicle: The vehicle.
        prefix: Prefix of the names: empty, or a namespace with a trailing slash.
        names: The vehicle in this naming scheme.
        commands: Starts transactions.
    """

    def __init__(
        self, node: Node, bridge: Bridge, vehicle: Vehicle, prefix: str, names: V, commands: VehicleCommandServices
    ) -> None:
        self.node, self.bridge, self.vehicle, self.prefix = node, bridge, vehicle, prefix
        self.names, self.commands = names, commands
        self._logged = RateLimit()
        self._timeout_s: float = node.get_parameter("setpoint_timeout").value

    def subscribe(
        self, name: str, type: str, receive: Callable[[Any], None], *topics: str, is_input: bool = False
    ) -> None:
        """Subscribe to messages that are forwarded over MAVLink. Rejections and other errors are logged and reported.

        Args:
            name: Name of the topic, without the prefix.
            type: Message type, as package/Name.
            receive: Called with each message. May raise SetpointRefused.
            topics: Full names of the topics; by default the prefix and the name.
            is_input: Whether a message is only valid at present. It is then rejected if it waited longer than the
                setpoint timeout.
        """
        limit_s = self._timeout_s if is_input else math.inf

        def callback(message: Any, waited_ns: int) -> None:
            try:
                if (fault := wait_fault(waited_ns, limit_s)) is not None:
                    raise SetpointRefused(fault)
                receive(message)
            except SetpointRefused as refusal:
                self.refuse(name, str(refusal))
            except Exception as error:
                self.bridge.failed(self.prefix + name, error)

        for topic in topics or (self.prefix + name,):
            # A best-effort subscription is also compatible with reliable publishers.
            quality = profile(Profile.SENSOR.value)
            self.node.create_subscription(message_class(type), topic, with_wait(callback), quality)

    def forward(self, row: Input, by: str = "") -> Callable[[Any], None]:
        """Return a function that forwards the messages of an input topic.

        Args:
            row: The topic.
            by: Name of the source that moves the vehicle; by default the topic.

        Returns:
            A function that receives a message. It raises SetpointRefused.
        """

        def receive(message: Any) -> None:
            telemetry = self.vehicle.telemetry
            messages = checked(row.convert(message, telemetry), telemetry, limits_of(self.node))
            self.send(messages, (by or row.name) if row.moves else "")
            if lost := row.lost(message):
                self.warn(row.name, lost)

        return receive

    def serve(self, kind: Any, name: str, answer: Callable[[Any, Any], Awaitable[Any]]) -> None:
        """Offer a service. If an exception occurs, it is reported and the response is left unchanged.

        Args:
            kind: Class of the service.
            name: Its name, without the prefix.
            answer: Fills the response to a request.
        """

        async def guarded(request: Any, response: Any) -> Any:
            try:
                await answer(request, response)
            except Exception as error:
                self.bridge.failed(f"{self.prefix}{name}", error)
            return response

        self.node.create_service(kind, self.prefix + name, guarded)

    def send(self, messages: Sequence[Outgoing], moved_by: str = "") -> None:
        """Send messages to the vehicle.

        Args:
            messages: Their names and fields.
            moved_by: Source that now moves the vehicle. It ends a goto or setpoint stream of our own; empty for none.
        """
        vehicle = self.vehicle

        def act(now_ns: int) -> None:
            if moved_by:
                vehicle.cancel(Goto.key, f"cancelled by {moved_by}", now_ns)
                vehicle.stream.stop()
            for name, fields in messages:
                vehicle.send(name, fields, now_ns)

        self.bridge.post(act)

    def refuse(self, topic: str, why: str) -> None:
        """Report why something is rejected, and log it, rate-limited."""
        self.warn(topic, why)
        self.commands.report(topic, Result(False, why))

    def warn(self, topic: str, what: str) -> None:
        """Log a message about a topic and its publishers, rate-limited."""
        line = f"{self.prefix}{topic}: {what}{publishers_of(self.node, self.prefix + topic)}"
        if line := self._logged.admit(topic, line, time.monotonic_ns()):
            self.node.get_logger().warning(line)


class DialectVehicles(ABC):
    """Publishes and serves vehicles in another naming scheme.

    Everything needed for the first messages is imported and compiled in the constructor, not in the bridge's loop.

    Args:
        node: The node that publishes and serves.
        bridge: The node's bridge.
        naming: The namespaces and frames.
        topics: All topics of the naming scheme.

    Attributes:
        word: Key of the naming scheme in DIALECTS.
        example: A value of the namespace parameter that gives each vehicle its own namespace.

    Raises:
        ImportError: The package of the messages is not installed.
    """

    word = example = ""

    def __init__(self, node: Node, bridge: Bridge, naming: Naming, topics: Sequence[VehicleTopic]) -> None:
        self.node, self.bridge, self.naming = node, bridge, naming
        # System ids by namespace.
        self._namespaces: dict[str, int] = {}
        self._vehicles: dict[int, VehicleNames] = {}
        self._served: list[object] = []
        load_type_support(message_class(topic.type) for topic in topics)
        for topic in topics:
            encode(topic.type.replace("/", "/msg/"), {})

    def prefix(self, system: int) -> str:
        """Return the prefix of a vehicle's names: empty, or its namespace with a trailing slash."""
        namespace = self.naming.dialect_namespace(self.word, system)
        return f"{namespace}/" if namespace else ""

    def frames_of(self, vehicle: Vehicle, tf: VehicleTf, now_ns: Callable[[], int]) -> FrameNames:
        """Return a vehicle's frames in this naming scheme, and publish how its frame is fixed to ours."""
        frames = self.naming.dialect_frames(self.word, vehicle.system)
        if frames.base != vehicle.telemetry.frames.base:
            tf.publish_fixed(frames.base, _UNTURNED, now_ns())
        return frames

    @abstractmethod
    def publish(
        self, vehicle: Vehicle, publishers: VehiclePublishers, tf: VehicleTf, now_ns: Callable[[], int]
    ) -> VehicleNames:
        """Return the publisher of a vehicle's messages. Called in the bridge's thread."""

    @abstractmethod
    def offer(self, vehicle: Vehicle, made: VehicleNames, commands: VehicleCommandServices) -> object:
        """Offer a vehicle's services and subscriptions. Return the object to keep alive for them."""

    def found(self, vehicle: Vehicle, outlet: Outlet, tf: VehicleTf, now_ns: Callable[[], int]) -> None:
        """Publish a vehicle. Called in the bridge's thread.

        Args:
            vehicle: The vehicle.
            outlet: Where its messages go.
            tf: Its frames.
            now_ns: The graph's clock.
        """
        system = vehicle.system
        namespace = self.naming.dialect_namespace(self.word, system)
        other = self._namespaces.setdefault(namespace, system)
        if other != system:
            text = f"system {system}: {namespace or '/'} is already system {other}; give each a namespace of its own"
            self.node.get_logger().error(f"{text}, such as {self.word}_namespace:={self.example}")
            return
        made = self.publish(vehicle, VehiclePublishers(outlet, namespace, "", now_ns), tf, now_ns)
        self._vehicles[system] = made
        vehicle.names.append(made)

    def serve(self, vehicle: Vehicle, commands: VehicleCommandServices) -> None:
        """Offer the services and subscriptions of a vehicle. Called in the executor's thread.

        Args:
            vehicle: The vehicle.
            commands: Starts its transactions.
        """
        made = self._vehicles.get(vehicle.system)
        if made is not None:
            self._served.append(self.offer(vehicle, made, commands))
