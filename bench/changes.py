"""Worlds that change while they run: the cost of a spawn, of the steps after it, and what a thousand of them leave.

Run from the repository: python -m bench.changes [--out bench/results/changes.json]

A box is spawned into and removed from 1, 10 and 100 free bodies, and 100 with an IMU each, in CPU seconds; beside it
stands the same world assembled anew, which is what a change cost before. Steps of a world that has changed a hundred
times are paired with those of the same world loaded afresh. Exit code 1 if a spawn into 100 bodies takes 50 ms or more,
if steps cost more than 1/0.97 of those of the fresh world, or if a thousand spawns and removals leave memory, files,
threads or processes behind.
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import sys
import threading
import time
from pathlib import Path

import numpy as np

from bench.pairs import Pairs, figure
from sim_node.simulation import Simulation
from sim_node.simulation.changes import with_part
from sim_node.world import Body, Geometry, Physics, TimeGrid, World
from sim_node.world.model import Sensor

MAX_SPAWN_S, MIN_RATIO, CYCLES, MAX_GROWTH_KB = 0.05, 0.97, 1000, 4096
HERE = np.array([0.0, 0, 0, 0, 0, 0, 1])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("bench/results/changes.json"))
    arguments = parser.parse_args()
    pairs = Pairs()
    spawns = {count: spawn_s(boxes(count), pairs) for count in (1, 10, 100)}
    spawn_s(with_sensors(boxes(100)), pairs)
    ratio = steps(pairs)
    held = [
        figure("spawn, 100 bodies", spawns[100] * 1e3, "ms", limit=MAX_SPAWN_S * 1e3),
        figure("steps between changes, of steps afresh", ratio, "times", target=MIN_RATIO),
        grows_by_little(),
    ]
    pairs.save(arguments.out)
    return 0 if all(held) else 1


def box(index: int) -> Body:
    q = np.array([3.0 * (index % 20), 3.0 * (index // 20), 5.0, 0, 0, 0, 1])
    return Body(f"box{index}", "map", "free", q=q, geometry=(Geometry("box", np.array([1.0, 0.7, 0.4]), 1.0),))


def boxes(count: int) -> World:
    """Boxes that float."""
    physics = Physics(gravity=np.zeros(3), timestep_ns=2_000_000, integrator="implicitfast")
    return World("boxes", time=TimeGrid(0, 4_000_000), physics=physics, bodies=tuple(map(box, range(count))))


def with_sensors(world: World) -> World:
    """The world with an accelerometer and a gyroscope on each body."""
    return with_part(world, *(Sensor(f"{body.name}/IMU", body.name, HERE, type="imu") for body in world.bodies))


def spawn_s(world: World, pairs: Pairs) -> float:
    """Print and return what a spawn costs, as the median of many, CPU seconds."""
    run, count = Simulation(world), len(world.bodies)
    taken: dict[str, list[float]] = {"spawn": [], "remove": []}
    for _ in range(25):
        start = time.thread_time()
        run.add(box(count))
        between = time.thread_time()
        run.remove(f"box{count}")
        taken["spawn"].append(between - start)
        taken["remove"].append(time.thread_time() - between)

    def change() -> None:
        run.add(box(count))
        run.remove(f"box{count}")

    larger, sensed = with_part(world, box(count)), ", sensors" * bool(world.sensors)
    pairs.measure(
        f"spawn and remove, {count} bodies{sensed}",
        change,
        {"two new simulations": lambda: (Simulation(larger), Simulation(world))},
        clock=time.thread_time,
    )
    medians = {verb: statistics.median(seconds) for verb, seconds in taken.items()}
    print(f"  spawn {medians['spawn'] * 1e3:.1f} ms, remove {medians['remove'] * 1e3:.1f} ms", flush=True)
    return medians["spawn"]


def steps(pairs: Pairs) -> float:
    """Measure steps between changes beside those of the same world loaded afresh."""
    changed = Simulation(with_sensors(boxes(20)))
    for _ in range(50):
        changed.add(box(20))
        changed.remove("box20")
    fresh = Simulation(changed.world)
    return pairs.measure(
        "100 steps of 20 bodies, changed",
        lambda: changed.step(100),
        {"loaded afresh": lambda: fresh.step(100)},
        target=MIN_RATIO,
        rounds=61,
        clock=time.thread_time,
    )


def grows_by_little() -> bool:
    """Print what spawns and removals leave behind, and return whether that is within limits."""
    run = Simulation(with_sensors(boxes(5)))

    def cycles(count: int) -> None:
        for _ in range(count):
            run.add(box(5), Sensor("box5/IMU", "box5", HERE, type="imu"))
            run.step()
            run.remove("box5")

    cycles(CYCLES // 5)
    before = _held()
    cycles(CYCLES)
    after = _held()
    memory, *others = (there - here for here, there in zip(before, after, strict=True))
    left = f"{CYCLES} spawns and removals leave"
    held = [figure(f"{left} memory", memory, "kB", limit=MAX_GROWTH_KB)]
    for what, count in zip(("files", "threads", "children"), others, strict=True):
        held.append(figure(left, count, what, limit=0))
    return all(held)


def _held() -> tuple[int, int, int, int]:
    """Return resident memory in kB, and the numbers of open files, threads and child processes."""
    gc.collect()
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    resident = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="utf-8").split()
    return resident, len(os.listdir("/proc/self/fd")), threading.active_count(), len(children)


if __name__ == "__main__":
    sys.exit(main())
