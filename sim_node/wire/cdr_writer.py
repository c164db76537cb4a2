"""CDR of any message, field after field: for those with texts and lists, which come seldom."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sim_node.wire.cdr import ENCAPSULATION, aligned, cdr_string, stamp


class CdrWriter:
    """Takes fields in the order of the message's definition (plain CDR, little endian).

    Codes are those of struct: b B h H i I q Q f d, `?` for bool.
    """

    def __init__(self) -> None:
        self._body = bytearray()

    def header(self, stamp_ns: int, frame_id: str) -> CdrWriter:
        """std_msgs/Header."""
        seconds, nanoseconds = stamp(stamp_ns)
        return self.number("i", seconds).number("I", nanoseconds).text(frame_id)

    def number(self, code: str, *values: float) -> CdrWriter:
        """Numbers of one kind on end; a fixed-size array is that too."""
        aligned(self._body, struct.calcsize(code))
        self._body += struct.pack(f"<{len(values)}{code}", *values)
        return self

    def sequence(self, code: str, values: Sequence[float]) -> CdrWriter:
        """A list of numbers."""
        self.number("I", len(values))
        return self.number(code, *values) if values else self

    def array(self, values: npt.NDArray[np.number]) -> CdrWriter:
        """The numbers of an array on end, in its own type, without their count."""
        aligned(self._body, values.itemsize)
        self._body += values.tobytes()
        return self

    def text(self, value: str) -> CdrWriter:
        """A string."""
        aligned(self._body, 4)
        self._body += cdr_string(value.replace("\0", ""))
        return self

    def bytes(self) -> bytes:
        """The message."""
        return ENCAPSULATION + bytes(self._body)
