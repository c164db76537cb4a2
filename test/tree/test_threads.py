"""One thread stores while others look up; nobody sees half a transform. bench/tree_stress.py is the long form."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from nightly import only
from waiting import PATIENCE

from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.spatial.tree import Extrapolation, TransformTree

TICK = 1_000_000


def consistent(tick: int, frames: int) -> FloatArray:
    """Poses whose parts all follow from one number, so that a torn one shows."""
    angle = 0.001 * tick
    pose = [tick, 2.0 * tick, -tick, 0.0, 0.0, np.sin(angle / 2), np.cos(angle / 2)]
    return np.tile(pose, (frames, 1))


@pytest.mark.parametrize("readers", only([1, 3], 1))
def test_readers_see_whole_transforms(readers: int) -> None:
    tree = TransformTree(cache_duration=0.2, tolerance=0.0)
    frames = 50
    parents, children = tree.indices(["map"] * frames), tree.indices([f"f{i}" for i in range(frames)])
    tree.set_transforms(parents, children, 0, consistent(0, frames))
    done, failures, looked_up = threading.Event(), [], [0] * readers

    def read(me: int) -> None:
        rng = np.random.default_rng(me)
        try:
            while not done.is_set() or looked_up[me] < 100:
                name = f"f{rng.integers(frames)}"
                newest = tree.latest_common_time("map", name)
                assert newest is not None
                stamps = np.maximum(newest - rng.integers(0, 20, 30) * TICK // 2, 0)
                # The map moves on in between: what is asked for is old by then, not torn.
                try:
                    poses = [*tree.lookup_many("map", name, stamps), tree.lookup("map", name, int(stamps[0]))]
                except Extrapolation:
                    continue
                for stamp, pose in zip([*stamps.tolist(), stamps[0]], poses, strict=True):
                    tick = stamp / TICK
                    angle = 0.001 * tick
                    expected = [tick, 2 * tick, -tick, 0, 0, np.sin(angle / 2), np.cos(angle / 2)]
                    np.testing.assert_allclose(pose, expected, rtol=1e-12, atol=1e-12)
                looked_up[me] += 1
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=read, args=(me,), daemon=True) for me in range(readers)]
    for thread in threads:
        thread.start()
    for tick in range(1, 3000):
        tree.set_transforms(parents, children, tick * TICK, consistent(tick, frames))
        if tick % 500 == 0:
            tree.set_transform("map", f"late{tick}", tick * TICK, consistent(tick, 1)[0])
    done.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert not failures, failures[0]
    assert not any(thread.is_alive() for thread in threads)
    assert min(looked_up) >= 100
