"""Subscriptions to topics of other programs, whose publishers come and go with whatever QoS they have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.subscription import Subscription

from sim_node.messages.topic import Qos
from sim_node.recording.definitions import UnknownMessageType
from sim_node.ros.publishers import message_class, offered_on, profile, subscription_qos
from sim_node.text import shown

_DEPTH = 10
Receive = Callable[[Any], None]


class TopicSubscriptions:
    """Subscribes to topics once they have publishers, with a QoS that all of these serve.

    Args:
        node: The node that subscribes.

    Attributes:
        refused: The topics whose type is not installed; they have been warned of.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._subscribed: dict[str, tuple[Qos, Subscription]] = {}
        self.refused: set[str] = set()

    def subscribe(self, topic: str, kind: str, receiver: Callable[[], Receive], *, raw: bool = False) -> None:
        """Subscribe to a topic; again where new publishers latch less or are less reliable.

        Args:
            topic: The topic.
            kind: Its type.
            receiver: Returns what takes the messages. It may raise UnknownType.
            raw: Whether the messages are taken as bytes.
        """
        if topic in self.refused:
            return
        offered = offered_on(self._node, topic)
        if not offered:
            return
        wanted = subscription_qos(offered, _DEPTH)
        before = self._subscribed.get(topic)
        if before is not None:
            if before[0] == wanted:
                return
            self._node.destroy_subscription(before[1])
        try:
            message, receive = message_class(kind), receiver()
        except (ImportError, AttributeError, UnknownMessageType):
            self.refused.add(topic)
            self._node.get_logger().warning(f"{shown(topic)}: is not shown: {shown(kind)} is not installed")
            return
        subscription = self._node.create_subscription(message, topic, receive, profile(wanted), raw=raw)
        self._subscribed[topic] = wanted, subscription
