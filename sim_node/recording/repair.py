"""Write a valid bag with everything that can be recovered from a damaged one."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from mcap.records import Channel
from mcap.writer import CompressionType, Writer

from sim_node.messages.topic import Qos
from sim_node.recording.bag import Bag, BagError, BagTopic
from sim_node.recording.decompression import MAX_BYTES
from sim_node.recording.mcap_bag import McapBag
from sim_node.recording.mcap_chunk import RawMessage
from sim_node.recording.mcap_records import CHUNK, HEADER
from sim_node.recording.mcap_scan import McapLayout
from sim_node.recording.metadata import BagInformation, FileInformation, TopicInformation, channel_metadata, qos_text
from sim_node.recording.metadata import write as write_metadata
from sim_node.recording.opening import open_bag, open_to_repair
from sim_node.recording.qos import OFFERED, all_profiles, profiles

# Called with the number of messages written so far.
Progress = Callable[[int], object]
_PROGRESS_EVERY = 1000
# Decompresses a message, given its topic and time; returns None if it is broken.
Plain = Callable[[str, int, bytes], "bytes | None"]
# Information about each topic, by name and type, the same for all files.
_Topics = dict[tuple[str, str], TopicInformation]
_COMPRESSIONS = {b"zstd": CompressionType.ZSTD, b"lz4": CompressionType.LZ4}


@dataclass
class Repaired:
    """The result. damage: of the source, one line each; counts: kept messages by topic; attachments: number kept."""

    folder: Path
    damage: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    attachments: int = 0


def repair(source: Path, folder: Path, progress: Progress = lambda count: None, max_bytes: int = MAX_BYTES) -> Repaired:
    """Write the recoverable content of `source` to a new `folder`, as an MCAP bag. The source is not changed.

    Channels, schemas, sequence numbers, both times of each message, attachments, metadata records and the file order
    file are preserved.

    Args:
        source: The damaged bag.
        folder: The new folder.
        progress: Called with the number of messages written so far.
        max_bytes: Limit of a chunk in memory, as in open_bag.

    Returns:
        What was recovered.

    Raises:
        BagError: Nothing can be read, or the folder exists. Nothing is left behind.
    """
    if folder.exists():
        raise BagError(f"{folder}: exists and is not overwritten; give another folder with -o")
    part = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        part.mkdir(parents=True)
        done = _write(source, folder, part, progress, max_bytes)
        part.rename(folder)
    except OSError as error:
        raise BagError(f"{folder}: cannot be written: {error.strerror}") from None
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return done


def _write(source: Path, folder: Path, part: Path, progress: Progress, max_bytes: int) -> Repaired:
    done = Repaired(folder)
    files: list[_File] = []
    topics: _Topics = {}
    with open_to_repair(source, max_bytes) as bag:
        for number, source_file in enumerate(bag.files()):
            file = _File(f"{folder.name}_{number}.mcap", topics, done, progress)
            with (part / file.name).open("wb") as stream:
                if isinstance(source_file, McapBag):
                    file.copy_records(source_file, bag.topics, stream, bag.decompressed)
                else:
                    file.copy_messages(source_file, stream, bag.decompressed)
            files.append(file)
        done.damage += bag.damage
        totals = sum((file.counts for file in files), Counter[TopicInformation]())
        rows = sorted(((topic, totals[topic]) for topic in topics.values()), key=lambda row: row[0].name)
        write_metadata(part, BagInformation([file.information() for file in files], rows))
    with open_bag(part) as whole:
        if whole.count != done.counts.total() or whole.damage:
            raise BagError(f"{folder}: the repaired bag cannot be read, nothing is kept: {whole.damage[:1]}")
    return done


class _File:
    """A file being written."""

    def __init__(self, name: str, topics: _Topics, done: Repaired, progress: Progress) -> None:
        self.name = name
        self.count = 0
        self.counts: Counter[TopicInformation] = Counter()
        self.start_ns, self.end_ns = 2**63 - 1, 0
        self._topics = topics
        # By name, schema and encoding of a topic; and the topics' publishers in this file.
        self._channels: dict[tuple[str, int, str], int] = {}
        self._offered: dict[str, tuple[Qos, ...]] = {}
        self._done, self._progress = done, progress

    def copy_records(self, bag: McapBag, topics: Sequence[BagTopic], stream: BinaryIO, plain: Plain) -> None:
        """Copy all records of an MCAP file, messages in file order. topics: topics of the whole bag."""
        layout = bag.layout
        writer = Writer(stream, compression=_compression(bag))
        writer.start(layout.profile or "ros2")
        schemas = {
            number: writer.register_schema(schema.name, schema.encoding, schema.data)
            for number, schema in sorted(layout.schemas.items())
        }
        hashes = {topic.name: topic.type_hash for topic in topics}
        channels = {
            number: self._channel(
                writer,
                _of_channel(channel, layout, hashes.get(channel.topic, "")),
                channel.message_encoding,
                schemas.get(channel.schema_id, 0),
                channel.metadata,
            )
            for number, channel in sorted(layout.channels.items())
        }
        self._note_offers(writer)
        for place in layout.attachments:
            attachment = bag.attachment(place)
            if attachment is not None:
                writer.add_attachment(**vars(attachment))
                self._done.attachments += 1
        for place in layout.metadata:
            metadata = bag.metadata(place)
            if metadata is not None:
                writer.add_metadata(metadata.name, metadata.metadata)
        messages = (message for block in layout.blocks for message in bag.raw_messages(block))
        self._copy(writer, channels, messages, plain)

    def copy_messages(self, bag: Bag, stream: BinaryIO, plain: Plain) -> None:
        """Copy all messages of another storage's file."""
        writer = Writer(stream)
        writer.start("ros2")
        channels: dict[int, tuple[int, TopicInformation]] = {}
        for row, topic in enumerate(bag.topics):
            encoding = "ros2idl" if topic.is_idl else "ros2msg"
            schema = writer.register_schema(topic.type, encoding, topic.definition.encode())
            about = TopicInformation(topic.name, topic.type, topic.qos, topic.type_hash)
            channels[row] = self._channel(writer, about, topic.encoding, schema, channel_metadata(about))
        self._note_offers(writer)
        messages = (RawMessage(row, 0, time_ns, time_ns, data) for row, time_ns, data in bag.messages())
        self._copy(writer, channels, messages, plain)

    def _copy(
        self,
        writer: Writer,
        channels: Mapping[int, tuple[int, TopicInformation]],
        messages: Iterable[RawMessage],
        plain: Plain,
    ) -> None:
        """Copy the messages of known channels, and end the file."""
        for channel, sequence, time_ns, publish_ns, data in messages:
            if channel in channels:
                number, about = channels[channel]
                whole = plain(about.name, time_ns, data)
                if whole is not None:
                    writer.add_message(number, time_ns, whole, publish_ns, sequence)
                    self._add(about, time_ns)
        writer.finish()

    def information(self) -> FileInformation:
        """Return its entry in metadata.yaml."""
        return FileInformation(self.name, self.start_ns if self.count else 0, self.end_ns, self.count)

    def _channel(
        self, writer: Writer, about: TopicInformation, encoding: str, schema: int, metadata: Mapping[str, str]
    ) -> tuple[int, TopicInformation]:
        """Return the channel of a topic, and its topic information, which comes from its first channel.

        Other channels of the topic are merged with it if they only differ in their publishers.
        """
        stated = self._topics.setdefault((about.name, about.type), about)
        self._offered[about.name] = all_profiles(self._offered.get(about.name, stated.qos), about.qos)
        key = (about.name, schema, encoding)
        if key not in self._channels:
            offers = {} if about.qos == stated.qos else {"offered_qos_profiles": qos_text(stated.qos)}
            self._channels[key] = int(writer.register_channel(about.name, encoding, schema, {**metadata, **offers}))
        return self._channels[key], stated

    def _note_offers(self, writer: Writer) -> None:
        """Note the publishers that are not in the channels."""
        stated = {name: topic.qos for (name, _), topic in self._topics.items()}
        further = {name: qos_text(offered) for name, offered in self._offered.items() if offered != stated[name]}
        if further:
            writer.add_metadata(OFFERED, further)

    def _add(self, topic: TopicInformation, time_ns: int) -> None:
        self.count += 1
        self.counts[topic] += 1
        self.start_ns, self.end_ns = min(self.start_ns, time_ns), max(self.end_ns, time_ns)
        self._done.counts[topic.name] += 1
        if self.count % _PROGRESS_EVERY == 0:
            self._progress(self._done.counts.total())


def _compression(bag: McapBag) -> CompressionType:
    """Return the compression of the source."""
    block = next((block for block in bag.layout.blocks if block.size >= 0), None)
    if block is None:
        return CompressionType.NONE
    head = bag.file.read(block.at + HEADER.size, CHUNK.size + 4)
    return next(
        (kind for name, kind in _COMPRESSIONS.items() if head[CHUNK.size :].startswith(name)), CompressionType.NONE
    )


def _of_channel(channel: Channel, layout: McapLayout, type_hash: str) -> TopicInformation:
    schema, metadata = layout.schemas.get(channel.schema_id), channel.metadata
    offered, type_hash = profiles(metadata.get("offered_qos_profiles")), metadata.get("topic_type_hash") or type_hash
    return TopicInformation(channel.topic, schema.name if schema else "", offered, type_hash)
