"""Implementation of `sim_node echo`, `pub` and `call`, which behave like `ros2 topic` and `ros2 service`."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rclpy.duration import Duration
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.serialization import deserialize_message
from rclpy.subscription import Subscription

from sim_node.messages.tf_message_reader import Unreadable
from sim_node.messages.topic import Qos
from sim_node.ros.graph_clock import GraphClock
from sim_node.ros.message_values import check_field, filled, type_named
from sim_node.ros.publishers import profile, publishers_of, qos_of, subscription_qos
from sim_node.ros.recording import SNAPSHOT
from sim_node.ros.tool_graph import NotThere, ToolGraph
from sim_node.text import MAX_LINE, shown

# Default time to wait for a publisher, a subscription or a service, s.
TIMEOUT_S = 10.0
# How often to look for new publishers, s, and the depth of the queue while a message is printed.
LOOK_S, DEPTH = 0.25, 100
_WAITING_S = 1.0


def _full(given: str | None, kind: str) -> str | None:
    """Return the full form of a type name."""
    if given is None or given.count("/") != 1:
        return given
    return given.replace("/", f"/{kind}/")


class Echo:
    """Receives the messages of a topic, from any publisher and with any QoS.

    Args:
        graph: The graph.
        topic: The topic.
        type: Its type; None to use the graph's.
        field: Path of the field to check for; None for the whole message.
        receive: Called with each message.
        warn: Called with a line about skipped messages.

    Attributes:
        received: Number of messages received.
    """

    def __init__(
        self,
        graph: ToolGraph,
        topic: str,
        type: str | None,
        field: tuple[str, ...],
        receive: Callable[[Any], None],
        warn: Callable[[str], None],
    ) -> None:
        self.received = 0
        self._graph, self._topic, self._receive, self._warn = graph, graph.topic_name(topic), receive, warn
        self._given, self._field = _full(type, "msg"), field
        if self._given is not None:
            check_field(type_named(self._given, "msg"), field)
        self._unreadable = Unreadable(warn)
        self._lost = 0
        self._subscribed: tuple[Qos, Subscription] | None = None
        self._look_at = 0.0

    def run(self, count: int | None, timeout_s: float | None) -> None:
        """Receive messages.

        Args:
            count: Number of messages; None for until interrupted.
            timeout_s: How long to wait for a publisher and for the first message, s; None for TIMEOUT_S for a publisher
                and no limit for messages.

        Raises:
            NotThere: There was no publisher or no message in time.
            BadValue: The type cannot be used.
            KeyboardInterrupt: A signal requested the end.
        """
        begun = time.monotonic()
        limit = TIMEOUT_S if timeout_s is None else timeout_s
        if not self._graph.spin(self._subscribe, limit):
            if self._topic in self._graph.topics():
                raise NotThere(f"{shown(self._topic)} has subscriptions, but no publisher came within {limit:g} s")
            raise self._graph.absent("topic", self._topic, list(self._graph.topics()), limit)

        def done() -> bool:
            self._subscribe()
            return self.received >= (1 if count is None else count)

        left = None if timeout_s is None else max(timeout_s - (time.monotonic() - begun), 0.0)
        if not self._graph.spin(done, left):
            raise NotThere(f"no message on {shown(self._topic)} within {limit:g} s, although it has a publisher")
        while count is None:
            self._graph.spin(lambda: self._subscribe() and False)

    def report(self) -> None:
        """Report how many messages were skipped or lost."""
        for line in self._unreadable.counted():
            self._warn(line)
        if self._lost:
            self._warn(f"{shown(self._topic)}: {self._lost} messages were lost in transport")

    def _subscribe(self) -> bool:
        """Adapt the subscription to the publishers. Return whether there is one."""
        now = time.monotonic()
        if now < self._look_at:
            return self._subscribed is not None
        self._look_at = now + LOOK_S
        offered = [qos_of(each.qos_profile) for each in self._graph.publishers(self._topic)]
        if not offered:
            self._look_at = now + (LOOK_S if self._subscribed else 0.0)
            return self._subscribed is not None
        type = self._graph.only_type(self._topic, self._graph.topic_types(), self._given)
        if type is None:
            return self._subscribed is not None
        wanted = subscription_qos(offered, DEPTH)
        before = self._subscribed
        if before is not None and before[0] == wanted:
            return True
        kind = type_named(type, "msg")
        check_field(kind, self._field)
        if before is not None:  # it is not compatible with a new publisher
            self._graph.node.destroy_subscription(before[1])
        # As bytes: an exception from the middleware's deserialisation would end everything.
        subscription = self._graph.node.create_subscription(
            kind,
            self._topic,
            lambda data: self._read(kind, data),
            profile(wanted),
            event_callbacks=SubscriptionEventCallbacks(message_lost=self._count_lost),
            raw=True,
        )
        self._subscribed = wanted, subscription
        return True

    def _read(self, kind: Any, data: bytes) -> None:
        try:
            with _silenced(bool(self._unreadable.by_topic)):
                message = deserialize_message(data, kind)
        except Exception as error:  # also from the conversion to Python, such as text that is not UTF-8
            why = shown(" ".join(str(error).split()), MAX_LINE)
            self._unreadable.count(self._topic, why, publishers_of(self._graph.node, self._topic))
            return
        self.received += 1
        self._receive(message)

    def _count_lost(self, event: Any) -> None:
        self._lost += event.total_count_change


@contextmanager
def _silenced(silent: bool) -> Iterator[None]:
    """Suppress what rosidl's C code writes to stderr about each broken message, once the first one was reported."""
    if not silent:
        yield
        return
    kept = os.dup(2)
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


