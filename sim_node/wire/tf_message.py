"""tf2_msgs/TFMessage as bytes: names and layout once, stamps and poses in place each tick."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sim_node.geometry.arrays import FloatArray
from sim_node.wire.cdr import ENCAPSULATION, aligned, cdr_string, stamp


class TfMessageBytes:
    """The CDR of a TFMessage of fixed parents and children (OMG DDS-XTypes 1.3, plain CDR, little endian).

    Every transform carries the same stamp. The bytes are laid out so that the doubles of all transforms can
    be written by one scatter: CDR aligns them to 8 bytes after the encapsulation header, so does the buffer.
    """

    def __init__(self, parents: Sequence[str], children: Sequence[str]) -> None:
        body = bytearray(np.uint32(len(children)).tobytes())
        stamps: list[int] = []
        doubles: list[int] = []
        for parent, child in zip(parents, children, strict=True):
            aligned(body, 4)
            stamps.append(len(body))
            body += bytes(8)
            for name in (parent, child):
                aligned(body, 4)
                body += cdr_string(name)
            aligned(body, 8)
            doubles.append(len(body))
            body += bytes(7 * 8)
        # Padded in front, so that the body behind the encapsulation header is aligned in memory.
        self._size = len(ENCAPSULATION) + len(body)
        memory = np.zeros(-(-(len(body) + 8) // 8), dtype=np.float64)
        raw = memory.view(np.uint8)
        raw[4:8] = np.frombuffer(ENCAPSULATION, dtype=np.uint8)
        raw[8 : 8 + len(body)] = np.frombuffer(bytes(body), dtype=np.uint8)
        self._message = raw[4 : 8 + len(body)]
        self._words = memory.view(np.int32)[2:]
        self._doubles = memory[1:]
        self._stamp_words = np.array(stamps, dtype=np.intp) // 4
        self._pose_doubles = (np.array(doubles, dtype=np.intp) // 8)[:, None] + np.arange(7)

    def __len__(self) -> int:
        """Bytes of the message."""
        return self._size

    def write(self, stamp_ns: int, poses: FloatArray) -> bytes:
        """The message for poses (N, 7) [x y z qx qy qz qw], all stamped stamp_ns.

        Raises ValueError for another number of poses, OverflowError for a time that stamps do not hold.
        """
        if poses.shape != self._pose_doubles.shape:
            raise ValueError(f"poses: shape is {poses.shape}, this message needs {self._pose_doubles.shape}")
        seconds, nanoseconds = stamp(stamp_ns)
        self._words[self._stamp_words] = seconds
        self._words[self._stamp_words + 1] = nanoseconds
        self._doubles[self._pose_doubles] = poses
        return self._message.tobytes()
