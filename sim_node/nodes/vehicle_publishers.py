"""Vehicles' telemetry to their topics: publishers by name, made with the first message."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from sim_node.autopilot.topics import Profile, Topic

# As rclcpp's SensorDataQoS and MAVROS have it.
PROFILES = {
    Profile.SENSOR: QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT),
    Profile.RELIABLE: QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE),
    Profile.LATCHED: QoSProfile(
        depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL
    ),
}


class VehiclePublishers:
    """Publishes CDR on the topics of one vehicle, which lie below its name."""

    def __init__(self, node: Node, name: str) -> None:
        self._node, self._prefix = node, f"{name}/" if name else ""
        self._publish: dict[Topic, Any] = {}

    def send(self, topic: Topic, data: bytes) -> None:
        """One message."""
        publish = self._publish.get(topic)
        if publish is None:
            publisher = self._node.create_publisher(
                message_class(topic.type), self._prefix + topic.name, PROFILES[topic.profile]
            )
            publish = self._publish[topic] = publisher.publish
        publish(data)


@cache
def message_class(type: str) -> Any:
    """The class of package/Name."""
    package, _, name = type.partition("/")
    return getattr(importlib.import_module(f"{package}.msg"), name)
