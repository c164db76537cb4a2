"""What any peer can send: bytes that are no messages are counted, told of once, and end nothing."""

from __future__ import annotations

import random
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from waiting import until

pytest.importorskip("tf2_msgs.msg", reason="needs rclpy and tf2_msgs")

import rclpy
from builtin_interfaces.msg import Time as Stamp
from geometry_msgs.msg import TransformStamped
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.serialization import serialize_message
from rosgraph_msgs.msg import Clock
from tf2_msgs.msg import TFMessage

from sim_node.ros import publishers
from sim_node.ros.graph_clock import GraphClock
from sim_node.ros.live_graph import TfStatistics
from sim_node.ros.tf2 import Buffer, TransformListener
from sim_node.spatial.tree import TransformTree

MUTANTS = 6_000


def message(*children: str, x: float = 1.0, seconds: int = 1) -> bytes:
    """A TFMessage from map to each child, serialised by the middleware."""
    transforms = []
    for child in children:
        transform = TransformStamped(child_frame_id=child)
        transform.header.frame_id = "map"
        transform.header.stamp.sec = seconds
        transform.transform.translation.x = x
        transforms.append(transform)
    return bytes(serialize_message(TFMessage(transforms=transforms)))


def mutants(whole: bytes, count: int, seed: int) -> Iterator[bytes]:
    """Messages that are cut, lengthened, have other bytes, or whose lengths and counts lie."""
    rng = random.Random(seed)
    # Where 32-bit words are that mean a length or a count: those whose value fits into the message.
    lengths = [at for at in range(4, len(whole) - 3, 4) if 0 < struct.unpack_from("<I", whole, at)[0] < len(whole)]
    for _ in range(count):
        data = bytearray(whole)
        match rng.randrange(6):
            case 0:
                del data[rng.randrange(len(data)) :]
            case 1:
                data += rng.randbytes(rng.randrange(1, 64))
            case 2:
                struct.pack_into("<I", data, rng.choice(lengths), rng.choice((0, 1, 2**31, 2**32 - 1, len(data))))
            case 3:
                data[:4] = rng.choice((b"\0\0", b"\0\1", b"\0\3", b"\0\7", b"\xff\xff")) + rng.randbytes(2)
            case 4:
                at = rng.randrange(len(data) - 7)
                data[at : at + 8] = struct.pack("<d", rng.choice((float("nan"), float("inf"), 1e308, -0.0, 5e-324)))
            case _:
                for _ in range(rng.randrange(1, 9)):
                    data[rng.randrange(len(data))] = rng.randrange(256)
        yield bytes(data)


@contextmanager
def two_nodes() -> Iterator[tuple[Node, Node]]:
    """One that listens, and one that sends what it likes."""
    context = Context()
    rclpy.init(context=context)
    nodes = [rclpy.create_node(name, context=context) for name in ("listener", "attacker")]
    try:
        yield nodes[0], nodes[1]
    finally:
        for node in nodes:
            node.destroy_node()
        rclpy.try_shutdown(context=context)


def warnings_of(node: Node, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the node warns of from now on; it is logged as well."""
    reported: list[str] = []
    log = node.get_logger()
    warn = log.warning

    def warning(text: str, **options: Any) -> bool:
        reported.append(text)
        return bool(warn(text, **options))

    monkeypatch.setattr(log, "warning", warning)
    monkeypatch.setattr(node, "get_logger", lambda: log)
    return reported


@pytest.mark.parametrize("topic", ["/tf", "/tf_static"])
def test_truncated_messages_from_a_peer_do_not_end_the_listener(
    topic: str, ros_domain: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with two_nodes() as (node, attacker):
        reported = warnings_of(node, monkeypatch)
        tree = TransformTree()
        listener = TransformListener(Buffer(tree=tree), node)
        profile = publishers.TF if topic == "/tf" else publishers.TF_STATIC_LISTENER
        publisher = attacker.create_publisher(TFMessage, topic, profile)
        until(lambda: publisher.get_subscription_count() == 1, "the listener's subscription")
        whole = message("car")
        for size in (4, 8, 30, len(whole) - 1):
            publisher.publish(whole[:size])

        def good_one_is_in() -> bool:
            publisher.publish(whole)
            time.sleep(0.02)
            return "car" in tree

        until(good_one_is_in, "a good message after the broken ones")
        until(lambda: listener.unreadable == {topic: 4}, "four broken messages counted")
        # rclpy does not tell who sent a message: the line names the topic's publishers.
        assert [line.partition(":")[0] for line in reported] == [topic]
        assert "published by /attacker" in reported[0]
        listener.unregister()


def test_no_mutant_of_a_message_ends_the_listener(ros_domain: int) -> None:
    """In this process, so that none is lost on the way; the tree and the statistics are those of `tree --live`."""
    with two_nodes() as (node, _):
        tree = TransformTree(detect_jumps=True, max_frames=200)
        statistics = TfStatistics(lambda: 2_000_000_000)
        listener = TransformListener(Buffer(tree=tree), node, spin_thread=False, on_batch=statistics.on_batch)
        for topic, subscription in (("/tf", listener.tf_sub), ("/tf_static", listener.tf_static_sub)):
            for whole in (message("a"), message(*"abcdef"), message("a" * 300, "b")):
                for data in mutants(whole, MUTANTS // 6, seed=len(whole)):
                    subscription.callback(data)
            assert listener.unreadable[topic] > MUTANTS // 20
        listener.tf_sub.callback(message("new", x=4.0, seconds=2**31 - 1))
        assert len(tree.frames) <= 200
        assert statistics.traffic()
        listener.unregister()


def test_short_clock_messages_are_skipped(ros_domain: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with two_nodes() as (node, attacker):
        reported = warnings_of(node, monkeypatch)
        clock = GraphClock(node)
        publisher = attacker.create_publisher(Clock, "/clock", 10)
        executor = SingleThreadedExecutor(context=node.context)
        executor.add_node(node)
        whole = bytes(serialize_message(Clock(clock=Stamp(sec=7, nanosec=5))))
        until(lambda: publisher.get_subscription_count() == 1, "the clock's subscription")

        def receives_the_time() -> bool:
            for size in (4, 7, len(whole) - 1, len(whole)):
                publisher.publish(whole[:size])
                executor.spin_once(timeout_sec=0.05)
            return clock.now_ns() == 7_000_000_005

        until(receives_the_time, "a good message after the broken ones")
        assert len(reported) == 1
        assert reported[0].startswith("/clock: message skipped (published by /attacker)")
        executor.shutdown()
