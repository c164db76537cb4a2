"""rosgraph_msgs/Clock as bytes."""

from __future__ import annotations

import struct

from sim_node.wire.cdr import ENCAPSULATION, stamp

_CLOCK = struct.Struct("<4siI")


def clock_bytes(time_ns: int) -> bytes:
    """The CDR of a Clock message at time_ns. Raises OverflowError for a time that stamps do not hold."""
    return _CLOCK.pack(ENCAPSULATION, *stamp(time_ns))
