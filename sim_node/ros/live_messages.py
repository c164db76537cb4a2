"""The messages of the running graph as text, for the viewer."""

from __future__ import annotations

from rclpy.node import Node
from rclpy.subscription import Subscription

from sim_node.recording.bag import BagTopic
from sim_node.recording.definitions import UnknownMessageType, definition_here
from sim_node.ros.publishers import message_class, offered_on, profile, subscription_qos
from sim_node.session.message_text import MessageTexts

_DEPTH = 10


class LiveMessages(MessageTexts):
    """Subscribes to one topic of the graph at a time: to the one that is chosen.

    `subscribe` is called by the thread that draws, `choose` and `text` by those of the page.

    Args:
        node: The node that subscribes.
    """

    def __init__(self, node: Node) -> None:
        super().__init__()
        self._node = node
        self._subscribed: tuple[str, Subscription] | None = None

    def choose(self, topic: str | None) -> None:
        """Read the messages of a topic from now on, or of none."""
        with self._lock:
            self._chosen = topic
            self._read(None)  # until it is subscribed to

    def find(self) -> None:
        """Look for topics."""
        types = {name: kinds[0] for name, kinds in sorted(self._node.get_topic_names_and_types())}
        with self._lock:
            self._types = types

    def subscribe(self) -> None:
        """Subscribe to the chosen topic, and to no other."""
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
        # As bytes: an exception of the middleware's own reading would end the executor.
        receive = self._node.create_subscription(
            message,
            chosen,
            lambda data: self.receive(chosen, data),
            profile(subscription_qos(offered, _DEPTH)),
            raw=True,
        )
        self._subscribed = chosen, receive
