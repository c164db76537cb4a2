"""Assembling thousands of mated bodies, from a World to poses and to a world that runs.

Run from the repository: python -m bench.snap [--out bench/results/snap.json]

A tree: each body locked or hinged to one of those before it, in systems of ten, mates shuffled. Linkages: four-bars,
whose loops are closed by Newton's method. CPU seconds; exit code 1 where 1,000 bodies take 0.5 s, 10,000 take 5 s, or
ten times as many take more than fifteen times as long.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from bench.pairs import figure
from sim_node.assembly import assemble, assembly_of
from sim_node.world import ContactGeometry, Geometry, Mate, MateConnector, RigidBody, System, World

TARGETS = {1_000: 0.5, 10_000: 5.0}
MAX_GROWTH = 15.0
ROUNDS = 3


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("bench/results/snap.json"))
    arguments = parser.parse_args()
    assemble(linkages(4))  # compiles
    rows = []
    missed = False
    for name, build in (("tree", tree), ("four-bars", linkages)):
        for what, run in (("poses", assembly_of), ("to motion", assemble)):
            seconds = {}
            for count, target in TARGETS.items():
                seconds[count] = measured(run, build(count))
                missed |= not figure(f"{name}, {count} bodies, {what}", seconds[count], "s", limit=target)
            small, large = seconds.values()
            missed |= not figure(f"{name}, {what}: ten times the bodies", large / small, "times", limit=MAX_GROWTH)
            rows.append({"name": f"{name}, {what}", "seconds": seconds})
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(rows, indent=1))
    return 1 if missed else 0


def measured(run: Callable[[World], object], world: World) -> float:
    """The median, s."""
    times = []
    for _ in range(ROUNDS):
        gc.collect()
        start = time.process_time()
        run(world)
        times.append(time.process_time() - start)
    return statistics.median(times)


def tree(count: int) -> World:
    """Bodies on bodies before them; the mates in no order."""
    draw = random.Random(count)
    shape = ContactGeometry("box", Geometry("box", np.array([0.1, 0.1, 0.1])))
    ends = (
        MateConnector("in", np.array([0, 0, -0.05])),
        MateConnector("out", np.array([0.02, 0, 0.05]), np.array([0.1, 0.2, 1.0])),
    )
    systems = [
        System(f"s{s}", bodies=tuple(RigidBody(f"b{k}", geometries=(shape,), connectors=ends) for k in range(10)))
        for s in range(count // 10)
    ]
    mates = []
    for k in range(count):
        before = draw.randrange(max(k - 30, 0), k) if k else 0
        source = "ground" if k == 0 else f"s{before // 10}/b{before % 10}/out"
        kind = draw.choice(("lock", "hinge"))
        mates.append(Mate(f"m{k}", kind, (source, f"s{k // 10}/b{k % 10}/in"), (0.3,) if kind == "hinge" else None))
    draw.shuffle(mates)
    top = System("top", systems=tuple(systems), connectors=(MateConnector("ground"),), mates=tuple(mates))
    return World("tree", systems=(top,))


def linkages(count: int) -> World:
    """Four-bars side by side, three bodies each."""

    def bar(name: str, length: float) -> RigidBody:
        shape = ContactGeometry(
            "bar", Geometry("box", np.array([length, 0.02, 0.02]), 0.0, np.array([length / 2, 0, 0, 0, 0, 0, 1]))
        )
        return RigidBody(
            name, geometries=(shape,), connectors=(MateConnector("a"), MateConnector("b", np.array([length, 0, 0])))
        )

    def linkage(k: int) -> System:
        mates = (
            Mate("drive", "hinge", ("g0", "crank/a"), (k * 0.01,)),
            Mate("elbow", "hinge", ("crank/b", "coupler/a"), near=(-0.5,)),
            Mate("output", "hinge", ("g1", "rocker/a"), near=(1.6,)),
            Mate("closing", "hinge", ("coupler/b", "rocker/b")),
        )
        return System(
            f"l{k}",
            np.array([0, k, 0, 0, 0, 0, 1]),
            bodies=(bar("crank", 1.0), bar("coupler", 3.0), bar("rocker", 2.5)),
            connectors=(MateConnector("g0"), MateConnector("g1", np.array([3.2, 0, 0]))),
            mates=mates,
        )

    return World("linkages", systems=(System("top", systems=tuple(map(linkage, range(count // 3)))),))


if __name__ == "__main__":
    sys.exit(main())
