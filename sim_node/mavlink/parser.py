"""Parser of MAVLink frames in a stream of bytes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from fastcrc import crc16

from sim_node.mavlink.codec import HEADER, SIGNATURE_SIZE, SIGNED, V1, V2, MavlinkMessage, kind_of

_START = re.compile(rb"[\xfd\xfe]")
_mcrf4xx = crc16.mcrf4xx


@dataclass
class Reception:
    """Counters of what a link received.

    Attributes:
        messages: Complete messages.
        junk: Bytes outside of frames.
        unknown: Frames of messages that are not in the dialect.
    """

    messages: int = 0
    junk: int = 0
    unknown: int = 0


class Parser:
    """Parses the bytes of a link into messages. It never raises.

    Args:
        datagrams: Whether frames end with the datagram (UDP). Otherwise an incomplete frame waits for more bytes (TCP,
            serial lines). At most one incomplete frame is kept.
    """

    def __init__(self, *, datagrams: bool) -> None:
        self.reception = Reception()
        self._datagrams = datagrams
        self._pending = b""

    @property
    def is_between_frames(self) -> bool:
        """Whether no incomplete frame is kept."""
        return not self._pending

    def restart(self) -> None:
        """Drop an incomplete frame, because the link was closed. Counters are kept."""
        self._pending = b""

    def feed(self, data: bytes) -> list[MavlinkMessage]:
        """Return the messages that these bytes complete."""
        if self._pending:
            data = self._pending + data
        messages: list[MavlinkMessage] = []
        at, end = 0, len(data)
        while at < end:
            if data[at] != V2 and data[at] != V1:
                found = _START.search(data, at)
                start = found.start() if found else end
                self.reception.junk += start - at
                at = start
                continue
            size = frame_size(data, at)
            if size is None or at + size > end:
                if not self._datagrams:
                    break
                self.reception.junk += 1
                at += 1
                continue
            at += self._read_frame(data, at, size, messages)
        self._pending = data[at:]
        return messages

    def _read_frame(self, data: bytes, at: int, size: int, messages: list[MavlinkMessage]) -> int:
        """Read the frame of `size` bytes that may begin at `at`. Return how many bytes were consumed."""
        if data[at] == V2:
            _, length, flags, _, sequence, system, component, low, high = HEADER.unpack_from(data, at)
            number = low | high << 16
            payload_at, payload_end = at + 10, at + 10 + length
        else:
            flags = 0
            sequence, system, component, number = data[at + 2], data[at + 3], data[at + 4], data[at + 5]
            payload_at, payload_end = at + 6, at + 6 + data[at + 1]
        kind = kind_of(number) if flags in (0, SIGNED) else None
        if kind is None:
            # Without its CRC seed a frame cannot be checked. It is accepted if another frame follows.
            after = at + size
            if flags in (0, SIGNED) and (after == len(data) or data[after] in (V1, V2)):
                self.reception.unknown += 1
                return size
            self.reception.junk += 1
            return 1
        found = _mcrf4xx(data[at + 1 : payload_end] + kind.crc_extra)
        if found != data[payload_end] | data[payload_end + 1] << 8:
            self.reception.junk += 1
            return 1
        self.reception.messages += 1
        fields = kind.unpack(data[payload_at:payload_end])
        messages.append(MavlinkMessage(system, component, sequence, kind.name, fields, data[at : at + size]))
        return size


def frame_size(data: bytes, at: int) -> int | None:
    """Return the size of the frame that may begin at `at`, or None if more bytes are needed."""
    if data[at] == V1:
        return data[at + 1] + 8 if at + 1 < len(data) else None
    if at + 2 >= len(data):
        return None
    return data[at + 1] + 12 + (SIGNATURE_SIZE if data[at + 2] & SIGNED else 0)
