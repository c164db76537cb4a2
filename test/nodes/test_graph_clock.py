"""The clock of a graph whose /clock is published by anybody, by the real rclpy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import repeat

import pytest
import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rosgraph_msgs.msg import Clock

from sim_node.messages.clock import clock_writer
from sim_node.ros.graph_clock import GraphClock

SECOND = 1_000_000_000
TURNS = 600


@pytest.fixture
def node(ros_domain: int) -> Iterator[Node]:
    context = Context()
    rclpy.init(context=context)
    node = rclpy.create_node("watcher", context=context)
    try:
        yield node
    finally:
        node.destroy_node()
        rclpy.try_shutdown(context=context)


@pytest.mark.parametrize("damaged", [b"\0\1\0\0", b"\0\1\0\0\1\0\0\0", b"\0\7\0\0" + bytes(8), b"\0"])
def test_bytes_that_are_no_clock_leave_the_time_as_it_was(node: Node, damaged: bytes) -> None:
    """They end no executor; the next Clock counts."""
    founds: list[int | None] = []
    clock = GraphClock(node, lambda: founds.append(clock.now_ns()))
    received: list[bytes] = []
    node.create_subscription(Clock, "/clock", received.append, 10, raw=True)
    publisher = node.create_publisher(Clock, "/clock", 10)
    executor = SingleThreadedExecutor(context=node.context)
    executor.add_node(node)
    write = clock_writer()
    assert reported(executor, lambda: publisher.publish(damaged), lambda: damaged in received)
    assert reported(executor, lambda: publisher.publish(write(5 * SECOND + 3)), lambda: bool(founds))
    assert founds == [5 * SECOND + 3]
    assert clock.now_ns() == 5 * SECOND + 3


def reported(executor: SingleThreadedExecutor, publish: Callable[[], None], received: Callable[[], bool]) -> bool:
    """Publish until it is heard, and let every subscription have it."""
    for _ in repeat(None, TURNS):
        publish()
        for _ in range(3):
            executor.spin_once(timeout_sec=0.05)
        if received():
            return True
    return False
