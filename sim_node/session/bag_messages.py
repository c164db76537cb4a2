"""The messages of a bag as text, for the viewer."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock

from sim_node.recording.bag import Bag
from sim_node.session.message_text import MessageReader


class BagMessages:
    """Reads the messages of one topic of a bag at a time.

    Args:
        bag: The bag.
    """

    def __init__(self, bag: Bag) -> None:
        self._topics = {topic.name: topic for topic in bag.topics}
        self._lock = Lock()
        self._chosen: str | None = None
        self._newest: dict[str, bytes] = {}
        self._reader = MessageReader()

    def topics(self) -> Mapping[str, str]:
        """Return the types of the topics, by name."""
        return {name: self._topics[name].type for name in sorted(self._topics)}

    def choose(self, topic: str | None) -> None:
        """Read the messages of a topic from now on, or of none."""
        with self._lock:
            self._chosen = topic
            self._reader.choose(None if topic is None else self._topics.get(topic))
            if topic is not None and topic in self._newest:
                self._reader.receive(self._newest[topic])

    def receive(self, topic: str, data: bytes) -> None:
        """Take a message."""
        self._newest[topic] = data
        if topic == self._chosen:
            with self._lock:
                self._reader.receive(data)

    def text(self) -> str | None:
        """Return the newest message of the chosen topic, or why it cannot be read; None before the first one."""
        with self._lock:
            return self._reader.text()
