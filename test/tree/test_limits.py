"""How much a tree takes of whoever names frames without end."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from nightly import only

from sim_node.spatial.tree import InvalidTransform, TransformTree

IDENTITY = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
# What one frame that never moved may take, all in all.
MAX_BYTES = 600


def test_frames_beyond_the_limit_are_refused_and_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    tree = TransformTree(max_frames=3)
    for child in ("a", "b"):
        tree.set_transform("map", child, 1, IDENTITY)
    for child in ("c", "d"):
        with pytest.raises(InvalidTransform, match=r"the tree is full with 3 frames \(max_frames\)"):
            tree.set_transform("map", child, 1, IDENTITY)
    with pytest.raises(InvalidTransform, match="1 of 2 transforms refused") as refused:
        tree.set_transforms(["map", "map"], ["e", "b"], 2, [IDENTITY] * 2)
    assert [refusal.row for refusal in refused.value.refusals] == [0]
    assert tree.frames == ("map", "a", "b")
    assert tree.lookup_stamped("map", "b")[0] == 2
    assert len(caplog.messages) == 1
    assert "max_frames is 3; refusing 'c' and all further frames" in caplog.messages[0]


def test_a_name_of_any_length_is_not_kept() -> None:
    tree = TransformTree()
    with pytest.raises(InvalidTransform, match="longer than 1024 characters"):
        tree.set_transform("map", "x" * 1025, 1, IDENTITY)
    tree.set_transform("map", "x" * 1024, 1, IDENTITY)


@pytest.mark.parametrize("static", only([False, True], 0))
def test_a_frame_that_never_moved_takes_at_most_600_bytes(static: bool) -> None:
    frames = 10_000
    names = [f"frame{number:06}" for number in range(frames)]
    tree = TransformTree()
    tree.set_transform("map", "first", 1, IDENTITY)
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for name in names:
        tree.set_transform("map", name, 1, IDENTITY, static)
    taken = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    # The names themselves were there before: CPython's text of ASCII takes 49 bytes beside its characters, rounded up.
    assert taken / frames + 64 <= MAX_BYTES
    assert tree.nbytes / frames <= MAX_BYTES


@pytest.mark.parametrize("rate", [1, 30, 400])
def test_a_ring_that_began_small_keeps_the_whole_history(rate: int) -> None:
    tree = TransformTree(cache_duration=5.0, tolerance=0.0)
    stamps = np.arange(8 * rate) * (1_000_000_000 // rate)
    for stamp in stamps.tolist():
        tree.set_transform("map", "car", stamp, (stamp / 1e9, *IDENTITY[1:]))
    (car,) = (frame for frame in tree.describe() if frame.name == "car")
    assert car.newest_ns == stamps[-1]
    assert car.oldest_ns is not None
    # Counted back from the newest one: stamps at most the history's length before it.
    assert car.oldest_ns <= stamps[stamps >= stamps[-1] - 5_000_000_000][0]
