"""Write an MCAP file. Chunks are assembled from raw messages; other records are written with the mcap library.

See https://mcap.dev/spec. The library's own writer handles single message objects, at a quarter of the speed.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

import lz4.frame
import numpy as np
import zstandard
from mcap.data_stream import RecordBuilder
from mcap.opcode import Opcode
from mcap.records import (
    Attachment,
    AttachmentIndex,
    Channel,
    Chunk,
    ChunkIndex,
    DataEnd,
    Footer,
    Header,
    McapRecord,
    Metadata,
    MetadataIndex,
    Schema,
    Statistics,
    SummaryOffset,
)

from sim_node.recording.mcap_records import HEADER, MAGIC, MESSAGE
from sim_node.recording.mcap_rows import MESSAGE_HEADER, MessageRecords

# A message: channel, time (ns), bytes
Entry = tuple[int, int, bytes]

# Uncompressed size at which a chunk is closed.
CHUNK_BYTES = 1024 * 1024
_COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "none": bytes,
    "lz4": lz4.frame.compress,
    "zstd": zstandard.compress,
    # Three times as fast, and as small for arrays of doubles, but not for text
    "zstd_fast": partial(zstandard.compress, level=-3),
}

_BEHIND_LENGTH = MESSAGE.size - HEADER.size


class McapFile:
    """Writes one file. Data is safe only after `flush`. Without `finish`, the file has no summary.

    A finished file survives a power loss; with `durable`, so does each chunk. Raises OSError for disk errors.

    Attributes:
        size: Bytes in the file.
        pending: Bytes of messages that have not been written yet.
        counts: Number of messages by channel.
        start_ns, end_ns: Minimum and maximum time.
    """

    def __init__(self, path: Path, compression: str, library: str, *, durable: bool = False) -> None:
        self.path = path
        self._durable = durable
        self.size = 0
        self.counts: dict[int, int] = {}
        self.start_ns, self.end_ns = 0, 0
        self._compression = "" if compression == "none" else compression.removesuffix("_fast")
        self._compress = _COMPRESS[compression]
        self._schemas: list[Schema] = []
        self._channels: list[Channel] = []
        self._chunks: list[ChunkIndex] = []
        self._attachments: list[AttachmentIndex] = []
        self._metadata: list[MetadataIndex] = []
        # The start of the next chunk, and its messages: header, data, header, data ...
        self._declared = RecordBuilder()
        self._declared_bytes = 0
        self._parts: list[bytes] = []
        self.pending = 0
        self._file = path.open("xb", buffering=0)
        self._write(MAGIC + _bytes(Header(profile="ros2", library=library)))

    @property
    def count(self) -> int:
        """Total number of messages."""
        return sum(self.counts.values())

    @property
    def closing_bytes(self) -> int:
        """Maximum number of bytes that `flush`, a small `metadata` and `finish` may still add."""
        chunks = len(self._chunks) + 1
        index = chunks * (120 + 10 * len(self._channels)) + 16 * len(self._parts)
        indexed = len(self._attachments) + len(self._metadata)
        return self.pending + index + 2 * self._declared_bytes + 300 * indexed + 4096

    def schema(self, name: str, encoding: str, definition: bytes) -> int:
        """Declare a schema, unless it exists already. Return its id."""
        for schema in self._schemas:
            if (schema.name, schema.encoding, schema.data) == (name, encoding, definition):
                return int(schema.id)
        self._schemas.append(Schema(len(self._schemas) + 1, definition, encoding, name))
        self._declare(self._schemas[-1])
        return len(self._schemas)

    def channel(self, topic: str, schema: int, metadata: Mapping[str, str]) -> int:
        """Declare a channel of CDR messages. Return its id."""
        number = len(self._channels) + 1
        self._channels.append(Channel(number, topic, "cdr", dict(metadata), schema))
        self._declare(self._channels[-1])
        self.counts[number] = 0
        return number

    def write(self, entries: Iterable[Entry]) -> None:
        """Append messages, in order. Raises struct.error for times before 0."""
        parts, pack = self._parts, MESSAGE.pack
        for channel, time_ns, data in entries:
            size = len(data)
            parts.append(pack(Opcode.MESSAGE, _BEHIND_LENGTH + size, channel, 0, time_ns, time_ns))
            parts.append(data)
            self.pending += MESSAGE.size + size
            if self.pending > CHUNK_BYTES:
                self._close_chunk()

    def flush(self) -> None:
        """Pass all data to the operating system, so that it survives the end of this process."""
        if self._parts:
            self._close_chunk()

    def attach(self, name: str, media_type: str, data: bytes, time_ns: int) -> None:
        """Add an attachment, with an unknown creation time."""
        record = _bytes(Attachment(0, time_ns, name, media_type, data))
        self._attachments.append(
            AttachmentIndex(self.size, len(record), time_ns, 0, len(data), name, media_type),
        )
        self._write(record)

    def metadata(self, name: str, values: Mapping[str, str]) -> None:
        """Write a metadata record."""
        record = _bytes(Metadata(name, dict(values)))
        self._metadata.append(MetadataIndex(self.size, len(record), name))
        self._write(record)

    def finish(self) -> None:
        """Write pending data and the summary, and close the file."""
        self.flush()
        self._write(_bytes(DataEnd(0)))
        groups: list[tuple[Opcode, list[McapRecord]]] = [
            (Opcode.SCHEMA, [*self._schemas]),
            (Opcode.CHANNEL, [*self._channels]),
            (Opcode.STATISTICS, [self._statistics()]),
            (Opcode.CHUNK_INDEX, [*self._chunks]),
            (Opcode.ATTACHMENT_INDEX, [*self._attachments]),
            (Opcode.METADATA_INDEX, [*self._metadata]),
        ]
        start, summary, offsets = self.size, b"", b""
        for opcode, records in groups:
            group = b"".join(map(_bytes, records))
            if group:
                offsets += _bytes(SummaryOffset(opcode, start + len(summary), len(group)))
            summary += group
        footer = Footer(start, start + len(summary), 0)
        beginning = _bytes(footer)[:-4]
        footer.summary_crc = zlib.crc32(beginning, zlib.crc32(summary + offsets))
        self._write(summary + offsets + _bytes(footer) + MAGIC)
        os.fsync(self._file.fileno())
        self._file.close()

    def abandon(self) -> None:
        """Close the file after a disk error: with its summary if possible, or else after its last complete record."""
        self._parts.clear()
        self.pending = 0
        whole = self.size
        try:
            self._file.truncate(whole)
            self._file.seek(whole)
            try:
                self.finish()
            except OSError:
                self._file.truncate(whole)
        finally:
            self._file.close()

    def _declare(self, record: Schema | Channel) -> None:
        before = self._declared.count
        record.write(self._declared)
        self._declared_bytes += self._declared.count - before

    def _close_chunk(self) -> None:
        headers = np.frombuffer(b"".join(self._parts[0::2]), MESSAGE_HEADER)
        ends = np.cumsum(headers["length"].astype(np.int64) + HEADER.size)
        data = b"".join(self._parts)
        self._parts.clear()
        self.pending = 0
        offsets = np.concatenate([[0], ends[:-1]])
        self.write_chunk(MessageRecords(data, headers["channel"], headers["times"][:, 0], offsets))

    def write_chunk(self, records: MessageRecords) -> None:
        """Write messages as one chunk, after the pending ones.

        Args:
            records: At least one message.
        """
        self.flush()
        declared = self._declared.end()
        body = b"".join([declared, records.data]) if declared else records.data
        start, end = int(records.times.min()), int(records.times.max())
        packed = self._compress(body)
        chunk = Chunk(self._compression, packed, end, start, zlib.crc32(body), len(body))
        record = _bytes(chunk)
        # Sorted by channel, and in file order within each channel
        order = np.argsort(records.channels, kind="stable")
        entries = np.empty((len(order), 2), "<u8")
        entries[:, 0], entries[:, 1] = records.times[order], len(declared) + records.offsets[order]
        channels, firsts = np.unique(records.channels[order], return_index=True)
        offsets: dict[int, int] = {}
        counts: dict[int, int] = {}
        indexes: list[bytes] = []
        at = self.size + len(record)
        for channel, of_channel in zip(channels.tolist(), np.split(entries, firsts[1:]), strict=True):
            indexes.append(_message_index(channel, of_channel))
            offsets[channel], counts[channel] = at, len(of_channel)
            at += len(indexes[-1])
        index = ChunkIndex(
            chunk_length=len(record),
            chunk_start_offset=self.size,
            compression=self._compression,
            compressed_size=len(packed),
            message_end_time=end,
            message_index_length=at - self.size - len(record),
            message_index_offsets=offsets,
            message_start_time=start,
            uncompressed_size=len(body),
        )
        self._write(b"".join([record, *indexes]))
        self.start_ns = min(self.start_ns, start) if self._chunks else start
        self.end_ns = max(self.end_ns, end)
        for channel, count in counts.items():
            self.counts[channel] += count
        self._chunks.append(index)
        if self._durable:
            os.fsync(self._file.fileno())

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[self._file.write(view) :]
        self.size += len(data)

    def _statistics(self) -> Statistics:
        return Statistics(
            attachment_count=len(self._attachments),
            channel_count=len(self._channels),
            channel_message_counts=self.counts,
            chunk_count=len(self._chunks),
            message_count=self.count,
            message_end_time=self.end_ns,
            message_start_time=self.start_ns,
            metadata_count=len(self._metadata),
            schema_count=len(self._schemas),
        )


def _bytes(record: McapRecord) -> bytes:
    builder = RecordBuilder()
    record.write(builder)
    written: bytes = builder.end()
    return written


def _message_index(channel: int, entries: np.ndarray[tuple[int, int], np.dtype[np.uint64]]) -> bytes:
    data = entries.tobytes()
    return struct.pack("<BQHI", Opcode.MESSAGE_INDEX, 6 + len(data), channel, len(data)) + data
