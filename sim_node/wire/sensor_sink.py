"""Snapshots' readings to the topics of their sensors."""

from __future__ import annotations

from sim_node.sensors import SensorType, groups_of
from sim_node.simulation import Snapshot
from sim_node.wire.sensor_topics import Write, writers_of
from sim_node.wire.stamps import Stamp, simulation_stamp
from sim_node.wire.topic import Outlet, Send
from sim_node.world import FrameTable, World


class SensorSink:
    """Sends what sensors told, each on its own topics, in the order in which it came out, best effort.

    prefix goes before every frame id but the fixed frame's, and before the topics, which lie in the outlet's
    namespace. A message's time is when its reading came out: its stamp and the sensor's latency.
    """

    def __init__(self, outlet: Outlet, *, prefix: str = "", stamp: Stamp = simulation_stamp) -> None:
        self._outlet, self._prefix, self._stamp = outlet, prefix, stamp
        # For each batch: its latency (ns), and for each of its sensors who sends what in which layout.
        self._out: list[tuple[int, list[list[tuple[Send, Write]]]]] = []

    def open(self, world: World, frames: FrameTable) -> None:
        """Lays out the messages."""
        self._out = [
            (
                round(group.sensors[0].latency * 1e9),
                [
                    self._lay_out(group.kind, self._prefix + name, sensor, world.fixed_frame)
                    for name, sensor in zip(group.names, group.sensors, strict=True)
                ],
            )
            for group in groups_of(world)
        ]

    def write(self, snapshot: Snapshot) -> None:
        """Sends the readings of a snapshot."""
        for batch, (latency_ns, sensors) in zip(snapshot.readings.batches, self._out, strict=True):
            for stamp_ns, told in zip(batch.stamps_ns.tolist(), batch.values, strict=True):
                stamp = self._stamp(stamp_ns)
                for values, topics in zip(told, sensors, strict=True):
                    for send, write in topics:
                        send(stamp + latency_ns, write(stamp, values))

    def close(self) -> None:
        """The outlet is its owner's."""

    def _lay_out(self, kind: str, frame: str, sensor: SensorType, fixed: str) -> list[tuple[Send, Write]]:
        return [(self._outlet.advertise(topic), write) for topic, write in writers_of(kind, frame, sensor, fixed)]
