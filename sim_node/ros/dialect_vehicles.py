"""The vehicles of a bridge under names of others, each in a namespace of its own."""

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
    """What a vehicle's subscriptions and services under names of others share. Belongs to the executor's thread.

    Args:
        node: Whose they are.
        bridge: Its bridge.
        vehicle: The vehicle.
        prefix: What stands before the names: nothing, or a namespace with a slash behind it.
        names: The vehicle under these names.
        commands: Begins transactions.
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
        """Subscribe to what becomes messages of MAVLink. What is refused is logged and reported; other faults as well.

        Args:
            name: The name of the topic behind the prefix.
            type: package/Name.
            receive: Called with each message; may raise SetpointRefused.
            topics: The topics' full names; by default the name behind the prefix.
            is_input: Whether it is only valid at present: what waited longer than the timeout of setpoints is
                refused.
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
            # A best-effort subscription is compatible with reliable publishers, too.
            quality = profile(Profile.SENSOR.value)
            self.node.create_subscription(message_class(type), topic, with_wait(callback), quality)

    def forward(self, row: Input, by: str = "") -> Callable[[Any], None]:
        """Return what sends the messages of a topic that is read.

        Args:
            row: The topic.
            by: What moves the vehicle by them; by default, the topic.

        Returns:
            What receives a message; raises SetpointRefused.
        """

        def receive(message: Any) -> None:
            telemetry = self.vehicle.telemetry
            messages = checked(row.convert(message, telemetry), telemetry, limits_of(self.node))
            self.send(messages, (by or row.name) if row.moves else "")
            if lost := row.lost(message):
                self.warn(row.name, lost)

        return receive

    def serve(self, kind: Any, name: str, answer: Callable[[Any, Any], Awaitable[Any]]) -> None:
        """Offer a service. An exception is reported, and the response is as it was.

        Args:
            kind: The service's class.
            name: Its name behind the prefix.
            answer: Fills the response of a request.
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
            moved_by: What moves the vehicle by them, and ends a goto and a stream of our own names; empty for none.
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
        """Log, once in a while, and report why something is refused."""
        self.warn(topic, why)
        self.commands.report(topic, Result(False, why))

    def warn(self, topic: str, what: str) -> None:
        """Log something of a topic, once in a while, with who publishes it."""
        line = f"{self.prefix}{topic}: {what}{publishers_of(self.node, self.prefix + topic)}"
        if line := self._logged.admit(topic, line, time.monotonic_ns()):
            self.node.get_logger().warning(line)


class DialectVehicles(ABC):
    """Publishes and serves vehicles under names of others.

    What the first messages need is imported and compiled when this is made, not in the bridge's loop.

    Args:
        node: Whose topics they are.
        bridge: Its bridge.
        naming: The namespaces and frames.
        topics: All topics of these names.

    Attributes:
        word: The key of these names in DIALECTS.
        example: A value of the parameter that gives each vehicle a namespace of its own.

    Raises:
        ImportError: The package of the messages is not installed.
    """

    word = example = ""

    def __init__(self, node: Node, bridge: Bridge, naming: Naming, topics: Sequence[VehicleTopic]) -> None:
        self.node, self.bridge, self.naming = node, bridge, naming
        # The system ids by their namespaces.
        self._namespaces: dict[str, int] = {}
        self._vehicles: dict[int, VehicleNames] = {}
        self._served: list[object] = []
        load_type_support(message_class(topic.type) for topic in topics)
        for topic in topics:
            encode(topic.type.replace("/", "/msg/"), {})

    def prefix(self, system: int) -> str:
        """Return what stands before the names of a vehicle: nothing, or its namespace with a slash behind it."""
        namespace = self.naming.dialect_namespace(self.word, system)
        return f"{namespace}/" if namespace else ""

    def frames_of(self, vehicle: Vehicle, tf: VehicleTf, now_ns: Callable[[], int]) -> FrameNames:
        """Return the names of a vehicle's frames in these messages, and fix its frame to that of our names."""
        frames = self.naming.dialect_frames(self.word, vehicle.system)
        if frames.base != vehicle.telemetry.frames.base:
            tf.publish_fixed(frames.base, _UNTURNED, now_ns())
        return frames

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
        """Offer the services and subscriptions of a vehicle; called in the executor's thread.

        Args:
            vehicle: The vehicle.
            commands: Begins its transactions.
        """
        made = self._vehicles.get(vehicle.system)
        if made is not None:
            self._served.append(self.offer(vehicle, made, commands))
