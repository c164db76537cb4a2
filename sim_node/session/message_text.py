"""Messages of bags and runs as YAML text, in the style of `ros2 topic echo`, with short lists on one line."""

from __future__ import annotations

from collections.abc import Mapping
from threading import RLock
from types import MappingProxyType
from typing import Any

import numpy as np
import yaml

from sim_node.recording.bag import Bag, BagError, BagTopic
from sim_node.recording.decoding import PLACEHOLDER, Decoder, field_names
from sim_node.recording.definitions import bag_topic

# Maximum number of array elements, and of characters of a string.
MAX_ELEMENTS, MAX_LETTERS = 36, 200
_CUT = "..."


class MessageTexts:
    """Messages as text for the viewer, of one selected topic at a time. Thread-safe.

    The newest message is decoded only when its text is requested.

    Args:
        types: Types of the topics, by name.
    """

    def __init__(self, types: Mapping[str, str] = MappingProxyType({})) -> None:
        self._lock = RLock()
        self._types = types
        self._chosen: str | None = None
        self._decoder: Decoder | None = None
        self._fault = ""
        self._data: bytes | None = None

    def topics(self) -> Mapping[str, str]:
        """Return the types of the topics, by name."""
        with self._lock:
            return dict(sorted(self._types.items()))

    def choose(self, topic: str | None) -> None:
        """Select the topic to read from now on, or none."""
        with self._lock:
            self._chosen = topic
            self._read(None if topic is None or topic not in self._types else self._described(topic))

    def receive(self, topic: str, data: bytes) -> None:
        """Receive a message."""
        if topic == self._chosen:
            with self._lock:
                self._data = bytes(data)

    def text(self) -> str | None:
        """Return the newest message of the selected topic, or why it cannot be read; None before the first message."""
        with self._lock:
            if self._fault or self._decoder is None or self._data is None:
                return self._fault or None
            try:
                return as_text(self._decoder(self._data))
            except BagError as fault:
                return str(fault)

    def _described(self, topic: str) -> BagTopic:
        return bag_topic(topic, self._types[topic])

    def _read(self, topic: BagTopic | None) -> None:
        """Decode messages with the definition of a topic from now on."""
        self._decoder, self._data, self._fault = None, None, ""
        if topic is not None:
            try:
                self._decoder = Decoder(topic)
            except BagError as fault:
                self._fault = str(fault)


class BagMessages(MessageTexts):
    """The messages of a bag as text.

    Args:
        bag: The bag.
    """

    def __init__(self, bag: Bag) -> None:
        self._topics = {topic.name: topic for topic in bag.topics}
        self._newest: dict[str, bytes] = {}
        super().__init__({name: topic.type for name, topic in self._topics.items()})

    def choose(self, topic: str | None) -> None:
        """Select the topic to read from now on, or none."""
        super().choose(topic)
        if topic is not None and topic in self._newest:
            super().receive(topic, self._newest[topic])

    def receive(self, topic: str, data: bytes) -> None:
        """Receive a message."""
        self._newest[topic] = data
        super().receive(topic, data)

    def _described(self, topic: str) -> BagTopic:
        return self._topics[topic]


def as_text(message: Any) -> str:
    """Return a message of a bag as YAML. Long arrays and strings are truncated."""
    return str(yaml.safe_dump(_plain(message), allow_unicode=True, sort_keys=False, default_flow_style=None, width=60))


def _plain(value: Any) -> Any:
    if hasattr(value, "__dataclass_fields__"):
        return {name: _plain(getattr(value, name)) for name in field_names(value) if name != PLACEHOLDER}
    if isinstance(value, np.ndarray):
        few = value[:MAX_ELEMENTS].tolist()
        return [*few, *[_CUT] * (len(value) > len(few))]
    if isinstance(value, (list, tuple)):
        return [*(_plain(each) for each in value[:MAX_ELEMENTS]), *[_CUT] * (len(value) > MAX_ELEMENTS)]
    if isinstance(value, str):
        return value if len(value) <= MAX_LETTERS else value[:MAX_LETTERS] + _CUT
    return value.item() if isinstance(value, np.generic) else value
