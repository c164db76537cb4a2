"""Publishers that are created while messages already come."""

from __future__ import annotations

import threading

import pytest

pytest.importorskip("rclpy", reason="needs rclpy")

import rclpy
from listening import listener
from rclpy.executors import SingleThreadedExecutor
from rclpy.serialization import serialize_message
from std_msgs.msg import UInt32

from sim_node.messages.topic import Qos, Topic
from sim_node.ros.publishers import LatePublishers, profile

MANY = Qos(depth=5000, durability="transient_local")


@pytest.mark.usefixtures("ros_domain")
def test_all_messages_come_in_order_from_before_and_after_the_publisher_is_there() -> None:
    """A thread sends while another one creates the publishers."""
    with listener() as ears:
        node = rclpy.create_node("late", context=ears.node.context)
        late = LatePublishers(node)
        executor = SingleThreadedExecutor(context=ears.node.context)
        executor.add_node(node)
        names = [f"/counted_{k}" for k in range(8)]
        sends = {name: late.advertise(Topic(name, "std_msgs/msg/UInt32", MANY)) for name in names}
        assert not any(node.count_publishers(name) for name in names), "nobody has spun"

        def count() -> None:
            for number in range(500):
                for send in sends.values():
                    send(0, serialize_message(UInt32(data=number)))

        counting = threading.Thread(target=count)
        counting.start()
        while counting.is_alive() or not all(node.count_publishers(name) for name in names):
            executor.spin_once(timeout_sec=0.01)
        counting.join()
        got = {name: ears.subscribe(UInt32, name, profile(MANY)) for name in names}
        ears.spin_until(lambda: all(len(messages) == 500 for messages in got.values()), what="all of them")
        for messages in got.values():
            assert [message.data for _, message in messages] == list(range(500))
        executor.shutdown()
        node.destroy_node()
