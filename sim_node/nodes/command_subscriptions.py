"""Subscriptions whose messages are commands for a loop: refused with a warning, or applied before its next step."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rclpy.node import Node

from sim_node.nodes.publishers import profile, publishers_of
from sim_node.rate_limit import RateLimit
from sim_node.simulation import Loop
from sim_node.simulation.commander import CommandRefused
from sim_node.text import MAX_LINE, shown
from sim_node.wire.topic import Qos


class CommandSubscriptions:
    """Topics of commands. Belongs to the executor's thread.

    Args:
        node: Whose topics they are.
        loop: The run. A command acts before its next step.
        drain: Applies the commands that were brought. Called from the loop's thread.

    Attributes:
        topics: The names of the topics.
    """

    def __init__(self, node: Node, loop: Loop, drain: Callable[[], None]) -> None:
        self._node, self._loop, self._drain = node, loop, drain
        self._limit = RateLimit()
        self._woken = False
        self.topics: list[str] = []

    def subscribe(self, kind: Any, topic: str, act: Callable[[Any], None], qos: Qos) -> None:
        """Bring the messages of a topic.

        Args:
            kind: Class of the messages.
            topic: Its name.
            act: Brings the command of a message; raises CommandRefused.
            qos: Its quality of service.
        """

        def receive(message: Any) -> None:
            try:
                act(message)
            except CommandRefused as refusal:
                self.refuse(topic, str(refusal))
            else:
                self.wake()

        self.topics.append(topic)
        self._node.create_subscription(kind, topic, receive, profile(qos))

    def wake(self) -> None:
        """Let the loop apply what was brought before its next step."""
        if not self._woken:
            self._woken = True
            self._loop.post(self._apply)

    def refuse(self, topic: str, reason: str) -> None:
        """Warn about a command that was refused, once in a while for each topic and its publishers."""
        publishers = publishers_of(self._node, topic)
        line = f"{topic}: a command is refused: {shown(reason, MAX_LINE)}{publishers}"
        if admitted := self._limit.admit(topic + publishers, line, time.monotonic_ns()):
            self._node.get_logger().warning(admitted)

    def _apply(self) -> None:
        self._woken = False
        self._drain()
