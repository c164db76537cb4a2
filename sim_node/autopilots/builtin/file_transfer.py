"""MAVLink FTP: there are no files here, so every request is refused. https://mavlink.io/en/services/ftp.html"""

from __future__ import annotations

import struct
from collections.abc import Sequence

# Sequence, session, opcode, size, requested opcode, burst complete, padding, offset.
_HEADER = struct.Struct("<HBBBBBBI")
_SIZE = 251
_NONE, _TERMINATE, _RESET, _LIST, _OPEN, _BURST_OPEN = 0, 1, 2, 3, 4, 15
_ACK, _NAK = 128, 129
_NOT_FOUND, _UNKNOWN_COMMAND = 10, 7


def refuse_file_transfer(payload: Sequence[int]) -> bytes:
    """Return the payload that answers a request: sessions end with an ACK, all else gets a NAK."""
    sequence, session, opcode, *_ = _HEADER.unpack_from(bytes(payload[: _HEADER.size]).ljust(_HEADER.size, b"\0"))
    sequence = (sequence + 1) & 0xFFFF
    if opcode in (_NONE, _TERMINATE, _RESET):
        return _HEADER.pack(sequence, session, _ACK, 0, opcode, 0, 0, 0).ljust(_SIZE, b"\0")
    error = _NOT_FOUND if opcode in (_LIST, _OPEN, _BURST_OPEN) else _UNKNOWN_COMMAND
    answer = _HEADER.pack(sequence, session, _NAK, 1, opcode, 0, 0, 0) + bytes([error])
    return answer.ljust(_SIZE, b"\0")
