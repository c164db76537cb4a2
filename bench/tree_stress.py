"""Ten million random operations on one transform tree by two threads, each result checked.

Run from the repository: python -m bench.tree_stress [--operations 10000000] [--seed 1]

One thread stores, in order and out of it, single and in batches, makes frames static, sets time back and clears;
the other looks up in every way there is. All poses follow from stamp and frame, so that whatever comes out can be
checked against a formula, whatever the other thread was doing. Exit code 1 at the first result that is wrong.
"""

from __future__ import annotations

import argparse
import math
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable

import numpy as np

from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.spatial.tree import InvalidTransform, TransformError, TransformTree

TICK = 1_000_000
CHAINS, DEPTH = 8, 6
SPIN = 0.01


def pose(chain: int, link: int, tick: float) -> list[float]:
    """A link slides along x with time, at a speed of its own, and turns about x."""
    half = SPIN * tick / 2
    return [tick * (link + 1), float(chain), 0.0, math.sin(half), 0.0, 0.0, math.cos(half)]


def expected_x(first: int, last: int, tick: float) -> float:
    """Position along x of the chain's link `last` in its link `first`."""
    return tick * sum(link + 1 for link in range(first, last))


class Stress:
    """The tree, and what the two threads share."""

    def __init__(self, operations: int, seed: int) -> None:
        self.tree = TransformTree(cache_duration=0.5, tolerance=0.0)
        self.operations, self.seed = operations, seed
        self.newest = 0
        self.failure: BaseException | None = None
        self.outcomes: Counter[str] = Counter()

    def run(self) -> None:
        threads = [
            threading.Thread(target=self._guarded, args=(work, seed), daemon=True)
            for work, seed in ((self._store, self.seed), (self._look_up, self.seed + 1))
        ]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            time.sleep(5)
            print(f"  {sum(self.outcomes.values()):,} operations", flush=True)

    def _guarded(self, work: Callable[[np.random.Generator], None], seed: int) -> None:
        try:
            work(np.random.default_rng(seed))
        except BaseException as failure:
            self.failure = failure

    def _store(self, rng: np.random.Generator) -> None:
        tree = self.tree
        names = [[f"c{chain}_{link}" for link in range(DEPTH + 1)] for chain in range(CHAINS)]
        parents = tree.indices([names[chain][link] for chain in range(CHAINS) for link in range(DEPTH)])
        children = tree.indices([names[chain][link + 1] for chain in range(CHAINS) for link in range(DEPTH)])
        tick = step = done = 0
        while done < self.operations // 2 and self.failure is None:
            tick, step = tick + 1, step + 1
            poses = np.array([pose(chain, link, tick) for chain in range(CHAINS) for link in range(DEPTH)])
            tree.set_transforms(parents, children, tick * TICK, poses)
            self.newest = tick
            done += len(poses)
            self.outcomes["stored"] += len(poses)
            for choice in rng.integers(0, 1000, 40).tolist():
                chain, link, at = choice % CHAINS, choice % DEPTH, tick - choice % 600
                try:
                    if at >= 0:
                        tree.set_transform(names[chain][link], names[chain][link + 1], at * TICK, pose(chain, link, at))
                        self.outcomes["stored out of order"] += 1
                except InvalidTransform:
                    self.outcomes["refused as too old"] += 1
                done += 1
            if step % 1000 == 0:
                tree.set_transform(names[0][0], f"mast{step % 5000}", 0, pose(0, 0, 5), static=True)
            if step % 5000 == 0:
                tick -= 300
                self.newest = tick
                tree.jump_back(tick * TICK)
            if step % 17_000 == 0:
                tree.clear()

    def _look_up(self, rng: np.random.Generator) -> None:
        tree, done = self.tree, 0
        while done < self.operations // 2 and self.failure is None:
            chain, kind = int(rng.integers(CHAINS)), int(rng.integers(10))
            first, last = sorted(rng.choice(DEPTH + 1, 2, replace=False).tolist())
            ends = (f"c{chain}_{first}", f"c{chain}_{last}")
            half_ticks = np.maximum(2 * self.newest - rng.integers(0, 900, 50), 0)
            stamps = half_ticks * (TICK // 2)
            before = done
            try:
                if kind < 5:
                    for stamp in stamps.tolist():
                        done += 1
                        self._check(tree.lookup(*ends, stamp), first, last, stamp / TICK)
                elif kind < 7:
                    done += len(stamps)
                    for found, stamp in zip(tree.lookup_many(*ends, stamps), stamps.tolist(), strict=True):
                        self._check(found, first, last, stamp / TICK)
                elif kind == 7:
                    done += 1
                    at, found = tree.lookup_stamped(*ends)
                    assert at is not None
                    self._check(found, first, last, at / TICK)
                elif kind == 8:
                    done += 1
                    stamp = int(stamps[0]) // (10 * TICK) * 10 * TICK
                    self._check(tree.lookup(*ends, stamp, quantised=True), first, last, stamp / TICK)
                else:
                    done += 1
                    back = tree.lookup(ends[1], ends[0], int(stamps[0]))
                    assert abs(back[0] + expected_x(first, last, stamps[0] / TICK)) < 1e-6
                self.outcomes["looked up"] += done - before
            except TransformError as refused:
                self.outcomes[type(refused).__name__] += done - before

    @staticmethod
    def _check(found: FloatArray, first: int, last: int, tick: float) -> None:
        x = expected_x(first, last, tick)
        angle = SPIN * tick * (last - first) / 2
        # Between two ticks x is linear in time and so is the angle, as the interpolation has them.
        assert abs(found[0] - x) <= 1e-9 * max(1.0, x), (found, x)
        assert abs(abs(found[3] * math.sin(angle) + found[6] * math.cos(angle)) - 1) < 1e-9, (found, angle)
        assert abs(found[4]) + abs(found[5]) < 1e-12


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--operations", type=int, default=10_000_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    stress = Stress(arguments.operations, arguments.seed)
    begin = time.monotonic()
    stress.run()
    for outcome, times in stress.outcomes.most_common():
        print(f"{outcome:<24}{times:>12,}")
    print(f"{arguments.operations:,} operations in {time.monotonic() - begin:.0f} s")
    if stress.failure is not None:
        print(f"FAILED: {stress.failure!r}")
    return 0 if stress.failure is None else 1


if __name__ == "__main__":
    sys.exit(main())
