"""Command topics of a loop. A command is rejected with a warning, or applied before the next step."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rclpy.node import Node

from sim_node.messages.topic import Qos
from sim_node.rate_limit import RateLimit
from sim_node.ros.calls import Orders
from sim_node.ros.command_stamps import stamp_fault
from sim_node.ros.publishers import profile, publishers_of
from sim_node.simulation import Loop
from sim_node.simulation.latest_commands import CommandRefused
from sim_node.text import MAX_LINE, shown


class CommandSubscriptions:
    """Command topics. Use it in the executor's thread only.

    Args:
        node: The node that subscribes.
        loop: The run loop. A command takes effect before its next step.
        drain: Applies the received commands. Called from the loop's thread.
        clock_ns: Returns the time that the run uses for message stamps, ns.
    """

    def __init__(self, node: Node, loop: Loop, drain: Callable[[], None], clock_ns: Callable[[], int]) -> None:
        self._node, self._loop, self._drain, self._clock_ns = node, loop, drain, clock_ns
        self._limit, self._orders = RateLimit(), Orders(node)
        self._woken = False
        self._ends: dict[tuple[str, Any], Callable[[], object]] = {}
        self._wanted: set[tuple[str, Any]] = set()

    @property
    def topics(self) -> list[str]:
        """The names of the topics and actions."""
        return [name for name, _ in self._ends]

    def renew(self, subscribe: Callable[[], None]) -> None:
        """Keep only what a function subscribes to and serves, and end the rest.

        Args:
            subscribe: Calls `subscribe` and `keep` for everything needed from now on. Existing entries are unchanged.
        """
        self._wanted = set()
        subscribe()
        for gone in [key for key in self._ends if key not in self._wanted]:
            self._ends.pop(gone)()

    def keep(self, name: str, kind: Any, begin: Callable[[], Callable[[], object]]) -> None:
        """Start serving something, unless it is being served already.

        Args:
            name: Its name.
            kind: Its type and everything else that it depends on.
            begin: Starts it. Returns a function that ends it.
        """
        self._wanted.add((name, kind))
        if (name, kind) not in self._ends:
            self._ends[name, kind] = begin()

    def subscribe(self, kind: Any, topic: str, act: Callable[[Any], None], qos: Qos, holds_s: float) -> None:
        """Pass on the messages of a topic, unless it is subscribed to already.

        Args:
            kind: Message class.
            topic: Name of the topic.
            act: Passes on the command in a message. Raises CommandRefused.
            qos: Quality of service.
            holds_s: How long a command is valid, s; 0 for no limit. A message whose stamp is further off is rejected.
                Use infinity if stamps do not state when a message was sent.
        """

        def receive(message: Any) -> None:
            try:
                if (fault := stamp_fault(message, self._clock_ns(), holds_s)) is not None:
                    raise CommandRefused(fault)
                act(message)
            except CommandRefused as refusal:
                self.refuse(topic, str(refusal))
            else:
                self.wake()

        def begin() -> Callable[[], object]:
            subscription = self._node.create_subscription(kind, topic, receive, profile(qos))
            return lambda: self._node.destroy_subscription(subscription)

        self.keep(topic, (kind, holds_s), begin)

    def wake(self) -> None:
        """Make the loop apply the received commands before its next step."""
        if not self._woken:
            self._woken = True
            self._loop.post(self._apply)

    def refuse(self, topic: str, reason: str) -> None:
        """Warn about a rejected command, rate-limited for each topic and its publishers."""
        publishers = publishers_of(self._node, topic)
        self._warn(topic + publishers, f"{topic}: a command is refused: {shown(reason, MAX_LINE)}{publishers}")

    def undone(self, target: str, reason: str) -> None:
        """Warn about a command that was undone. May be called from any thread."""
        self._orders.add(lambda: self._warn(target, f"{target}: a command is undone: {shown(reason, MAX_LINE)}"))

    def _warn(self, about: str, line: str) -> None:
        if admitted := self._limit.admit(about, line, time.monotonic_ns()):
            self._node.get_logger().warning(admitted)

    def _apply(self) -> None:
        self._woken = False
        self._drain()
