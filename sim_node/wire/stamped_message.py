"""Messages of a header and numbers as bytes: laid out once, stamp and numbers in place each time."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sim_node.wire.cdr import ENCAPSULATION, aligned, cdr_string, stamp


class StampedMessageBytes:
    """The CDR of a message with a std_msgs/Header in front and one unbroken run of numbers of a type (plain CDR).

    body: what a header of `frame_id`'s message holds before the numbers, as `header` begins it; numbers (M,): the
    numbers as they are, those that never change with their values; after: what follows them; dtype: float64, unless
    the message has others.
    """

    def __init__(
        self, body: bytearray, numbers: npt.ArrayLike, after: bytes = b"", dtype: npt.DTypeLike = "<f8"
    ) -> None:
        body = bytearray(body)
        values = np.asarray(numbers, dtype=dtype).ravel()
        aligned(body, values.itemsize)
        first = len(body) // values.itemsize
        body += values.tobytes() + after
        # Padded in front, so that the body behind the encapsulation header is aligned in memory.
        memory = np.zeros(-(-(len(body) + 8) // 8), dtype=np.float64)
        raw = memory.view(np.uint8)
        raw[4:8] = np.frombuffer(ENCAPSULATION, dtype=np.uint8)
        raw[8 : 8 + len(body)] = np.frombuffer(bytes(body), dtype=np.uint8)
        self._message = raw[4 : 8 + len(body)]
        self._stamp = memory.view(np.int32)[2:4]
        self.numbers: npt.NDArray[Any] = memory[1:].view(values.dtype)[first : first + len(values)]

    def write(self, stamp_ns: int) -> bytes:
        """The message as `numbers`, a view to write to, has it. Raises OverflowError beyond what stamps hold."""
        self._stamp[:] = stamp(stamp_ns)
        return self._message.tobytes()


def header(frame_id: str) -> bytearray:
    """The body of a message as far as its std_msgs/Header goes, the stamp zero."""
    return bytearray(8) + cdr_string(frame_id)
