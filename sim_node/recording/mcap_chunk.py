"""The content of a chunk of an MCAP file, once its checksum is verified."""

from __future__ import annotations

import struct
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from operator import itemgetter
from typing import NamedTuple

from mcap.opcode import Opcode

from sim_node.recording.bag import BagMessage
from sim_node.recording.decompression import HINT, MAX_BYTES, BrokenContent, beginning_of, content_of
from sim_node.recording.mcap_records import CHUNK, HEADER, MESSAGE, Record, RecordFile, records_in
from sim_node.recording.merging import MessageSource, merged

_MESSAGE_BODY = MESSAGE.size - HEADER.size
# Maximum length of a compression's name; a longer one is damage.
_MAX_NAME = 40
# Maximum size of a chunk's header.
_MAX_FRAME = 1 << 16
# Content size beyond which messages are read in parts, and the maximum memory of objects per byte of messages.
PART_BYTES, _OBJECT_SIZE = 4 << 20, 6
_NEVER = 2**64
# Records allowed in a chunk, and all other records known to MCAP.
INSIDE = tuple(map(int, (Opcode.SCHEMA, Opcode.CHANNEL, Opcode.MESSAGE)))
_KINDS = {int(kind): kind.name.lower().replace("_", " ") for kind in Opcode}
_time = itemgetter(1)


class Block(NamedTuple):
    """A chunk, or a run of messages outside chunks.

    Attributes:
        at, end: Its byte range in the file.
        channels: Channels of its messages, if known.
        size: Uncompressed size of a chunk's records; -1 for messages outside chunks.
        cut: Whether the file ends inside it.
    """

    at: int
    end: int
    start_ns: int
    end_ns: int
    size: int
    channels: frozenset[int] | None = None
    cut: bool = False

    @property
    def bytes_held(self) -> int:
        """Bytes of its content in memory."""
        return max(self.size, self.end - self.at)


class RawMessage(NamedTuple):
    """A message with all fields of its record."""

    channel: int
    sequence: int
    time_ns: int
    publish_ns: int
    data: bytes


class BrokenChunk(Exception):
    """A chunk cannot be read or trusted. The message gives the reason. content: the untrusted content."""

    def __init__(self, why: str, content: bytes = b"") -> None:
        super().__init__(why)
        self.content = content


def block_bytes(file: RecordFile, block: Block, limit: int = MAX_BYTES) -> bytes:
    """Return the uncompressed records of a block, of at most `limit` bytes. Raises BrokenChunk if it is damaged."""
    # Compressed data exceeds its content by at most 1/255 in lz4, and less in zstd.
    longest = limit + limit // 128 + _MAX_FRAME
    size = block.bytes_held
    if size > longest and not block.cut:
        raise BrokenChunk(f"it has {size} bytes, more than the limit of {limit}; {HINT}")
    if block.size < 0:
        return file.read(block.at, block.end - block.at)
    body = file.read(block.at + HEADER.size, min(block.end - block.at - HEADER.size, longest))
    if len(body) < CHUNK.size:
        raise BrokenChunk("its header is cut off")
    *_, size, crc, name_length = CHUNK.unpack_from(body)
    name_end = CHUNK.size + name_length
    compression = bytes(body[CHUNK.size : min(name_end, CHUNK.size + _MAX_NAME)]).decode(errors="replace")
    data = memoryview(body)[name_end + 8 :]
    if block.cut:
        return _whole_records(beginning_of(compression, data, min(size, limit)))
    stated = int.from_bytes(body[name_end : name_end + 8], "little")
    # If there is a checksum, it is decisive.
    if size != block.size or name_end + 8 > len(body) or (stated != len(data) and not crc):
        raise BrokenChunk("its header is damaged")
    try:
        content = content_of(compression, data, size, limit)
    except BrokenContent as broken:
        raise BrokenChunk(str(broken)) from None
    if crc and zlib.crc32(content) != crc:
        raise BrokenChunk("its content fails the checksum (CRC)", content)
    return content


