"""Transforms of a whole bag against matrices."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from robot_bag import Entry, robot, tf, transform, write
from scipy.spatial.transform import Rotation
from written import T0, Row, tf_message, write_bag

from sim_node.recording.bag import BagError
from sim_node.recording.opening import open_bag
from sim_node.recording.transforms import BagTransforms, Found
from sim_node.spatial.tree import FutureExtrapolation, PastExtrapolation, UnknownFrame


def matrix(xyz: tuple[float, float, float], yaw: float) -> np.ndarray:
    found = np.eye(4)
    found[:3, :3] = Rotation.from_euler("z", yaw).as_matrix()
    found[:3, 3] = xyz
    return found


def lidar_in_map(t: float) -> np.ndarray:
    moving = matrix((2 * math.cos(t), 2 * math.sin(t), 0.0), t + math.pi / 2)
    return np.asarray(matrix((1.0, 2.0, 3.0), math.pi / 2) @ moving @ matrix((0.0, 0.0, 0.5), 0.0))


def lookups(path: Path, target: str, source: str, stamps: list[int]) -> list[Found]:
    with open_bag(path) as bag:
        return list(BagTransforms(bag, bag.messages).lookups(target, source, iter(stamps)))


def test_lookups_over_a_whole_bag_are_products_of_matrices(tmp_path: Path) -> None:
    """70 s, more than the tree remembers; stamps at which all transforms were sent."""
    path = write(tmp_path / "bag", robot(70))
    stamps = [i * 10**9 for i in range(0, 71, 5)]
    answers = lookups(path, "map", "lidar", stamps)
    assert [answer.stamp_ns for answer in answers] == stamps
    for answer in answers:
        expected = lidar_in_map(answer.stamp_ns / 1e9)
        assert isinstance(answer.pose, np.ndarray)
        np.testing.assert_allclose(answer.pose[:3], expected[:3, 3], atol=1e-9)
        np.testing.assert_allclose(Rotation.from_quat(answer.pose[3:]).as_matrix(), expected[:3, :3], atol=1e-9)


def test_between_two_stamps_it_is_interpolated(tmp_path: Path) -> None:
    """Half way: the mean of positions, and of yaws."""
    (answer,) = lookups(write(tmp_path / "bag", robot(4)), "odom", "base_link", [2_010_000_000])
    assert isinstance(answer.pose, np.ndarray)
    ends = [np.array([2 * math.cos(t), 2 * math.sin(t), 0.0]) for t in (2.0, 2.02)]
    np.testing.assert_allclose(answer.pose[:3], (ends[0] + ends[1]) / 2, atol=1e-12)
    assert Rotation.from_quat(answer.pose[3:]).as_euler("zyx")[0] == pytest.approx(2.01 + math.pi / 2 - 2 * math.pi)


def test_a_slow_frame_is_waited_for(tmp_path: Path) -> None:
    """One transform every 5 s, between others at 50 Hz."""
    slow: list[Entry] = [
        ("/tf", i * 10**9, tf(transform(i * 10**9, "lidar", "slow", (float(i), 0.0, 0.0), 0.0)))
        for i in range(0, 21, 5)
    ]
    entries = sorted([*robot(20), *slow], key=lambda entry: entry[1])
    answers = lookups(write(tmp_path / "bag", entries), "lidar", "slow", [2 * 10**9, 6 * 10**9, 19 * 10**9])
    assert [answer.pose[0] for answer in answers] == pytest.approx([2.0, 6.0, 19.0])  # type: ignore[index]


def test_times_without_an_answer_say_why(tmp_path: Path) -> None:
    path = write(tmp_path / "bag", robot(4))
    assert isinstance(lookups(path, "map", "lidar", [99 * 10**9])[0].pose, FutureExtrapolation)
    assert isinstance(lookups(path, "map", "nothing", [10**9])[0].pose, UnknownFrame)
    late = write(tmp_path / "late", [entry for entry in robot(4) if entry[1] >= 10**9 or entry[0] == "/tf_static"])
    early, later = lookups(late, "map", "lidar", [0, 2 * 10**9])
    assert isinstance(early.pose, PastExtrapolation)
    assert isinstance(later.pose, np.ndarray)


def test_static_transforms_recorded_late_hold_from_the_start(tmp_path: Path) -> None:
    statics = [entry for entry in robot(4) if entry[0] == "/tf_static"]
    entries = [entry for entry in robot(4) if entry[0] != "/tf_static"] + [
        (name, 4 * 10**9, m) for name, _, m in statics
    ]
    (answer,) = lookups(write(tmp_path / "bag", entries), "map", "lidar", [10**9])
    assert isinstance(answer.pose, np.ndarray)
    np.testing.assert_allclose(answer.pose[:3], lidar_in_map(1.0)[:3, 3], atol=1e-9)


def test_a_bag_without_transforms_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "bag", [entry for entry in robot(1) if entry[0] == "/imu/data"])
    with open_bag(path) as bag, pytest.raises(BagError, match="no transforms"):
        BagTransforms(bag, bag.messages)


def test_messages_that_the_tree_refuses_are_reported_and_stepped_over(tmp_path: Path) -> None:
    broken = transform(0, "a", "a", (0.0, 0.0, 0.0), 0.0)
    path = write(tmp_path / "bag", [*robot(1), ("/tf", 10**9, tf(broken))])
    with open_bag(path) as bag:
        transforms = BagTransforms(bag, bag.messages)
        assert "lidar" in transforms.fill().frames
        (refused,) = transforms.refused
    assert refused.startswith("/tf at 1.000 s: ")


def test_poses_of_all_frames_are_between_their_transforms_or_the_last(tmp_path: Path) -> None:
    """a at x = t, told each second; b at x = 7 is told once, after 2 s."""
    rows = [Row("/tf", T0 + k * 10**9, tf_message((T0 + k * 10**9, "map", "a", float(k)))) for k in range(40)]
    rows.insert(3, Row("/tf", T0 + 2 * 10**9 + 1, tf_message((T0 + 2 * 10**9, "map", "b", 7.0))))
    path = write_bag(tmp_path / "bag", {"/tf": ("tf2_msgs/msg/TFMessage", [])}, rows)
    times = [0.5, 1.75, 2.0, 20.25, 39.0]
    with open_bag(path) as bag:
        transforms = BagTransforms(bag, bag.messages)
        found = np.array(list(transforms.poses([("map", "a"), ("map", "b")], iter([T0 + int(t * 1e9) for t in times]))))
    np.testing.assert_allclose(found[:, 0, 0], times, atol=1e-9)
    np.testing.assert_array_equal(found[:, 1, 0], [np.nan, np.nan, 7.0, 7.0, 7.0])
