"""The topics of the running graph that the formulas of a schematic name."""

from __future__ import annotations

import time
from functools import partial

from rclpy.node import Node

from sim_node.nodes.topic_subscriptions import Receive, TopicSubscriptions
from sim_node.recording.bag import BagTopic
from sim_node.recording.definitions import definition_here
from sim_node.schematic import Schematic
from sim_node.session.topic_fields import TopicFields
from sim_node.text import MAX_LINE, did_you_mean, shown

# How long topics are waited for before those that are missing are told, s; how often to look for them, s.
GRACE_S, POLL_S = 3.0, 0.05


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
        self._topics = TopicSubscriptions(node)
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
        """Subscribe to topics that formulas name and that were not there before."""
        if not self.fields.wanted:
            return
        types = dict(self._node.get_topic_names_and_types())
        for name in self.fields.wanted:
            if name in types:
                # As bytes: an exception of the middleware's own reading would end the executor.
                self._topics.subscribe(name, types[name][0], partial(self._receiver, name, types[name][0]), raw=True)

    def _receiver(self, name: str, kind: str) -> Receive:
        definition = definition_here(kind)
        self.fields.add(BagTopic(name, kind, 0, definition=definition.text))
        return partial(self.fields.receive, name)

    def _missing(self) -> list[str]:
        known = self.fields.types()
        return [name for name in self.fields.wanted if name not in known and name not in self._topics.refused]