class Publish:
    """Publishes a message on a topic.

    Args:
        graph: The graph.
        topic: The topic.
        type: Its type; None to use the graph's.
        values: The fields to set, as returned by `parsed`.
        timeout_s: How long to wait for the topic's type and its subscriptions, s.

    Raises:
        BadValue: The topic, its type or the values are invalid.
        NotThere: The type is not known in time.
    """

    def __init__(self, graph: ToolGraph, topic: str, type: str | None, values: Any, timeout_s: float) -> None:
        self._graph, self._topic, self._values, self._timeout_s = graph, graph.topic_name(topic), values, timeout_s
        given, found = _full(type, "msg"), None
        if given is not None:
            filled(type_named(given, "msg"), values)  # before any waiting

        def known() -> bool:
            nonlocal found
            found = graph.only_type(self._topic, graph.topic_types(), given)
            return found is not None

        if not graph.spin(known, timeout_s):
            raise graph.absent("topic", self._topic, list(graph.topics()), timeout_s)
        self._kind = type_named(str(found), "msg")
        filled(self._kind, values)
        self._clock = GraphClock(graph.node)

    def run(self, rate: float, times: int | None, needed: int, keep_alive_s: float, every: int) -> None:
        """Publish messages, and print them.

        Args:
            rate: Publishing rate, Hz.
            times: Number of messages; None for until interrupted.
            needed: Number of subscriptions to wait for.
            keep_alive_s: How long to stay after the last message, s.
            every: Print every n-th message; 0 to print none.

        Raises:
            NotThere: The subscriptions did not appear in time.
            KeyboardInterrupt: A signal requested the end.
        """
        # Reliable and latched, which is compatible with every subscription
        qos = Qos(depth=10, durability="transient_local")
        publisher = self._graph.node.create_publisher(self._kind, self._topic, profile(qos))
        self._await(publisher.get_subscription_count, needed)
        print("publisher: beginning loop", flush=True)
        due = time.monotonic()
        for count in itertools.count(1):
            message = filled(self._kind, self._values, self._clock.now_ns() or time.time_ns())
            if every and count % every == 0:
                print(f"publishing #{count}: {message!r}\n", flush=True)
            publisher.publish(message)
            if times is not None and count >= times:
                break
            due = max(due + 1.0 / rate, time.monotonic() - 1.0)
            self._graph.spin(lambda: False, due - time.monotonic())
        publisher.wait_for_all_acked(Duration(seconds=_WAITING_S))
        self._graph.spin(lambda: False, keep_alive_s)

    def _await(self, count: Callable[[], int], needed: int) -> None:
        deadline = time.monotonic() + self._timeout_s
        while count() < needed:
            if (left := deadline - time.monotonic()) <= 0.0:
                hint = str(self._graph.absent("topic", self._topic, list(self._graph.topics()), 0.0)).partition("; ")[2]
                text = f"{count()} of {needed} subscriptions to {shown(self._topic)} within {self._timeout_s:g} s"
                raise NotThere(text + (f"; {hint}" if hint and self._topic not in hint else ""))
            print(f"Waiting for at least {needed} matching subscription(s)...", flush=True)
            self._graph.spin(lambda: count() >= needed, min(_WAITING_S, left))


def _no_service(graph: ToolGraph, name: str, timeout_s: float) -> NotThere:
    """Return the error that a service does not exist. For services of certain runs only, it says which runs."""
    known = list(graph.service_types())
    word = "/" + name.rpartition("/")[2]
    # If other nodes offer the service, the node's name is wrong rather than the service's.
    if word == SNAPSHOT.removeprefix("~") and not any(each.endswith(word) for each in known):
        return NotThere(f"no service {shown(name)} within {timeout_s:g} s; only recordings with --snapshot offer it")
    return graph.absent("service", name, known, timeout_s)


def call(graph: ToolGraph, service: str, type: str | None, values: Any, timeout_s: float | None) -> None:
    """Call a service, and print the request and the response.

    Args:
        graph: The graph.
        service: The service.
        type: Its type; None to use the graph's.
        values: The request fields to set, as returned by `parsed`.
        timeout_s: How long to wait for the service, and then for its response, s; None for TIMEOUT_S for the service
            and no limit for the response.

    Raises:
        BadValue: The service, its type or the values are invalid.
        NotThere: The service does not exist, or does not respond, in time.
        KeyboardInterrupt: A signal requested the end.
    """
    name, given = graph.service_name(service), _full(type, "srv")
    limit = TIMEOUT_S if timeout_s is None else timeout_s
    found: str | None = None
    if given is not None:
        filled(type_named(given, "srv").Request, values)  # before any waiting

    def known() -> bool:
        nonlocal found
        services = graph.service_types()
        found = graph.only_type(name, services, given)
        return name in services

    if not known():
        print("waiting for service to become available...", flush=True)
        if not graph.spin(known, limit):
            raise _no_service(graph, name, limit)
    kind = type_named(str(found), "srv")
    request = filled(kind.Request, values, time.time_ns())
    client = graph.node.create_client(kind, name)
    if not graph.spin(client.service_is_ready, limit):
        raise graph.absent("service", name, (), limit)
    print(f"requester: making request: {request!r}\n", flush=True)
    reply = client.call_async(request)
    try:
        if not graph.spin(reply.done, timeout_s):
            raise NotThere(f"{shown(name)} has not replied within {limit:g} s")
    except (KeyboardInterrupt, NotThere):
        raise
    except Exception as error:  # the executor raises what reading the response raises
        raise NotThere(f"the reply of {shown(name)} cannot be read: {shown(str(error), MAX_LINE)}") from None
    print(f"response:\n{reply.result()!r}\n", flush=True)
