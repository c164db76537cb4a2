"""The records of an MCAP file: where each begins and ends, and where the next one is after damage.

A record is an opcode (1 byte), the length of what follows (8 bytes, little endian), and that (mcap.dev/spec). The
mcap library reads what is inside; it gives up at the first fault, which is why the framing is here.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from mcap.data_stream import ReadDataStream
from mcap.opcode import Opcode

MAGIC = b"\x89MCAP0\r\n"
HEADER = struct.Struct("<BQ")
# Start and end time, uncompressed size, CRC, length of the compression's name.
CHUNK = struct.Struct("<QQQII")
# Opcode and length as of any record; channel, sequence, log time, publish time.
MESSAGE = struct.Struct("<BQHIQQ")
_U32 = struct.Struct("<I")
_U64 = struct.Struct("<Q")
# Longest of compressions' names and of what stands for them in files that others write.
_LONGEST_COMPRESSION = 32
_WINDOW = 1 << 20
# A known opcode and a length below 4 GiB.
_LIKELY = re.compile(rb"(?=[\x01-\x0f].{4}\x00{4})", re.DOTALL)
_SMALLEST = {
    Opcode.HEADER: 8, Opcode.FOOTER: 20, Opcode.SCHEMA: 14, Opcode.CHANNEL: 16, Opcode.MESSAGE: 22, Opcode.CHUNK: 40,
    Opcode.MESSAGE_INDEX: 6, Opcode.CHUNK_INDEX: 60, Opcode.ATTACHMENT: 36, Opcode.ATTACHMENT_INDEX: 48,
    Opcode.STATISTICS: 46, Opcode.METADATA: 8, Opcode.METADATA_INDEX: 20, Opcode.SUMMARY_OFFSET: 17, Opcode.DATA_END: 4,
}  # fmt: skip
_FIXED = (Opcode.FOOTER, Opcode.SUMMARY_OFFSET, Opcode.DATA_END)


class Record(NamedTuple):
    """at: of its opcode; length: of its body, which begins 9 bytes further on."""

    opcode: int
    at: int
    length: int

    @property
    def body(self) -> int:
        """Where its content begins."""
        return self.at + HEADER.size

    @property
    def end(self) -> int:
        """Where the next record begins."""
        return self.at + HEADER.size + self.length


class RecordFile:
    """The bytes of a file at any place; short at its end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: BinaryIO = path.open("rb")
        self.size = os.fstat(self._file.fileno()).st_size

    def read(self, at: int, length: int) -> bytes:
        """Up to `length` bytes from `at`."""
        self._file.seek(at)
        return self._file.read(max(0, min(length, self.size - at)))

    def record(self, at: int) -> Record | None:
        """What stands at `at` as a record, however broken; None where not even its header fits."""
        header = self.read(at, HEADER.size)
        return Record(header[0], at, HEADER.unpack(header)[1]) if len(header) == HEADER.size else None

    def body(self, record: Record) -> bytes:
        """The content of a record."""
        return self.read(record.body, record.length)

    def close(self) -> None:
        """Lets go of the file."""
        self._file.close()


def records_in(data: bytes, at: int = 0) -> Iterator[Record]:
    """The records that follow each other in `data`. Raises ValueError where one reaches beyond its end."""
    while at < len(data):
        if at + HEADER.size > len(data):
            raise ValueError(f"{len(data) - at} bytes are left, a record takes {HEADER.size} or more")
        record = Record(data[at], at, HEADER.unpack_from(data, at)[1])
        if record.end > len(data):
            raise ValueError(f"a record of {record.length} bytes does not fit into the {len(data) - at} that are left")
        yield record
        at = record.end


def parsed(kind: Any, body: bytes) -> Any:
    """The content of a record as mcap's dataclass `kind`. Raises ValueError for what is none."""
    try:
        return kind.read(ReadDataStream(BytesIO(body)))
    except Exception as error:
        raise ValueError(f"is no {kind.__name__}: {error or type(error).__name__}") from None


def is_whole(file: RecordFile, record: Record) -> bool:
    """Whether a record of this kind may have this length, and its inner lengths agree with it."""
    if record.end > file.size or record.opcode == 0:
        return False
    if record.opcode not in _SMALLEST:
        return record.opcode >= 0x80  # private records of applications
    smallest = _SMALLEST[Opcode(record.opcode)]
    if record.length < smallest or (record.opcode in _FIXED and record.length != smallest):
        return False
    if record.opcode == Opcode.CHUNK:
        return chunk_length(file, record) == record.length
    if record.opcode == Opcode.MESSAGE_INDEX:
        (entries,) = _U32.unpack(file.read(record.body + 2, 4))
        return bool(entries + 6 == record.length and entries % 16 == 0)
    return True


def chunk_length(file: RecordFile, record: Record) -> int | None:
    """The length of a chunk record as its inner lengths have it; None where they are no such."""
    head = file.read(record.body, CHUNK.size + _LONGEST_COMPRESSION + _U64.size)
    if len(head) < CHUNK.size:
        return None
    name_length = CHUNK.unpack_from(head)[4]
    data_at = CHUNK.size + name_length + _U64.size
    if name_length > _LONGEST_COMPRESSION or data_at > len(head):
        return None
    return data_at + int(_U64.unpack_from(head, data_at - _U64.size)[0])


def next_record(file: RecordFile, at: int) -> Record | None:
    """The first record from `at` on that is whole and has another one, or the file's end, behind it."""
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
    return behind is not None and behind.opcode in _SMALLEST and is_whole(file, behind)
