"""Sweeps beside the same cases in bare processes, beside raw mj_step, and beside mujoco.rollout, in one run.

Run from the repository: python -m bench.sweep [--out bench/results/sweep.json]

- cases of 0.1 s and more by the pool, beside the same Simulation cases in as many bare processes, 1 and 2 workers
- the same by Ray, where it is installed, once it has started
- a world without sensors and vehicles, beside raw mj_step in bare processes
- 10,000 one-second runs of cart_pole, beside mujoco.rollout with as many threads
- CPU that a case costs beside its steps and its reset
- memory of the driver over 100,000 rows

Contestants take turns, so that a busy machine slows all alike; processes have started and imported before their turn.
Exit code 1 where a ratio is below its target.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import multiprocessing
import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from mujoco import rollout

from bench.pairs import aim
from sim_node.extensions.sweep.about import describe
from sim_node.extensions.sweep.dataset import RowWriter
from sim_node.extensions.sweep.driver import Driver
from sim_node.extensions.sweep.engine import SweepEngine
from sim_node.extensions.sweep.job import Case, Cases, Outcome
from sim_node.extensions.sweep.processes import Processes
from sim_node.extensions.sweep.ray_tasks import open_ray
from sim_node.extensions.sweep.runner import Runner
from sim_node.extensions.sweep.study import Prepared, Study, prepare
from sim_node.extensions.sweep.variations import variation
from sim_node.simulation import Simulation
from sim_node.world import World, load

VARY = (
    variation("bodies[cart].joint.damping", "uniform(0.05, 0.5)"),
    variation("bodies[pole].joint.q", "normal(0, 0.1)"),
)
# About 0.1 s of computing, where a step of cart_pole takes 6 us.
LONG_S = 20.0
ROUNDS = 3


def study(runs: int, duration: float) -> Prepared:
    return prepare(Study("cart_pole", duration, VARY, runs, measures=("final_pose(tip)",)))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("bench/results/sweep.json"))
    parser.add_argument("--runs", type=int, default=10_000, help="one-second runs")
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for workers in (1, 2):
        compare(rows, f"pool, cases of {LONG_S:g} s, {workers} worker(s)", study(40, LONG_S), workers, bare, 0.95)
        compare(rows, f"pool beside mj_step, {workers} worker(s)", study(40, LONG_S), workers, raw, 0.9)
        one_second = study(arguments.runs, 1.0)
        compare(rows, f"{arguments.runs} one-second runs, {workers}", one_second, workers, rolled_out, 0.8, rounds=1)
        if importlib.util.find_spec("ray") is not None:
            name = f"Ray, cases of {LONG_S:g} s, {workers} worker(s)"
            compare(rows, name, study(40, LONG_S), workers, bare, 0.9, engine=lambda job, n: open_ray(job, n, {}))
    overhead(rows)
    memory(rows)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps({"rows": rows}, indent=2) + "\n", encoding="utf-8")
    return 1 if any(row["missed"] for row in rows) else 0


def compare(
    rows: list[dict[str, Any]],
    name: str,
    prepared: Prepared,
    workers: int,
    rival: Callable[[Prepared, int], Any],
    target: float,
    rounds: int = ROUNDS,
    engine: Callable[[Any, int], Any] = Processes,
) -> None:
    """Measure the pool and a rival in turns. The ratio is that of their rates: 1 is as fast as the rival."""
    ratios, ours_s, theirs_s = [], [], []
    with closing(engine(prepared.job, workers)) as pool, rival(prepared, workers) as run_rival:
        warm(pool, prepared)
        for turn in range(rounds):
            for contestant in ("ours", "theirs") if turn % 2 == 0 else ("theirs", "ours"):
                began = time.perf_counter()
                if contestant == "ours":
                    sweep_once(pool, prepared)
                    ours_s.append(time.perf_counter() - began)
                else:
                    run_rival()
                    theirs_s.append(time.perf_counter() - began)
            ratios.append(theirs_s[-1] / ours_s[-1])
    note(rows, name, statistics.median(ratios), target, ours_s=min(ours_s), theirs_s=min(theirs_s))


def sweep_once(pool: SweepEngine, prepared: Prepared) -> None:
    """All cases, with rows written, by a pool that has started."""
    study_of_it = Study("cart_pole", 1.0)
    with tempfile.TemporaryDirectory() as folder:
        about = describe(study_of_it, prepared)
        with closing(RowWriter(Path(folder), about, len(prepared.cases))) as dataset:
            assert Driver(prepared, pool, dataset).run()


def warm(pool: SweepEngine, prepared: Prepared) -> None:
    """Let all workers start and open the world."""
    for _ in range(4 * pool.workers):
        pool.submit(prepared.cases.part(slice(0, 1)))
    done = 0
    while done < 4 * pool.workers:
        done += len(pool.wait(10.0))


@contextmanager
def bare(prepared: Prepared, workers: int) -> Iterator[Callable[[], None]]:
    """The same cases by a Simulation in processes that do nothing else."""
    with processes(workers, _bare, prepared) as run:
        yield run


@contextmanager
def raw(prepared: Prepared, workers: int) -> Iterator[Callable[[], None]]:
    """As many timesteps by mj_step alone."""
    with processes(workers, _raw, prepared) as run:
        yield run


@contextmanager
def rolled_out(prepared: Prepared, workers: int) -> Iterator[Callable[[], None]]:
    """The same initial states by mujoco.rollout in threads; it returns all states in chunks of a hundred runs."""
    simulation = Simulation("cart_pole", sensors=False)
    engine: Any = simulation.engines["rigid_bodies"]
    model = engine.model
    datas = [mujoco.MjData(model) for _ in range(workers)]
    full = int(mujoco.mjtState.mjSTATE_FULLPHYSICS)
    state = np.empty(mujoco.mj_stateSize(model, full))
    mujoco.mj_getState(model, engine.data, state, full)
    starts = np.repeat(state[None], len(prepared.cases), axis=0)
    starts[:, 2] = prepared.cases.values["bodies[pole].joint.q"]  # time, then positions
    steps = round(1.0 / model.opt.timestep)

    def run() -> None:
        for first in range(0, len(starts), 100):
            threads.rollout([model], datas, starts[first : first + 100], nstep=steps)

    with rollout.Rollout(nthread=workers if workers > 1 else 0) as threads:
        threads.rollout([model], datas, starts[:2], nstep=2)
        yield run


@contextmanager
def processes(
    workers: int, target: Callable[[Connection, Prepared, slice], None], prepared: Prepared
) -> Iterator[Callable[[], None]]:
    """Bare processes that each do their share of the cases on a signal."""
    context = multiprocessing.get_context("spawn")
    ends = []
    for worker in range(workers):
        ours, theirs = context.Pipe()
        process = context.Process(target=target, args=(theirs, prepared, slice(worker, None, workers)), daemon=True)
        process.start()
        ends.append((ours, process))
    for ours, _ in ends:
        ours.recv()

    def run() -> None:
        for ours, _ in ends:
            ours.send(True)
        for ours, _ in ends:
            ours.recv()

    yield run
    for ours, process in ends:
        ours.send(False)
        process.join()


def _bare(end: Connection, prepared: Prepared, share: slice) -> None:
    simulation = Simulation("cart_pole", sensors=False)
    engine: Any = simulation.engines["rigid_bodies"]
    steps = simulation.world.time.nearest_steps(prepared.job.duration_ns)[0]
    cases = prepared.cases.part(share)
    damping, angle = cases.values.values()
    end.send(True)
    while end.recv():
        for seed, one, other in zip(cases.seeds.tolist(), damping.tolist(), angle.tolist(), strict=True):
            engine.model.dof_damping[0], engine.compiled.qpos[1] = one, other
            simulation.reset(seed)
            simulation.step(steps)
            simulation.present()
        end.send(True)


def _raw(end: Connection, prepared: Prepared, share: slice) -> None:
    engine: Any = Simulation("cart_pole", sensors=False).engines["rigid_bodies"]
    model, data = engine.model, mujoco.MjData(engine.model)
    steps = round(prepared.job.duration_ns * 1e-9 / model.opt.timestep)
    damping, angle = prepared.cases.part(share).values.values()
    end.send(True)
    while end.recv():
        for one, other in zip(damping.tolist(), angle.tolist(), strict=True):
            mujoco.mj_resetData(model, data)
            model.dof_damping[0], data.qpos[1] = one, other
            mujoco.mj_step(model, data, steps)
        end.send(True)


def overhead(rows: list[dict[str, Any]]) -> None:
    """CPU of a case of ten steps beside its reset and its steps, in worker and driver, ms."""
    world: World = load("cart_pole")
    prepared = study(2000, 10 * world.time.step_ns * 1e-9)
    runner = Runner(prepared.job)
    simulation = Simulation(world, sensors=False)
    list(runner.run(prepared.cases.part(slice(0, 100))))
    with tempfile.TemporaryDirectory() as folder:
        about = describe(Study("cart_pole", 1.0), prepared)
        with closing(RowWriter(Path(folder), about, len(prepared.cases))) as dataset:
            began = time.process_time()
            for start in range(0, 2000, 100):
                dataset.add(runner.run(prepared.cases.part(slice(start, start + 100))))
            dataset.flush()
            whole = time.process_time() - began
    began = time.process_time()
    for seed in prepared.cases.seeds.tolist():
        simulation.reset(seed)
        simulation.step(10)
    alone = time.process_time() - began
    each_ms = (whole - alone) / 2000 * 1e3
    # Of two measurements: the difference of two that are alike may be below zero.
    note(rows, "overhead of a case, ms of CPU (limit 1)", 1.0 / max(each_ms, 0.001), 1.0, overhead_ms=each_ms)


def memory(rows: list[dict[str, Any]], count: int = 100_000) -> None:
    """Memory of a driver that appends rows: its growth from 20,000 rows on, MB."""
    values = {"a": np.linspace(0.0, 1.0, count), "b": np.linspace(1.0, 2.0, count)}
    cases = Cases(np.arange(count), np.arange(count), values)
    with tempfile.TemporaryDirectory() as folder:
        prepared = study(1, 1.0)
        about = describe(Study("cart_pole", 1.0), prepared)
        peak_mb = 0.0
        with closing(RowWriter(Path(folder), about, count)) as dataset:
            for start in range(0, count, 200):
                batch: list[Case] = list(cases.part(slice(start, start + 200)))
                dataset.add([Outcome(case, "ok", "", {"x": 1.0, "y": 2.0}, 0.1) for case in batch])
                if start % 1000 == 0:
                    dataset.flush()
                if start == 20_000:
                    peak_mb = _peak_mb()
            grown = _peak_mb() - peak_mb
    note(rows, "growth of the driver over 80,000 rows, MB", 16.0 / max(grown, 1.0), 1.0, grown_mb=grown)


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def note(rows: list[dict[str, Any]], name: str, ratio: float, target: float, **more: float) -> None:
    missed = ratio < target
    figures = "   ".join(f"{key} {value:.4g}" for key, value in more.items())
    print(f"{name:<48} ratio {ratio:.3f}{aim(f'target {target:g}', not missed)}   {figures}", flush=True)
    rows.append({"name": name, "ratio": ratio, "target": target, "missed": missed, **more})


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
