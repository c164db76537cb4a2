"""Read serialized tf2_msgs/TFMessage from unknown publishers, and count unreadable messages."""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from sim_node.messages.cdr import byte_order
from sim_node.spatial.geometry.arrays import FloatArray, IntArray
from sim_node.text import MAX_LINE, shown


class Unreadable:
    """Counts unreadable messages. Thread-safe.

    Args:
        report: Called with a line for the first unreadable message of each topic.

    Attributes:
        by_topic: Number of unreadable messages so far, by topic.
    """

    def __init__(self, report: Callable[[str], object]) -> None:
        self.by_topic: dict[str, int] = {}
        self._report = report
        self._lock = threading.Lock()

    def count(self, topic: str, why: object, whence: str = "") -> None:
        """Count a message.

        Args:
            topic: Topic of the message.
            why: The reason.
            whence: Possible senders, for the line.
        """
        with self._lock:
            before = self.by_topic.get(topic, 0)
            self.by_topic[topic] = before + 1
        if not before:
            text = f"{topic}: message skipped{whence}: {why}; further ones on this topic are only counted"
            self._report(shown(text, MAX_LINE))

    def counted(self) -> list[str]:
        """Return a line for each topic with more unreadable messages than the reported one.

        Returns:
            The lines.
        """
        return [f"{topic}: {count} messages skipped in total" for topic, count in self.by_topic.items() if count > 1]


# With fewer transforms, reading one by one is faster than checking a layout.
MIN_FOR_LAYOUT = 4
MAX_LAYOUTS = 64

# Stamp, two strings of length 1 and 7 doubles, with minimum padding.
_MIN_TRANSFORM_BYTES = 80
_POSE_BYTES = 7 * 8


@dataclass(frozen=True, eq=False)
class TransformNames:
    """Parents and children of a message's transforms.

    For the same names, a reader returns the same object, so that derived data can be cached by identity.
    """

    parents: tuple[str, ...]
    children: tuple[str, ...]


class TransformBatch(NamedTuple):
    """The transforms of a message.

    Attributes:
        names: Parents and children.
        stamps_ns: Stamps (N,), ns.
        poses: Poses (N, 7) [x y z qx qy qz qw] of each child in its parent, m.
    """

    names: TransformNames
    stamps_ns: IntArray
    poses: FloatArray


class TfMessageReader:
    """Reads serialized TFMessages (plain CDR of either byte order, OMG DDS-XTypes 1.3). Not thread-safe."""

    def __init__(self) -> None:
        self._layouts: dict[tuple[int, bytes, bytes, bytes], _Layout] = {}
        self._names: dict[tuple[tuple[str, ...], tuple[str, ...]], TransformNames] = {}

    def read(self, message: bytes | memoryview) -> TransformBatch:
        """Decode a message. Never reads beyond its end.

        Args:
            message: The serialized TFMessage.

        Returns:
            Names, stamps and poses of its transforms.

        Raises:
            ValueError: The bytes are not a TFMessage. The message says where.
        """
        message = bytes(message)
        key = _fingerprint(message)
        layout = self._layouts.get(key)
        if layout is not None:
            batch = layout.gather(message)
            if batch is not None:
                return batch
        batch, places = self._parse(message)
        if len(batch.stamps_ns) >= MIN_FOR_LAYOUT:
            if key not in self._layouts and len(self._layouts) >= MAX_LAYOUTS:
                self._layouts.pop(next(iter(self._layouts)))
            self._layouts[key] = _Layout(message, batch.names, *places)
        return batch

    def _parse(self, message: bytes) -> tuple[TransformBatch, tuple[IntArray, IntArray, npt.NDArray[np.bool_]]]:
        order, body = _byte_order(message), memoryview(message)[4:]
        (count,) = _unpack(order + "I", body, 0, "number of transforms")
        if count * _MIN_TRANSFORM_BYTES > len(body) + _MIN_TRANSFORM_BYTES:
            raise ValueError(f"TFMessage of {len(message)} bytes cannot hold {count} transforms")
        parents: list[str] = []
        children: list[str] = []
        stamps, poses = np.empty(count, np.int64), np.empty((count, 7))
        stamp_at, pose_at = np.empty(count, np.int64), np.empty(count, np.int64)
        fixed = np.zeros(len(body), bool)
        fixed[:4] = True
        at = 4
        for i in range(count):
            at = _aligned(at, 4)
            seconds, nanoseconds = _unpack(order + "iI", body, at, f"stamp of transform {i}")
            stamp_at[i], stamps[i] = at, seconds * 1_000_000_000 + nanoseconds
            at += 8
            for names, what in ((parents, "frame_id"), (children, "child_frame_id")):
                start = _aligned(at, 4)
                name, at = _string(order, body, start, f"{what} of transform {i}")
                names.append(name)
                fixed[start:at] = True
            at = _aligned(at, 8)
            poses[i] = _unpack(order + "7d", body, at, f"pose of transform {i}")
            pose_at[i] = at
            at += _POSE_BYTES
        if len(body) - at >= 4:
            raise ValueError(f"TFMessage of {count} transforms has {len(body) - at} extra bytes at its end")
        key = (tuple(parents), tuple(children))
        if key not in self._names and len(self._names) >= 16 * MAX_LAYOUTS:
            self._names.clear()
        names_ = self._names.setdefault(key, TransformNames(*key))
        return TransformBatch(names_, stamps, poses), (stamp_at, pose_at, fixed)


