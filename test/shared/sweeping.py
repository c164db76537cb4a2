"""Sweeps as programs, for tests: started, killed at some moment, and gone on with."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import psutil

from sim_node.sweep import read

SIM_NODE = (sys.executable, "-m", "sim_node.cli.main")
WORLD = """\
world: thrown
physics: {gravity: [0, 0, -10], timestep: 0.001}
time: {step: 0.01}
bodies:
  - {name: ball, joint: {type: free, qd: [3, 0, 5, 0, 0, 0]}, geometry: [{sphere: 0.1, mass: 1.0}]}
"""
VARY = ("--vary", "bodies[ball].joint.qd[0]=normal(3,0.2)", "--vary", "bodies[ball].geometry[0].mass=1,2,3")
MEASURE = ("--measure", "final_pose(ball)", "--measure", "max(pose[ball].z)", "--every", "0.1")


def arguments(folder: Path, runs: int, *more: str, duration: float = 1.0) -> list[str]:
    """Of a sweep of a thrown ball, with results in folder/results."""
    world = folder / "thrown.yaml"
    world.write_text(WORLD)
    out = ("--out", str(folder / "results"))
    return ["sweep", str(world), "--runs", str(runs), "--duration", str(duration), *VARY, *MEASURE, *out, *more]


def start(words: Sequence[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*SIM_NODE, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )


def family(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """A program and what it has started, as of now."""
    own = psutil.Process(process.pid)
    return [own, *own.children(recursive=True)]


def contents(folder: Path) -> pl.DataFrame:
    """The rows without the time that they took."""
    return read(folder).drop("wall_s")


def parts(folder: Path) -> int:
    return len(list((folder / "rows").glob("part-*.parquet")))
