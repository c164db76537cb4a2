"""The files of one bag, read as one. Only a few of them are open at a time."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy.typing as npt

from sim_node.messages.tf_message_reader import Unreadable
from sim_node.recording import message_fields
from sim_node.recording.bag import Bag, BagAttachment, BagMessage, BagTopic, DecodedMessage, no_topic
from sim_node.recording.decoding import Decoder, decoded
from sim_node.recording.decompression import MAX_BYTES, BrokenContent
from sim_node.recording.merging import UNORDERED, MessageSource, TopicKey, add_topic, merged, sorted_topics
from sim_node.recording.metadata import Metadata

if TYPE_CHECKING:
    import polars

# Maximum number of skipped messages listed one by one.
_MAX_REPORTED = 100
# Maximum number of files that stay open between uses, in addition to those being read.
MAX_OPEN = 32
# Raises BrokenContent.
Decompress = Callable[[bytes], bytes]
# Opens a file, and registers on the stack what must be closed with it. Raises BagError.
OpenFile = Callable[[ExitStack], Bag]


class _File(NamedTuple):
    """Information about a closed file. places: its topics, as indices of the bag's topics."""

    open: OpenFile
    start_ns: int
    end_ns: int
    messages: int
    held_bytes: int
    places: tuple[int, ...]