class _Layout:
    """Positions of the numbers in messages with the same names and lengths as a first message.

    Padding is ignored: some serialisers do not initialise it.
    """

    def __init__(
        self,
        message: bytes,
        names: TransformNames,
        stamp_at: IntArray,
        pose_at: IntArray,
        fixed: npt.NDArray[np.bool_],
    ) -> None:
        self._names = names
        self._size = len(fixed)
        # Doubles are aligned to 8 bytes after the encapsulation header, and in this copy also in memory.
        self._memory = np.zeros(-(-self._size // 8), np.uint64)
        self._bytes = self._memory.view(np.uint8)[: self._size]
        mask = np.zeros_like(self._memory)
        mask.view(np.uint8)[: self._size][fixed] = 0xFF
        self._mask = mask
        self._masked = np.empty_like(mask)
        self._bytes[:] = np.frombuffer(message, np.uint8, offset=4)
        self._expected = self._memory & mask
        order = _byte_order(message)
        self._seconds, self._nanoseconds = self._memory.view(order + "i4"), self._memory.view(order + "u4")
        self._doubles = self._memory.view(order + "f8")
        self._stamp_words = stamp_at // 4
        self._pose_words = (pose_at // 8)[:, None] + np.arange(7)

    def gather(self, message: bytes) -> TransformBatch | None:
        """Read a message of the same size. Return None if names or lengths differ."""
        self._bytes[:] = np.frombuffer(message, np.uint8, offset=4)
        np.bitwise_and(self._memory, self._mask, out=self._masked)
        if not np.array_equal(self._masked, self._expected):
            return None
        stamps = self._seconds[self._stamp_words].astype(np.int64) * 1_000_000_000
        stamps += self._nanoseconds[self._stamp_words + 1]
        poses = self._doubles.take(self._pose_words).astype(np.float64, copy=False)
        return TransformBatch(self._names, stamps, poses)


def is_plain_cdr(message: bytes) -> bool:
    """Return whether a message is truncated, or its header announces an encoding that TfMessageReader supports."""
    return message[:2] in (b"", b"\0", b"\0\0", b"\0\1")


def _fingerprint(message: bytes) -> tuple[int, bytes, bytes, bytes]:
    """Return size, header and first names of a message, which distinguish most layouts. Nothing is validated."""
    order: Literal["little", "big"] = "little" if message[1:2] == b"\1" else "big"
    parent = 20 + int.from_bytes(message[16:20], order)
    child = parent + -parent % 4
    end = child + 4 + int.from_bytes(message[child : child + 4], order)
    return len(message), message[:8], message[20:parent], message[child + 4 : end]


def _byte_order(message: bytes) -> str:
    if len(message) < 8:
        raise ValueError(f"TFMessage of {len(message)} bytes: header and number of transforms need 8")
    return byte_order(message)


def _unpack(layout: str, body: memoryview, at: int, what: str) -> tuple[int, ...]:
    try:
        return struct.unpack_from(layout, body, at)
    except struct.error:
        raise ValueError(f"TFMessage ends at byte {len(body) + 4}, inside the {what}") from None


def _string(order: str, body: memoryview, at: int, what: str) -> tuple[str, int]:
    (length,) = _unpack(order + "I", body, at, what)
    start, end = at + 4, at + 4 + length
    if end > len(body):
        raise ValueError(f"TFMessage ends at byte {len(body) + 4}, inside the {what} of {length} bytes")
    # Some serialisers omit the terminating zero of an empty string.
    text = bytes(body[start : end - 1]) if length else b""
    if length and body[end - 1]:
        raise ValueError(f"{what} at byte {start + 4} does not end with a zero")
    try:
        return text.decode(), end
    except UnicodeDecodeError as error:
        raise ValueError(f"{what} at byte {start + 4} is not UTF-8: {error.reason}") from None


def _aligned(at: int, size: int) -> int:
    return at + -at % size
