"""Messages of a header and a few numbers as bytes, for those that go out one by one: laid out once, packed in place.

StampedMessageBytes beside this is for values that come as arrays; for a handful of floats, packing them is several
times as fast.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from sim_node.wire.cdr import ENCAPSULATION, aligned, stamp

# Gives the bytes for a stamp (ns) and the values that change, in their order.
Pack = Callable[[int, Sequence[float]], bytes]

_STAMP = struct.Struct("<iI")


def packed(body: bytearray, numbers: npt.ArrayLike, *runs: tuple[int, int], after: bytes = b"") -> Pack:
    """What writes a message with a std_msgs/Header in front and one unbroken run of float64 (plain CDR).

    body: what stands before the float64, as sim_node.wire.stamped_message.header begins it; numbers: the float64 as
    they are at first; runs: (first, last + 1) of those that change; after: what follows them.
    """
    message = bytearray(body)
    aligned(message, 8)
    start = len(ENCAPSULATION) + len(message)
    message[:0] = ENCAPSULATION
    message += np.asarray(numbers, dtype="<f8").tobytes() + after
    parts = []
    first = 0
    for low, high in runs:
        parts.append((struct.Struct(f"<{high - low}d").pack_into, start + 8 * low, slice(first, first + high - low)))
        first += high - low
    stamp_into = _STAMP.pack_into
    if len(parts) == 1:
        [(pack_into, place, _)] = parts

        def pack_one(stamp_ns: int, values: Sequence[float]) -> bytes:
            stamp_into(message, 4, *stamp(stamp_ns))
            pack_into(message, place, *values)
            return bytes(message)

        return pack_one

    def pack(stamp_ns: int, values: Sequence[float]) -> bytes:
        stamp_into(message, 4, *stamp(stamp_ns))
        for pack_into, place, part in parts:
            pack_into(message, place, *values[part])
        return bytes(message)

    return pack
