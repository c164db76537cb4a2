"""The ROS graph for tools of assistants: topics, services and transforms through a dedicated node."""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from rclpy.publisher import Publisher
from rclpy.serialization import deserialize_message

from sim_node.extensions.assistants.graph import Patience, ToolRefused, TopicInfo
from sim_node.ros.calls import Orders
from sim_node.ros.live_graph import LiveGraph
from sim_node.ros.message_values import BadValue, as_data, filled, parsed, type_named
from sim_node.ros.publishers import profile, qos_of, subscription_qos
from sim_node.spatial.tree import TransformTree
from sim_node.text import MAX_LINE, did_you_mean, shown

# Maximum number of unread messages; timeouts of publishing for a subscription, and of orders to the executor, s.
DEPTH = 100
MATCH_S, ORDER_S = 5.0, 10.0

T = TypeVar("T")


class ToolsGraph:
    """A context manager that is a participant of the ROS graph. All methods may be called from any thread."""

    def __init__(self) -> None:
        self._live = LiveGraph(f"_sim_node_tools_{secrets.token_hex(4)}", rosout=False)
        self._publishers: dict[tuple[str, str], Publisher] = {}

    def __enter__(self) -> ToolsGraph:
        self._node = self._live.__enter__().node
        self._orders = Orders(self._node)
        return self

    def __exit__(self, *of: Any) -> None:
        self._live.__exit__(*of)

    @property
    def tree(self) -> TransformTree:
        """The transforms received so far."""
        return self._live.tree

    def now_ns(self) -> int | None:
        """Return the graph's time in ns; None while it is unknown."""
        return self._live.clock.now_ns()

    def silent_for(self) -> dict[str, float]:
        """Return the time since the last transform of each moving frame was received, s."""
        return {name: traffic.silent_for for name, traffic in self._live.traffic().items()}

    def topics(self) -> list[TopicInfo]:
        """Return the topics of other nodes, by name."""
        own, node = self._node.get_name(), self._node

        def others(endpoints: Any) -> int:
            return sum(each.node_name != own for each in endpoints)

        found = []
        for name, types in sorted(node.get_topic_names_and_types()):
            publishers = others(node.get_publishers_info_by_topic(name))
            subscriptions = others(node.get_subscriptions_info_by_topic(name))
            if publishers or subscriptions:
                found.append(TopicInfo(name, tuple(types), publishers, subscriptions))
        return found

    def services(self) -> dict[str, tuple[str, ...]]:
        """Return the services of all nodes, with their types."""
        return {name: tuple(types) for name, types in self._node.get_service_names_and_types()}

    @contextmanager
    def messages(self, topic: str, patience: Patience, timeout_s: float) -> Iterator[Received]:
        """Subscribe to a topic while a block runs; see `Graph.messages`."""
        name = self._full(topic)
        offered: list[Any] = []

        def published() -> bool:
            offered[:] = self._node.get_publishers_info_by_topic(name)
            return bool(offered)

        if not patience.until(published, timeout_s):
            hint = did_you_mean(name, [each.name for each in self.topics()])
            raise ToolRefused(f"no publisher of {shown(name)} within {timeout_s:g} s{hint}")
        types = {each.topic_type for each in offered}
        if len(types) > 1:
            raise ToolRefused(f"{shown(name)} has several types: {shown(', '.join(sorted(types)))}")
        received = Received(_type(types.pop(), "msg"))
        qos = profile(subscription_qos([qos_of(each.qos_profile) for each in offered], DEPTH))
        # Receive raw bytes, because an exception in the middleware's deserialization would end the executor.
        subscription = self._ordered(
            lambda: self._node.create_subscription(received.kind, name, received.add, qos, raw=True)
        )
        try:
            yield received
        finally:
            with suppress(ToolRefused):
                self._ordered(lambda: self._node.destroy_subscription(subscription))

    def call(self, service: str, values: Mapping[str, Any], patience: Patience, timeout_s: float) -> dict[str, Any]:
        """Call a service; see `Graph.call`."""
        known: dict[str, tuple[str, ...]] = {}

        def offered() -> bool:
            known.update(self.services())
            return service in known

        if not patience.until(offered, timeout_s):
            raise ToolRefused(f"no service {shown(service)} within {timeout_s:g} s{did_you_mean(service, known)}")
        kind = _type(known[service][0], "srv")
        request = filled(kind.Request, _written(values))
        client = self._ordered(lambda: self._node.create_client(kind, service))
        try:
            if not patience.until(client.service_is_ready, timeout_s):
                raise ToolRefused(f"{shown(service)} is not ready within {timeout_s:g} s")
            reply = self._ordered(lambda: client.call_async(request))
            if not patience.until(reply.done, timeout_s):
                raise ToolRefused(f"{shown(service)} has not replied within {timeout_s:g} s")
            return dict(as_data(reply.result()))
        finally:
            with suppress(ToolRefused):
                self._ordered(lambda: self._node.destroy_client(client))

    def publish(self, topic: str, type: str, values: Mapping[str, Any], patience: Patience) -> None:
        """Publish a message as soon as there is a subscription; see `Graph.publish`."""
        name, kind = self._full(topic), _type(type, "msg")
        message = filled(kind, _written(values), time.time_ns())
        publisher = self._ordered(lambda: self._publisher(kind, type, name))
        if not patience.until(publisher.get_subscription_count, MATCH_S):
            raise ToolRefused(f"nobody subscribes to {shown(name)}")
        publisher.publish(message)

    def _publisher(self, kind: Any, type: str, name: str) -> Publisher:
        """Return a cached publisher of a topic, because destroying a publisher at once may lose its message."""
        if (name, type) not in self._publishers:
            self._publishers[name, type] = self._node.create_publisher(kind, name, 10)
        return self._publishers[name, type]

    def _full(self, topic: str) -> str:
        try:
            return str(self._node.resolve_topic_name(topic))
        except Exception as error:  # from rclpy or rcl
            raise ToolRefused(f"{shown(topic)!r} is not a name of a topic: {str(error).splitlines()[0]}") from None

    def _ordered(self, function: Callable[[], T]) -> T:
        """Run a function in the executor's thread and return its result."""
        result: Future[T] = Future()

        def act() -> None:
            try:
                result.set_result(function())
            except BaseException as error:
                result.set_exception(error)

        self._orders.add(act)
        try:
            return result.result(ORDER_S)
        except TimeoutError:
            raise ToolRefused("the graph does not answer") from None


class Received:
    """Unread messages of a topic. `type` is package/msg/Name, and `kind` its class."""

    def __init__(self, kind: Any) -> None:
        self.kind = kind
        self.type = f"{kind.__module__.split('.')[0]}/msg/{kind.__name__}"
        self._waiting: deque[bytes] = deque(maxlen=DEPTH)
        self._lock = threading.Lock()

    def add(self, data: bytes) -> None:
        """Store a message. The oldest is dropped if there are too many."""
        with self._lock:
            self._waiting.append(data)

    def take(self) -> list[dict[str, Any]]:
        """Return the messages received since the last call, oldest first; unreadable ones are left out."""
        with self._lock:
            waiting = list(self._waiting)
            self._waiting.clear()
        found = []
        for data in waiting:
            with suppress(Exception):  # the bytes may come from any program
                found.append(dict(as_data(deserialize_message(data, self.kind))))
        return found


def _type(name: str, kind: str) -> Any:
    try:
        return type_named(name, kind)
    except BadValue as error:
        raise ToolRefused(shown(str(error), MAX_LINE)) from None


def _written(values: Mapping[str, Any]) -> Any:
    """Convert values to plain data, as a user would write them."""
    return parsed(json.dumps(values))