def block_messages(
    data: bytes,
    topic_of: Mapping[int, int],
    start_ns: int,
    stop_ns: int,
    limit: int,
    unordered: Callable[[], None],
    others: set[int],
) -> Iterator[BagMessage]:
    """Yield the messages of selected channels in [start_ns, stop_ns), in time order.

    Large content is read in parts, because its messages as objects would take several times its size.

    Args:
        data: The content of a block.
        topic_of: BagMessage.topic for each selected channel.
        start_ns: First time.
        stop_ns: Time before which to stop.
        limit: Maximum bytes of objects in parts that overlap in time.
        unordered: Called if the limit is exceeded.
        others: Receives the opcodes of records that are not allowed in chunks.

    Yields:
        Each message.

    Raises:
        BrokenChunk: A record extends beyond the end.
    """

    def part(at: int, end: int) -> Iterator[BagMessage]:
        return iter(sorted(messages_in(data, topic_of, start_ns, stop_ns, at, end, others), key=_time))

    if len(data) <= PART_BYTES:
        return part(0, len(data))
    sources = [
        MessageSource(first_ns, last_ns, _OBJECT_SIZE * (end - at), partial(part, at, end))
        for at, end, first_ns, last_ns in _parts_of(data)
    ]
    sources.sort(key=lambda source: source.start_ns)
    return merged(sources, limit, unordered)


def _parts_of(data: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Yield the start and end of each part with messages, and its first and last time."""
    begin, first_ns, last_ns = 0, _NEVER, -1
    for record in _checked_records(data):
        if record.opcode == Opcode.MESSAGE:
            if record.at + MESSAGE.size > record.end:
                raise BrokenChunk(f"a message of {record.length} bytes is too short")
            time_ns = MESSAGE.unpack_from(data, record.at)[4]
            first_ns, last_ns = min(first_ns, time_ns), max(last_ns, time_ns)
        if record.end - begin >= PART_BYTES or record.end == len(data):
            if last_ns >= 0:
                yield begin, record.end, first_ns, last_ns
            begin, first_ns, last_ns = record.end, _NEVER, -1


def foreign_records(data: bytes) -> str:
    """Return what a block contains that is not allowed in chunks, such as other chunks; empty for nothing."""
    found: Counter[str] = Counter()
    for record in _checked_records(data):
        if record.opcode not in INSIDE and record.opcode in _KINDS:
            found[_KINDS[record.opcode]] += 1
    return ", ".join(f"{count} {kind}" for kind, count in sorted(found.items()))


def _checked_records(data: bytes) -> Iterator[Record]:
    try:
        yield from records_in(data)
    except ValueError as error:
        raise BrokenChunk(f"inside it {error}") from None


def messages_in(
    data: bytes, topic_of: Mapping[int, int], start_ns: int, stop_ns: int, at: int, end: int, others: set[int]
) -> list[BagMessage]:
    """Return the messages of selected channels in [start_ns, stop_ns) between two records, in file order.

    BagMessage.topic is topic_of[channel]. others receives opcodes that are not allowed there. Raises BrokenChunk if a
    record extends beyond the end.
    """
    found: list[BagMessage] = []
    unpack, is_message = MESSAGE.unpack_from, int(Opcode.MESSAGE)
    while at < end:
        if data[at] != is_message:
            if data[at] in _KINDS and data[at] not in INSIDE:
                others.add(data[at])
            at = _skipped(data, at)
            continue
        if at + MESSAGE.size > end:
            raise BrokenChunk("its last message is cut off")
        _, length, channel, _, time_ns, _ = unpack(data, at)
        body = at + MESSAGE.size
        at = body + length - _MESSAGE_BODY
        if at > end or at < body:
            raise BrokenChunk(f"a message of {length} bytes extends beyond its end")
        topic = topic_of.get(channel)
        if topic is not None and start_ns <= time_ns < stop_ns:
            found.append(BagMessage(topic, time_ns, data[body:at]))
    return found


def raw_messages_in(data: bytes) -> Iterator[RawMessage]:
    """Yield all messages of a block's content, in file order. Raises BrokenChunk if a record extends beyond the end."""
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
        raise BrokenChunk("a record extends beyond its end")
    return end


def _whole_records(data: bytes) -> bytes:
    """Return the beginning of `data`, up to the first record that is incomplete or not allowed in a chunk."""
    end = 0
    try:
        for record in records_in(data):
            if record.opcode not in INSIDE:
                break
            end = record.end
    except ValueError:
        pass
    return data[:end]
