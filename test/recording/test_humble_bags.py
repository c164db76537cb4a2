"""Bags as Foxy to Humble wrote them, put together by hand with sqlite3: the tables, numbers for quality of service."""

from __future__ import annotations

import sqlite3
import struct
from pathlib import Path

import pytest

from sim_node.cli.main import main
from sim_node.messages.topic import Qos
from sim_node.recording.opening import open_bag

# rosbag2_storage_default_plugins, sqlite_storage.cpp of those versions.
TABLES = """
CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL,
  serialization_format TEXT NOT NULL, offered_qos_profiles TEXT NOT NULL);
CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL, timestamp INTEGER NOT NULL,
  data BLOB NOT NULL);
CREATE INDEX timestamp_idx ON messages (timestamp ASC);
"""
# rmw/types.h: history 1 keep last; reliability 1 reliable, 2 best effort; durability 1 transient local, 2 volatile.
PROFILE = """- history: 1
  depth: {depth}
  reliability: {reliability}
  durability: {durability}
  deadline:
    sec: 9223372036
    nsec: 854775807
  lifespan:
    sec: 9223372036
    nsec: 854775807
  liveliness: 1
  liveliness_lease_duration:
    sec: 9223372036
    nsec: 854775807
  avoid_ros_namespace_conventions: false"""
METADATA = """rosbag2_bagfile_information:
  version: {version}
  storage_identifier: sqlite3
  relative_file_paths:
    - {prefix}walk_0.db3
  duration:
    nanoseconds: 2000000000
  starting_time:
    nanoseconds_since_epoch: 1650000000000000000
  message_count: 4
  topics_with_message_count:
{topics}  compression_format: ""
  compression_mode: ""
"""
TOPIC = """    - topic_metadata:
        name: {name}
        type: {type}
        serialization_format: cdr
        offered_qos_profiles: "{qos}"
      message_count: {count}
"""
START = 1_650_000_000_000_000_000


def text(value: str) -> bytes:
    """std_msgs/String as CDR, padded as DDS does."""
    body = value.encode() + b"\0"
    return b"\0\1\0\0" + struct.pack("<I", len(body)) + body + bytes(-len(body) % 4)


LATCHED = PROFILE.format(depth=1, reliability=1, durability=1)
SENSOR = PROFILE.format(depth=5, reliability=2, durability=2)
TOPICS = [(1, "/description", LATCHED, 1), (2, "/words", SENSOR, 3)]
MESSAGES = [
    (1, START, text("robot")),
    (2, START + 500_000_000, text("one")),
    (2, START + 1_000_000_000, text("two")),
    (2, START + 2_000_000_000, text("three")),
]


@pytest.fixture(params=[(4, "walk/"), (5, "")], ids=["foxy", "humble"])
def bag(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    version, prefix = request.param
    folder = tmp_path / "walk"
    folder.mkdir()
    file = sqlite3.connect(folder / "walk_0.db3")
    file.executescript(TABLES)
    file.executemany(
        "INSERT INTO topics VALUES (?, ?, 'std_msgs/msg/String', 'cdr', ?)",
        [(row, name, qos) for row, name, qos, _ in TOPICS],
    )
    file.executemany("INSERT INTO messages(topic_id, timestamp, data) VALUES (?, ?, ?)", MESSAGES)
    file.commit()
    file.close()
    topics = "".join(
        TOPIC.format(name=name, type="std_msgs/msg/String", qos=qos.replace("\n", "\\n"), count=count)
        for _, name, qos, count in TOPICS
    )
    (folder / "metadata.yaml").write_text(
        METADATA.format(version=version, prefix=prefix, topics=topics), encoding="utf-8"
    )
    return folder


def test_all_of_it_is_read(bag: Path) -> None:
    with open_bag(bag) as opened:
        assert [(topic.name, topic.type, topic.count) for topic in opened.topics] == [
            ("/description", "std_msgs/msg/String", 1),
            ("/words", "std_msgs/msg/String", 3),
        ]
        assert [topic.qos for topic in opened.topics] == [
            (Qos(depth=1, durability="transient_local"),),
            (Qos(depth=5, reliability="best_effort"),),
        ]
        assert [(opened.topics[each.topic].name, each.time_ns, each.data) for each in opened.messages()] == [
            ("/description" if row == 1 else "/words", time_ns, data) for row, time_ns, data in MESSAGES
        ]
        late = opened.messages(["/words"], start_ns=START + 1_000_000_000, stop_ns=START + 2_000_000_000)
        assert [each.data for each in late] == [text("two")]


def test_the_commands_take_it(bag: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(bag)]) == 0
    assert "best_effort, volatile, depth 5" in capsys.readouterr().out
    assert main(["export", str(bag), "--csv", str(tmp_path / "tables")]) == 0
    assert (tmp_path / "tables" / "words.csv").read_text(encoding="utf-8").splitlines()[1:] == [
        f"{time_ns},{word}" for (_, time_ns, _), word in zip(MESSAGES[1:], ("one", "two", "three"), strict=True)
    ]
