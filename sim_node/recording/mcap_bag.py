"""A single MCAP file as a bag."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

from mcap.records import Attachment as AttachmentRecord
from mcap.records import Metadata

from sim_node.messages.topic import Qos
from sim_node.recording.bag import BagAttachment, BagError, BagMessage, BagTopic
from sim_node.recording.decompression import HINT, MAX_BYTES
from sim_node.recording.mcap_chunk import (
    Block,
    BrokenChunk,
    RawMessage,
    block_bytes,
    block_messages,
    foreign_records,
    raw_messages_in,
)
from sim_node.recording.mcap_records import MAGIC, Record, RecordFile, parsed
from sim_node.recording.mcap_scan import McapLayout, NoIndex, chunk_damage, indexed, nested_damage, scanned
from sim_node.recording.merging import (
    UNORDERED,
    MessageSource,
    TopicKey,
    add_topic,
    merged,
    most_held,
    sorted_topics,
)
from sim_node.recording.qos import OFFERED, all_profiles, profiles

# Maximum size of a metadata record about publishers, enough for some thousand topics with a hundred each.
MAX_OFFERED = 64 << 20


class McapBag:
    """Reads messages using the file's index, or by scanning all records if the index is missing or damaged.

    The checksum of each chunk is verified. Invalid chunks are left out and listed in `damage`.

    Args:
        path: The file.
        max_bytes: Limit of a chunk in memory.

    Attributes:
        verified: Whether all records were read when the file was opened, so that all damage is known.
    """

    def __init__(self, path: Path, max_bytes: int = MAX_BYTES) -> None:
        self.file = RecordFile(path)
        self._max_bytes = max_bytes
        self.verified = False
        try:
            self.layout = self._laid_out()
            self._refuse_ros1()
            self._topics_of, self.topics = _topics(self.layout, self._further_offers())
        except BaseException:
            self.file.close()
            raise
        self._channels_of: dict[str, list[int]] = {}
        for channel, topic in self._topics_of.items():
            self._channels_of.setdefault(self.topics[topic].name, []).append(channel)
        self.damage = [f"{path}: {line}" for line in self.layout.damage]
        self.start_ns, self.end_ns = self.layout.start_ns, self.layout.end_ns
        self.count = sum(topic.count for topic in self.topics)
        self._noted: set[str] = set(self.damage)
        # Bytes held at once while all messages are read
        self.held_bytes = most_held(self._sources(self.layout.blocks, lambda block: iter(())))

    def messages(
        self, topics: Collection[str] | None = None, start_ns: int | None = None, stop_ns: int | None = None
    ) -> Iterator[BagMessage]:
        """Yield messages in time order; equal times in file order. Overlapping chunks are in memory together."""
        start, stop = start_ns or 0, 2**64 if stop_ns is None else stop_ns
        wanted = self._topics_of
        if topics is not None:
            channels = (channel for name in set(topics) for channel in self._channels_of.get(name, ()))
            wanted = {channel: self._topics_of[channel] for channel in channels}
        blocks = [
            block
            for block in self.layout.blocks
            if block.start_ns < stop
            and block.end_ns >= start
            and (block.channels is None or not block.channels.isdisjoint(wanted))
        ]
        sources = self._sources(blocks, lambda block: self._stream(block, wanted, start, stop))
        return merged(sources, 2 * self._max_bytes, lambda: self._note(0, UNORDERED.format("chunks")))

    def _sources(self, blocks: Iterable[Block], stream: Callable[[Block], Iterator[BagMessage]]) -> list[MessageSource]:
        ordered = sorted(blocks, key=lambda block: block.start_ns)
        return [
            MessageSource(block.start_ns, block.end_ns, min(block.bytes_held, self._max_bytes), partial(stream, block))
            for block in ordered
        ]

    def attachments(self) -> Iterator[BagAttachment]:
        """Yield attachments with a correct checksum; others are listed in `damage`."""
        for place in self.layout.attachments:
            record = self.attachment(place)
            if record is not None:
                yield BagAttachment(record.name, record.media_type, record.log_time, record.data)

    def raw_messages(self, block: Block) -> Iterator[RawMessage]:
        """Yield the unchanged messages of a block. If it is broken, yield none and add a line to `damage`."""
        try:
            content = block_bytes(self.file, block, self._max_bytes)
            yield from raw_messages_in(content)
            if foreign_records(content):
                self._note(block.at, nested_damage(content))
        except BrokenChunk as broken:
            self._note(block.at, chunk_damage(self.file, block, str(broken)))

    def metadata(self, place: Record) -> Metadata | None:
        """Return a metadata record. If it is invalid, return None and add a line to `damage`."""
        try:
            record: Metadata = parsed(Metadata, self.file.body(place))
        except ValueError as error:
            self._note(place.at, f"a record {error}")
            return None
        return record

    def attachment(self, place: Record) -> AttachmentRecord | None:
        """Return an attachment. If it is invalid, return None and add a line to `damage`."""
        if place.length > self._max_bytes:
            self._note(
                place.at, f"an attachment of {place.length} bytes exceeds the limit of {self._max_bytes}; {HINT}"
            )
            return None
        body = self.file.body(place)
        crc = int.from_bytes(body[-4:], "little")
        try:
            record: AttachmentRecord = parsed(AttachmentRecord, body)
            if crc and zlib.crc32(body[:-4]) != crc:
                raise ValueError("fails its checksum (CRC) and is left out")
        except ValueError as error:
            self._note(place.at, f"an attachment {error}")
            return None
        return record

    def close(self) -> None:
        """Close the file."""
        self.file.close()

    def _laid_out(self) -> McapLayout:
        file = self.file
        if file.size == 0:
            raise BagError(f"{file.path}: the file is empty")
        try:
            return indexed(file)
        except NoIndex as reason:
            layout = scanned(file, self._max_bytes)
            self.verified = True
            if str(reason):
                layout.damage.insert(0, f"{reason}")
        if file.read(0, len(MAGIC)) != MAGIC and not layout.channels:
            raise BagError(f"{file.path}: is not an MCAP file: its first bytes are wrong, and it has no messages")
        return layout

    def _further_offers(self) -> dict[str, tuple[Qos, ...]]:
        """Return the additional publishers of topics that are noted in metadata records."""
        found: dict[str, tuple[Qos, ...]] = {}
        start = len(OFFERED).to_bytes(4, "little") + OFFERED.encode()
        for place in dict.fromkeys(self.layout.metadata):
            if self.file.read(place.body, len(start)) == start and place.length <= MAX_OFFERED:
                with suppress(ValueError):  # reported where all records are read
                    record: Metadata = parsed(Metadata, self.file.body(place))
                    for topic, text in record.metadata.items():
                        found[topic] = all_profiles(found.get(topic, ()), profiles(text))
        return found

    def _refuse_ros1(self) -> None:
        encodings = {channel.message_encoding for channel in self.layout.channels.values()}
        if self.layout.profile == "ros1" or "ros1" in encodings:
            raise BagError(
                f"{self.file.path}: is a ROS 1 recording; convert it to ROS 2 first: "
                f"rosbags-convert --src {self.file.path} --dst NEW_FOLDER"
            )

    def _stream(self, block: Block, wanted: dict[int, int], start: int, stop: int) -> Iterator[BagMessage]:
        others: set[int] = set()
        try:
            content = block_bytes(self.file, block, self._max_bytes)
            yield from block_messages(
                content,
                wanted,
                start,
                stop,
                self._max_bytes,
                lambda: self._note(block.at, UNORDERED.format("parts of a chunk")),
                others,
            )
            if others:
                self._note(block.at, nested_damage(content))
        except BrokenChunk as broken:
            self._note(block.at, chunk_damage(self.file, block, str(broken)))

    def _note(self, at: int, what: str) -> None:
        """List damage once, however often it is encountered."""
        line = f"{self.file.path}: byte {at}: {what}"
        if line not in self._noted:
            self._noted.add(line)
            self.damage.append(line)


def _topics(layout: McapLayout, further: Mapping[str, tuple[Qos, ...]]) -> tuple[dict[int, int], tuple[BagTopic, ...]]:
    """Return the topics by name, and the topic of each channel, since a topic may have several channels.

    further: publishers of topics in addition to those in channels.
    """
    definitions = {number: schema.data.decode(errors="replace") for number, schema in layout.schemas.items()}
    found: dict[TopicKey, BagTopic] = {}
    keys: dict[int, TopicKey] = {}
    for channel in layout.channels.values():
        schema, metadata = layout.schemas.get(channel.schema_id), channel.metadata
        topic = BagTopic(
            channel.topic,
            schema.name if schema else "",
            layout.counts.get(channel.id, 0),
            all_profiles(profiles(metadata.get("offered_qos_profiles")), further.get(channel.topic, ())),
            definitions.get(channel.schema_id, ""),
            metadata.get("topic_type_hash", ""),
            channel.message_encoding,
        )
        keys[channel.id] = add_topic(found, topic)
    topics, places = sorted_topics(found)
    return {channel: places[key] for channel, key in keys.items()}, topics
