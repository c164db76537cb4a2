"""A run's time on the wire: stamps of its messages, and /clock."""

from __future__ import annotations

import time
from collections.abc import Callable

from sim_node.simulation import Snapshot
from sim_node.wire import topic
from sim_node.wire.layout import Layout
from sim_node.wire.topic import Outlet, Topic
from sim_node.world import FrameTable, World

CLOCK = Topic("/clock", "rosgraph_msgs/msg/Clock", topic.CLOCK)

# What gives a stamp (ns) for a simulation time (ns).
Stamp = Callable[[int], int]


def simulation_stamp(time_ns: int) -> int:
    """Return simulation time itself, as /clock has it."""
    return time_ns


def wall_stamp() -> Stamp:
    """Return what gives the wall clock, strictly increasing, for graphs that do not use simulation time."""
    last = 0

    def stamp(time_ns: int) -> int:
        nonlocal last
        last = max(last + 1, time.time_ns())
        return last

    return stamp


def clock_writer() -> Callable[[int], bytes]:
    """Return what gives the CDR of a Clock at a time (ns), in one thread at a time.

    It raises OverflowError for a time that stamps do not hold.
    """
    return Layout(CLOCK.type, {}, times=("clock",)).write


class ClockSink:
    """Sends simulation time with every tick, before the transforms of the same stamp go out."""

    def __init__(self, outlet: Outlet, *, enabled: bool = True) -> None:
        self.enabled = enabled
        self._send, self._write = outlet.advertise(CLOCK), clock_writer()

    def open(self, world: World, frames: FrameTable) -> None:
        """Do nothing: the message is the same for all worlds."""

    def write(self, snapshot: Snapshot) -> None:
        """Send the snapshot's time."""
        if self.enabled:
            self._send(snapshot.time_ns, self._write(snapshot.time_ns))

    def close(self) -> None:
        """Do nothing: the outlet is its owner's."""
