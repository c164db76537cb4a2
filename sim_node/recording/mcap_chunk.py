"""What is inside a chunk of an MCAP file, once its checksum holds."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import zstandard
from lz4 import frame as lz4_frame
from mcap.opcode import Opcode

from sim_node.recording.bag import Message
from sim_node.recording.mcap_records import CHUNK, HEADER, MESSAGE, Record, RecordFile, records_in

_MESSAGE_BODY = MESSAGE.size - HEADER.size
# mcap's own limit of what it loads at once.
_MOST_BYTES = 4 << 30


class Block(NamedTuple):
    """A chunk, or a run of messages outside chunks. at, end: its bytes; channels: whose messages are in it, if known.

    size: of a chunk's records uncompressed, which is -1 for messages outside chunks; cut: whether the file ends inside.
    """

    at: int
    end: int
    start_ns: int
    end_ns: int
    size: int
    channels: frozenset[int] | None = None
    cut: bool = False


class RawMessage(NamedTuple):
    """A message with all that its record has."""

    channel: int
    sequence: int
    time_ns: int
    publish_ns: int
    data: bytes


class BrokenChunk(Exception):
    """A chunk that cannot be read, or not be trusted; the message says why. content: what cannot be trusted."""

    def __init__(self, why: str, content: bytes = b"") -> None:
        super().__init__(why)
        self.content = content


def block_bytes(file: RecordFile, block: Block) -> bytes:
    """The records of a block, uncompressed. Raises BrokenChunk for what is not as it was written."""
    if block.size < 0:
        return file.read(block.at, block.end - block.at)
    body = file.read(block.at + HEADER.size, block.end - block.at - HEADER.size)
    *_, size, crc, name_length = CHUNK.unpack_from(body)
    name_end = CHUNK.size + name_length
    compression = bytes(body[CHUNK.size : name_end])
    data = memoryview(body)[name_end + 8 :]
    if block.cut:
        return _whole_records(_begun(compression, data, size))
    said = int.from_bytes(body[name_end : name_end + 8], "little")
    # Where there is a checksum, it is what decides.
    if size != block.size or name_end + 8 > len(body) or (said != len(data) and not crc):
        raise BrokenChunk("its header is damaged")
    content = _decompressed(compression, data, size)
    if crc and zlib.crc32(content) != crc:
        raise BrokenChunk("its content fails the checksum (CRC)", content)
    return content


def messages_in(data: bytes, topic_of: Mapping[int, int], start_ns: int, stop_ns: int) -> list[Message]:
    """The messages of wanted channels in [start_ns, stop_ns), as they stand; Message.topic is topic_of[channel].

    Raises BrokenChunk where a record reaches beyond the end.
    """
    found: list[Message] = []
    at, end = 0, len(data)
    unpack, is_message = MESSAGE.unpack_from, int(Opcode.MESSAGE)
    while at < end:
        if data[at] != is_message:
            at = _skipped(data, at)
            continue
        if at + MESSAGE.size > end:
            raise BrokenChunk("its last message is cut off")
        _, length, channel, _, time_ns, _ = unpack(data, at)
        body = at + MESSAGE.size
        at = body + length - _MESSAGE_BODY
        if at > end or at < body:
            raise BrokenChunk(f"a message of {length} bytes reaches beyond its end")
        topic = topic_of.get(channel)
        if topic is not None and start_ns <= time_ns < stop_ns:
            found.append(Message(topic, time_ns, data[body:at]))
    return found


def raw_messages_in(data: bytes) -> Iterator[RawMessage]:
    """All messages of a block's content, as they stand. Raises BrokenChunk where a record reaches beyond the end."""
    try:
        for record in records_in(data):
            if record.opcode == Opcode.MESSAGE:
                _, _, channel, sequence, time_ns, publish_ns = MESSAGE.unpack_from(data, record.at)
                yield RawMessage(channel, sequence, time_ns, publish_ns, data[record.at + MESSAGE.size : record.end])
    except (ValueError, struct.error) as error:
        raise BrokenChunk(f"inside it {error}") from None


def _skipped(data: bytes, at: int) -> int:
    if at + HEADER.size > len(data):
        raise BrokenChunk("its last record is cut off")
    end = Record(data[at], at, HEADER.unpack_from(data, at)[1]).end
    if end > len(data):
        raise BrokenChunk("a record reaches beyond its end")
    return end


def _begun(compression: bytes, data: memoryview, size: int) -> bytes:
    """What can be decompressed of data whose end is missing."""
    try:
        if compression == b"zstd":
            return zstandard.ZstdDecompressor().decompressobj().decompress(data)
        if compression == b"lz4":
            return bytes(lz4_frame.LZ4FrameDecompressor().decompress(data, max_length=size))
    except (zstandard.ZstdError, RuntimeError, MemoryError):
        return b""
    return b"" if compression else bytes(data)


def _whole_records(data: bytes) -> bytes:
    """The beginning of `data`, up to the record that is not complete, or that cannot be inside a chunk."""
    end = 0
    try:
        for record in records_in(data):
            if record.opcode not in (Opcode.SCHEMA, Opcode.CHANNEL, Opcode.MESSAGE):
                break
            end = record.end
    except ValueError:
        pass
    return data[:end]


def _decompressed(compression: bytes, data: memoryview, size: int) -> bytes:
    if size > _MOST_BYTES:
        raise BrokenChunk(f"its header says {size} bytes")
    try:
        if compression == b"":
            content = bytes(data)
        elif compression == b"zstd":
            # A frame that lies about its size would be believed, and that much memory taken.
            if zstandard.frame_content_size(data) not in (-1, size):
                raise BrokenChunk("its compressed content is damaged (zstd)")
            content = zstandard.decompress(data, max_output_size=size) if size else b""
        elif compression == b"lz4":
            content = lz4_frame.decompress(data)
        else:
            raise BrokenChunk(f"its compression is {compression.decode(errors='replace')!r}; known: none, zstd, lz4")
    except (zstandard.ZstdError, RuntimeError, MemoryError, ValueError, EOFError):
        raise BrokenChunk(f"its compressed content is damaged ({compression.decode()})") from None
    if len(content) != size:
        raise BrokenChunk(f"it has {len(content)} bytes where its header says {size}")
    return content
