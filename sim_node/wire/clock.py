"""rosgraph_msgs/Clock as bytes."""

from __future__ import annotations

import struct

from sim_node.wire.cdr import ENCAPSULATION

_CLOCK = struct.Struct("<4siI")


def clock_bytes(time_ns: int) -> bytes:
    """The CDR of a Clock message at time_ns."""
    seconds, nanoseconds = divmod(time_ns, 1_000_000_000)
    return _CLOCK.pack(ENCAPSULATION, seconds, nanoseconds)
