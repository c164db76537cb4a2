"""Sweeps as programs, for tests: started, killed at some moment, and gone on with."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl
import psutil

import sim_node
from sim_node.extensions.sweep import read
from sim_node.extensions.sweep.engine import Finished
from sim_node.extensions.sweep.job import Cases, Job
from sim_node.extensions.sweep.worker import CaseWorker

SIM_NODE = (sys.executable, "-m", "sim_node.cli.main")
WORLD = """\
world: thrown
physics: {gravity: [0, 0, -10], timestep: 0.001}
time: {step: 0.01}
bodies:
  - {name: ball, joint: {type: free, qd: [3, 0, 5, 0, 0, 0]}, geometry: [{sphere: 0.1, mass: 1.0}]}
"""
VARY = ("--vary", "bodies[ball].joint.qd[0]=normal(3,0.2)", "--vary", "bodies[ball].geometry[0].mass=1,2,3")
# Takes time, but none of the machine's: so there is a moment to kill it.
PATIENT = """\
import time

def patient(run):
    time.sleep(0.05)
    return 1.0
"""
MEASURE = ("--measure", "final_pose(ball)", "--measure", "max(pose[ball].z)", "--every", "0.1")


def arguments(folder: Path, runs: int, *more: str, duration: float = 1.0) -> list[str]:
    """Of a sweep of a thrown ball, with results in folder/results."""
    world = folder / "thrown.yaml"
    world.write_text(WORLD)
    patient = folder / "patient.py"
    patient.write_text(PATIENT)
    out = ("--out", str(folder / "results"))
    measure = (*MEASURE, "--measure", str(patient))
    return ["sweep", str(world), "--runs", str(runs), "--duration", str(duration), *VARY, *measure, *out, *more]


def start(words: Sequence[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*SIM_NODE, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )


def environment(python: Path | str) -> dict[str, str]:
    """Of a program by another Python: sim_node and its packages are those of this one."""
    variables = dict(os.environ)
    if python != sys.executable:
        paths = [str(Path(sim_node.__file__).parents[1]), *(path for path in sys.path if path.endswith("-packages"))]
        variables["PYTHONPATH"] = os.pathsep.join(paths)
    return variables


def family(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """A program and what it has started, as of now."""
    own = psutil.Process(process.pid)
    return [own, *own.children(recursive=True)]


def workers_of(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """The workers of a sweep, as of now."""
    try:
        return [each for each in family(process)[1:] if "spawn_main" in " ".join(each.cmdline())]
    except psutil.NoSuchProcess:
        return []


def contents(folder: Path) -> pl.DataFrame:
    """The rows without the time that they took."""
    return read(folder).drop("wall_s")


def parts(folder: Path) -> int:
    return len(list((folder / "rows").glob("part-*.parquet")))


class Here:
    """An engine in the process of the test: starting others costs a second each."""

    def __init__(self, job: Job, workers: int | None, options: Mapping[str, str]) -> None:
        self.workers = workers or 1
        self._worker, self._waiting = CaseWorker(job), list[Cases]()

    def submit(self, cases: Cases) -> None:
        self._waiting.append(cases)

    def wait(self, seconds: float) -> list[Finished]:
        waiting, self._waiting = self._waiting, []
        return [Finished(cases, list(self._worker.run(cases))) for cases in waiting]

    def close(self) -> None:
        self._waiting.clear()
