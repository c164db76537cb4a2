"""The transform tree beside a plain tf2-like buffer (reference_tf2.py), in one run.

Run from the repository: python -m bench.tree [--out bench/results/tree.json]

History: 10 s of 100 Hz per frame, as in the published figures of tf2. `latest` asks without a stamp, `random` at
a random time of the history. Exit code 1 where a limit is passed; the limits are times, so they mean most on a
machine like the one that they were set on.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tracemalloc
from pathlib import Path

import numpy as np
from rclpy.serialization import deserialize_message
from tf2_msgs.msg import TFMessage

from bench.pairs import Pairs, figure
from bench.reference_tf2 import ReferenceBuffer
from sim_node.messages.tf_message_reader import TfMessageReader
from sim_node.messages.tf_sink import TfMessageBytes
from sim_node.spatial.geometry.arrays import FloatArray, IntArray
from sim_node.spatial.tree import TransformTree

SECOND = 1_000_000_000
RATE = 100
ENTRIES = 10 * RATE + 1
# Microseconds per call, nanoseconds per edge, bytes: what must not be passed.
LIMITS = {
    "lookup depth 5, latest": 3e-6,
    "lookup depth 5, random": 3e-6,
    "lookup depth 50, random": 12e-6,
    "lookup_many per edge, depth 5": 250e-9,
    "lookup_many per edge, depth 10": 250e-9,
    "lookup_many per edge, depth 50": 250e-9,
    "store 1000 transforms from bytes": 150e-6,
}
BYTES_LIMIT = 80


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("bench/results/tree.json"))
    arguments = parser.parse_args()
    pairs = Pairs()
    for depth in (1, 5, 10, 50):
        lookups(pairs, depth)
    for depth in (5, 10, 50):
        many(pairs, depth)
    storing(pairs)
    frames_in_the_tree(pairs)
    length_of_history(pairs)
    size = memory(pairs)
    pairs.save(arguments.out)
    held = [
        figure(row["name"], row["seconds"]["ours"] * 1e6, "us", limit=LIMITS[row["name"]] * 1e6)
        for row in pairs.rows
        if row["name"] in LIMITS
    ]
    held.append(figure("a transform", size, "bytes", limit=BYTES_LIMIT))
    return 0 if all(held) and not pairs.missed else 1


def lookups(pairs: Pairs, depth: int) -> None:
    """Single lookups along a chain."""
    tree, reference = chain(depth)
    ends = ("link0", f"link{depth}")
    pairs.measure(
        f"lookup depth {depth}, latest",
        lambda: tree.lookup(*ends),
        {"reference": lambda: reference.lookup(*ends)},
        target=1,
    )
    stamps = random_stamps(1000).tolist()
    at, at_reference = itertools.cycle(stamps), itertools.cycle(stamps)
    pairs.measure(
        f"lookup depth {depth}, random",
        lambda: tree.lookup(*ends, next(at)),
        {"reference": lambda: reference.lookup(*ends, next(at_reference))},
        target=1,
    )
    if depth == 5:
        pairs.measure(
            "lookup depth 5, quantised",
            lambda: tree.lookup(*ends, 5 * SECOND, quantised=True),
            {"exact": lambda: tree.lookup(*ends, 5 * SECOND)},
            target=1,
        )


def many(pairs: Pairs, depth: int) -> None:
    """Lookups at 10,000 random times, beside five of the reference; times and ratio are per edge."""
    tree, reference = chain(depth)
    ends, stamps = ("link0", f"link{depth}"), random_stamps(10_000)
    few = stamps[:5].tolist()
    pairs.measure(
        f"lookup_many per edge, depth {depth}",
        lambda: tree.lookup_many(*ends, stamps),
        {"reference": lambda: [reference.lookup(*ends, stamp) for stamp in few]},
        turn_s=0.05,
        units={"ours": len(stamps) * depth, "reference": len(few) * depth},
    )


def storing(pairs: Pairs) -> None:
    """A message of 1000 transforms, from its bytes into full histories."""
    n = 1000
    names = [f"robot_{i:04d}/link" for i in range(n)]
    poses = random_poses(n, np.random.default_rng(0))
    layout, reader, tree, reference = (
        TfMessageBytes(["map"] * n, names),
        TfMessageReader(),
        TransformTree(),
        ReferenceBuffer(),
    )
    parents, children = tree.indices(["map"] * n), tree.indices(names)
    # 12 s at 60 Hz, made beforehand; then from the start again, in rings that have their full size.
    messages = [layout.write(tick * SECOND // 60, poses) for tick in range(12 * 60)]
    at, at_reference = itertools.cycle(messages), itertools.cycle(messages)

    def ours() -> None:
        message = next(at)
        if message is messages[0]:
            tree.clear()
        batch = reader.read(message)
        tree.set_transforms(parents, children, batch.stamps_ns, batch.poses)

    def theirs() -> None:
        message = next(at_reference)
        if message is messages[0]:
            reference.histories.clear()
        for transform in deserialize_message(message, TFMessage).transforms:
            reference.set_transform(transform)

    for _ in messages:
        ours()
    pairs.measure("store 1000 transforms from bytes", ours, {"typed": theirs}, target=10)


def frames_in_the_tree(pairs: Pairs) -> None:
    """Depth 5 in a tree of 10 frames and in one of 100,000."""
    small, _ = chain(5)
    large, _ = chain(5)
    n = 99_990  # with the chain, within the tree's default max_frames
    large.set_transforms(["link0"] * n, [f"leaf{i}" for i in range(n)], 0, np.tile([0.0] * 6 + [1.0], (n, 1)))
    pairs.measure(
        "lookup among 100,000 frames",
        lambda: large.lookup("link0", "link5", 5 * SECOND),
        {"among 6": lambda: small.lookup("link0", "link5", 5 * SECOND)},
        target=0.8,
    )


def length_of_history(pairs: Pairs) -> None:
    """One edge with 100 stored transforms and with a million, at uneven times."""
    trees = []
    for entries in (100, 1_000_000):
        rng = np.random.default_rng(0)
        tree = TransformTree(cache_duration=1e6)
        stamps = np.cumsum(rng.exponential(10e6, entries)).astype(np.int64)
        tree.set_transforms(["map"] * entries, ["car"] * entries, stamps, random_poses(entries, rng))
        trees.append((tree, itertools.cycle(rng.integers(stamps[0], stamps[-1], 1000).tolist())))
    (short, short_at), (long, long_at) = trees
    pairs.measure(
        "lookup in 1,000,000 transforms",
        lambda: long.lookup("map", "car", next(long_at)),
        {"in 100": lambda: short.lookup("map", "car", next(short_at))},
        target=0.4,
    )


def memory(pairs: Pairs) -> float:
    """Bytes per stored transform, ten frames deep."""
    tree, _ = chain(10)
    ours = tree.nbytes / (10 * ENTRIES)
    tracemalloc.start()
    _, reference = chain(10)
    before = tracemalloc.get_traced_memory()[0]
    del reference
    theirs = (before - tracemalloc.get_traced_memory()[0]) / (10 * ENTRIES)
    tracemalloc.stop()
    print(f"{'bytes per stored transform':<34}{ours:>7.1f} B    reference {theirs:.1f} B   ratio {theirs / ours:.3g}x")
    pairs.rows.append(
        {
            "name": "bytes per stored transform",
            "bytes": {"ours": ours, "reference": theirs},
            "ratio": theirs / ours,
            "target": 1,
        }
    )
    return ours


def chain(depth: int) -> tuple[TransformTree, ReferenceBuffer]:
    """The same full histories along a chain, in both."""
    rng = np.random.default_rng(depth)
    tree, reference = TransformTree(), ReferenceBuffer()
    names = [f"link{i}" for i in range(depth + 1)]
    parents, children = tree.indices(names[:-1]), tree.indices(names[1:])
    layout = TfMessageBytes(names[:-1], names[1:])
    base = random_poses(depth, rng)
    for tick in range(ENTRIES):
        poses = base + 0.01 * rng.normal(size=base.shape)
        poses[:, 3:] /= np.linalg.norm(poses[:, 3:], axis=1, keepdims=True)
        stamp = tick * SECOND // RATE
        tree.set_transforms(parents, children, stamp, poses)
        for transform in deserialize_message(layout.write(stamp, poses), TFMessage).transforms:
            reference.set_transform(transform)
    return tree, reference


def random_poses(n: int, rng: np.random.Generator) -> FloatArray:
    poses = rng.normal(size=(n, 7))
    poses[:, 3:] /= np.linalg.norm(poses[:, 3:], axis=1, keepdims=True)
    return poses


def random_stamps(n: int) -> IntArray:
    return np.random.default_rng(n).integers(0, 10 * SECOND, n)


if __name__ == "__main__":
    sys.exit(main())
