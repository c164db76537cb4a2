"""The topics of the running graph that the formulas of a schematic name."""

from __future__ import annotations

import time
from collections.abc import Collection
from functools import partial

from rclpy.node import Node

from sim_node.recording.bag import BagTopic
from sim_node.recording.definitions import definition_here
from sim_node.ros.topic_subscriptions import Receive, TopicSubscriptions
from sim_node.session.topic_fields import TopicFields
from sim_node.text import MAX_LINE, did_you_mean, shown
from sim_node.viewing.schematic import Schematic

# How long topics are waited for before those that are missing are told, s.
GRACE_S = 3.0


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
        self._missed_at: float | None = time.monotonic() + GRACE_S

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

    def tell_missing(self, elsewhere: Collection[str]) -> None:
        """Tell once, after a while, which topics are not there yet; those of other sources are not missed."""
        if self._missed_at is None or time.monotonic() < self._missed_at:
            return
        self._missed_at = None
        known = {*self.fields.types(), *self._topics.refused, *elsewhere}
        names = [name for name, _ in self._node.get_topic_names_and_types()]
        for name in self.fields.wanted:
            if name not in known:
                text = f"schematic: there is no topic {name} yet{did_you_mean(name, names)}"
                self._node.get_logger().warning(shown(text, MAX_LINE))
