"""The layout of an MCAP file: from its index if that is complete, or else from a scan of all its records."""

from __future__ import annotations

import struct
import zlib
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field

from mcap.opcode import Opcode
from mcap.records import (
    AttachmentIndex,
    Channel,
    ChunkIndex,
    DataEnd,
    Footer,
    Header,
    MetadataIndex,
    Schema,
    Statistics,
)

from sim_node.recording.decompression import MAX_BYTES
from sim_node.recording.mcap_chunk import Block, BrokenChunk, block_bytes, foreign_records
from sim_node.recording.mcap_records import (
    CHUNK,
    HEADER,
    MAGIC,
    MESSAGE,
    Record,
    RecordFile,
    inner_length,
    is_whole,
    next_record,
    parsed,
    records_in,
)

_FOOTER_BYTES = HEADER.size + 20


@dataclass
class McapLayout:
    """The content of an MCAP file.

    Attributes:
        profile: ros2, ros1 or empty.
        counts: Number of messages by channel.
        attachments, metadata: Their records.
        blocks: Blocks in file order.
        damage: One line each, without the file name.
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
    """The index is missing, damaged or incomplete. The message is empty if that is not an error."""


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
    # The checksum also covers the footer, up to the checksum itself.
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
    """Raise NoIndex if the summary lacks optional parts."""
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


# Messages outside chunks are read in runs of about this many bytes.
_RUN_BYTES = 1 << 20
_NOT_YET = 2**63 - 1
# Later than any message time
_NEVER = 2**64
# Maximum size of definitions from broken chunks
_MAX_DOUBTFUL = 1 << 24


def scanned(file: RecordFile, max_bytes: int = MAX_BYTES) -> McapLayout:
    """Scan the file. Damage is skipped and listed in the layout. max_bytes: limit of a chunk in memory."""
    return _Scan(file, max_bytes).layout


class _Scan:
    def __init__(self, file: RecordFile, max_bytes: int) -> None:
        self._file = file
        self._max_bytes = max_bytes
        self.layout = McapLayout(start_ns=_NOT_YET)
        self._counts: Counter[int] = Counter()
        # Definitions from broken chunks, used if there are no others
        self._doubtful: list[tuple[int, list[tuple[int, bytes]]]] = []
        self._doubtful_bytes = 0
        self._run: _Run | None = None
        self._has_end = False
        self._walk()
        self._close_run()
        self._add_doubtful()
        for channel in sorted(self._counts.keys() - self.layout.channels.keys()):
            lost = self._counts.pop(channel)
            self.layout.damage.append(f"{lost} messages of channel {channel} are lost: its definition is missing")
        self.layout.counts = dict(self._counts)
        if self.layout.start_ns == _NOT_YET:
            self.layout.start_ns = 0

    def _walk(self) -> None:
        at = len(MAGIC)
        if self._file.read(0, at) != MAGIC:
            self._damage(0, "the MCAP magic bytes are damaged")
        while at < self._file.size and not self._has_end:
            record = self._record(at)
            if record is None:
                break
            self._add(record)
            at = record.end

    def _record(self, at: int) -> Record | None:
        """Return the record at `at`, or the next one after damage."""
        record = self._file.record(at)
        if record is not None and is_whole(self._file, record):
            return record
        mended = self._chunk_of_other_length(record)
        if mended is not None:
            self._damage(
                at, f"a chunk's length is damaged ({record.length if record else 0} bytes); its content is used"
            )
            return mended
        if record is not None and self._add_cut_chunk(record):
            return None
        behind = next_record(self._file, at + 1)
        lost = (self._file.size if behind is None else behind.at) - at
        lost_what = ""
        if behind is not None and behind.opcode == Opcode.MESSAGE_INDEX:
            # The message indexes after a lost chunk still contain its number of messages.
            lost_what = f"; {indexed_messages(self._file, behind.at)} messages are lost"
        self._damage(at, f"{lost} bytes are damaged or truncated and left out{lost_what}")
        return behind

    def _chunk_of_other_length(self, record: Record | None) -> Record | None:
        """Return the chunk if one of the two places that contain its length leads to a following record."""
        if record is None or record.opcode != Opcode.CHUNK:
            return None
        for length in (record.length, inner_length(self._file, record)):
            mended = record if length is None else record._replace(length=length)
            behind = self._file.record(mended.end)
            if behind is not None and is_whole(self._file, behind):
                return mended
        return None

    def _add_cut_chunk(self, record: Record) -> bool:
        """Add the beginning of a chunk that is cut off by the end of the file. Return whether there was any."""
        is_whole_but_cut = record.opcode == Opcode.CHUNK and inner_length(self._file, record) == record.length
        if not is_whole_but_cut or record.end <= self._file.size:
            return False
        block = self._block(record)._replace(end=self._file.size, cut=True)
        kept = 0
        # No checksum would reveal a damaged definition in it.
        with suppress(BrokenChunk):
            kept = self._add_content(block, block_bytes(self._file, block, self._max_bytes))
        if kept:
            self._damage(record.at, f"the file ends inside a chunk; {kept} messages before its end are used")
        return bool(kept)

    def _add(self, record: Record) -> None:
        if record.opcode != Opcode.MESSAGE and self._run is not None:
            self._close_run()
        try:
            if record.opcode == Opcode.MESSAGE:
                self._add_message(record)
            elif record.opcode == Opcode.CHUNK:
                self._add_chunk(record)
            elif record.opcode in (Opcode.SCHEMA, Opcode.CHANNEL):
                self._add_definition(record.opcode, self._file.body(record))
            elif record.opcode == Opcode.HEADER:
                header: Header = parsed(Header, self._file.body(record))
                self.layout.profile = header.profile
            elif record.opcode == Opcode.ATTACHMENT:
                self.layout.attachments.append(record)
            elif record.opcode == Opcode.METADATA:
                self.layout.metadata.append(record)
            elif record.opcode == Opcode.DATA_END:
                self._has_end = True
                self._check_data(record)
        except ValueError as error:
            self._damage(record.at, f"a record {error}")

    def _add_definition(self, opcode: int, body: bytes) -> None:
        if opcode == Opcode.SCHEMA:
            schema: Schema = parsed(Schema, body)
            self.layout.schemas.setdefault(schema.id, schema)
        else:
            channel: Channel = parsed(Channel, body)
            self.layout.channels.setdefault(channel.id, channel)

    def _add_message(self, record: Record) -> None:
        _, _, channel, _, time_ns, _ = MESSAGE.unpack(self._file.read(record.at, MESSAGE.size))
        if self._run is None or record.at - self._run.at > _RUN_BYTES:
            self._close_run()
            self._run = _Run(record.at)
        self._run.add(record.end, channel, time_ns)
        self._counts[channel] += 1
        self._reach(time_ns, time_ns)

    def _close_run(self) -> None:
        if self._run is not None:
            self.layout.blocks.append(self._run.block())
            self._run = None

    def _add_chunk(self, record: Record) -> None:
        block = self._block(record)
        try:
            self._add_content(block, block_bytes(self._file, block, self._max_bytes))
        except BrokenChunk as broken:
            self._damage(record.at, chunk_damage(self._file, block, str(broken)))
            self._keep_definitions(record.at, broken.content)

    def _keep_definitions(self, at: int, content: bytes) -> None:
        """Keep only the definitions, because all chunks of a file may be broken."""
        found: list[tuple[int, bytes]] = []
        with suppress(ValueError):
            for record in records_in(content):
                if record.opcode in (Opcode.SCHEMA, Opcode.CHANNEL):
                    self._doubtful_bytes += record.length
                    if self._doubtful_bytes > _MAX_DOUBTFUL:
                        break
                    found.append((record.opcode, content[record.body : record.end]))
        if found:
            self._doubtful.append((at, found))

    def _add_doubtful(self) -> None:
        """Add missing definitions from broken chunks."""
        for at, definitions in self._doubtful:
            known = len(self.layout.channels)
            with suppress(ValueError):
                for opcode, body in definitions:
                    self._add_definition(opcode, body)
            if len(self.layout.channels) > known:
                self._damage(at, "topic names and types are read from a chunk that fails its checksum (CRC)")

    def _block(self, record: Record) -> Block:
        start_ns, end_ns, size, _, _ = CHUNK.unpack(self._file.read(record.body, CHUNK.size))
        return Block(record.at, record.end, start_ns, end_ns, size)

    def _add_content(self, block: Block, content: bytes) -> int:
        """Add a block with the times and channels of its messages. Return the number of messages."""
        counts: Counter[int] = Counter()
        start_ns, end_ns, others = _NEVER, -1, False
        try:
            for record in records_in(content):
                if record.opcode == Opcode.MESSAGE:
                    _, _, channel, _, time_ns, _ = MESSAGE.unpack_from(content, record.at)
                    counts[channel] += 1
                    start_ns, end_ns = min(start_ns, time_ns), max(end_ns, time_ns)
                elif record.opcode in (Opcode.SCHEMA, Opcode.CHANNEL):
                    self._add_definition(record.opcode, content[record.body : record.end])
                else:
                    others = True
        except (ValueError, struct.error) as error:
            raise BrokenChunk(f"inside it {error}") from None
        if others and foreign_records(content):
            self._damage(block.at, nested_damage(content))
        if counts:
            self._counts.update(counts)
            self._reach(start_ns, end_ns)
            self.layout.blocks.append(block._replace(start_ns=start_ns, end_ns=end_ns, channels=frozenset(counts)))
        return counts.total()

    def _reach(self, start_ns: int, end_ns: int) -> None:
        self.layout.start_ns = min(self.layout.start_ns, start_ns)
        self.layout.end_ns = max(self.layout.end_ns, end_ns)

    def _check_data(self, record: Record) -> None:
        """Verify the checksum of all data before this record, if the writer stored one."""
        end: DataEnd = parsed(DataEnd, self._file.body(record))
        if not end.data_section_crc:
            return
        crc, at = 0, 0
        while at < record.at:
            part = self._file.read(at, min(_RUN_BYTES, record.at - at))
            crc, at = zlib.crc32(part, crc), at + len(part)
        if crc != end.data_section_crc:
            self._damage(record.at, "the data section fails its checksum (CRC): messages outside chunks may be wrong")

    def _damage(self, at: int, what: str) -> None:
        self.layout.damage.append(f"byte {at}: {what}")


class _Run:
    """Consecutive messages outside chunks."""

    def __init__(self, at: int) -> None:
        self.at = at
        self._end = at
        self._times = (_NOT_YET, -1)
        self._channels: set[int] = set()

    def add(self, end: int, channel: int, time_ns: int) -> None:
        self._end = end
        self._times = (min(self._times[0], time_ns), max(self._times[1], time_ns))
        self._channels.add(channel)

    def block(self) -> Block:
        return Block(self.at, self._end, *self._times, -1, frozenset(self._channels))


def chunk_damage(file: RecordFile, block: Block, why: str) -> str:
    """Describe a broken chunk: its times, why it is left out, and the number of lost messages."""
    lost = indexed_messages(file, block.end)
    count = f"{lost} messages" if lost else "its messages"
    return f"a chunk of {block.start_ns / 1e9:.3f} s to {block.end_ns / 1e9:.3f} s is left out, {why}; {count} are lost"


def nested_damage(content: bytes) -> str:
    """Describe records in a chunk that are not allowed there."""
    return f"a chunk contains {foreign_records(content)} inside, which MCAP does not allow; it is left out"


def indexed_messages(file: RecordFile, at: int) -> int:
    """Return the number of messages in the message indexes at `at`, which belong to the chunk before them."""
    count = 0
    while (record := file.record(at)) is not None and record.opcode == Opcode.MESSAGE_INDEX and is_whole(file, record):
        count += (record.length - 6) // 16
        at = record.end
    return count
