"""What the messages of the running graph look like: drawings of its topics, and the robots that it describes."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

from rclpy.node import Node

from sim_node.messages.tf_message_reader import Unreadable
from sim_node.ros.publishers import publishers_of
from sim_node.ros.topic_subscriptions import Receive, TopicSubscriptions
from sim_node.text import MAX_LINE, shown
from sim_node.viewing.markers import ROBOTS
from sim_node.viewing.meshes import DrawnShape
from sim_node.viewing.messages.drawing import Drawing
from sim_node.viewing.messages.readers import READERS, Beside, Datum, Lenses, Read, ReaderContext
from sim_node.viewing.messages.robot_descriptions import described, is_description, robot_shapes
from sim_node.viewing.sensor_marks import FIELDS, NAMES
from sim_node.world import FrameTable

# Minimum time between two shown messages of a topic, s.
APART_S = 0.05
# How long to wait for the transform of a frame before it is placed without one, s.
GRACE_S = 3.0
# Our simulations' markers of robots and of names, which the page has by itself, and of fields of view, which would
# make all else small.
_LEFT_OUT = frozenset((ROBOTS, NAMES, FIELDS))


class LiveDrawings:
    """Subscribes to the topics of the graph that can be drawn, and reads their messages.

    `taken`, `waiting` and the rest are called by the thread that draws; messages come in the thread of the node.

    Args:
        node: The node that subscribes.
        beside: What other sources of the page have.
    """

    def __init__(self, node: Node, beside: Beside) -> None:
        self._node, self._beside = node, beside
        self._unreadable = Unreadable(node.get_logger().warning)
        self._topics = TopicSubscriptions(node)
        self._lock = threading.Lock()
        self._datum, self._lenses = Datum(beside.origin), Lenses()
        self._reads: dict[str, Read] = {}
        self._due: dict[str, float] = {}
        self._types: dict[str, str] = {}
        self._fresh: dict[str, Drawing] = {}
        self._since: dict[str, float] = {}
        self._robots: dict[str, Mapping[str, tuple[DrawnShape, ...]]] = {}
        self._descriptions = 0

    @property
    def types(self) -> dict[str, str]:
        """Return the types of the topics that have sent something, by name."""
        with self._lock:
            return {name: self._types[name] for name in sorted(self._types)}

    @property
    def robots_so_far(self) -> int:
        """Return the number of robot descriptions that have come."""
        return self._descriptions

    def subscribe(self) -> None:
        """Subscribe to topics that can be drawn and were not there before."""
        for topic, types in self._node.get_topic_names_and_types():
            kind = types[0]
            if kind in READERS or is_description(topic, kind):
                self._topics.subscribe(topic, kind, partial(self._receiver, topic, kind))

    def taken(self, frames: FrameTable, topics: Collection[str]) -> dict[str, Drawing]:
        """Return the newest drawings of topics that have all their frames; others wait for these."""
        with self._lock:
            ready = {
                topic: drawing
                for topic, drawing in self._fresh.items()
                if topic in topics and all(name in frames.names for name in drawing.frames)
            }
            for topic in ready:
                del self._fresh[topic]
        return ready

    def waiting(self, parents: Mapping[str, str]) -> tuple[str, ...]:
        """Return the frames that messages have named for a while, or that other sources have, and no transform."""
        known, now = {*parents, *parents.values()}, time.monotonic()
        with self._lock:
            return tuple(
                name
                for name, since in self._since.items()
                if name not in known and (name in self._beside.frames or now - since > GRACE_S)
            )

    def robots(self, frames: FrameTable) -> tuple[DrawnShape, ...]:
        """Return the shapes of the robots that have been described."""
        with self._lock:
            robots = dict(self._robots)
        return robot_shapes(robots, frames)

    def _receiver(self, topic: str, kind: str) -> Receive:
        if is_description(topic, kind):
            return lambda message: self._describe(topic, message)
        return lambda message: self._receive(topic, kind, message)

    def _receive(self, topic: str, kind: str, message: Any) -> None:
        now = time.monotonic()
        reader = READERS[kind]
        if now < self._due.get(topic, 0.0) and not reader.every:
            return
        self._due[topic] = now + APART_S
        if topic not in self._reads:
            self._reads[topic] = reader.open(
                ReaderContext(topic, self._datum, self._lenses, _LEFT_OUT, self._beside.drawn)
            )
        try:
            drawing = self._reads[topic](message)
        except ValueError as fault:
            self._unreadable.count(topic, fault, publishers_of(self._node, topic))
            return
        with self._lock:
            self._types[topic] = kind
            self._fresh[topic] = drawing
            for name in drawing.frames:
                self._since.setdefault(name, now)

    def _describe(self, topic: str, message: Any) -> None:
        try:
            found = described(message.data)
        except ValueError as fault:
            self._unreadable.count(topic, fault, publishers_of(self._node, topic))
            return
        for each in found.faults:
            self._node.get_logger().warning(shown(f"{topic}: is not shown: {each}", MAX_LINE))
        with self._lock:
            self._robots[topic] = found.links
            self._descriptions += 1
