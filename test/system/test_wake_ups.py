"""What the executor of a node with many topics does at each wake-up: nothing that grows with what is rare."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("rclpy", reason="needs rclpy")

from listening import Listener, listener
from rcl_interfaces.msg import Log
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSProfile, ReliabilityPolicy
from std_msgs.msg import UInt32

from sim_node.ros.calls import Orders
from sim_node.ros.spin import LoopNode

BEST_EFFORT = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)


@pytest.fixture
def ears(ros_domain: int) -> Iterator[Listener]:
    with listener() as opened:
        yield opened


@pytest.fixture
def node(ears: Listener) -> Iterator[LoopNode]:
    node = LoopNode("many_topics", context=ears.node.context)
    yield node
    node.destroy_node()


@pytest.fixture
def executor(node: LoopNode) -> Iterator[SingleThreadedExecutor]:
    executor = SingleThreadedExecutor(context=node.context)
    executor.add_node(node)
    yield executor
    executor.shutdown()


def test_the_executor_waits_for_no_more_of_a_node_with_publishers(node: LoopNode) -> None:
    before = list(node.waitables)
    publishers = [node.create_publisher(UInt32, f"counted_{k}", 1) for k in range(20)]
    subscription = node.create_subscription(UInt32, "counted", print, 1)
    assert list(node.waitables) == before
    node.destroy_subscription(subscription)
    assert all(node.destroy_publisher(publisher) for publisher in publishers)


@pytest.mark.parametrize("publishes", [True, False])
def test_a_qos_that_does_not_match_is_still_logged(
    ears: Listener, node: LoopNode, executor: SingleThreadedExecutor, publishes: bool
) -> None:
    """As rclpy says it by itself, on the side of the publisher and on that of the subscription."""
    logged = ears.subscribe(Log, "/rosout", QoSProfile(depth=100))
    if publishes:
        node.create_publisher(UInt32, "counted", BEST_EFFORT)
        ears.subscribe(UInt32, "counted", QoSProfile(depth=1))
    else:
        node.create_subscription(UInt32, "counted", print, 1)
        ears.node.create_publisher(UInt32, "counted", BEST_EFFORT)

    def texts() -> list[str]:
        executor.spin_once(timeout_sec=0.01)
        return [each.msg for _, each in logged if each.name == "many_topics" and "RELIABILITY" in each.msg]

    ears.spin_until(texts, what="the warning")
    ears.spin_for(0.1)
    assert len(texts()) == 1


def test_orders_are_made_together_and_in_order(node: LoopNode, executor: SingleThreadedExecutor) -> None:
    orders, made = Orders(node), list[int]()
    for number in range(1000):
        orders.add(lambda number=number: made.append(number))  # type: ignore[misc]
    wake_ups = 0
    while len(made) < 1000:
        executor.spin_once()
        wake_ups += 1
    assert made == list(range(1000))
    assert wake_ups < 500


def test_an_order_that_fails_does_not_hold_up_the_next_one(node: LoopNode, executor: SingleThreadedExecutor) -> None:
    orders, made = Orders(node), list[int]()
    orders.add(lambda: made[0])
    orders.add(lambda: made.append(1))
    with pytest.raises(IndexError):
        executor.spin_once()
    while not made:
        executor.spin_once()
