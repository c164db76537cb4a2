"""Select and order the messages of a bag to play: a time range, some topics, latched messages first."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator
from itertools import islice

from sim_node.recording.bag import Bag, BagMessage
from sim_node.recording.frames import Statics
from sim_node.recording.qos import offer

TF_MESSAGE = "tf2_msgs/msg/TFMessage"


class Playback:
    """Messages of a bag from start_ns to stop_ns (both included, bag time), of the named topics.

    Attributes:
        unmerged: Topics of static transforms that are sent unchanged, with the reason.
    """

    def __init__(
        self, bag: Bag, *, topics: Collection[str], start_ns: int | None = None, stop_ns: int | None = None
    ) -> None:
        self.bag = bag
        self.start_ns = bag.start_ns if start_ns is None else start_ns
        self.stop_ns = bag.end_ns if stop_ns is None else min(stop_ns, bag.end_ns)
        self.names = frozenset(topics)
        self.unmerged: dict[str, str] = {}
        offers = {row: offer(topic) for row, topic in enumerate(bag.topics) if topic.name in self.names}
        self._depths = {row: qos.depth for row, qos in offers.items() if qos.latched}
        self._statics = self._read_statics(list(self._depths))
        for row in self._statics:
            del self._depths[row]

    def before(self, time_ns: int) -> list[BagMessage]:
        """Return what late subscribers would receive: static transforms, then the last message per latched topic."""
        found = [(row, statics.after(statics.count_before(time_ns))) for row, statics in self._statics.items()]
        first = [BagMessage(row, time_ns, data) for row, data in found if data is not None]
        newest = {row: deque[BagMessage](maxlen=depth) for row, depth in self._depths.items()}
        if newest and time_ns > self.bag.start_ns:
            names = [self.bag.topics[row].name for row in newest]
            for message in self.bag.messages(names, stop_ns=time_ns):
                newest[message.topic].append(message)
        kept = [message for messages in newest.values() for message in messages]
        return first + sorted(kept, key=lambda message: message.time_ns)

    def after(self, time_ns: int) -> Iterator[BagMessage]:
        """Yield the messages from a time on.

        Static transforms already returned by `before` are not repeated; merged ones are sent only when they change.
        """
        messages = self.bag.messages(self.names, start_ns=time_ns, stop_ns=self.stop_ns + 1)
        return self._with_statics(messages, time_ns) if self._statics else messages

    def _with_statics(self, messages: Iterator[BagMessage], time_ns: int) -> Iterator[BagMessage]:
        statics = self._statics
        counts = {row: topic.count_before(time_ns) for row, topic in statics.items()}
        sent = {row: statics[row].after(count) for row, count in counts.items()}
        unsent = set(statics)
        for message in messages:
            row = message.topic
            if row not in statics:
                yield message
                continue
            counts[row] += 1
            data = statics[row].after(counts[row])
            assert data is not None
            if data != sent[row] or (row not in unsent and data == message.data):
                yield message._replace(data=data)
            sent[row] = data
            unsent.discard(row)

    def _read_statics(self, latched: list[int]) -> dict[int, Statics]:
        found: dict[int, Statics] = {}
        for row in latched:
            topic = self.bag.topics[row]
            if topic.type == TF_MESSAGE:
                try:
                    # They are usually at the beginning, so a bag without an index need not be read to its end.
                    found[row] = Statics(islice(self.bag.messages([topic.name]), topic.count or None))
                except ValueError as error:
                    self.unmerged[topic.name] = str(error)
        return found
