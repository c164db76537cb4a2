"""The graph for commands that list, print, publish or call: a participant for as long as the command runs."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.topic_endpoint_info import TopicEndpointInfo

from sim_node.interrupt import Interrupt
from sim_node.ros.message_values import BadValue
from sim_node.ros.participant import participant, reason
from sim_node.text import did_you_mean, shown

# How long the graph must stay unchanged to count as discovered, s.
SETTLED_S = 0.5
POLL_S = 0.05


class NotThere(Exception):
    """Something that a command needs on the graph did not appear in time. The message is one line."""


@contextmanager
def tool_graph(interrupt: Interrupt) -> Iterator[ToolGraph]:
    """Join the graph with a node that is hidden from other tools. Raises RosNotStarted."""
    name = f"_sim_node_{os.getpid()}_{secrets.token_hex(3)}"
    with participant(name, rosout=False) as (node, executor):
        yield ToolGraph(node, executor, interrupt)


class ToolGraph:
    """A participant in the graph. Everything runs in the caller's thread.

    Args:
        node: The node.
        executor: The node's executor.
        interrupt: Ends all waiting with KeyboardInterrupt.

    Attributes:
        node: The node.
    """

    def __init__(self, node: Node, executor: SingleThreadedExecutor, interrupt: Interrupt) -> None:
        self.node, self._executor, self._interrupt = node, executor, interrupt

    def spin(self, done: Callable[[], object], timeout_s: float | None = None) -> bool:
        """Run callbacks until a condition is true.

        Args:
            done: The condition. Called after each callback, and at least every POLL_S.
            timeout_s: When to give up, s; None for never.

        Returns:
            Whether the condition became true in time.

        Raises:
            KeyboardInterrupt: A signal requested the end.
        """
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            if self._interrupt.asked:
                raise KeyboardInterrupt
            if done():
                return True
            left = POLL_S if deadline is None else min(POLL_S, deadline - time.monotonic())
            self._executor.spin_once(timeout_sec=max(left, 0.0))
            if left <= 0.0:
                return bool(done())

    def topics(self) -> dict[str, list[str]]:
        """Return the topics that other nodes publish or subscribe to, with their types."""
        return {
            name: types
            for name, types in self.topic_types().items()
            if self.publishers(name) or self._others(self.node.get_subscriptions_info_by_topic(name))
        }

    def discovered_topics(self, settled_s: float = SETTLED_S) -> dict[str, list[str]]:
        """Return the topics of other nodes, once they have stayed unchanged for a while."""
        found: dict[str, list[str]] = self.topics()
        since = time.monotonic()

        def settled() -> bool:
            nonlocal found, since
            if (now := self.topics()) != found:
                found, since = now, time.monotonic()
            return time.monotonic() - since >= settled_s

        self.spin(settled)
        return found

    def topic_types(self) -> dict[str, list[str]]:
        """Return all topics with their types."""
        return dict(self.node.get_topic_names_and_types())

    def service_types(self) -> dict[str, list[str]]:
        """Return all services with their types."""
        return dict(self.node.get_service_names_and_types())

    def publishers(self, topic: str) -> list[TopicEndpointInfo]:
        """Return the publishers of other nodes on a topic."""
        return self._others(self.node.get_publishers_info_by_topic(topic))

    def _others(self, endpoints: Sequence[TopicEndpointInfo]) -> list[TopicEndpointInfo]:
        own = self.node.get_name()
        return [each for each in endpoints if each.node_name != own]

    def topic_name(self, given: str) -> str:
        """Return the full name of a topic. Raises BadValue."""
        return _resolved(self.node.resolve_topic_name, given, "topic")

    def service_name(self, given: str) -> str:
        """Return the full name of a service. Raises BadValue."""
        return _resolved(self.node.resolve_service_name, given, "service")

    def only_type(self, name: str, known: Mapping[str, Sequence[str]], given: str | None) -> str | None:
        """Return the type of a topic or service: the given type, or the graph's; None if it is not known yet.

        Args:
            name: Its full name.
            known: All names with their types.
            given: The type given by the user, as package/KIND/Name, or None.

        Raises:
            BadValue: The graph has several types under the name, or another type than the given one.
        """
        types = known.get(name, [])
        if given is not None:
            if types and given not in types:
                raise BadValue(f"{shown(name)} has type {shown(', '.join(types))}, not {shown(given)}")
            return given
        if len(types) > 1:
            raise BadValue(f"{shown(name)} has several types: {shown(', '.join(types))}; name one")
        return types[0] if types else None

    def absent(self, what: str, name: str, known: Sequence[str], timeout_s: float) -> NotThere:
        """Return the error that a topic or service is not offered, with the nearest known name."""
        text = f"no {what} {shown(name)} within {timeout_s:g} s"
        hint = did_you_mean(name, known)
        if not hint and not self.topics():
            hint = f"; no other node has been found on domain {os.environ.get('ROS_DOMAIN_ID') or 0}"
        return NotThere(text + hint)


def _resolved(resolve: Callable[[str], str], given: str, what: str) -> str:
    try:
        return str(resolve(given))
    except Exception as error:  # from rclpy, or from rcl below it
        why = reason(error).removeprefix("failed to resolve name: ")
        raise BadValue(f"{shown(given)!r} is not a name of a {what}: {why}") from None
