"""Messages of a bag decoded in one call: they, their columns and their frame hold what another library wrote."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from mcap.writer import Writer
from robot_bag import RATE, header, make, robot, text, tf, transform, write

from sim_node.messages.tf_message_reader import Unreadable
from sim_node.recording import BagError, open_bag
from sim_node.recording.exporting import export_csv, export_parquet

TIMES = [i * 10**9 // RATE for i in range(RATE + 1)]


def test_messages_are_decoded_with_their_times(tmp_path: Path) -> None:
    with open_bag(write(tmp_path / "bag", robot(1))) as bag:
        found = list(bag.read("/imu/data"))
        assert [time_ns for time_ns, _ in found] == TIMES
        assert [each.message.angular_velocity.z for each in found] == [math.sin(i / RATE) for i in range(RATE + 1)]
        assert {each.message.header.frame_id for each in found} == {"base_link"}
        assert [each.time_ns for each in bag.read("/imu/data", TIMES[3], TIMES[5])] == TIMES[3:5]


def test_columns_are_arrays_of_the_types_of_the_definition(tmp_path: Path) -> None:
    with open_bag(write(tmp_path / "bag", robot(1))) as bag:
        imu = bag.columns("/imu/data")
        assert imu["time_ns"].tolist() == TIMES
        assert imu["angular_velocity.z"].tolist() == [math.sin(i / RATE) for i in range(RATE + 1)]
        assert imu["angular_velocity_covariance"].tolist() == [[0.25] * 9] * (RATE + 1)
        assert {name: imu[name].dtype.name for name in ("header.stamp.sec", "header.stamp.nanosec", "time_ns")} == {
            "header.stamp.sec": "int32", "header.stamp.nanosec": "uint32", "time_ns": "int64"
        }  # fmt: skip
        assert imu["header.frame_id"].tolist() == ["base_link"] * (RATE + 1)
        tf_columns = bag.columns("/tf")
        assert tf_columns["transforms"][10][0].transform.translation.y == 2 * math.sin(10 / RATE)
        assert bag.columns("/imu/data", TIMES[-1] + 1)["angular_velocity_covariance"].shape == (0, 9)


def scan(count: int) -> tuple[str, Any]:
    message = make(
        "sensor_msgs/msg/LaserScan", header=header(0, "lidar"), angle_min=0.0, angle_max=1.0, angle_increment=0.5,
        time_increment=0.0, scan_time=0.0, range_min=0.0, range_max=9.0,
        ranges=np.arange(count, dtype=np.float32), intensities=np.zeros(0, np.float32),
    )  # fmt: skip
    return "sensor_msgs/msg/LaserScan", message


@pytest.mark.parametrize("counts", [(3, 3), (3, 5)])
def test_sequences_are_objects_whether_their_lengths_are_equal_or_not(counts: tuple[int, int], tmp_path: Path) -> None:
    bag_path = write(tmp_path / "bag", [("/scan", i, scan(count)) for i, count in enumerate(counts)])
    with open_bag(bag_path) as bag:
        ranges = bag.columns("/scan")["ranges"]
    assert (ranges.shape, ranges.dtype) == ((2,), np.dtype(object))
    assert [each.tolist() for each in ranges] == [list(range(count)) for count in counts]


def test_a_frame_has_the_columns_and_rows_of_parquet(tmp_path: Path) -> None:
    moving = [("/tf", 5, tf()), ("/tf", 6, tf(*(transform(1, "map", name, (1.0, 2.0, 3.0), 0.5) for name in "ab")))]
    bag_path = write(tmp_path / "bag", [*robot(1), *moving, ("/scan", 7, scan(4))])
    with open_bag(bag_path) as bag:
        files = export_parquet(bag, bag.messages(), tmp_path / "out", Unreadable(pytest.fail))
        topics = [topic.name for topic in bag.topics]
        assert len(files) == len(topics) == 5
        for topic, file in zip(topics, files, strict=True):
            frame, table = bag.frame(topic), pq.read_table(file)
            assert frame.columns == table.column_names
            assert frame.to_dicts() == table.to_pylist()
            assert frame.schema == pl.from_arrow(table).schema


def test_what_cannot_be_decoded_is_skipped_and_told(tmp_path: Path) -> None:
    with (tmp_path / "bag.mcap").open("wb") as file:
        writer = Writer(file)
        writer.start("ros2")
        schema = writer.register_schema("std_msgs/msg/String", "ros2msg", b"string data")
        channel = writer.register_channel("/status", "cdr", schema)
        for time_ns, data in enumerate((b"\0\1\0\0\3\0\0\0up\0", b"\0\1\0\0\xff\0\0\0up\0", b"\0\1")):
            writer.add_message(channel, log_time=time_ns, data=data, publish_time=time_ns)
        writer.finish()
    with open_bag(tmp_path / "bag.mcap") as bag:
        assert [(each.time_ns, each.message.data) for each in bag.read("/status")] == [(0, "up")]
        first, last = bag.damage
        assert first.startswith("/status: message skipped: 11 bytes are not a valid std_msgs/msg/String")
        assert last == "/status: 2 messages skipped in total"
        assert bag.columns("/status")["data"].tolist() == ["up"]


def test_an_unknown_topic_is_an_error_at_once(tmp_path: Path) -> None:
    with open_bag(write(tmp_path / "bag", [("/status", 0, text("up"))])) as bag:
        for call in (bag.read, bag.columns, bag.frame):
            with pytest.raises(BagError, match=r"no topic /statsu; did you mean /status\? \(known: /status\)"):
                call("/statsu")


def test_a_name_instead_of_a_list_of_names_is_an_error(tmp_path: Path) -> None:
    """The letters of "/status/more" contain "/status": a name would be taken for a list of names."""
    with (
        open_bag(write(tmp_path / "bag", [("/status", 0, text("up"))])) as bag,
        pytest.raises(TypeError, match=r"read\('/status/more'\) decodes the messages"),
    ):
        bag.messages("/status/more")


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_field_that_is_called_as_the_time_of_recording_is_has_a_column_of_its_own(
    suffix: str, tmp_path: Path
) -> None:
    """The time that a message tells is not the time at which it was recorded."""
    told, recorded = [7, 8], [100, 200]
    with (tmp_path / "bag.mcap").open("wb") as file:
        writer = Writer(file)
        writer.start("ros2")
        schema = writer.register_schema("my_msgs/msg/Tick", "ros2msg", b"int64 time_ns\nfloat64 value")
        channel = writer.register_channel("/tick", "cdr", schema)
        for time_ns, at in zip(told, recorded, strict=True):
            data = b"\0\1\0\0" + time_ns.to_bytes(8, "little") + np.float64(0.5).tobytes()
            writer.add_message(channel, log_time=at, data=data, publish_time=at)
        writer.finish()
    with open_bag(tmp_path / "bag.mcap") as bag:
        columns, frame = bag.columns("/tick"), bag.frame("/tick")
        export = export_csv if suffix == ".csv" else export_parquet
        (path,) = export(bag, bag.messages(), tmp_path / "out", Unreadable(pytest.fail))
    table = pl.read_csv(path) if suffix == ".csv" else pl.read_parquet(path)
    for found in (frame, table):
        assert found.columns == list(columns) == ["time_ns", "time_ns_", "value"]
        assert found["time_ns"].to_list() == recorded
        assert found["time_ns_"].to_list() == told
    assert (columns["time_ns"].tolist(), columns["time_ns_"].tolist()) == (recorded, told)
