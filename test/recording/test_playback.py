"""What is played, and what late subscribers get first; bags by rosbags, transforms read back by rosbags."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from written import LATCHED, T0, TYPES, Row, qos, serialised, text, tf_message, write_bag

from sim_node.recording.bag import BagMessage
from sim_node.recording.frames import Statics
from sim_node.recording.opening import open_bag
from sim_node.recording.playback import Playback

TF = "tf2_msgs/msg/TFMessage"
STATIC = {"/tf_static": (TF, [LATCHED])}


def transforms(data: bytes) -> dict[str, tuple[str, int, float]]:
    """Parent, stamp and x by child."""
    message: Any = TYPES.deserialize_cdr(data, TF)
    return {
        t.child_frame_id: (
            t.header.frame_id,
            t.header.stamp.sec * 10**9 + t.header.stamp.nanosec,
            t.transform.translation.x,
        )
        for t in message.transforms
    }


def statics(*messages: Any) -> Statics:
    return Statics(BagMessage(0, T0 + row, serialised(message)) for row, message in enumerate(messages))


def test_broadcasters_side_by_side_become_one_message() -> None:
    """ros2/rosbag2#1049: of depth 1, only the last message would reach late subscribers."""
    merged = statics(tf_message((T0, "base", "camera", 0.1)), tf_message((T0 + 5, "base", "lidar", 0.2)))
    everything = {"camera": ("base", T0, 0.1), "lidar": ("base", T0 + 5, 0.2)}
    for count in range(3):
        data = merged.after(count)
        assert data is not None
        assert transforms(data) == everything


def test_a_message_that_has_everything_keeps_its_bytes() -> None:
    whole = tf_message((T0, "base", "camera", 0.1), (T0, "base", "lidar", 0.2))
    alone = statics(whole)
    assert alone.after(0) == alone.after(1) == serialised(whole)


FRAMES = st.sampled_from(["camera", "lidar", "radar"])
TOLD = st.lists(st.tuples(FRAMES, st.floats(-9, 9)), min_size=1, max_size=3, unique_by=lambda reported: reported[0])


@given(st.lists(TOLD, min_size=1, max_size=6))
def test_at_any_time_each_frame_is_as_last_reported_or_as_first_reported(
    messages: list[list[tuple[str, float]]],
) -> None:
    merged = statics(*(tf_message(*((T0, "base", name, x) for name, x in reported)) for reported in messages))
    for when in range(len(messages) + 1):
        wanted: dict[str, float] = {}
        for reported in reversed(messages[when:]):
            wanted.update(reported)
        for reported in messages[:when]:
            wanted.update(reported)
        assert merged.count_before(T0 + when) == when
        data = merged.after(when)
        assert data is not None
        assert {child: x for child, (_, _, x) in transforms(data).items()} == wanted


def test_no_static_transforms_are_none() -> None:
    assert Statics([]).after(0) is None


def playback(path: Path, *, start_ns: int | None = None, stop_ns: int | None = None) -> Playback:
    bag = open_bag(path)
    return Playback(bag, topics=[topic.name for topic in bag.topics], start_ns=start_ns, stop_ns=stop_ns)


def named(played: Playback, messages: Iterable[BagMessage]) -> list[tuple[str, int, bytes]]:
    return [(played.bag.topics[m.topic].name, m.time_ns, m.data) for m in messages]


def test_late_subscribers_get_statics_first_then_the_newest_of_each_latched_topic(tmp_path: Path) -> None:
    string = "std_msgs/msg/String"
    topics = {
        "/a_map": (string, [LATCHED]),
        "/chatter": (string, [qos()]),
        "/legs": (string, [LATCHED, LATCHED]),
        **STATIC,
    }
    rows = [Row("/tf_static", T0, tf_message((T0, "base", "camera", 0.1)))]
    rows += [
        Row(topic, T0 + 10 * i + row, text(f"{topic} {i}"))
        for i in range(1, 5)
        for row, topic in enumerate(["/a_map", "/chatter", "/legs"])
    ]
    with open_bag(write_bag(tmp_path / "bag", topics, rows)) as bag:
        played = Playback(bag, topics=topics)
        first, *newest = named(played, played.before(T0 + 31))
        assert first[0] == "/tf_static"
        assert newest == [
            ("/legs", T0 + 12, serialised(text("/legs 1"))),
            ("/legs", T0 + 22, serialised(text("/legs 2"))),
            ("/a_map", T0 + 30, serialised(text("/a_map 3"))),
        ]
        assert [when for _, when, _ in named(played, played.after(T0 + 31))] == [T0 + t for t in (31, 32, 40, 41, 42)]


def test_from_the_start_every_message_is_sent_once(tmp_path: Path) -> None:
    rows = [
        Row("/tf_static", T0, tf_message((T0, "base", "camera", 0.1))),
        Row("/tf_static", T0 + 9, tf_message((T0, "base", "camera", 0.2))),
    ]
    played = playback(write_bag(tmp_path / "bag", STATIC, rows))
    sent = [*played.before(T0), *played.after(T0)]
    assert [message.data for message in sent] == [serialised(row.data) for row in rows]


def test_both_ends_of_the_range_are_played(tmp_path: Path) -> None:
    rows = [Row("/chatter", T0 + i, text(str(i))) for i in range(10)]
    path = write_bag(tmp_path / "bag", {"/chatter": ("std_msgs/msg/String", [])}, rows)
    played = playback(path, start_ns=T0 + 2, stop_ns=T0 + 5)
    assert [message.time_ns - T0 for message in played.after(T0 + 2)] == [2, 3, 4, 5]


def test_a_static_topic_of_other_bytes_is_left_as_it_is(tmp_path: Path) -> None:
    rows = [Row("/tf_static", T0, b"\0\1\0\0\xff\xff\xff\x7f")]
    played = playback(write_bag(tmp_path / "bag", STATIC, rows))
    assert "cannot hold" in played.unmerged["/tf_static"]
    assert [message.data for message in played.after(T0)] == [rows[0].data]
