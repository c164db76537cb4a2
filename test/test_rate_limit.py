"""Log lines that peers cause: one about each subject in a period, none lost from the count, whatever the peers do."""

from __future__ import annotations

import itertools
import logging
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim_node.rate_limit import MAX_SUBJECTS, PERIOD_NS, RateLimit
from sim_node.spatial.tree import TransformTree

SECOND = 1_000_000_000
STEPS = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 4 * SECOND)), max_size=60)


@given(STEPS)
def test_lines_about_a_subject_are_a_period_apart_and_count_the_others(steps: list[tuple[str, int]]) -> None:
    limit, now = RateLimit(), 0
    passed: dict[str, list[tuple[int, int]]] = {"a": [], "b": []}
    asked = {"a": 0, "b": 0}
    for about, pause in steps:
        now += pause
        asked[about] += 1
        line = limit.admit(about, "line", now)
        if line:
            held_back = re.fullmatch(r"line(?: \((\d+) more like this since the last one\))?", line)
            assert held_back is not None
            passed[about].append((now, int(held_back[1] or 0)))
        else:
            assert now - passed[about][-1][0] < PERIOD_NS
    for about, lines in passed.items():
        assert all(later[0] - earlier[0] >= PERIOD_NS for earlier, later in itertools.pairwise(lines))
        assert len(lines) + sum(count for _, count in lines) <= asked[about]
        assert bool(lines) == bool(asked[about])


def test_subjects_that_peers_choose_take_bounded_memory() -> None:
    limit = RateLimit()
    passed = sum(bool(limit.admit(str(subject), "line", 0)) for subject in range(2 * MAX_SUBJECTS))
    assert passed == MAX_SUBJECTS
    assert limit.admit("late", "line", PERIOD_NS) == "line"


def test_a_publisher_that_alternates_or_sets_time_back_cannot_flood_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """Static and dynamic in turn, promoted frames that move, and time that jumps back: at a peer's rate, any names."""
    tree = TransformTree(cache_duration=10.0, static_patterns=["cam_*"], detect_jumps=True)
    pose, began = [0.0, 0, 0, 0, 0, 0, 1], time.monotonic()
    with caplog.at_level(logging.WARNING, "sim_node.spatial.tree"):
        for round in range(300):
            name = f"frame_{round % 40}"
            tree.set_transform("map", name, (1000 + round) * SECOND, pose)
            tree.set_transform("map", name, 0, pose, static=True)
            tree.set_transform("base_link", f"cam_{round}", 1000 * SECOND, pose)
            tree.set_transform("base_link", f"cam_{round}", 1001 * SECOND, [float(round + 1), *pose[1:]])
            tree.set_transform("map", "car", 5000 * SECOND, pose)
            tree.set_transform("map", "car", 4000 * SECOND, pose)
    periods = int((time.monotonic() - began) * SECOND) // PERIOD_NS + 1
    assert caplog.messages
    kinds = ("and is now", "because of its name", "time went back")
    for kind in kinds:
        assert 1 <= sum(kind in message for message in caplog.messages) <= periods
