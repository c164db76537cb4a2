"""The files of one bag, read as one."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from operator import attrgetter

from sim_node.recording.bag import Bag, BagAttachment, BagMessage, BagTopic
from sim_node.recording.decompression import BrokenContent
from sim_node.recording.metadata import Metadata
from sim_node.recording.qos import all_profiles

# Maximum number of skipped messages listed one by one.
_MAX_REPORTED = 100
# Raises BrokenContent.
Decompress = Callable[[bytes], bytes]


class SplitBag:
    """The files of a bag in the order of time; where two overlap, their messages are merged.

    Args:
        files: The open files.
        owned: What to close with the bag, including the files.
        metadata: Completes what the files do not contain.
        decompress: Applied to each message's bytes.
        damage: Damage found while opening.
    """

    def __init__(
        self,
        files: Sequence[Bag],
        owned: ExitStack,
        metadata: Metadata | None = None,
        decompress: Decompress | None = None,
        damage: Sequence[str] = (),
    ) -> None:
        self.files = tuple(sorted(files, key=attrgetter("start_ns")))
        self.decompress = decompress
        self._owned, self._damage = owned, list(damage)
        self._reported: set[str] = set()
        topics: dict[tuple[str, str, str], BagTopic] = {}
        for topic in (topic for file in self.files for topic in file.topics):
            key = _key(topic)
            topics[key] = _together(topics[key], topic) if key in topics else topic
        keys = sorted(topics)
        self.topics = tuple(_noted(topics[key], metadata) for key in keys)
        self._places = [tuple(keys.index(_key(topic)) for topic in file.topics) for file in self.files]
        filled = [file for file in self.files if file.count]
        self.start_ns = min((file.start_ns for file in filled), default=0)
        self.end_ns = max((file.end_ns for file in filled), default=0)
        self.count = sum(file.count for file in filled)

    @property
    def damage(self) -> list[str]:
        """Damage of all files."""
        return self._damage + [line for file in self.files for line in file.damage]

    def messages(
        self, topics: Collection[str] | None = None, start_ns: int | None = None, stop_ns: int | None = None
    ) -> Iterator[BagMessage]:
        """Yield messages in the order of time; a file is read when its first message is due."""
        for together in self._overlapping(start_ns, stop_ns):
            streams = [self._stream(place, topics, start_ns, stop_ns) for place in together]
            if len(streams) == 1:
                yield from streams[0]
            else:
                yield from heapq.merge(*streams, key=attrgetter("time_ns"))

    def attachments(self) -> Iterator[BagAttachment]:
        """Yield those of all files, without duplicates."""
        seen: set[BagAttachment] = set()
        for file in self.files:
            for attachment in file.attachments():
                if attachment not in seen:
                    seen.add(attachment)
                    yield attachment

    def close(self) -> None:
        """Close all files."""
        self._owned.close()

    def __enter__(self) -> SplitBag:
        return self

    def __exit__(self, *of: object) -> None:
        self.close()

    def _overlapping(self, start_ns: int | None, stop_ns: int | None) -> Iterator[list[int]]:
        """Yield groups of files whose times overlap."""
        group: list[int] = []
        until = 0
        for place, file in enumerate(self.files):
            before = stop_ns is not None and file.start_ns >= stop_ns
            after = start_ns is not None and file.end_ns < start_ns
            if not file.count or before or after:
                continue
            if group and file.start_ns > until:
                yield group
                group = []
            group.append(place)
            until = max(until, file.end_ns)
        if group:
            yield group

    def _stream(
        self, place: int, topics: Collection[str] | None, start_ns: int | None, stop_ns: int | None
    ) -> Iterator[BagMessage]:
        places, decompress = self._places[place], self.decompress
        messages = self.files[place].messages(topics, start_ns, stop_ns)
        if decompress is None:
            for topic, time_ns, data in messages:
                yield BagMessage(places[topic], time_ns, data)
            return
        for topic, time_ns, data in messages:
            plain = self.decompressed(self.topics[places[topic]].name, time_ns, data)
            if plain is not None:
                yield BagMessage(places[topic], time_ns, plain)

    def decompressed(self, topic: str, time_ns: int, data: bytes) -> bytes | None:
        """Return a message's bytes; None, with a line in `damage`, if they cannot be decompressed."""
        if self.decompress is None:
            return data
        try:
            return self.decompress(data)
        except BrokenContent as broken:
            line = f"{topic} at {time_ns / 1e9:.3f} s: a message is left out: {broken}"
        if len(self._reported) == _MAX_REPORTED:
            line = f"more than {_MAX_REPORTED} messages are left out for the same reason"
        if line not in self._reported:
            self._reported.add(line)
            self._damage.append(line)
        return None


def _key(topic: BagTopic) -> tuple[str, str, str]:
    return topic.name, topic.type, topic.encoding


def _together(one: BagTopic, other: BagTopic) -> BagTopic:
    return replace(
        one,
        count=one.count + other.count,
        qos=all_profiles(one.qos, other.qos),
        definition=one.definition or other.definition,
        type_hash=one.type_hash or other.type_hash,
    )


def _noted(topic: BagTopic, metadata: Metadata | None) -> BagTopic:
    note = metadata.topics.get(topic.name) if metadata else None
    if note is None or note.type != topic.type:
        return topic
    return replace(topic, qos=topic.qos or note.qos, type_hash=topic.type_hash or note.type_hash)
