"""Topics of the running graph in the viewer: drawings, robots, fields for formulas, and messages as text."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.subscription import Subscription

from sim_node.messages.tf_message_reader import Unreadable
from sim_node.messages.topic import Qos
from sim_node.recording.bag import BagTopic
from sim_node.recording.definitions import UnknownMessageType, definition_here
from sim_node.ros.publishers import message_class, offered_on, profile, publishers_of, subscription_qos
from sim_node.session.message_text import MessageTexts
from sim_node.session.topic_fields import TopicDrawings, TopicFields
from sim_node.text import MAX_LINE, did_you_mean, shown
from sim_node.viewing.markers import ROBOTS
from sim_node.viewing.meshes import DrawnShape
from sim_node.viewing.messages.drawing import Drawing
from sim_node.viewing.messages.readers import READERS, Beside, Datum, Lenses, Read, ReaderContext
from sim_node.viewing.messages.robot_descriptions import described, is_description, robot_shapes
from sim_node.viewing.schematic import Schematic
from sim_node.viewing.sensor_marks import FIELDS, NAMES
from sim_node.world import FrameTable

# How often to look for new topics, s.
POLL_S = 1.0
_DEPTH = 10
Receive = Callable[[Any], None]


class TopicSubscriptions:
    """Subscribes to topics once they have publishers, with a QoS that is compatible with all of them.

    Args:
        node: The node that subscribes.

    Attributes:
        refused: Topics whose type is not installed. A warning was logged for each.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._subscribed: dict[str, tuple[Qos, Subscription]] = {}
        self.refused: set[str] = set()

    def subscribe(self, topic: str, kind: str, receiver: Callable[[], Receive], *, raw: bool = False) -> None:
        """Subscribe to a topic, or again if new publishers need another QoS.

        Args:
            topic: The topic.
            kind: Its type.
            receiver: Returns the message callback. May raise UnknownMessageType.
            raw: Whether to receive serialized messages.
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


def follow_estimates(node: Node, drawings: TopicDrawings) -> None:
    """Subscribe to ghost topics that a run does not publish itself, once other nodes publish them."""
    topics = TopicSubscriptions(node)

    def look() -> None:
        for name, (kind, *_) in node.get_topic_names_and_types():
            if name in drawings.missing() and kind in READERS:
                topics.subscribe(name, kind, partial(partial, drawings.receive, name, kind))

    node.create_timer(POLL_S, look, clock=Clock(clock_type=ClockType.STEADY_TIME))


# Minimum time between two shown messages of a topic, s.
APART_S = 0.05
# How long to wait for a frame's transform before placing it without one, and for topics that the user has named, s.
GRACE_S = 3.0
# Markers of our simulations that are left out: robots and names, which the page draws itself, and fields of view, which
# would dwarf everything else.
_LEFT_OUT = frozenset((ROBOTS, NAMES, FIELDS))


class LiveDrawings:
    """Subscribes to the drawable topics of the graph, and reads their messages.

    `taken`, `waiting` and the other methods are called by the drawing thread; messages arrive in the node's thread.

    Args:
        node: The node that subscribes.
        beside: What the other sources on the page provide.
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
        """The types of the topics that have received a message, by name."""
        with self._lock:
            return {name: self._types[name] for name in sorted(self._types)}

    @property
    def robots_so_far(self) -> int:
        """The number of robot descriptions received so far."""
        return self._descriptions

    def subscribe(self) -> None:
        """Subscribe to drawable topics that are new."""
        for topic, types in self._node.get_topic_names_and_types():
            kind = types[0]
            if kind in READERS or is_description(topic, kind):
                self._topics.subscribe(topic, kind, partial(self._receiver, topic, kind))

    def taken(self, frames: FrameTable, topics: Collection[str]) -> dict[str, Drawing]:
        """Return and remove the newest drawings whose frames are all in the table; the others keep waiting."""
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
        """Return the frames without transforms that messages have used for a while or that other sources have."""
        known, now = {*parents, *parents.values()}, time.monotonic()
        with self._lock:
            return tuple(
                name
                for name, since in self._since.items()
                if name not in known and (name in self._beside.frames or now - since > GRACE_S)
            )

    def robots(self, frames: FrameTable) -> tuple[DrawnShape, ...]:
        """Return the shapes of the described robots."""
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


