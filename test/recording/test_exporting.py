"""Tables, read by other libraries, hold what was written into the bag."""

from __future__ import annotations

import csv
import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from robot_bag import RATE, header, make, robot, tf, transform, vector, write

from sim_node.messages.tf_message_reader import Unreadable
from sim_node.recording.bag import BagError
from sim_node.recording.exporting import export_csv, export_parquet
from sim_node.recording.opening import open_bag


def exported(bag_path: Path, folder: Path, parquet: bool = False) -> list[Path]:
    with open_bag(bag_path) as bag:
        return (export_parquet if parquet else export_csv)(bag, bag.messages(), folder, Unreadable(pytest.fail))


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_csv_has_a_row_of_each_message_and_a_column_of_each_number(tmp_path: Path) -> None:
    paths = exported(write(tmp_path / "bag", robot(1)), tmp_path / "out")
    assert [path.name for path in paths] == ["imu_data.csv", "status.csv", "tf.csv", "tf_static.csv"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [path.name for path in paths]
    imu = rows(tmp_path / "out" / "imu_data.csv")
    assert [int(row["time_ns"]) for row in imu] == [i * 10**9 // RATE for i in range(RATE + 1)]
    assert [float(row["angular_velocity.z"]) for row in imu] == [math.sin(i / RATE) for i in range(RATE + 1)]
    assert {row["angular_velocity_covariance[8]"] for row in imu} == {"0.25"}
    assert {row["header.frame_id"] for row in imu} == {"base_link"}
    assert [name for name in imu[0] if name.startswith("orientation.")] == [f"orientation.{axis}" for axis in "xyzw"]
    tf_rows = rows(tmp_path / "out" / "tf.csv")
    assert float(tf_rows[10]["transforms[0].transform.translation.y"]) == 2 * math.sin(10 / RATE)
    assert rows(tmp_path / "out" / "status.csv") == [{"time_ns": "0", "data": 'armed, "ready"\nnow'}]


def test_columns_that_come_later_are_empty_before(tmp_path: Path) -> None:
    one, two = (transform(0, "a", name, (1.0, 2.0, 3.0), 0.0) for name in ("b", "c"))
    bag = write(
        tmp_path / "bag", [("/tf", 1, tf()), ("/tf", 2, tf(one)), ("/tf", 3, tf(one, two)), ("/tf", 4, tf(two))]
    )
    (path,) = exported(bag, tmp_path / "out")
    found = rows(path)
    assert [row["transforms[0].child_frame_id"] for row in found] == ["", "b", "b", "c"]
    assert [row["transforms[1].child_frame_id"] for row in found] == ["", "", "c", ""]
    assert len(list(path.parent.iterdir())) == 1


def scan(count: int) -> tuple[str, Any]:
    message = make(
        "sensor_msgs/msg/LaserScan", header=header(0, "lidar"), angle_min=0.0, angle_max=1.0, angle_increment=0.5,
        time_increment=0.0, scan_time=0.0, range_min=0.0, range_max=9.0,
        ranges=np.arange(count, dtype=np.float32), intensities=np.zeros(0, np.float32),
    )  # fmt: skip
    return "sensor_msgs/msg/LaserScan", message


def test_long_sequences_are_one_cell_of_csv(tmp_path: Path) -> None:
    (path,) = exported(write(tmp_path / "bag", [("/scan", 1, scan(360)), ("/scan", 2, scan(3))]), tmp_path / "out")
    assert [json.loads(row["ranges"]) for row in rows(path)] == [list(range(360)), [0.0, 1.0, 2.0]]


def test_parquet_has_the_definitions_types_and_sequences_as_lists(tmp_path: Path) -> None:
    entries = [*robot(1), ("/scan", 2 * 10**9, scan(360)), ("/scan", 3 * 10**9, scan(0))]
    paths = exported(write(tmp_path / "bag", entries), tmp_path / "out", parquet=True)
    assert [path.name for path in paths] == [
        f"{name}.parquet" for name in ("imu_data", "scan", "status", "tf", "tf_static")
    ]
    imu = pq.read_table(tmp_path / "out" / "imu_data.parquet")
    assert imu["time_ns"].to_pylist() == [i * 10**9 // RATE for i in range(RATE + 1)]
    assert imu["angular_velocity.z"].to_pylist() == [math.sin(i / RATE) for i in range(RATE + 1)]
    assert imu["angular_velocity_covariance"][0].as_py() == [0.25] * 9
    assert str(imu.schema.field("header.stamp.nanosec").type) == "uint32"
    scans = pq.read_table(tmp_path / "out" / "scan.parquet")
    assert [len(ranges) for ranges in scans["ranges"].to_pylist()] == [360, 0]
    assert str(scans.schema.field("ranges").type.value_type) == "float"
    poses = pq.read_table(tmp_path / "out" / "tf.parquet")["transforms"].to_pylist()
    assert poses[10][0]["transform"]["translation"]["y"] == 2 * math.sin(10 / RATE)


def test_without_pyarrow_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.delitem(sys.modules, "pyarrow.parquet", raising=False)
    with pytest.raises(BagError, match=r"pip install 'sim_node\[export\]'"):
        exported(write(tmp_path / "bag", robot(1)), tmp_path / "out", parquet=True)


def test_constants_of_a_definition_are_no_columns(tmp_path: Path) -> None:
    """sensor_msgs/NavSatStatus has two fields and nine constants."""
    status = "sensor_msgs/msg/NavSatStatus", make("sensor_msgs/msg/NavSatStatus", status=1, service=2)
    (path,) = exported(write(tmp_path / "bag", [("/status", 1, status)]), tmp_path / "out")
    assert rows(path) == [{"time_ns": "1", "status": "1", "service": "2"}]


def test_names_of_topics_that_would_be_one_file_are_reported_apart(tmp_path: Path) -> None:
    vectors = "geometry_msgs/msg/Vector3", vector(1.0, 2.0, 3.0)
    bag = write(tmp_path / "bag", [("/a/b", 1, vectors), ("/a_b", 2, vectors), ("/a_b_2", 3, vectors)])
    assert [path.name for path in exported(bag, tmp_path / "out")] == ["a_b.csv", "a_b_2.csv", "a_b_2_2.csv"]


def test_a_topic_of_a_stranger_leads_to_no_other_folder(tmp_path: Path) -> None:
    vectors = "geometry_msgs/msg/Vector3", vector(1.0, 2.0, 3.0)
    bag = write(tmp_path / "bag", [("/../../../a\\b", 1, vectors), ("..", 2, vectors)])
    paths = exported(bag, tmp_path / "out")
    assert sorted(paths) == sorted((tmp_path / "out").iterdir())
    assert len(paths) == 2


def test_messages_that_are_none_are_skipped_and_counted(tmp_path: Path) -> None:
    bag = write(tmp_path / "bag", robot(1))
    reported: list[str] = []
    unreadable = Unreadable(reported.append)
    with open_bag(bag) as opened:
        messages = list(opened.messages(["/imu/data"]))
        cut = [message._replace(data=message.data[:20]) for message in messages[:3]]
        assert export_csv(opened, cut, tmp_path / "none", unreadable) == []
        (table,) = export_csv(opened, [*cut, *messages[3:]], tmp_path / "some", unreadable)
    assert list((tmp_path / "none").iterdir()) == []
    assert len(table.read_text(encoding="utf-8").splitlines()) == 1 + len(messages) - 3
    assert unreadable.by_topic == {"/imu/data": 6}
    assert len(reported) == 1
    assert "20 bytes are not a valid sensor_msgs/msg/Imu" in reported[0]
