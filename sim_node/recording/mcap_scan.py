"""What an MCAP file holds, found by walking over all its records: for files without an end, or with damage."""

from __future__ import annotations

import zlib
from collections import Counter

from mcap.opcode import Opcode
from mcap.records import Channel, DataEnd, Header, Schema

from sim_node.recording.mcap_chunk import Block, BrokenChunk, block_bytes
from sim_node.recording.mcap_layout import Layout
from sim_node.recording.mcap_records import (
    CHUNK,
    HEADER,
    MAGIC,
    MESSAGE,
    Record,
    RecordFile,
    chunk_length,
    is_whole,
    next_record,
    parsed,
)

# Messages outside chunks are read in runs of about this many bytes.
_RUN_BYTES = 1 << 20
_NOT_YET = 2**63 - 1


def scanned(file: RecordFile) -> Layout:
    """Walks over the file; what is broken is named in the layout's damage and stepped over."""
    return _Scan(file).layout


class _Scan:
    def __init__(self, file: RecordFile) -> None:
        self._file = file
        self.layout = Layout(start_ns=_NOT_YET)
        self._counts: Counter[int] = Counter()
        self._run: _Run | None = None
        self._has_end = False
        self._walk()
        self._close_run()
        for channel in self._counts.keys() - self.layout.channels.keys():
            lost = self._counts.pop(channel)
            self.layout.damage.append(f"{lost} messages of channel {channel} are lost: nothing says what they are")
        self.layout.counts = dict(self._counts)
        if self.layout.start_ns == _NOT_YET:
            self.layout.start_ns = 0

    def _walk(self) -> None:
        at = len(MAGIC)
        if self._file.read(0, at) != MAGIC:
            self._damage(0, "the mark of MCAP files is damaged")
        while at < self._file.size and not self._has_end:
            record = self._record(at)
            if record is None:
                return
            self._take(record)
            at = record.end
        if not self._has_end:
            self._damage(at, "the file ends without an index; whoever wrote it was stopped")

    def _record(self, at: int) -> Record | None:
        """The record at `at`, or the next one behind what is broken there."""
        record = self._file.record(at)
        if record is not None and is_whole(self._file, record):
            return record
        mended = self._chunk_of_other_length(record)
        if mended is not None:
            self._damage(
                at, f"a chunk's length is damaged ({record.length if record else 0} bytes); its content is used"
            )
            return mended
        behind = next_record(self._file, at + 1)
        lost = (self._file.size if behind is None else behind.at) - at
        lost_what = self._lost(record, behind)
        self._damage(at, f"{lost} bytes are damaged or cut off and left out{lost_what}")
        return behind

    def _chunk_of_other_length(self, record: Record | None) -> Record | None:
        if record is None or record.opcode != Opcode.CHUNK:
            return None
        length = chunk_length(self._file, record)
        mended = None if length is None else record._replace(length=length)
        if mended is None or mended.end > self._file.size:
            return None
        behind = self._file.record(mended.end)
        return mended if behind is not None and is_whole(self._file, behind) else None

    def _lost(self, record: Record | None, behind: Record | None) -> str:
        """How many messages, where the indexes behind a lost chunk still tell."""
        if behind is None or behind.opcode != Opcode.MESSAGE_INDEX:
            return ""
        return f"; {indexed_messages(self._file, behind.at)} messages are lost"

    def _take(self, record: Record) -> None:
        if record.opcode != Opcode.MESSAGE and self._run is not None:
            self._close_run()
        try:
            if record.opcode == Opcode.MESSAGE:
                self._take_message(record)
            elif record.opcode == Opcode.CHUNK:
                self._take_chunk(record)
            elif record.opcode in (Opcode.SCHEMA, Opcode.CHANNEL):
                self._take_definition(record.opcode, self._file.body(record))
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

    def _take_definition(self, opcode: int, body: bytes) -> None:
        if opcode == Opcode.SCHEMA:
            schema: Schema = parsed(Schema, body)
            self.layout.schemas.setdefault(schema.id, schema)
        else:
            channel: Channel = parsed(Channel, body)
            self.layout.channels.setdefault(channel.id, channel)

    def _take_message(self, record: Record) -> None:
        _, _, channel, _, time_ns, _ = MESSAGE.unpack(self._file.read(record.at, MESSAGE.size))
        if self._run is None or record.at - self._run.at > _RUN_BYTES:
            self._close_run()
            self._run = _Run(record.at)
        self._run.add(record.end, channel, time_ns)
        self._count(channel, time_ns)

    def _close_run(self) -> None:
        if self._run is not None:
            self.layout.blocks.append(self._run.block())
            self._run = None

    def _take_chunk(self, record: Record) -> None:
        start_ns, end_ns, size, _, _ = CHUNK.unpack(self._file.read(record.body, CHUNK.size))
        block = Block(record.at, record.end, start_ns, end_ns, size)
        try:
            content = block_bytes(self._file, block)
            times = self._take_content(content)
        except BrokenChunk as broken:
            self._damage(record.at, chunk_damage(self._file, block, str(broken)))
            return
        if times is not None:
            # Its own times are those of its header, unless that is damaged.
            self.layout.blocks.append(Block(record.at, record.end, *times[:2], size, frozenset(times[2])))

    def _take_content(self, content: bytes) -> tuple[int, int, set[int]] | None:
        """Its first and last time and its channels; None where it has no messages."""
        found: list[tuple[int, int]] = []
        at = 0
        while at < len(content):
            if at + HEADER.size > len(content):
                raise BrokenChunk("its last record is cut off")
            record = Record(content[at], at, HEADER.unpack_from(content, at)[1])
            if record.end > len(content):
                raise BrokenChunk("a record reaches beyond its end")
            if record.opcode == Opcode.MESSAGE:
                _, _, channel, _, time_ns, _ = MESSAGE.unpack_from(content, at)
                found.append((time_ns, channel))
            elif record.opcode in (Opcode.SCHEMA, Opcode.CHANNEL):
                self._take_definition(record.opcode, content[record.body : record.end])
            at = record.end
        for time_ns, channel in found:
            self._count(channel, time_ns)
        return (min(found)[0], max(found)[0], {channel for _, channel in found}) if found else None

    def _count(self, channel: int, time_ns: int) -> None:
        self._counts[channel] += 1
        self.layout.start_ns = min(self.layout.start_ns, time_ns)
        self.layout.end_ns = max(self.layout.end_ns, time_ns)

    def _check_data(self, record: Record) -> None:
        """The checksum of all before it, where the writer made one."""
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
    """Messages that stand one behind the other outside chunks."""

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
    """What there is to say of a broken chunk: when it was, why it is left out, how many messages that costs."""
    lost = indexed_messages(file, block.end)
    count = f"{lost} messages" if lost else "its messages"
    return f"a chunk of {block.start_ns / 1e9:.3f} s to {block.end_ns / 1e9:.3f} s is left out, {why}; {count} are lost"


def indexed_messages(file: RecordFile, at: int) -> int:
    """How many messages the message indexes that begin at `at` name: those of the chunk before them."""
    count = 0
    while (record := file.record(at)) is not None and record.opcode == Opcode.MESSAGE_INDEX and is_whole(file, record):
        count += (record.length - 6) // 16
        at = record.end
    return count
