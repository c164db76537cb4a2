"""The topics of the running graph that the formulas of a schematic name."""

from __future__ import annotations

import time

from rclpy.node import Node
from rclpy.subscription import Subscription

from sim_node.nodes.publishers import message_class, profile, qos_of, subscription_qos
from sim_node.recording.bag import BagTopic
from sim_node.recording.definitions import UnknownType, definition_of, installed_definition
from sim_node.schematic import Schematic
from sim_node.session.topic_fields import TopicFields
from sim_node.text import MAX_LINE, did_you_mean, shown
from sim_node.wire.topic import Qos

# How long topics are waited for before those that are missing are told, s; how often to look for them, s.
GRACE_S, POLL_S = 3.0, 0.05
_DEPTH = 10


class LiveFields:
    """Subscribes to the topics that formulas name, now or when they come.

    Args:
        node: The node that subscribes.
        schematic: The schematic, or None.

    Attributes:
        fields: Their numbers.
    """

    def __init__(self, node: Node, schematic: Schematic | None) -> None:
        self._node = node
        self._subscribed: dict[str, tuple[Qos, Subscription]] = {}
        self._refused: set[str] = set()
        wanted = () if schematic is None else schematic.topics()
        self.fields = TopicFields(wanted, node.get_logger().warning, later=True)

    def find(self) -> None:
        """Subscribe to the topics that are there, after a moment for discovery, and tell which ones are missing."""
        until = time.monotonic() + GRACE_S
        self.subscribe()
        while self._missing() and time.monotonic() < until:
            time.sleep(POLL_S)
            self.subscribe()
        names = [name for name, _ in self._node.get_topic_names_and_types()]
        for name in self._missing():
            text = f"schematic: there is no topic {name} yet{did_you_mean(name, names)}"
            self._node.get_logger().warning(shown(text, MAX_LINE))

    def subscribe(self) -> None:
        """Subscribe to new topics; again where new publishers latch less or are less reliable."""
        wanted = [name for name in self.fields.wanted if name not in self._refused]
        if not wanted:
            return
        types = dict(self._node.get_topic_names_and_types())
        for name in wanted:
            offered = tuple(qos_of(each.qos_profile) for each in self._node.get_publishers_info_by_topic(name))
            if name in types and offered:
                self._subscribe_to(name, types[name][0], subscription_qos(offered, _DEPTH))

    def _subscribe_to(self, name: str, type_: str, qos: Qos) -> None:
        before = self._subscribed.get(name)
        if before is not None and before[0] == qos:
            return
        if before is not None:
            self._node.destroy_subscription(before[1])
        try:
            message = message_class(type_)
            definition = installed_definition(type_) or definition_of(type_)
        except (ImportError, AttributeError, UnknownType):
            self._refused.add(name)
            self._node.get_logger().warning(f"{shown(name)}: is not shown: {shown(type_)} is not installed")
            return
        self.fields.add(BagTopic(name, type_, 0, definition=definition.text))
        # As bytes: an exception of the middleware's own reading would end the executor.
        receive = self._node.create_subscription(
            message, name, lambda data: self.fields.receive(name, data), profile(qos), raw=True
        )
        self._subscribed[name] = qos, receive

    def _missing(self) -> list[str]:
        known = self.fields.types()
        return [name for name in self.fields.wanted if name not in known and name not in self._refused]
