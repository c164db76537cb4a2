"""Reading bags: messages of PoseStamped's size, in the order of their times, beside rosbags and the mcap library.

Run from the repository: python -m bench.reading [--out bench/results/reading.json]

Each call reads a bag from opening to its last message; times are per message. Checksums are verified by ours and by
mcap; rosbags has no such check.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path

from mcap.reader import make_reader
from mcap.writer import CompressionType, Writer
from rosbags.rosbag2 import Reader

from bench.pairs import Pairs
from sim_node.messages.telemetry_messages import plain
from sim_node.recording.definitions import definition_of
from sim_node.recording.opening import open_bag

TYPE = "geometry_msgs/msg/PoseStamped"
COUNT = 50_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("bench/results/reading.json"))
    arguments = parser.parse_args()
    pairs = Pairs()
    for compression in CompressionType:
        with tempfile.TemporaryDirectory() as folder:
            contestants = _contestants(_written(Path(folder, "bag.mcap"), compression))
            ours = contestants.pop("ours")
            units = dict.fromkeys(("ours", *contestants), COUNT)
            label = f"read a message, {compression.name.lower()}"
            pairs.measure(label, ours, contestants, rounds=5, turn_s=0.01, units=units)
        rates = {name: round(1.0 / seconds) for name, seconds in pairs.rows[-1]["seconds"].items()}
        pairs.rows[-1]["messages per second"] = rates
        print("    messages per second: " + ", ".join(f"{name} {rate:,}" for name, rate in rates.items()), flush=True)
    pairs.save(arguments.out)
    return 0


def _written(path: Path, compression: CompressionType) -> Path:
    pack = plain("geometry_msgs/msg/PoseStamped", "map")
    with path.open("wb") as stream:
        writer = Writer(stream, compression=compression)
        writer.start("ros2")
        schema = writer.register_schema(TYPE, "ros2msg", definition_of(TYPE).text.encode())
        channel = writer.register_channel("/pose", "cdr", schema)
        for number in range(COUNT):
            data = pack(number * 1000, [float(number), 1.0, 2.0, 0.0, 0.0, 0.0, 1.0])
            writer.add_message(channel, number * 1000, data, number * 1000)
        writer.finish()
    return path


def _contestants(path: Path) -> dict[str, Callable[[], None]]:
    def ours() -> None:
        with open_bag(path) as bag:
            _exhaust(bag.messages())

    def mcap() -> None:
        with path.open("rb") as stream:
            _exhaust(make_reader(stream, validate_crcs=True).iter_messages())

    def rosbags() -> None:
        with Reader(path) as reader:
            _exhaust(reader.messages())

    return {"ours": ours, "mcap": mcap, "rosbags": rosbags}


def _exhaust(messages: Iterable[object]) -> None:
    deque(messages, maxlen=0)


if __name__ == "__main__":
    sys.exit(main())
