"""Snapshots' readings to the topics of their sensors."""

from __future__ import annotations

from typing import Any

from rclpy.node import Node

from sim_node.nodes import qos
from sim_node.nodes.sensor_topics import TOPICS, topic_of
from sim_node.nodes.tf_sink import Stamp, simulation_stamp
from sim_node.sensors import SensorType, groups_of
from sim_node.simulation import Snapshot
from sim_node.wire.sensor_messages import Write
from sim_node.world import FrameTable, World


class SensorSink:
    """Publishes what sensors told, each on its own topics, in the order in which it came out, best effort.

    prefix goes before every frame id but the fixed frame's, and before the topics, which lie in the node's namespace.
    """

    def __init__(self, node: Node, *, prefix: str = "", stamp: Stamp = simulation_stamp) -> None:
        self._node, self._prefix, self._stamp = node, prefix, stamp
        # For each batch and each of its sensors: who publishes which channels in what layout.
        self._out: list[list[list[tuple[Any, slice, Write]]]] = []

    def open(self, world: World, frames: FrameTable) -> None:
        """Lays out the messages."""
        self._out = [
            [
                self._lay_out(group.kind, self._prefix + name, sensor, world.fixed_frame)
                for name, sensor in zip(group.names, group.sensors, strict=True)
            ]
            for group in groups_of(world)
        ]

    def write(self, snapshot: Snapshot) -> None:
        """Sends the readings of a snapshot."""
        for batch, sensors in zip(snapshot.readings.batches, self._out, strict=True):
            for stamp_ns, told in zip(batch.stamps_ns.tolist(), batch.values, strict=True):
                stamp = self._stamp(stamp_ns)
                for values, topics in zip(told, sensors, strict=True):
                    for publisher, channels, write in topics:
                        publisher.publish(write(stamp, values[channels]))

    def close(self) -> None:
        """The publishers go with their node."""

    def _lay_out(self, kind: str, frame: str, sensor: SensorType, fixed: str) -> list[tuple[Any, slice, Write]]:
        return [
            (
                self._node.create_publisher(topic.message, topic_of(frame, topic.name), qos.SENSOR_DATA),
                topic.channels,
                topic.layout(sensor, frame, fixed),
            )
            for topic in TOPICS[kind]
        ]
