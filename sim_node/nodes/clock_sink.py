"""Snapshots to /clock."""

from __future__ import annotations

from rclpy.node import Node
from rosgraph_msgs.msg import Clock

from sim_node.nodes import qos
from sim_node.simulation import Snapshot
from sim_node.wire.clock import clock_bytes
from sim_node.world import FrameTable, World


class ClockSink:
    """Publishes simulation time with every tick, before the transforms of the same stamp go out."""

    def __init__(self, node: Node, *, enabled: bool = True) -> None:
        self.enabled = enabled
        self._publisher = node.create_publisher(Clock, "/clock", qos.CLOCK)

    def open(self, world: World, frames: FrameTable) -> None:
        """Nothing to lay out."""

    def write(self, snapshot: Snapshot) -> None:
        """Sends the snapshot's time."""
        if self.enabled:
            self._publisher.publish(clock_bytes(snapshot.time_ns))

    def close(self) -> None:
        """The publisher goes with its node."""
