"""Verdicts: what judging a flight costs, and a thousand short runs by the pool beside the same runs in bare processes.

Run from the repository: python -m bench.scenario [--out bench/results/scenario.json]

- CPU that judging adds to 60 s of a quadrotor's flight, with six expectations, contacts at each step among them
- runs of 5 s of the same flight by two workers, judged and kept as certificates, beside as many bare processes
- the processor time of such a run, judged, with its share of the driver's, beside that of a bare one: on as many cores
  as there are workers, the ratio of the throughputs where nothing else runs

Contestants take turns, so that a busy machine slows all alike. Exit code 1 where a target is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import statistics
import tempfile
import time
from contextlib import closing
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from bench.sweep import note, processes, warm
from sim_node.extensions.scenario.certificate import Certificate, digest_of, versions
from sim_node.extensions.scenario.judging import MEASURE, Judge, row_of
from sim_node.extensions.scenario.results import Results
from sim_node.extensions.sweep import (
    SWEEP_ENGINES,
    Cases,
    CaseWorker,
    Driver,
    Finished,
    Outcome,
    Prepared,
    Study,
    prepare,
)
from sim_node.simulation import Simulation
from sim_node.world import World, load

WORLD = Path(__file__).parents[1] / "config" / "scenarios" / "field_flight.yaml"
FLIGHT_S, SHORT_S, WORKERS, ROUNDS = 60.0, 5.0, 2, 3


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("bench/results/scenario.json"))
    parser.add_argument("--runs", type=int, default=1000, help="short runs")
    parser.add_argument("--processor", action="store_true", help="measure processor time alone")
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = []
    world = load(WORLD)
    if not arguments.processor:
        one_flight(rows, world)
    processor_time(rows, world)
    if not arguments.processor:
        many_runs(rows, world, arguments.runs)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps({"rows": rows, "load": os.getloadavg()}, indent=2) + "\n", encoding="utf-8")
    return 1 if any(row["missed"] for row in rows) else 0


def one_flight(rows: list[dict[str, Any]], world: World) -> None:
    """Compare the CPU of a flight with that of the same flight judged, s."""
    plain, judged = Simulation(world, sensors=False), Simulation(world, sensors=False)
    judging = Judge(judged)

    def fly(simulation: Simulation, judge: Judge | None) -> float:
        began = time.process_time()
        simulation.reset(1)
        simulation.run(FLIGHT_S)
        simulation.present()
        if judge is not None:
            samples = judge.samples()
            row_of(judge.verdict(samples), judge.digest(samples))
        return time.process_time() - began

    turns = [(fly(plain, None), fly(judged, judging)) for _ in range(ROUNDS + 1)][1:]
    extra = statistics.median(with_judge - without for without, with_judge in turns)
    # note() compares with a least value: half a second over what it took.
    note(
        rows,
        f"judging {FLIGHT_S:g} s of flight: 0.5 s / extra CPU",
        0.5 / extra,
        1.0,
        extra_s=extra,
        bare_s=turns[0][0],
    )


def many_runs(rows: list[dict[str, Any]], world: World, runs: int) -> None:
    """Compare the rate of judged runs by the pool with that of bare processes."""
    prepared = prepare(Study(world, SHORT_S, runs=runs, measures=(MEASURE,)))
    blank = Certificate(
        *("field_flight", str(WORLD), digest_of(world), 0, 0, {}, prepared.job.duration_ns),
        *("pass", "", None, "", None, {}, ""),
        versions(),
    )
    ratios, ours, theirs = [], [], []
    with (
        closing(SWEEP_ENGINES["processes"](prepared.job, WORKERS, {})) as pool,
        processes(WORKERS, _bare, replace(prepared)) as bare,
    ):
        warm(pool, prepared)
        for turn in range(ROUNDS):
            for contestant in ("ours", "theirs") if turn % 2 == 0 else ("theirs", "ours"):
                began = time.perf_counter()
                if contestant == "ours":
                    with (
                        tempfile.TemporaryDirectory() as folder,
                        closing(Results(Path(folder), blank, runs)) as results,
                    ):
                        assert Driver(prepared, pool, results).run()
                    ours.append(time.perf_counter() - began)
                else:
                    bare()
                    theirs.append(time.perf_counter() - began)
            ratios.append(theirs[-1] / ours[-1])
    name = f"{runs} judged runs of {SHORT_S:g} s by {WORKERS} workers, beside bare processes"
    note(rows, name, statistics.median(ratios), 0.9, ours_s=min(ours), theirs_s=min(theirs))


class _Known:
    """An engine that hands over outcomes that are known already: what is left is the time of the driver."""

    workers = WORKERS

    def __init__(self, outcomes: list[Outcome]) -> None:
        self._outcomes = {each.case.number: each for each in outcomes}
        self._waiting: list[bytes] = []

    def submit(self, cases: Cases) -> None:
        self._waiting.append(pickle.dumps(cases))

    def wait(self, seconds: float) -> list[Finished]:
        cases = pickle.loads(self._waiting.pop(0))
        outcomes = pickle.dumps([self._outcomes[number] for number in cases.numbers.tolist()])
        return [Finished(cases, pickle.loads(outcomes))]

    def close(self) -> None:
        """Nothing is open."""


def processor_time(rows: list[dict[str, Any]], world: World, runs: int = 40) -> None:
    """Compare the processor time of judged runs with that of bare ones, in pairs."""
    prepared = prepare(Study(world, SHORT_S, runs=runs, measures=(MEASURE,)))
    plain, worker = Simulation(world, sensors=False), CaseWorker(prepared.job)
    steps = plain.world.time.nearest_steps(prepared.job.duration_ns)[0]
    outcomes: list[Outcome] = []
    ours, theirs = [], []
    for case in range(-1, runs):  # the first is not counted
        one = prepared.cases.part(np.array([max(case, 0)]))
        began = time.process_time()
        plain.reset(int(one.seeds[0]))
        plain.step(steps)
        plain.present()
        middle = time.process_time()
        found = list(worker.run(one))
        if case >= 0:
            theirs.append(middle - began)
            ours.append(time.process_time() - middle)
            outcomes += found
    blank = Certificate(
        *("field_flight", str(WORLD), digest_of(world), 0, 0, {}, prepared.job.duration_ns),
        *("pass", "", None, "", None, {}, ""),
        versions(),
    )
    with tempfile.TemporaryDirectory() as folder, closing(Results(Path(folder), blank, runs)) as results:
        began = time.process_time()
        assert Driver(prepared, _Known(outcomes), results).run()
        driver = (time.process_time() - began) / runs
    ratio = statistics.median(bare / (judged + driver) for bare, judged in zip(theirs, ours, strict=True))
    name = f"processor time of a bare run of {SHORT_S:g} s / of a judged one"
    note(rows, name, ratio, 0.9, ours_s=min(ours), theirs_s=min(theirs), driver_s=driver)


def _bare(end: Connection, prepared: Prepared, share: slice) -> None:
    """Run cases by a Simulation, and nothing else."""
    simulation = Simulation(load(WORLD), sensors=False)
    steps = simulation.world.time.nearest_steps(prepared.job.duration_ns)[0]
    seeds = prepared.cases.part(share).seeds.tolist()
    end.send(True)
    while end.recv():
        for seed in seeds:
            simulation.reset(seed)
            simulation.step(steps)
            simulation.present()
        end.send(True)


if __name__ == "__main__":
    raise SystemExit(main())
