"""Verdicts: what judging a flight costs, and a thousand short runs by the pool beside the same runs in bare processes.

Run from the repository: python -m bench.scenario [--out bench/results/scenario.json]

- CPU that judging adds to 60 s of a quadrotor's flight, with six expectations, contacts at each step among them
- runs of 5 s of the same flight by two workers, judged and kept as certificates, beside as many bare processes

Contestants take turns, so that a busy machine slows all alike. Exit code 1 where a target is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from contextlib import closing
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from bench.sweep import note, processes, warm
from sim_node.extensions.scenario.certificate import Certificate, digest_of, versions
from sim_node.extensions.scenario.judging import MEASURE, Judge, row_of
from sim_node.extensions.scenario.results import Results
from sim_node.extensions.sweep import SWEEP_ENGINES, Driver, Prepared, Study, prepare
from sim_node.simulation import Simulation
from sim_node.world import World, load

WORLD = Path(__file__).parents[1] / "config" / "scenarios" / "field_flight.yaml"
FLIGHT_S, SHORT_S, WORKERS, ROUNDS = 60.0, 5.0, 2, 3


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("bench/results/scenario.json"))
    parser.add_argument("--runs", type=int, default=1000, help="short runs")
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = []
    world = load(WORLD)
    one_flight(rows, world)
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
