"""Waiting for a transform: in threads, in asyncio, with an end in any case."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Sequence

import numpy as np
import pytest
from waiting import PATIENCE

from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.spatial.tree import Disconnected, FutureExtrapolation, TransformTree, UnknownFrame

SECOND = 1_000_000_000
# A wait that misses its data looks once more when its time is over, and would find them then: not in these tests.
NEVER = 3600.0


def at(x: int) -> list[float]:
    return [float(x), 0, 0, 0, 0, 0, 1]


@pytest.fixture
def tree() -> TransformTree:
    tree = TransformTree(tolerance=0.0)
    tree.set_transform("map", "car", 1 * SECOND, at(1))
    return tree


class Writer(threading.Thread):
    """Stores once the tree has someone who waits."""

    def __init__(self, tree: TransformTree, *calls: tuple[str, str, int, Sequence[float]]) -> None:
        super().__init__(daemon=True)
        self.tree, self.calls = tree, calls

    def run(self) -> None:
        while not self.tree._waits:
            time.sleep(0.001)
        for call in self.calls:
            self.tree.set_transform(*call)


def test_what_is_there_needs_no_wait(tree: TransformTree) -> None:
    assert tree.wait_for_transform("map", "car", SECOND, timeout=0)[0] == 1


def test_a_thread_goes_on_when_the_transform_comes(tree: TransformTree) -> None:
    Writer(tree, ("map", "other", SECOND, at(0)), ("map", "car", 3 * SECOND, at(3))).start()
    assert tree.wait_for_transform("map", "car", 2 * SECOND, timeout=NEVER)[0] == 2
    assert not tree._waits


def test_a_frame_may_be_unknown_when_the_wait_begins(tree: TransformTree) -> None:
    Writer(tree, ("car", "wheel", SECOND, at(5))).start()
    assert tree.wait_for_transform("map", "wheel", SECOND, timeout=NEVER)[0] == 6


def test_when_time_is_over_the_reason_is_raised(tree: TransformTree) -> None:
    begin = time.monotonic()
    with pytest.raises(FutureExtrapolation):
        tree.wait_for_transform("map", "car", 2 * SECOND, timeout=0.05)
    with pytest.raises(UnknownFrame):
        tree.wait_for_transform("map", "nobody", 2 * SECOND, timeout=0.05)
    assert time.monotonic() - begin >= 0.1
    assert not tree._waits


def test_asyncio_goes_on_when_another_thread_stores(tree: TransformTree) -> None:
    async def two() -> tuple[FloatArray, FloatArray]:
        return await asyncio.gather(
            tree.wait_for_transform_async("map", "car", 2 * SECOND, timeout=NEVER),
            tree.wait_for_transform_async("map", "car", 3 * SECOND, timeout=NEVER),
        )

    Writer(tree, ("map", "car", 2 * SECOND, at(2)), ("map", "car", 4 * SECOND, at(4))).start()
    assert [pose[0] for pose in asyncio.run(two())] == [2, 3]


def test_asyncio_ends_in_time_and_when_cancelled(tree: TransformTree) -> None:
    async def late() -> None:
        await tree.wait_for_transform_async("map", "car", 2 * SECOND, timeout=0.05)

    with pytest.raises(FutureExtrapolation):
        asyncio.run(late())

    async def cancelled() -> None:
        task = asyncio.create_task(tree.wait_for_transform_async("map", "car", 2 * SECOND, timeout=NEVER))
        await asyncio.sleep(0)
        assert len(tree._waits) == 1
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(cancelled())
    assert not tree._waits


def test_a_call_is_made_once_and_can_be_taken_back(tree: TransformTree) -> None:
    calls = []
    tree.when_available("map", "car", SECOND, lambda: calls.append("now"))
    assert calls == ["now"]
    tree.when_available("map", "car", 2 * SECOND, lambda: calls.append("later"))
    taken_back = tree.when_available("map", "car", 2 * SECOND, lambda: calls.append("never"))
    taken_back.cancel()
    for stamp in (2, 3):
        tree.set_transform("map", "car", stamp * SECOND, at(stamp))
    assert calls == ["now", "later"]
    taken_back.cancel()


def test_a_refused_batch_wakes_those_whose_transform_it_held(tree: TransformTree) -> None:
    calls = []
    tree.when_available("map", "car", 2 * SECOND, lambda: calls.append("there"))
    with pytest.raises(ValueError, match="1 of 2 transforms refused"):
        tree.set_transforms(["map"] * 2, ["car", "bad"], 2 * SECOND, np.array([at(1), [0] * 7]))
    assert calls == ["there"]


# Takes seconds: make test has threads that wait.
@pytest.mark.nightly
def test_a_waiting_thread_does_not_keep_the_process_alive() -> None:
    program = """
import threading
from sim_node.spatial.tree import TransformTree
tree = TransformTree()
threading.Thread(target=tree.wait_for_transform, args=("a", "b"), kwargs={"timeout": 3600}, daemon=True).start()
while not tree._waits:
    pass
"""
    done = subprocess.run([sys.executable, "-c", program], timeout=PATIENCE, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_disconnected_frames_are_waited_for_as_well(tree: TransformTree) -> None:
    tree.set_transform("moon", "rover", SECOND, at(1))
    with pytest.raises(Disconnected):
        tree.wait_for_transform("map", "rover", SECOND, timeout=0.01)
    Writer(tree, ("map", "moon", SECOND, at(100))).start()
    assert tree.wait_for_transform("map", "rover", SECOND, timeout=NEVER)[0] == 101
