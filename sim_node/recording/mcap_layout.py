"""What an MCAP file contains and where, from its index if that is complete."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, field

from mcap.opcode import Opcode
from mcap.records import AttachmentIndex, Channel, ChunkIndex, Footer, Header, MetadataIndex, Schema, Statistics

from sim_node.recording.mcap_chunk import Block
from sim_node.recording.mcap_records import CHUNK, HEADER, MAGIC, Record, RecordFile, parsed, records_in

_FOOTER_BYTES = HEADER.size + 20


@dataclass
class McapLayout:
    """The content of an MCAP file.

    Attributes:
        profile: ros2, ros1 or empty.
        counts: Number of messages by channel.
        attachments, metadata: Their records.
        blocks: In the order of the file.
        damage: One line each, without the file's name.
    """

    profile: str = ""
    schemas: dict[int, Schema] = field(default_factory=dict)
    channels: dict[int, Channel] = field(default_factory=dict)
    blocks: list[Block] = field(default_factory=list)
    counts: dict[int, int] = field(default_factory=dict)
    start_ns: int = 0
    end_ns: int = 0
    attachments: list[Record] = field(default_factory=list)
    metadata: list[Record] = field(default_factory=list)
    damage: list[str] = field(default_factory=list)


class NoIndex(Exception):
    """The index is missing, damaged or incomplete; the message is empty if that is not an error."""


def indexed(file: RecordFile) -> McapLayout:
    """Return the layout from the summary at the file's end. Raises NoIndex if all records must be scanned."""
    if file.read(file.size - len(MAGIC), len(MAGIC)) != MAGIC:
        raise NoIndex(f"byte {file.size}: the file has no end: its writer was stopped, or it was truncated")
    footer_at = file.size - len(MAGIC) - _FOOTER_BYTES
    footer_bytes = file.read(footer_at, _FOOTER_BYTES)
    if footer_bytes[:1] != bytes([Opcode.FOOTER]) or HEADER.unpack_from(footer_bytes)[1] != 20:
        raise NoIndex(f"byte {footer_at}: its footer is damaged")
    footer: Footer = parsed(Footer, footer_bytes[HEADER.size :])
    if footer.summary_start == 0:
        raise NoIndex
    if not len(MAGIC) <= footer.summary_start <= footer_at:
        raise NoIndex(f"byte {footer_at}: its footer is damaged")
    summary = file.read(footer.summary_start, footer_at - footer.summary_start)
    # The checksum covers the footer too, up to the checksum itself.
    if footer.summary_crc and zlib.crc32(summary + footer_bytes[:-4]) != footer.summary_crc:
        raise NoIndex(f"byte {footer.summary_start}: its index fails the checksum (CRC)")
    try:
        return _from_summary(file, summary)
    except ValueError as error:
        raise NoIndex(f"byte {footer.summary_start}: its index is damaged: {error}") from None


def _from_summary(file: RecordFile, summary: bytes) -> McapLayout:
    layout = McapLayout()
    statistics: Statistics | None = None
    for record in records_in(summary):
        body = summary[record.body : record.end]
        if record.opcode == Opcode.SCHEMA:
            schema: Schema = parsed(Schema, body)
            layout.schemas[schema.id] = schema
        elif record.opcode == Opcode.CHANNEL:
            channel: Channel = parsed(Channel, body)
            layout.channels[channel.id] = channel
        elif record.opcode == Opcode.CHUNK_INDEX:
            layout.blocks.append(_block(parsed(ChunkIndex, body)))
        elif record.opcode == Opcode.ATTACHMENT_INDEX:
            attachment: AttachmentIndex = parsed(AttachmentIndex, body)
            layout.attachments.append(Record(Opcode.ATTACHMENT, attachment.offset, attachment.length - HEADER.size))
        elif record.opcode == Opcode.METADATA_INDEX:
            metadata: MetadataIndex = parsed(MetadataIndex, body)
            layout.metadata.append(Record(Opcode.METADATA, metadata.offset, metadata.length - HEADER.size))
        elif record.opcode == Opcode.STATISTICS:
            statistics = parsed(Statistics, body)
    if statistics is None:
        raise NoIndex
    _check_complete(layout, statistics)
    _check_places(file, layout)
    layout.profile = _profile(file, layout)
    layout.counts = statistics.channel_message_counts
    layout.start_ns, layout.end_ns = statistics.message_start_time, statistics.message_end_time
    layout.blocks.sort()
    return layout


def _block(index: ChunkIndex) -> Block:
    channels = frozenset(index.message_index_offsets) or None
    end = index.chunk_start_offset + index.chunk_length
    start_ns, end_ns = index.message_start_time, index.message_end_time
    return Block(index.chunk_start_offset, end, start_ns, end_ns, index.uncompressed_size, channels)


def _check_complete(layout: McapLayout, statistics: Statistics) -> None:
    """Raise NoIndex if the summary leaves out what it may leave out."""
    counted = sum(statistics.channel_message_counts.values()) == statistics.message_count
    complete = (
        counted
        and len(layout.blocks) == statistics.chunk_count
        and (layout.blocks or not statistics.message_count)
        and len(layout.channels) == statistics.channel_count
        and len(layout.schemas) == statistics.schema_count
        and len(layout.attachments) == statistics.attachment_count
        and len(layout.metadata) == statistics.metadata_count
        and all(channel.schema_id == 0 or channel.schema_id in layout.schemas for channel in layout.channels.values())
    )
    if not complete:
        raise NoIndex


def _check_places(file: RecordFile, layout: McapLayout) -> None:
    """Check that an index without a checksum at least points to valid records."""
    for block in layout.blocks:
        if not len(MAGIC) <= block.at <= block.at + HEADER.size + CHUNK.size <= block.end <= file.size:
            raise ValueError(f"it has a chunk at byte {block.at}, which is impossible")
    for place in (*layout.attachments, *layout.metadata):
        if file.record(place.at) != place:
            raise ValueError(f"it points to byte {place.at}, where there is something else")


def _profile(file: RecordFile, layout: McapLayout) -> str:
    start = file.read(0, len(MAGIC))
    if start != MAGIC:
        layout.damage.append("byte 0: the MCAP magic bytes are damaged; everything else is intact")
    record = file.record(len(MAGIC))
    try:
        if record is None or record.opcode != Opcode.HEADER or record.length > 4096:
            raise ValueError("is not a header")
        header: Header = parsed(Header, file.body(record))
        return str(header.profile)
    except (ValueError, struct.error):
        layout.damage.append(f"byte {len(MAGIC)}: the header is damaged; everything else is intact")
        return ""
