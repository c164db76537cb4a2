"""Replaying a bag as fast as possible: raw bytes through rclpy, beside what a plain player in Python does.

Run from the repository: python -m bench.replay [--messages 20000] [--out bench/results/replay.json]

The bag holds PoseStamped messages (MCAP, uncompressed); nobody subscribes, so that it is the replay that is measured.
Exit code 1 below 50,000 messages a second.
"""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import rclpy
from geometry_msgs.msg import PoseStamped
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from rosbags.rosbag2 import Reader, StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from bench.pairs import Pairs, aim
from sim_node.messages.encoding import encode
from sim_node.recording.opening import open_bag
from sim_node.recording.playback import Playback
from sim_node.recording.player import Player
from sim_node.recording.qos import offer
from sim_node.ros.playback_target import GraphPlaybackTarget
from sim_node.ros.publishers import profile
from sim_node.ros.replay import prepare_replay

TYPE = "geometry_msgs/msg/PoseStamped"
TARGET = 50_000.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--messages", type=int, default=20_000)
    parser.add_argument("--out", type=Path, default=Path("bench/results/replay.json"))
    arguments = parser.parse_args()
    prepare_replay()
    rclpy.init()
    node = rclpy.create_node("bench")
    pairs = Pairs()
    with TemporaryDirectory() as folder:
        path = write(Path(folder, "bag"), arguments.messages)
        ours, what = replayed(node, path, arguments.messages), f"replay {arguments.messages} PoseStamped"
        pairs.measure(what, ours, {"typed": typed(node, path)}, target=1.0, rounds=7)
        pairs.measure(what, ours, {"rosbags, iteration alone": lambda: sum(1 for _ in iterate(path))}, rounds=7)
    node.destroy_node()
    rclpy.shutdown()
    pairs.save(arguments.out)
    rate = arguments.messages / pairs.rows[0]["seconds"]["ours"]
    print(f"{rate:,.0f} messages/s{aim(f'target {TARGET:,.0f}', rate >= TARGET)}")
    return 1 if pairs.missed or rate < TARGET else 0


def replayed(node: Node, path: Path, count: int) -> Callable[[], None]:
    """The whole of it: the bag is opened, read in the player's thread, published and closed."""
    stage = GraphPlaybackTarget(node, clock=False, wait_for=[], settle_s=0.0)
    with open_bag(path) as bag:
        assert stage.add(0, bag.topics[0], offer(bag.topics[0])) is None
    stage.lossless = True

    def run() -> None:
        ended = threading.Event()
        with open_bag(path) as bag:
            player = Player(Playback(bag, topics=["/pose"]), stage, rate=0.0)
            player.start(ended=ended.set)
            ended.wait()
            player.stop()
            assert player.sent == count

    return run


def typed(node: Node, path: Path) -> Callable[[], None]:
    """rosbags reads, rclpy deserialises, and serialises again to publish."""
    with open_bag(path) as bag:
        publisher = node.create_publisher(PoseStamped, "/typed", profile(offer(bag.topics[0])))

    def run() -> None:
        for _, _, data in iterate(path):
            publisher.publish(deserialize_message(data, PoseStamped))

    return run


def iterate(path: Path) -> Iterator[tuple[Any, int, bytes]]:
    with Reader(path) as reader:
        yield from reader.messages()


def write(path: Path, count: int) -> Path:
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        connection = writer.add_connection("/pose", TYPE, typestore=get_typestore(Stores.ROS2_JAZZY))
        for i in range(count):
            time_ns = 1_700_000_000 * 10**9 + i * 1_000_000
            fields = {"header": {"stamp": time_ns, "frame_id": "map"}, "pose": (1.0 * i, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)}
            writer.write(connection, time_ns, encode(TYPE, fields))
    return path


if __name__ == "__main__":
    sys.exit(main())