class Grace:
    """Grace period for a graph to come up before missing parts are reported."""

    def __init__(self) -> None:
        self._until: float | None = time.monotonic() + GRACE_S

    def ends(self) -> bool:
        """Return whether the grace period has ended since the last call."""
        if self._until is None or time.monotonic() < self._until:
            return False
        self._until = None
        return True


class LiveFields:
    """Subscribes to the topics that formulas refer to, now or once they appear.

    Args:
        node: The node that subscribes.
        schematic: The schematic, or None.

    Attributes:
        fields: The numbers of the topics.
    """

    def __init__(self, node: Node, schematic: Schematic | None) -> None:
        self._node = node
        self._topics = TopicSubscriptions(node)
        wanted = () if schematic is None else schematic.topics()
        self.fields = TopicFields(wanted, node.get_logger().warning, later=True)
        self._grace = Grace()

    def subscribe(self) -> None:
        """Subscribe to topics that formulas refer to and that are new."""
        if not self.fields.wanted:
            return
        types = dict(self._node.get_topic_names_and_types())
        for name in self.fields.wanted:
            if name in types:
                # As bytes: an exception from the middleware's deserialisation would end the executor.
                self._topics.subscribe(name, types[name][0], partial(self._receiver, name, types[name][0]), raw=True)

    def _receiver(self, name: str, kind: str) -> Receive:
        definition = definition_here(kind)
        self.fields.add(BagTopic(name, kind, 0, definition=definition.text))
        return partial(self.fields.receive, name)

    def tell_missing(self, elsewhere: Collection[str]) -> None:
        """Report once, after a grace period, which topics are missing, except those of other sources."""
        if not self._grace.ends():
            return
        known = {*self.fields.types(), *self._topics.refused, *elsewhere}
        names = [name for name, _ in self._node.get_topic_names_and_types()]
        for name in self.fields.wanted:
            if name not in known:
                text = f"schematic: there is no topic {name} yet{did_you_mean(name, names)}"
                self._node.get_logger().warning(shown(text, MAX_LINE))


class LiveMessages(MessageTexts):
    """Subscribes to one selected topic of the graph at a time.

    `subscribe` is called by the drawing thread, `choose` and `text` by the page's threads.

    Args:
        node: The node that subscribes.
    """

    def __init__(self, node: Node) -> None:
        super().__init__()
        self._node = node
        self._subscribed: tuple[str, Subscription] | None = None

    def choose(self, topic: str | None) -> None:
        """Select the topic to read from now on, or none."""
        with self._lock:
            self._chosen = topic
            self._read(None)  # until the subscription exists

    def find(self) -> None:
        """Look for topics."""
        types = {name: kinds[0] for name, kinds in sorted(self._node.get_topic_names_and_types())}
        with self._lock:
            self._types = types

    def subscribe(self) -> None:
        """Subscribe to the selected topic only."""
        with self._lock:
            chosen, fault = self._chosen, self._fault
        if self._subscribed is not None and self._subscribed[0] != chosen:
            self._node.destroy_subscription(self._subscribed[1])
            self._subscribed = None
        if chosen is None or fault or self._subscribed is not None or chosen not in self._types:
            return
        kind = self._types[chosen]
        try:
            message = message_class(kind)
            definition = definition_here(kind)
        except (ImportError, AttributeError, UnknownMessageType):
            with self._lock:
                self._fault = f"{kind} is not installed"
            return
        offered = offered_on(self._node, chosen)
        if not offered:
            return
        with self._lock:
            self._read(BagTopic(chosen, kind, 0, definition=definition.text))
        # As bytes: an exception from the middleware's deserialisation would end the executor.
        receive = self._node.create_subscription(
            message,
            chosen,
            lambda data: self.receive(chosen, data),
            profile(subscription_qos(offered, _DEPTH)),
            raw=True,
        )
        self._subscribed = chosen, receive
