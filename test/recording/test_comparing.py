"""Differences that were put there by hand are found where they are."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from robot_bag import Entry, imu, robot, text, write

from sim_node.recording.comparing import TopicDifference, compare
from sim_node.recording.opening import open_bag


def differences(
    tmp_path: Path, one: list[Entry], other: list[Entry], tolerance: float = 0.0
) -> dict[str, TopicDifference]:
    write(tmp_path / "one", one)
    write(tmp_path / "other", other)
    with open_bag(tmp_path / "one") as a, open_bag(tmp_path / "other") as b:
        topics = {topic.name for bag in (a, b) for topic in bag.topics}
        return {each.name: each for each in compare(a, b, topics, tolerance, (a.messages(topics), b.messages(topics)))}


def changed(entries: list[Entry], topic: str, number: int, message: tuple[str, object]) -> list[Entry]:
    """The entries with another message as the topic's number-th."""
    places = [i for i, entry in enumerate(entries) if entry[0] == topic]
    return [(*entry[:2], message) if i == places[number] else entry for i, entry in enumerate(entries)]


def test_a_bag_equals_itself(tmp_path: Path) -> None:
    found = differences(tmp_path, robot(1), robot(1))
    assert all(topic.is_equal for topic in found.values())
    assert found["/tf"].compared == 51


def test_the_first_and_the_largest_difference_are_found(tmp_path: Path) -> None:
    """At 0.4 s the rate is 0.25 more than sin 0.4; at 0.6 s it is 2 less than sin 0.6, and an axis differs by 0.5."""
    other = changed(robot(1), "/imu/data", 20, imu(400_000_000, math.sin(0.4) + 0.25, 0.020))
    other = changed(other, "/imu/data", 30, imu(600_000_000, math.sin(0.6) - 2.0, 0.030 + 0.5))
    found = differences(tmp_path, robot(1), other)
    topic = found["/imu/data"]
    assert not topic.is_equal
    assert found["/tf"].is_equal
    assert topic.differing == 2
    assert topic.first is not None
    assert (topic.first.number, topic.first.time_ns, topic.first.field) == (20, 400_000_000, "angular_velocity.z")
    assert (float(topic.first.one), float(topic.first.other)) == (math.sin(0.4), math.sin(0.4) + 0.25)
    assert topic.largest is not None
    assert topic.largest.amount == pytest.approx(2.0, abs=1e-15)
    assert (topic.largest.time_ns, topic.largest.field) == (600_000_000, "angular_velocity.z")


def test_a_tolerance_lets_numbers_differ(tmp_path: Path) -> None:
    other = changed(robot(1), "/imu/data", 20, imu(400_000_000, math.sin(0.4) + 0.25, 0.020))
    assert differences(tmp_path, robot(1), other, tolerance=0.26)["/imu/data"].is_equal


def test_a_tolerance_is_no_tolerance_of_texts(tmp_path: Path) -> None:
    other = changed(robot(1), "/status", 0, text("other"))
    topic = differences(tmp_path, robot(1), other, tolerance=10.0)["/status"]
    assert topic.first is not None
    assert (topic.first.field, topic.first.other, topic.largest) == ("data", "'other'", None)


def test_arrays_are_compared_by_element_and_nan_is_like_nan(tmp_path: Path) -> None:
    kind, message = imu(0, 0.0)
    message.orientation_covariance[4] = math.nan
    one = [("/imu", 0, (kind, message)), ("/imu", 1, (kind, message))]
    _, changed_message = imu(0, -0.0)
    changed_message.orientation_covariance[4] = math.nan
    same = [("/imu", 0, (kind, changed_message)), ("/imu", 1, (kind, changed_message))]
    assert differences(tmp_path / "same", one, same)["/imu"].is_equal, "0.0 and -0.0 differ in bytes only"
    _, third = imu(0, 0.0)
    third.orientation_covariance[4:6] = math.nan, 3.0
    topic = differences(tmp_path / "other", one, [one[0], ("/imu", 1, (kind, third))])["/imu"]
    assert topic.first is not None
    assert (topic.first.number, topic.first.field) == (1, "orientation_covariance[5]")
    assert topic.largest == (3.0, 1, "orientation_covariance[5]")


def test_topics_counts_and_types_that_differ_are_reported(tmp_path: Path) -> None:
    other = [*robot(1)[:-2], ("/extra", 10**9, text("more"))]
    other = [(topic, t, text("x") if topic == "/tf_static" else message) for topic, t, message in other]
    found = differences(tmp_path, robot(1), other)
    assert found["/tf"].counts == (51, 50)
    assert found["/tf"].compared == 50
    assert not found["/tf"].is_equal
    assert found["/extra"].counts == (0, 1)
    assert "types differ" in found["/tf_static"].note


def test_messages_shifted_in_time_are_paired_by_number(tmp_path: Path) -> None:
    late = [(topic, time_ns + 3 * 10**9, message) for topic, time_ns, message in robot(1)]
    assert all(topic.is_equal for topic in differences(tmp_path, robot(1), late).values())
