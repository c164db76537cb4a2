"""Snapshots to /clock."""

from __future__ import annotations

from sim_node.simulation import Snapshot
from sim_node.wire import qos
from sim_node.wire.clock import clock_bytes
from sim_node.wire.topic import Outlet, Topic
from sim_node.world import FrameTable, World

CLOCK = Topic("/clock", "rosgraph_msgs/msg/Clock", qos.CLOCK)


class ClockSink:
    """Sends simulation time with every tick, before the transforms of the same stamp go out."""

    def __init__(self, outlet: Outlet, *, enabled: bool = True) -> None:
        self.enabled = enabled
        self._send = outlet.advertise(CLOCK)

    def open(self, world: World, frames: FrameTable) -> None:
        """Nothing to lay out."""

    def write(self, snapshot: Snapshot) -> None:
        """Sends the snapshot's time."""
        if self.enabled:
            self._send(snapshot.time_ns, clock_bytes(snapshot.time_ns))

    def close(self) -> None:
        """The outlet is its owner's."""
