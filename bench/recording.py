"""Writing bags: messages of PoseStamped's size, as ready CDR, beside rosbags, the mcap library and foxglove-sdk.

Run from the repository: python -m bench.recording [--out bench/results/recording.json]

Each call writes a bag from its first byte to its last; times are per message. `ours` is the whole recording: the
sends, the commits of a tick each, the thread that writes, a flush twice a second of the bag's time, metadata.yaml.
Exit code 1 where a target is missed.
"""

from __future__ import annotations

import argparse
import itertools
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import foxglove
from foxglove import Channel, Schema
from foxglove.mcap import MCAPCompression, MCAPWriteOptions
from mcap.writer import CompressionType, Writer
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin
from rosbags.rosbag2 import Writer as RosbagsWriter
from rosbags.typesys import Stores, get_typestore

from bench.pairs import Pairs, figure
from sim_node.messages.telemetry_messages import plain
from sim_node.messages.topic import Qos, Topic
from sim_node.recording.definitions import definition_of
from sim_node.recording.recorder import Recorder
from sim_node.recording.settings import RecordingSettings

TYPE = "geometry_msgs/msg/PoseStamped"
COUNT, PER_TICK, TICK_NS = 50_000, 50, 10_000_000
TARGET_RATE = 200_000.0
STORE = get_typestore(Stores.ROS2_JAZZY)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("bench/results/recording.json"))
    arguments = parser.parse_args()
    pack = plain("geometry_msgs/msg/PoseStamped", "map")
    data = [pack(number * 1000, [float(number), 1.0, 2.0, 0.0, 0.0, 0.0, 1.0]) for number in range(COUNT)]
    pairs = Pairs()
    held = False
    for compression in ("none", "zstd"):
        with tempfile.TemporaryDirectory() as folder:
            contestants = _contestants(Path(folder), compression, data)
            ours = contestants.pop("ours")
            units = dict.fromkeys(("ours", *contestants), COUNT)
            pairs.measure(f"write a message, {compression}", ours, contestants, rounds=7, turn_s=0.01, units=units)
        rates = {name: round(1.0 / seconds) for name, seconds in pairs.rows[-1]["seconds"].items()}
        pairs.rows[-1]["messages per second"] = rates
        print("    messages per second: " + ", ".join(f"{name} {rate:,}" for name, rate in rates.items()), flush=True)
        if compression == "none":
            held = figure("write a message, none", rates["ours"], "messages/s", target=TARGET_RATE)
    pairs.save(arguments.out)
    return 0 if held else 1


def _contestants(folder: Path, compression: str, data: list[bytes]) -> dict[str, Callable[[], None]]:
    number = itertools.count()
    definition = definition_of(TYPE)

    def fresh() -> Path:
        path = folder / str(next(number))
        for old in folder.iterdir():
            shutil.rmtree(old) if old.is_dir() else old.unlink()
        return path

    def ours() -> None:
        recorder = Recorder(fresh(), RecordingSettings(compression=compression, spare_bytes=0), warn=sys.exit)
        send = recorder.advertise(Topic("/pose", TYPE, Qos()))
        recorder.open()
        for tick in range(COUNT // PER_TICK):
            for each in data[tick * PER_TICK : (tick + 1) * PER_TICK]:
                send(tick * TICK_NS, each)
            recorder.commit(tick * TICK_NS)
        recorder.close()

    def rosbags() -> None:
        writer = RosbagsWriter(fresh(), version=9, storage_plugin=StoragePlugin.MCAP)
        if compression == "zstd":
            writer.set_compression(CompressionMode.STORAGE, CompressionFormat.ZSTD)
        with writer:
            connection = writer.add_connection("/pose", TYPE, typestore=STORE)
            for row, each in enumerate(data):
                writer.write(connection, row // PER_TICK * TICK_NS, each)

    def mcap() -> None:
        kind = CompressionType.ZSTD if compression == "zstd" else CompressionType.NONE
        with fresh().open("wb") as stream:
            writer = Writer(stream, compression=kind)
            writer.start("ros2", "bench")
            channel = writer.register_channel("/pose", "cdr", writer.register_schema(TYPE, "ros2msg", schema_data))
            for row, each in enumerate(data):
                time_ns = row // PER_TICK * TICK_NS
                writer.add_message(channel, time_ns, each, time_ns)
            writer.finish()

    def foxglove_sdk() -> None:
        options = MCAPWriteOptions(compression=MCAPCompression.Zstd if compression == "zstd" else None, profile="ros2")
        schema = Schema(name=TYPE, encoding="ros2msg", data=schema_data)
        channel = Channel("/pose", message_encoding="cdr", schema=schema)
        with foxglove.open_mcap(fresh(), writer_options=options):
            for row, each in enumerate(data):
                channel.log(each, log_time=row // PER_TICK * TICK_NS)
        channel.close()

    schema_data = definition.text.encode()
    return {"ours": ours, "rosbags": rosbags, "mcap": mcap, "foxglove-sdk": foxglove_sdk}


if __name__ == "__main__":
    sys.exit(main())
