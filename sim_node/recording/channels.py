"""The channels of one MCAP file being written, and the topics that they are of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from sim_node.recording.definitions import Definition, definition_of
from sim_node.recording.mcap_file import Entry, McapFile
from sim_node.recording.metadata import qos_text
from sim_node.wire.topic import Qos, Topic

# Channels of a topic in one file: publishers may appear with other profiles again and again, and ids have 16 bits.
MAX_CHANNELS = 16


@dataclass(frozen=True)
class RecordedTopic:
    """A topic of the bag. type: package/msg/Name; offered: QoS of each of its publishers."""

    name: str
    type: str
    definition: Definition
    offered: tuple[Qos, ...]

    @property
    def latched(self) -> int:
        """How many of its messages late subscribers receive."""
        return sum(qos.depth for qos in self.offered if qos.latched)


class TopicNumbers:
    """The topics of a bag by their names, with their publishers, which come and go. Topics count from 1.

    Args:
        topics: The topics; further ones are added at the end.
    """

    def __init__(self, topics: list[RecordedTopic]) -> None:
        self._topics = topics
        self._numbers: dict[str, int] = {}
        # Publishers that have ended, by topic: if they begin again, they are not further ones.
        self._ended: dict[int, list[Qos]] = {}

    def begin(
        self, name: str, topic: Topic, definition: Definition | None = None, offered: tuple[Qos, ...] | None = None
    ) -> int:
        """Add a topic, or a publisher of a topic.

        Args:
            name: The absolute name of the topic.
            topic: The topic.
            definition: Definition of its type; by default that of ROS 2 Jazzy.
            offered: QoS of all its publishers, if there are others.

        Returns:
            The number of the topic.

        Raises:
            UnknownType: The definition of the type is not known.
            ValueError: The topic has another type already.
        """
        if reason := self.refuses(name, topic.type):
            raise ValueError(reason)
        number = self._numbers.setdefault(name, len(self._topics) + 1)
        if number > len(self._topics):
            found = definition or definition_of(topic.type)
            self._topics.append(RecordedTopic(name, topic.type, found, offered or (topic.qos,)))
            return number
        ended, before = self._ended.get(number, []), self._topics[number - 1]
        if offered is None and topic.qos in ended:
            ended.remove(topic.qos)
        else:
            self._topics[number - 1] = replace(before, offered=offered or (*before.offered, topic.qos))
        return number

    def end(self, name: str, qos: Qos) -> int | None:
        """End a publisher of a topic. Return the number of the topic; None if it is not recorded."""
        number = self._numbers.get(name)
        if number is not None:
            self._ended.setdefault(number, []).append(qos)
        return number

    def refuses(self, name: str, type: str) -> str | None:
        """Return that a topic has another type; None otherwise."""
        number = self._numbers.get(name, 0)
        if not 0 < number <= len(self._topics) or self._topics[number - 1].type == type:
            return None
        return f"{name} is {self._topics[number - 1].type}, and cannot be {type} too"


class Offer(NamedTuple):
    """A topic by its number, as one channel has it: with the QoS of the publishers that were there."""

    number: int
    offered: tuple[Qos, ...]


@dataclass
class _Declared:
    """The newest channel of a topic, the profiles in it, and how many channels the topic has."""

    topic: RecordedTopic
    channel: int
    offered: tuple[Qos, ...]
    channels: int = 1


class Channels:
    """Declares topics in a file; topics count from 1.

    MCAP forbids writing a channel again with other metadata. A topic with a further publisher therefore continues in
    another channel, whose metadata has the QoS of all its publishers.

    Args:
        file: The file.
    """

    def __init__(self, file: McapFile) -> None:
        self._file = file
        self._declared: list[_Declared] = []
        self._offers: dict[int, Offer] = {}

    def declare(self, topics: Sequence[RecordedTopic]) -> None:
        """Declare topics that the file does not have yet, and again those with further publishers.

        Args:
            topics: All topics so far.
        """
        for number, topic in enumerate(topics, 1):
            if number > len(self._declared):
                self._declared.append(_Declared(topic, self._channel(number, topic), topic.offered))
                continue
            before = self._declared[number - 1]
            if before.topic is topic:
                continue
            before.topic = topic
            if before.channels < MAX_CHANNELS and Counter(topic.offered) - Counter(before.offered):
                before.channel, before.offered = self._channel(number, topic), topic.offered
                before.channels += 1

    def numbered(self, entries: list[Entry]) -> list[Entry]:
        """Return messages of topics as messages of channels: they differ only once a topic has a second channel."""
        if len(self._offers) == len(self._declared):
            return entries
        return [(self._declared[number - 1].channel, time_ns, data) for number, time_ns, data in entries]

    def counts(self) -> dict[Offer, int]:
        """Return the number of messages in each channel."""
        return {self._offers[channel]: count for channel, count in self._file.counts.items()}

    def _channel(self, number: int, topic: RecordedTopic) -> int:
        text, type_hash = topic.definition
        schema = self._file.schema(topic.type, "ros2msg", text.encode())
        metadata = {"offered_qos_profiles": qos_text(topic.offered), "topic_type_hash": type_hash}
        channel = self._file.channel(topic.name, schema, metadata)
        self._offers[channel] = Offer(number, topic.offered)
        return channel
