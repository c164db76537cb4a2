"""nav_msgs/Path as bytes: the last poses of something that moves, laid out once."""

from __future__ import annotations

import numpy as np

from sim_node.geometry.arrays import FloatArray
from sim_node.wire.cdr import ENCAPSULATION, aligned, cdr_string, stamp


class PathMessageBytes:
    """The CDR of a Path in one frame with up to `most` poses, the newest last.

    The messages of fewer poses are the beginnings of the longest one, which is laid out here.
    """

    def __init__(self, frame_id: str, most: int) -> None:
        body = bytearray(8) + cdr_string(frame_id)
        aligned(body, 4)
        self._count_word = len(body) // 4
        body += bytes(4)
        stamps, doubles = [], []
        for _ in range(most):
            aligned(body, 4)
            stamps.append(len(body) // 4)
            body += bytes(8) + cdr_string(frame_id)
            aligned(body, 8)
            doubles.append(len(body) // 8)
            body += bytes(7 * 8)
        # Padded in front, so that the body behind the encapsulation header is aligned in memory.
        memory = np.zeros(-(-(len(body) + 8) // 8), dtype=np.float64)
        self._raw = memory.view(np.uint8)[4:]
        self._raw[:4] = np.frombuffer(ENCAPSULATION, dtype=np.uint8)
        self._raw[4 : 4 + len(body)] = np.frombuffer(bytes(body), dtype=np.uint8)
        self._words, self._doubles = memory.view(np.int32)[2:], memory[1:]
        self._stamp_words = np.array(stamps)[:, None] + np.arange(2)
        self._pose_doubles = np.array(doubles)[:, None] + np.arange(7)
        self._stamps = np.zeros((most, 2), dtype=np.int32)
        self._poses = np.zeros((most, 7))
        self._count = 0

    def clear(self) -> None:
        """Forgets all poses."""
        self._count = 0

    def add(self, stamp_ns: int, pose: FloatArray) -> bytes:
        """The message with one more pose (7,), the oldest left out where there are too many.

        Raises OverflowError for a time that stamps do not hold.
        """
        if self._count == len(self._poses):
            self._stamps[:-1], self._poses[:-1] = self._stamps[1:], self._poses[1:]
            self._count -= 1
        at = self._count
        self._stamps[at] = self._words[:2] = stamp(stamp_ns)
        self._poses[at] = pose
        self._count = count = at + 1
        self._words[self._count_word] = count
        self._words[self._stamp_words[:count]] = self._stamps[:count]
        self._doubles[self._pose_doubles[:count]] = self._poses[:count]
        return self._raw[: 4 + 8 * int(self._pose_doubles[at, -1] + 1)].tobytes()
