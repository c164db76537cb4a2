"""The records of an MCAP file: where each begins and ends, and how to find the next one after damage.

A record is an opcode (1 byte), the length of its body (8 bytes, little endian), and the body (mcap.dev/spec). The mcap
library parses bodies. Framing is implemented here because the library stops at the first error.
"""

from __future__ import annotations

import os
import re
import struct
import threading
from collections import OrderedDict
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple
from weakref import ReferenceType, ref

from mcap.data_stream import ReadDataStream
from mcap.opcode import Opcode

MAGIC = b"\x89MCAP0\r\n"
HEADER = struct.Struct("<BQ")
# Start and end time, uncompressed size, CRC, length of the compression's name.
CHUNK = struct.Struct("<QQQII")
# Opcode and length, as in any record; then channel, sequence, log time, publish time
MESSAGE = struct.Struct("<BQHIQQ")
_WINDOW = 1 << 20
# A known opcode and a length below 4 GiB.
_LIKELY = re.compile(rb"(?=[\x01-\x0f].{4}\x00{4})", re.DOTALL)
# Parts of the body: a number of bytes, or (if negative) a length prefix of 4 or 8 bytes and its content.
_SHORT, _LONG = -4, -8
_SHAPES: dict[int, tuple[int, ...]] = {
    Opcode.HEADER: (_SHORT, _SHORT),
    Opcode.FOOTER: (20,),
    Opcode.SCHEMA: (2, _SHORT, _SHORT, _SHORT),
    Opcode.CHANNEL: (4, _SHORT, _SHORT, _SHORT),
    Opcode.CHUNK: (28, _SHORT, _LONG),
    Opcode.MESSAGE_INDEX: (2, _SHORT),
    Opcode.CHUNK_INDEX: (32, _SHORT, 8, _SHORT, 16),
    Opcode.ATTACHMENT: (16, _SHORT, _SHORT, _LONG, 4),
    Opcode.ATTACHMENT_INDEX: (40, _SHORT, _SHORT),
    Opcode.STATISTICS: (42, _SHORT),
    Opcode.METADATA: (_SHORT, _SHORT),
    Opcode.METADATA_INDEX: (16, _SHORT),
    Opcode.SUMMARY_OFFSET: (17,),
    Opcode.DATA_END: (4,),
}


class Record(NamedTuple):
    """at: position of the opcode; length: of the body, which begins 9 bytes later."""

    opcode: int
    at: int
    length: int

    @property
    def body(self) -> int:
        """Position of its body."""
        return self.at + HEADER.size

    @property
    def end(self) -> int:
        """Position of the next record."""
        return self.at + HEADER.size + self.length


# Files with an open descriptor, the most recently read last. Many files may be read at once.
MAX_DESCRIPTORS = 64
_opened: OrderedDict[int, ReferenceType[RecordFile]] = OrderedDict()
_lock = threading.Lock()


class RecordFile:
    """Random access to the bytes of a file. Its descriptor may be closed when others need one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: BinaryIO | None = None
        with _lock:
            self.size = os.fstat(self._descriptor().fileno()).st_size

    def read(self, at: int, length: int) -> bytes:
        """Return up to `length` bytes from `at`."""
        if not 0 <= at < self.size:
            return b""
        with _lock:
            file = self._descriptor()
            file.seek(at)
            return file.read(min(length, self.size - at))

    def _descriptor(self) -> BinaryIO:
        if self._file is None:
            self._file = self.path.open("rb")
            _opened[id(self)] = ref(self)
        _opened.move_to_end(id(self))
        while len(_opened) > MAX_DESCRIPTORS:
            longest_ago = _opened.popitem(last=False)[1]()
            if longest_ago is not None:
                longest_ago._release()
        return self._file

    def _release(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def record(self, at: int) -> Record | None:
        """Return the bytes at `at` as a record, even if broken; None if its header is incomplete."""
        header = self.read(at, HEADER.size)
        return Record(header[0], at, HEADER.unpack(header)[1]) if len(header) == HEADER.size else None

    def body(self, record: Record) -> bytes:
        """Return the body of a record."""
        return self.read(record.body, record.length)

    def close(self) -> None:
        """Close the file."""
        with _lock:
            _opened.pop(id(self), None)
            self._release()


def records_in(data: bytes) -> Iterator[Record]:
    """Yield consecutive records in `data`. Raises ValueError if one extends beyond the end."""
    at = 0
    while at < len(data):
        if at + HEADER.size > len(data):
            raise ValueError(f"{len(data) - at} bytes are left, a record needs at least {HEADER.size}")
        record = Record(data[at], at, HEADER.unpack_from(data, at)[1])
        if record.end > len(data):
            raise ValueError(f"a record of {record.length} bytes does not fit into the remaining {len(data) - at}")
        yield record
        at = record.end


def parsed(kind: Any, body: bytes) -> Any:
    """Parse the body of a record as mcap's dataclass `kind`. Raises ValueError if it is invalid."""
    try:
        return kind.read(ReadDataStream(BytesIO(body)))
    except Exception as error:
        raise ValueError(f"is not a valid {kind.__name__}: {error or type(error).__name__}") from None


def is_whole(file: RecordFile, record: Record) -> bool:
    """Return whether a record's length is valid for its kind and consistent with its inner lengths."""
    if record.end > file.size:
        return False
    if record.opcode == Opcode.MESSAGE:
        return record.end >= record.at + MESSAGE.size
    if record.opcode in _SHAPES:
        return inner_length(file, record) == record.length
    return record.opcode >= 0x80  # private records of applications


def inner_length(file: RecordFile, record: Record) -> int | None:
    """Return the length of a record, computed from its inner lengths; None if they exceed the file."""
    at = record.body
    for part in _SHAPES[record.opcode]:
        if part > 0:
            at += part
            continue
        stated = file.read(at, -part)
        if len(stated) < -part:
            return None
        at += -part + int.from_bytes(stated, "little")
    return at - record.body


def next_record(file: RecordFile, at: int) -> Record | None:
    """Return the first complete record from `at` on that is followed by another record or the end of the file."""
    while at < file.size:
        window = file.read(at, _WINDOW + HEADER.size)
        for match in _LIKELY.finditer(window):
            record = file.record(at + match.start())
            if record is not None and is_whole(file, record) and _is_followed(file, record):
                return record
        at += _WINDOW
    return None


def _is_followed(file: RecordFile, record: Record) -> bool:
    if record.opcode == Opcode.FOOTER:
        return file.read(record.end, len(MAGIC)) == MAGIC
    behind = file.record(record.end)
    return behind is not None and behind.opcode < 0x80 and is_whole(file, behind)
