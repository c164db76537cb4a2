"""The quantised cache: what error it brings, when it forgets, what it counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim_node.spatial.tree import FutureExtrapolation, TransformTree

SECOND = 1_000_000_000
MILLI = 1_000_000


def at(x: int, q: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0)) -> list[float]:
    return [float(x), 0, 0, *q]


def circling(speed: float, turn_rate: float, rate: int = 1000, duration: int = 2) -> TransformTree:
    """A car that drives at `speed` (m/s) and turns at `turn_rate` (rad/s), sent at `rate` (Hz)."""
    tree = TransformTree()
    for tick in range(duration * rate + 1):
        t = tick / rate
        yaw = turn_rate * t
        radius = speed / turn_rate
        pose = [radius * np.sin(yaw), radius - radius * np.cos(yaw), 0, 0, 0, np.sin(yaw / 2), np.cos(yaw / 2)]
        tree.set_transform("map", "car", tick * SECOND // rate, pose)
    return tree


@pytest.mark.parametrize(("speed", "turn_rate"), [(1.0, 0.5), (30.0, 3.0)])
def test_the_error_is_at_most_half_a_bucket_of_motion(speed: float, turn_rate: float) -> None:
    """|error| <= speed * 5 ms and <= turn rate * 5 ms for a 10 ms bucket; and it comes close to that."""
    tree = circling(speed, turn_rate)
    stamps = np.random.default_rng(0).integers(0, 2 * SECOND, 2000)
    exact = tree.lookup_many("map", "car", stamps)
    quantised = np.array([tree.lookup("map", "car", stamp, quantised=True) for stamp in stamps.tolist()])
    metres = np.linalg.norm(quantised[:, :3] - exact[:, :3], axis=1)
    turns = 2 * np.arccos(np.clip(np.abs(np.sum(quantised[:, 3:] * exact[:, 3:], axis=1)), 0, 1))
    assert 0.9 * speed * 5e-3 < metres.max() <= speed * 5e-3 * (1 + 1e-6)
    assert 0.9 * turn_rate * 5e-3 < turns.max() <= turn_rate * 5e-3 * (1 + 1e-6)


def test_it_is_the_exact_answer_for_the_nearest_bucket() -> None:
    tree = circling(1.0, 0.5)
    for stamp in (123_456_789, 125_000_000, 124_999_999, 130_000_001):
        middle = round(stamp / 10 / MILLI + 1e-12) * 10 * MILLI
        np.testing.assert_array_equal(
            tree.lookup("map", "car", stamp, quantised=True), tree.lookup("map", "car", middle)
        )


def test_hits_are_counted_and_newer_data_does_not_void_the_past() -> None:
    tree = TransformTree()
    for tick in range(100):
        tree.set_transform("map", "car", tick * 10 * MILLI, at(tick))
    tree.lookup("map", "car", 503 * MILLI, quantised=True)
    assert (tree.hits, tree.misses) == (0, 1)
    tree.lookup("map", "car", 498 * MILLI, quantised=True)
    assert (tree.hits, tree.misses) == (1, 1)
    tree.set_transform("map", "car", SECOND, at(100))
    tree.lookup("map", "car", 500 * MILLI, quantised=True)
    assert (tree.hits, tree.misses) == (2, 1)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda tree: tree.set_transform("map", "car", 500 * MILLI, at(-1)), -1),
        (lambda tree: tree.set_transform("map", "car", 505 * MILLI, at(-1)), 50),
        (lambda tree: tree.set_transform("map", "car", 0, at(7), static=True), 7),
        (lambda tree: tree.jump_back(490 * MILLI), 49),
    ],
)
def test_a_change_of_the_past_voids(change: Callable[..., Any], expected: int) -> None:
    tree = TransformTree()
    for tick in range(100):
        tree.set_transform("map", "car", tick * 10 * MILLI, at(tick))
    assert tree.lookup("map", "car", 500 * MILLI, quantised=True)[0] == 50
    change(tree)
    assert tree.lookup("map", "car", 500 * MILLI, quantised=True)[0] == expected
    assert tree.hits == 0


def test_at_the_ends_of_the_history_the_stamp_itself_is_looked_up() -> None:
    """The bucket's middle, 1.000 s, is after the newest transform at 0.997 s."""
    tree = TransformTree(tolerance=0.0)
    for tick in range(998):
        tree.set_transform("map", "car", tick * MILLI, at(tick))
    assert tree.lookup("map", "car", 996 * MILLI, quantised=True)[0] == 996
    with pytest.raises(FutureExtrapolation):
        tree.lookup("map", "car", 998 * MILLI, quantised=True)


def test_what_was_held_within_the_tolerance_is_not_remembered() -> None:
    tree = TransformTree(tolerance=0.1)
    tree.set_transform("map", "car", SECOND, at(1))
    assert tree.lookup("map", "car", SECOND + 50 * MILLI, quantised=True)[0] == 1
    tree.set_transform("map", "car", SECOND + 100 * MILLI, at(2))
    assert tree.lookup("map", "car", SECOND + 50 * MILLI, quantised=True)[0] == 1.5


def test_remembered_poses_are_read_only() -> None:
    tree = circling(1.0, 0.5, duration=1)
    pose = tree.lookup("map", "car", SECOND // 2, quantised=True)
    with pytest.raises(ValueError, match="read-only"):
        pose[0] = 1.0


@given(
    operations=st.lists(
        st.tuples(st.sampled_from(["a", "b", "c"]), st.integers(0, 20), st.integers(-9, 9), st.integers(0, 9)),
        min_size=1,
        max_size=60,
    )
)
def test_after_any_changes_it_equals_the_exact_lookup_at_the_bucket(
    operations: Sequence[tuple[str, int, int, int]],
) -> None:
    """Frames a below b below c below map, in whatever order, some turned static, some cleared in between."""
    tree = TransformTree(tolerance=10.0)
    parents = {"a": "b", "b": "c", "c": "map"}
    for child, tick, value, what in operations:
        if what == 0:
            tree.jump_back(tick * 10 * MILLI)
        else:
            tree.set_transform(parents[child], child, tick * 10 * MILLI, at(value), static=what == 1)
        for stamp in range(0, 210 * MILLI, 10 * MILLI):
            if tree.can_lookup("map", "a", stamp):
                exact = tree.lookup("map", "a", stamp)
                np.testing.assert_array_equal(tree.lookup("map", "a", stamp, quantised=True), exact)
