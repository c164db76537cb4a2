"""Message records of an MCAP file as rows of bytes: many instants at once, without an object per message."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from mcap.opcode import Opcode

from sim_node.recording.mcap_records import HEADER, MESSAGE

# MESSAGE as a numpy structure
MESSAGE_HEADER = np.dtype(
    [("op", "u1"), ("length", "<u8"), ("channel", "<u2"), ("sequence", "<u4"), ("times", "<u8", 2)]
)
_BEHIND_LENGTH = MESSAGE.size - HEADER.size


class MessageRecords(NamedTuple):
    """Message records of a chunk, and the index entries of each: channel, time (ns), offset in `data`."""

    data: bytes
    channels: npt.NDArray[np.unsignedinteger[Any]]
    times: npt.NDArray[np.unsignedinteger[Any]]
    offsets: npt.NDArray[np.signedinteger[Any]]


class RecordRows:
    """Message records of fixed sizes, in the same order at each of many instants.

    Args:
        messages: Channel and size of each message of an instant.

    Attributes:
        size: Bytes of the records of an instant.
    """

    def __init__(self, messages: Sequence[tuple[int, int]]) -> None:
        sizes = np.array([MESSAGE.size + size for _, size in messages], np.int64)
        self._channels = np.array([channel for channel, _ in messages], np.uint16)
        self._offsets = np.cumsum(sizes) - sizes
        self.size = int(sizes.sum())
        headers = [
            MESSAGE.pack(Opcode.MESSAGE, _BEHIND_LENGTH + size, channel, 0, 0, 0) + bytes(size)
            for channel, size in messages
        ]
        self._row = np.frombuffer(b"".join(headers), np.uint8)

    def records(
        self, messages: Iterable[npt.NDArray[np.uint8]], times: npt.NDArray[np.unsignedinteger[Any]]
    ) -> MessageRecords:
        """Return the records of T instants.

        Args:
            messages: The bytes (T, size) of each message.
            times: (T,) log and publish times, ns.
        """
        count = len(times)
        block = np.empty((count, self.size), np.uint8)
        block[:] = self._row
        for offset, data in zip(self._offsets.tolist(), messages, strict=True):
            header: npt.NDArray[Any] = np.ndarray((count,), MESSAGE_HEADER, block.data, offset, (self.size,))
            header["times"] = times[:, None]
            block[:, offset + MESSAGE.size : offset + MESSAGE.size + data.shape[1]] = data
        offsets = np.arange(count)[:, None] * self.size + self._offsets
        each = len(self._channels)
        return MessageRecords(block.tobytes(), np.tile(self._channels, count), np.repeat(times, each), offsets.ravel())


def joined(parts: Sequence[MessageRecords]) -> MessageRecords:
    """Concatenate runs of records."""
    if len(parts) == 1:
        return parts[0]
    starts = np.cumsum([0, *(len(part.data) for part in parts[:-1])])
    return MessageRecords(
        b"".join(part.data for part in parts),
        np.concatenate([part.channels for part in parts]),
        np.concatenate([part.times for part in parts]),
        np.concatenate([part.offsets + start for part, start in zip(parts, starts, strict=True)]),
    )
