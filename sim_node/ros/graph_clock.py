"""The time of the graph: /clock if it has a publisher, else the wall clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock

from sim_node.messages.cdr import first_stamp
from sim_node.messages.tf_message_reader import Unreadable
from sim_node.ros.publishers import publishers_of


def nanoseconds(time: Any) -> int:
    """Convert a Time or Duration of rclpy or of a message to nanoseconds. Raises TypeError for other types."""
    found = getattr(time, "nanoseconds", None)
    if found is not None:
        return int(found)
    try:
        return int(time.sec) * 1_000_000_000 + int(time.nanosec)
    except AttributeError:
        raise TypeError(f"{time!r} is neither a Time nor a Duration, of rclpy or of a message") from None


class GraphClock:
    """Follows /clock if it has a publisher, for nodes that observe an arbitrary graph.

    node: must be spun by the caller. found: called once, when /clock is first received.
    """

    def __init__(self, node: Node, found: Callable[[], None] = lambda: None) -> None:
        self._node = node
        self._found = found
        self._latest_ns: int | None = None
        self._unreadable = Unreadable(node.get_logger().warning)
        best_effort = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
        self._subscription = node.create_subscription(Clock, "/clock", self._receive, best_effort, raw=True)

    def now_ns(self) -> int | None:
        """Return the time, ns; None if /clock has a publisher but no message has been received yet."""
        if self._latest_ns is not None:
            return self._latest_ns
        return None if self._node.count_publishers("/clock") else time.time_ns()

    def _receive(self, message: bytes) -> None:
        try:
            time_ns = first_stamp(message)
        except ValueError as error:
            self._unreadable.count("/clock", error, publishers_of(self._node, "/clock"))
            return
        first, self._latest_ns = self._latest_ns is None, time_ns
        if first:
            self._found()
