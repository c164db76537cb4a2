"""Bags to read, written by the mcap library itself."""

from __future__ import annotations

import struct
from io import BytesIO
from pathlib import Path
from typing import Any

from mcap.writer import CompressionType, Writer

from sim_node.recording.bag import Bag
from sim_node.recording.opening import open_bag

STRING = b"string data"
QOS = """- history: 1
  depth: 7
  reliability: 2
  durability: 1
  deadline: {sec: 9223372036, nsec: 854775807}
  lifespan: {sec: 1, nsec: 500000000}
  liveliness: 1
  liveliness_lease_duration: {sec: 2147483647, nsec: 4294967295}
  avoid_ros_namespace_conventions: false
"""
# Topic, time and bytes of a message.
Sample = tuple[str, int, bytes]


def samples(count: int = 60) -> list[Sample]:
    """Two topics that take turns, 10 ms apart, each message another one."""
    return [
        (
            ("/even", "/odd")[i % 2],
            10_000_000 * (i + 1),
            struct.pack("<IIQ", 0x100, i, i * i * 7919) + bytes([i] * (i % 23)),
        )
        for i in range(count)
    ]


def mcap_bytes(messages: list[Sample], compression: CompressionType = CompressionType.NONE, **options: Any) -> bytes:
    """A bag as rosbag2 writes it, with an attachment and a metadata record."""
    stream = BytesIO()
    writer = Writer(stream, compression=compression, **{"chunk_size": 400, **options})
    writer.start("ros2", "test")
    schema = writer.register_schema("std_msgs/msg/String", "ros2msg", STRING)
    channels = {
        topic: writer.register_channel(
            topic, "cdr", schema, {"offered_qos_profiles": QOS, "topic_type_hash": "RIHS01_a"}
        )
        for topic in dict.fromkeys(topic for topic, _, _ in messages)
    }
    writer.add_attachment(5, 6, "world.yaml", "application/yaml", b"world: yard\n")
    writer.add_metadata("rosbag2", {"serialized_metadata": "version: 9"})
    for i, (topic, time_ns, data) in enumerate(messages):
        writer.add_message(channels[topic], time_ns, data, time_ns + 1, i)
    writer.finish()
    return stream.getvalue()


def read(path: Path, **window: Any) -> tuple[list[Sample], list[str]]:
    """All messages, and the damage that was named."""
    with open_bag(path) as bag:
        return found(bag, **window), bag.damage


def found(bag: Bag, **window: Any) -> list[Sample]:
    return [(bag.topics[topic].name, time_ns, data) for topic, time_ns, data in bag.messages(**window)]
