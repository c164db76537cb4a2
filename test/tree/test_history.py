"""What is kept of a frame's transforms: order, duplicates, expiry, growth, memory."""

from __future__ import annotations

import logging
from bisect import bisect_left
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nightly import only

from sim_node.spatial.tree import FutureExtrapolation, InvalidTransform, PastExtrapolation, TransformTree

SECOND = 1_000_000_000
MILLI = 1_000_000


def at(x: float) -> list[float]:
    return [float(x), 0, 0, 0, 0, 0, 1]


@given(
    stamps=st.lists(st.integers(0, 400), min_size=1, max_size=300),
    history=st.integers(1, 200),
    batch=st.integers(1, 20),
    spread=st.sampled_from([1, 3, 400]),
)
def test_any_order_of_stores_leaves_the_sorted_recent_ones(
    stamps: Sequence[int], history: int, batch: int, spread: int
) -> None:
    """Model: a sorted dictionary that drops what is older than newest - history before it takes one more (as tf2)."""
    if spread < 400:  # Mostly in order, with stragglers: how live data comes.
        stamps = [40 * i // 10 + stamp % (spread * 4) for i, stamp in enumerate(stamps)]
    tree = TransformTree(cache_duration=history * 1e-3, tolerance=0)
    model: dict[int, float] = {}
    newest = None
    for first in range(0, len(stamps), batch):
        rows = stamps[first : first + batch]
        values = [float(first + i) for i in range(len(rows))]
        expired = set()
        for i, (stamp, value) in enumerate(zip(rows, values, strict=True)):
            if newest is not None and stamp < newest - history:
                expired.add(i)
                continue
            if newest is not None:
                model = {s: v for s, v in model.items() if s >= newest - history}
            newest = stamp if newest is None else max(stamp, newest)
            model[stamp] = value
        refused = set()
        try:
            tree.set_transforms(
                ["map"] * len(rows), ["car"] * len(rows), np.array(rows) * MILLI, np.array([at(v) for v in values])
            )
        except InvalidTransform as error:
            refused = {refusal.row for refusal in error.refusals}
        assert refused == expired
    (info,) = (frame for frame in tree.describe() if frame.name == "car")
    kept = sorted(model)
    assert (info.stored, info.oldest_ns, info.newest_ns) == (len(kept), kept[0] * MILLI, kept[-1] * MILLI)
    for stamp in range(kept[0], kept[-1] + 1):
        i = bisect_left(kept, stamp)
        expected = model[kept[i]] if kept[i] == stamp else np.interp(stamp, kept, [model[k] for k in kept])
        assert tree.lookup("map", "car", stamp * MILLI)[0] == pytest.approx(expected, abs=1e-9)
    with pytest.raises(PastExtrapolation):
        tree.lookup("map", "car", kept[0] * MILLI - 1)
    with pytest.raises(FutureExtrapolation):
        tree.lookup("map", "car", kept[-1] * MILLI + 1)


def test_equal_stamps_replace() -> None:
    """The later of two transforms with one stamp counts, at the end of the history and inside it."""
    tree = TransformTree()
    for stamp in (1, 2, 3):
        tree.set_transform("map", "car", stamp * SECOND, at(stamp))
    for stamp, value in ((3, 30.0), (2, 20.0), (1, 10.0)):
        tree.set_transform("map", "car", stamp * SECOND, at(value))
        assert tree.lookup("map", "car", stamp * SECOND)[0] == value
    assert tree.as_dict()["car"]["stored"] == 3


def test_older_than_all_history_is_refused_with_the_reason() -> None:
    tree = TransformTree(cache_duration=10.0)
    tree.set_transform("map", "car", 100 * SECOND, at(1))
    tree.set_transform("map", "car", 90 * SECOND, at(0))
    with pytest.raises(InvalidTransform, match=r"map -> car at 89\.999999999 s: older than the cache duration of 10 s"):
        tree.set_transform("map", "car", 90 * SECOND - 1, at(0))
    assert tree.lookup("map", "car", 95 * SECOND)[0] == pytest.approx(0.5)


def test_a_batch_older_than_all_history_restarts_its_frames_where_jumps_are_detected(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A recording played in a loop: the second round counts, other frames and statics keep what they have."""
    tree = TransformTree(cache_duration=10.0, tolerance=0.0, detect_jumps=True)
    tree.set_transform("map", "other", 55 * SECOND, at(5))
    tree.set_transform("car", "roof", 0, at(7), static=True)
    for stamp in range(30, 61):
        tree.set_transform("map", "car", stamp * SECOND, at(stamp))
    with caplog.at_level(logging.WARNING, "sim_node.spatial.tree"):
        tree.set_transform("map", "car", 30 * SECOND, at(-30))
    assert "time went back to 30 s" in caplog.text
    tree.set_transform("map", "car", 31 * SECOND, at(-31))
    assert tree.lookup("map", "car")[0] == -31
    assert tree.lookup("map", "roof", 30 * SECOND)[0] == -23
    assert tree.as_dict()["car"]["stored"] == 2
    assert tree.lookup("map", "other")[0] == 5


def test_one_straggler_in_a_batch_is_no_jump() -> None:
    tree = TransformTree(cache_duration=10.0, detect_jumps=True)
    tree.set_transforms(["map"] * 2, ["a", "b"], 60 * SECOND, [at(1), at(1)])
    with pytest.raises(InvalidTransform) as error:
        tree.set_transforms(["map"] * 2, ["a", "b"], [61 * SECOND, 40 * SECOND], [at(2), at(2)])
    assert [refusal.child for refusal in error.value.refusals] == ["b"]
    assert tree.lookup("map", "a")[0] == 2
    assert tree.lookup("map", "b")[0] == 1


def test_jump_back_forgets_what_is_newer() -> None:
    tree = TransformTree(cache_duration=10.0, tolerance=0.0)
    for stamp in range(11):
        tree.set_transform("map" if stamp < 8 else "lift", "car", stamp * SECOND, at(stamp))
    tree.set_transform("map", "late", 9 * SECOND, at(1))
    tree.set_transform("map", "mast", 9 * SECOND, at(1), static=True)
    generation = tree.generation
    tree.jump_back(5 * SECOND + 1)
    assert tree.generation > generation
    assert tree.lookup("map", "car")[0] == 5
    assert tree.parent("car") == "map"
    assert tree.parent("late") is None
    assert tree.lookup("map", "mast")[0] == 1
    tree.set_transform("map", "car", 6 * SECOND, at(-6))
    assert tree.lookup("map", "car", 11 * SECOND // 2)[0] == pytest.approx(-0.5)


def test_clear_keeps_what_is_static() -> None:
    tree = TransformTree()
    tree.set_transform("map", "car", 1, at(1))
    tree.set_transform("car", "roof", 0, at(2), static=True)
    tree.clear()
    assert not tree.can_lookup("map", "car")
    assert tree.lookup("car", "roof")[0] == 2


@pytest.mark.parametrize("rate", only([30, 60, 100, 1000], 2))
@pytest.mark.parametrize("jitter", [0.0, 0.2])
def test_at_most_80_bytes_per_stored_transform(rate: int, jitter: float) -> None:
    """Ten seconds of history at rates that are usual, evenly spaced or not, after one minute."""
    rng = np.random.default_rng(rate)
    tree = TransformTree(cache_duration=10.0)
    frames = 100
    parents, children = tree.indices(["map"] * frames), tree.indices([f"frame{i}" for i in range(frames)])
    poses = np.tile(at(1), (frames, 1))
    for tick in range(20 * rate):
        stamps = (tick + jitter * rng.random(frames)) * SECOND / rate
        tree.set_transforms(parents, children, stamps.astype(np.int64), poses)
    stored = sum(frame.stored for frame in tree.describe())
    assert stored >= 10 * rate * frames
    assert tree.nbytes / stored <= 80


def test_a_slower_rate_after_a_fast_one_keeps_the_history_whole() -> None:
    tree = TransformTree(cache_duration=1.0, tolerance=0.0)
    stamps = [*range(0, 1000), *range(1000, 4000, 10), *range(4000, 4500)]
    for stamp in stamps:
        tree.set_transform("map", "car", stamp * MILLI, at(stamp))
    for stamp in (3500, 3505, 3995, 4499):
        assert tree.lookup("map", "car", stamp * MILLI)[0] == pytest.approx(stamp)
