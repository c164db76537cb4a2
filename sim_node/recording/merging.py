"""Merge the topics of several channels or files, and streams of messages, which are opened on demand."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from sim_node.recording.bag import BagMessage, BagTopic
from sim_node.recording.decompression import HINT
from sim_node.recording.qos import all_profiles

# Name, type and encoding
TopicKey = tuple[str, str, str]

_NEVER = 2**64
# For files, chunks or parts of a chunk
UNORDERED = f"{{}} overlap in time by more than may be held: some messages are not in the order of time; {HINT}"


def add_topic(topics: dict[TopicKey, BagTopic], topic: BagTopic) -> TopicKey:
    """Add a topic, or merge what another channel or file contains about it. Return its key."""
    key = topic.name, topic.type, topic.encoding
    known = topics.get(key)
    topics[key] = topic
    if known is not None:
        topics[key] = replace(
            known,
            count=known.count + topic.count,
            qos=all_profiles(known.qos, topic.qos),
            definition=known.definition or topic.definition,
            type_hash=known.type_hash or topic.type_hash,
        )
    return key


def sorted_topics(topics: dict[TopicKey, BagTopic]) -> tuple[tuple[BagTopic, ...], dict[TopicKey, int]]:
    """Return the topics of a bag sorted by name, and the index of each."""
    keys = sorted(topics)
    return tuple(topics[key] for key in keys), {key: place for place, key in enumerate(keys)}


class MessageSource(NamedTuple):
    """A source of messages in time order.

    Attributes:
        start_ns, end_ns: Their first and last time.
        size: Bytes held while it is read.
        open: Returns the messages.
    """

    start_ns: int
    end_ns: int
    size: int
    open: Callable[[], Iterator[BagMessage]]


def merged(sources: Sequence[MessageSource], limit: int, unordered: Callable[[], None]) -> Iterator[BagMessage]:
    """Yield the messages of all sources in time order; for equal times, in the order of the sources.

    Args:
        sources: The sources, ordered by their first times.
        limit: Maximum bytes held at once. Further sources wait, and their messages come late.
        unordered: Called when a source has to wait.

    Yields:
        Each message.
    """
    # Time, index of the source, its next message, and the rest of its messages
    streams: list[tuple[int, int, BagMessage, Iterator[BagMessage]]] = []
    held = row = 0
    while streams or row < len(sources):
        while row < len(sources) and (not streams or sources[row].start_ns <= streams[0][0]):
            source = sources[row]
            if streams and held + source.size > limit:
                unordered()
                break
            row += 1
            if not streams and (row == len(sources) or source.end_ns <= sources[row].start_ns):
                yield from source.open()
                continue
            messages = source.open()
            message = next(messages, None)
            if message is not None:
                held += source.size
                heapq.heappush(streams, (message.time_ns, row - 1, message, messages))
        if not streams:
            continue
        _, number, message, messages = heapq.heappop(streams)
        # Up to the next message that another stream has or may have
        until = min(streams[0][0] if streams else _NEVER, sources[row].start_ns if row < len(sources) else _NEVER)
        following: BagMessage | None = message
        while following is not None:
            yield following
            following = next(messages, None)
            if following is None or following.time_ns >= until:
                break
        if following is not None:
            heapq.heappush(streams, (following.time_ns, number, following, messages))
        else:
            held -= sources[number].size


def most_held(sources: Sequence[MessageSource]) -> int:
    """Return the maximum bytes held at once if all sources are read in time order."""
    most = held = 0
    ends: list[tuple[int, int]] = []
    for source in sources:
        while ends and ends[0][0] < source.start_ns:
            held -= heapq.heappop(ends)[1]
        heapq.heappush(ends, (source.end_ns, source.size))
        held += source.size
        most = max(most, held)
    return most
