"""The channels of an MCAP file being written, and their topics."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sim_node.messages.topic import Qos, Topic
from sim_node.recording.definitions import MessageDefinition, definition_of
from sim_node.recording.mcap_file import Entry, McapFile
from sim_node.recording.metadata import TopicInformation, channel_metadata, qos_text
from sim_node.recording.qos import OFFERED

# Maximum number of publisher notes per topic in one file, because publishers may appear with new profiles indefinitely.
MAX_NOTES = 16


@dataclass(frozen=True)
class RecordedTopic:
    """A topic of the bag. type: package/msg/Name; offered: QoS of each of its publishers."""

    name: str
    type: str
    definition: MessageDefinition
    offered: tuple[Qos, ...]

    @property
    def latched(self) -> int:
        """Number of messages that late subscribers receive."""
        return sum(qos.depth for qos in self.offered if qos.latched)


class LatchedMessages:
    """The last messages of latched topics, as many as late subscribers receive.

    Args:
        topics: The topics, numbered from 1.
    """

    def __init__(self, topics: Sequence[RecordedTopic]) -> None:
        self._topics = topics
        self._kept: dict[int, deque[bytes]] = {}

    def keep(self, entries: Sequence[Entry]) -> None:
        """Keep the messages that belong to latched topics."""
        depths = {number: depth for number, topic in enumerate(self._topics, 1) if (depth := topic.latched)}
        for number, _, data in entries if depths else ():
            if number in depths:
                kept = self._kept.setdefault(number, deque())
                kept.append(data)
                while len(kept) > depths[number]:
                    kept.popleft()

    def end(self, numbers: Sequence[int]) -> None:
        """Drop the messages of ended topics."""
        for number in numbers:
            self._kept.pop(number, None)

    def entries(self, time_ns: int) -> list[Entry]:
        """Return the kept messages, with a given time (ns)."""
        return [(number, time_ns, data) for number, kept in self._kept.items() for data in kept]


class TopicNumbers:
    """The topics of a bag by name, with their changing publishers. Topics are numbered from 1.

    Args:
        topics: The topics. New ones are appended.
    """

    def __init__(self, topics: list[RecordedTopic]) -> None:
        self._topics = topics
        self._numbers: dict[str, int] = {}
        # Ended publishers by topic. If they start again, they do not count as additional ones.
        self._ended: dict[int, list[Qos]] = {}

    def begin(
        self,
        name: str,
        topic: Topic,
        definition: MessageDefinition | None = None,
        offered: tuple[Qos, ...] | None = None,
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
            UnknownMessageType: The definition of the type is not known.
            ValueError: The topic already has another type.
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
        """Return an error if a topic already has another type; None otherwise."""
        number = self._numbers.get(name, 0)
        if not 0 < number <= len(self._topics) or self._topics[number - 1].type == type:
            return None
        return f"{name} is {self._topics[number - 1].type}, and cannot be {type} too"


class RecordingChannels:
    """Declares topics in a file. Each topic is one channel, whose id is the topic's number (from 1).

    A channel, and therefore metadata.yaml, contains the topic's initial publishers: MCAP does not allow writing a
    channel again with other metadata, and readers list a topic once per channel. Additional publishers are stored in
    metadata records of the file; see `qos.OFFERED`.

    Args:
        file: The file.
    """

    def __init__(self, file: McapFile) -> None:
        self._file = file
        self._declared: list[RecordedTopic] = []
        # The publishers already in the file, and the number of notes about them.
        self._offered: list[tuple[Qos, ...]] = []
        self._notes: Counter[int] = Counter()

    def declare(self, topics: Sequence[RecordedTopic], stated: Sequence[TopicInformation]) -> None:
        """Declare topics that are new to the file, and note additional publishers of the others.

        Args:
            topics: All topics so far.
            stated: Information about each topic in the bag.
        """
        further: dict[str, str] = {}
        for row, (topic, about) in enumerate(zip(topics, stated, strict=False)):
            if row == len(self._declared):
                schema = self._file.schema(topic.type, "ros2msg", topic.definition.text.encode())
                self._file.channel(topic.name, schema, channel_metadata(about))
                self._declared.append(topic)
                self._offered.append(about.qos)
            elif self._declared[row] is topic:
                continue
            self._declared[row] = topic
            if self._notes[row] < MAX_NOTES and Counter(topic.offered) - Counter(self._offered[row]):
                self._offered[row] = topic.offered
                self._notes[row] += 1
                further[topic.name] = qos_text(topic.offered)
        if further:
            self._file.metadata(OFFERED, further)
