"""Time on the wire: stamps of messages, and /clock."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from sim_node.messages import topic
from sim_node.messages.layout import MessageLayout
from sim_node.messages.message_rows import MessageRows
from sim_node.messages.topic import Outlet, Topic
from sim_node.simulation import Sink, Snapshot

CLOCK = Topic("/clock", "rosgraph_msgs/msg/Clock", topic.CLOCK)

# Returns the stamp (ns) for a simulation time (ns).
Stamp = Callable[[int], int]


def simulation_stamp(time_ns: int) -> int:
    """Return the simulation time itself, as on /clock."""
    return time_ns


def wall_stamp() -> Stamp:
    """Return a function that returns the wall clock, strictly increasing, for graphs without simulation time."""
    last = 0

    def stamp(time_ns: int) -> int:
        nonlocal last
        last = max(last + 1, time.time_ns())
        return last

    return stamp


def clock_writer() -> Callable[[int], bytes]:
    """Return a function that returns the CDR of a Clock at a time (ns). Not thread-safe.

    It raises OverflowError if the time does not fit into a stamp.
    """
    return MessageLayout(CLOCK.type, {}, times=("clock",)).write


class ClockRows:
    """The messages of /clock for many instants."""

    def __init__(self) -> None:
        self._messages = MessageRows(MessageLayout(CLOCK.type, {}, times=("clock",)))
        self.size = self._messages.size

    def encode(self, stamps_ns: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
        """Return the CDR (T, size) of the times (T,), ns. Raises OverflowError."""
        memory = self._messages.memory(len(stamps_ns))
        self._messages.stamp(memory, stamps_ns)
        return self._messages.messages(memory)


class ClockSink(Sink):
    """Publishes simulation time with every tick, before the transforms of the same stamp.

    Args:
        outlet: The outlet of the messages.
        enabled: Whether to publish.
    """

    def __init__(self, outlet: Outlet, *, enabled: bool = True) -> None:
        self.enabled = enabled
        self._send, self._write = outlet.advertise(CLOCK), clock_writer()

    def write(self, snapshot: Snapshot) -> None:
        """Publish the snapshot's time."""
        if self.enabled:
            self._send(snapshot.time_ns, self._write(snapshot.time_ns))