class SplitBag:
    """The files of a bag in time order. Messages of overlapping files are merged.

    Args:
        files: Open the files.
        metadata: Provides what the files lack.
        decompress: Applied to each message's bytes.
        damage: Damage found while opening.
        max_bytes: Maximum bytes that overlapping files may hold at once.

    Attributes:
        verified: Whether all messages were read when the files were opened, so that all damage is known.

    Raises:
        BagError: A file cannot be read.
    """

    def __init__(
        self,
        files: Sequence[OpenFile],
        metadata: Metadata | None = None,
        decompress: Decompress | None = None,
        damage: Sequence[str] = (),
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self.decompress = decompress
        self.verified = decompress is None
        self._max_bytes = max_bytes
        self._damage = dict.fromkeys(damage)
        self._left_out = 0
        self._open: OrderedDict[OpenFile, tuple[Bag, ExitStack]] = OrderedDict()
        self._in_use: Counter[OpenFile] = Counter()
        topics: dict[TopicKey, BagTopic] = {}
        found: list[tuple[OpenFile, tuple[int, int, int, int], tuple[TopicKey, ...]]] = []
        # Shared by most files
        known: dict[tuple[TopicKey, ...], tuple[TopicKey, ...]] = {}
        try:
            for open_file in files:
                with self._opened(open_file) as bag:
                    names = tuple(add_topic(topics, topic) for topic in bag.topics)
                    held = getattr(bag, "held_bytes", 0)
                    self.verified &= getattr(bag, "verified", False)
                    found.append(
                        (open_file, (bag.start_ns, bag.end_ns, bag.count, held), known.setdefault(names, names))
                    )
        except BaseException:
            self.close()
            raise
        merged_topics, rows = sorted_topics(topics)
        self.topics = tuple(_noted(topic, metadata) for topic in merged_topics)
        self._rows_of: dict[str, list[int]] = {}
        for (name, *_), row in rows.items():
            self._rows_of.setdefault(name, []).append(row)
        places = {id(names): tuple(rows[name] for name in names) for names in known}
        summaries = [_File(open_file, *facts, places[id(names)]) for open_file, facts, names in found]
        self._files = tuple(sorted(summaries, key=lambda file: file.start_ns))
        filled = [file for file in self._files if file.messages]
        self.start_ns = min((file.start_ns for file in filled), default=0)
        self.end_ns = max((file.end_ns for file in filled), default=0)
        self.count = sum(file.messages for file in filled)

    @property
    def damage(self) -> list[str]:
        """Damage of all files."""
        for bag, _ in self._open.values():
            self._damage.update(dict.fromkeys(bag.damage))
        return list(self._damage)

    def files(self) -> Iterator[Bag]:
        """Yield each file, which stays open until the next one is requested."""
        for file in self._files:
            with self._opened(file.open) as bag:
                yield bag

    def messages(
        self, topics: Collection[str] | None = None, start_ns: int | None = None, stop_ns: int | None = None
    ) -> Iterator[BagMessage]:
        """Yield messages in time order. A file is read when its first message is due.

        Args:
            topics: Names of topics; None for all.
            start_ns: First time; None for the beginning.
            stop_ns: Time before which to stop; None for the end.

        Yields:
            Each message, as CDR.

        Raises:
            TypeError: `topics` is a single string, whose letters would be taken for names.
        """
        if isinstance(topics, str):
            raise TypeError(f"messages() needs a list of topics; read({topics!r}) decodes the messages of one")
        topics = None if topics is None else frozenset(topics)
        rows = None if topics is None else {row for name in topics for row in self._rows_of.get(name, ())}

        def source(file: _File) -> MessageSource:
            return MessageSource(
                file.start_ns, file.end_ns, file.held_bytes, lambda: self._stream(file, topics, start_ns, stop_ns)
            )

        sources = [
            source(file)
            for file in self._files
            if file.messages
            and (stop_ns is None or file.start_ns < stop_ns)
            and (start_ns is None or file.end_ns >= start_ns)
            and (rows is None or not rows.isdisjoint(file.places))
        ]
        return merged(sources, 2 * self._max_bytes, lambda: self.note(UNORDERED.format("files")))

    def read(self, topic: str, start_ns: int | None = None, stop_ns: int | None = None) -> Iterator[DecodedMessage]:
        """Decode the messages of a topic, in time order, using the definition in the bag.

        Messages with invalid bytes are skipped, with a line in `damage`.

        Args:
            topic: Its name.
            start_ns: First time; None for the beginning.
            stop_ns: Time before which to stop; None for the end.

        Returns:
            An iterator of times and messages.

        Raises:
            BagError: The topic does not exist, or the bag has no definition of its type.
        """
        decoders = {row: Decoder(each) for row, each in enumerate(self.topics) if each.name == topic}
        if not decoders:
            raise no_topic(self, topic)
        return self._decoded(self.messages((topic,), start_ns, stop_ns), decoders)

    def _decoded(self, messages: Iterator[BagMessage], decoders: Mapping[int, Decoder]) -> Iterator[DecodedMessage]:
        unreadable = Unreadable(self.note)
        for message, content in decoded(messages, decoders.__getitem__, unreadable):
            yield DecodedMessage(message.time_ns, content)
        for line in unreadable.counted():
            self.note(line)

    def columns(
        self, topic: str, start_ns: int | None = None, stop_ns: int | None = None
    ) -> dict[str, npt.NDArray[Any]]:
        """Read a topic into arrays with a row for each message.

        Args:
            topic: Its name.
            start_ns: First time; None for the beginning.
            stop_ns: Time before which to stop; None for the end.

        Returns:
            `time_ns`, the recording times (N,), and each field by its path, such as angular_velocity.x: numbers (N,),
            fixed-length numeric arrays (N, K), or else N objects: strings, arrays of any length, lists.

        Raises:
            BagError: The topic does not exist or has several types, or the bag has no definition.
        """
        return message_fields.columns(self, topic, self.read(topic, start_ns, stop_ns))

    def frame(self, topic: str, start_ns: int | None = None, stop_ns: int | None = None) -> polars.DataFrame:
        """Read a topic into a polars DataFrame, with the same columns as `export --parquet`.

        Args:
            topic: Its name.
            start_ns: First time; None for the beginning.
            stop_ns: Time before which to stop; None for the end.

        Returns:
            A row for each message: `time_ns`, and each field by its path.

        Raises:
            BagError: As in `columns`, or polars is not installed.
        """
        return message_fields.frame(self, topic, self.read(topic, start_ns, stop_ns))

    def attachments(self) -> Iterator[BagAttachment]:
        """Yield the attachments of all files, without duplicates."""
        seen: set[tuple[str, str, int, bytes]] = set()
        for file in self.files():
            for attachment in file.attachments():
                key = (*attachment[:3], sha256(attachment.data).digest())
                if key not in seen:
                    seen.add(key)
                    yield attachment

    def close(self) -> None:
        """Close all files."""
        while self._open:
            self._close(next(iter(self._open)))

    def __enter__(self) -> SplitBag:
        return self

    def __exit__(self, *of: object) -> None:
        self.close()

    @contextmanager
    def _opened(self, open_file: OpenFile) -> Iterator[Bag]:
        """Yield a file that stays open while it is used, and afterwards until its place is needed."""
        if open_file not in self._open:
            with ExitStack() as owned:
                self._open[open_file] = open_file(owned), owned.pop_all()
        self._open.move_to_end(open_file)
        self._in_use[open_file] += 1
        try:
            idle = [each for each in self._open if not self._in_use[each]]
            for each in idle[: max(len(self._open) - MAX_OPEN, 0)]:
                self._close(each)
            yield self._open[open_file][0]
        finally:
            self._in_use[open_file] -= 1

    def _close(self, open_file: OpenFile) -> None:
        bag, owned = self._open.pop(open_file)
        self._damage.update(dict.fromkeys(bag.damage))
        owned.close()

    def _stream(
        self, file: _File, topics: Collection[str] | None, start_ns: int | None, stop_ns: int | None
    ) -> Iterator[BagMessage]:
        places, decompress = file.places, self.decompress
        with self._opened(file.open) as bag:
            for topic, time_ns, data in bag.messages(topics, start_ns, stop_ns):
                plain = (
                    data if decompress is None else self.decompressed(self.topics[places[topic]].name, time_ns, data)
                )
                if plain is not None:
                    yield BagMessage(places[topic], time_ns, plain)

    def decompressed(self, topic: str, time_ns: int, data: bytes) -> bytes | None:
        """Decompress a message of a bag with individually compressed messages.

        Args:
            topic: Name of its topic, for `damage`.
            time_ns: Its recording time, for `damage`.
            data: Its bytes in the file.

        Returns:
            Its CDR; None, with a line in `damage`, if it cannot be decompressed.
        """
        if self.decompress is None:
            return data
        try:
            return self.decompress(data)
        except BrokenContent as broken:
            line = f"{topic} at {time_ns / 1e9:.3f} s: a message is left out: {broken}"
        if line not in self._damage:
            self._left_out += 1
            if self._left_out > _MAX_REPORTED:
                line = f"more than {_MAX_REPORTED} messages are left out for the same reason"
            self.note(line)
        return None

    def note(self, line: str) -> None:
        """Add a line to the damage.

        Args:
            line: What was found.
        """
        self._damage[line] = None


def _noted(topic: BagTopic, metadata: Metadata | None) -> BagTopic:
    note = metadata.topics.get(topic.name) if metadata else None
    if note is None or note.type != topic.type:
        return topic
    return replace(topic, qos=topic.qos or note.qos, type_hash=topic.type_hash or note.type_hash)
