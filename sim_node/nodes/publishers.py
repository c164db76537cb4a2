"""The graph as an outlet: publishers by the name of their type, which take ready CDR."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from typing import Any

from rclpy.node import Node

from sim_node.nodes.qos import profile
from sim_node.wire.topic import Send, Topic


class Publishers:
    """Publishes on a node's topics."""

    def __init__(self, node: Node) -> None:
        self._node = node

    def advertise(self, topic: Topic) -> Send:
        """A publisher of its own. Raises ImportError and AttributeError for types that are not installed."""
        kind = message_class(topic.type)
        publish = self._node.create_publisher(kind, topic.name, profile(topic.qos)).publish
        if topic.type == "sensor_msgs/msg/Range" and not hasattr(kind, "variance"):
            return _without_variance(publish)
        return lambda time_ns, data: publish(data)


def publishers_of(node: Node | None, topic: str) -> str:
    """` (published by /a, /b)`: rclpy does not tell which of a topic's publishers a message is from."""
    if node is None:
        return ""
    names = sorted(
        {f"{each.node_namespace.rstrip('/')}/{each.node_name}" for each in node.get_publishers_info_by_topic(topic)}
    )
    return f" (published by {', '.join(names)})" if names else ""


@cache
def message_class(type: str) -> Any:
    """The class of package/Name or package/msg/Name."""
    package, *_, name = type.split("/")
    return getattr(importlib.import_module(f"{package}.msg"), name)


def _without_variance(publish: Callable[[bytes], None]) -> Send:
    """Before ROS 2 Jazzy a Range ends a float32 earlier."""
    return lambda time_ns, data: publish(data[:-4])
