"""The long check: the node at 60 Hz for minutes, every message counted, lateness and memory watched.

Run from the repository, on a machine with nothing else to do: python -m bench.endurance [--minutes 10]

The node starts paused and is reset until its first tick is heard. Then every stamp must be the next tick, none
missing and none twice; the wall time from the first to the last must be theirs, without drift; the node's own
lateness p99 must stay below 2 ms (beside it stands that of a process that only sleeps to the same deadlines: what
the machine itself is late by); and resident memory must not grow once all is warm. Exit code 1 where one does not
hold.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
import time
from dataclasses import asdict, dataclass
from fractions import Fraction
from math import ceil
from pathlib import Path

import numpy as np
import psutil

from bench.node_process import Listener, listening, node_process
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import load

NAME = "simulation"
LATENESS_P99_MS, DRIFT_MS, RESIDENT_MB, GROWTH_MB = 2.0, 20.0, 200.0, 2.0
# Memory is compared from here on: discovery, first messages and the pools of DDS are over.
WARM = 0.2
SLEEPER = """
import sys, time
rate, ticks = float(sys.argv[1]), int(sys.argv[2])
began, late = time.monotonic(), []
for i in range(1, ticks):
    time.sleep(max(0.0, began + i / rate - time.monotonic()))
    late.append(time.monotonic() - began - i / rate)
print(sorted(late)[int(0.99 * len(late))] * 1e3)
"""


@dataclass(frozen=True)
class Outcome:
    """What was seen. lateness: of the node's windows of up to 1024 ticks, the median one's and the worst one's p99."""

    messages: int
    expected: int
    missing: int
    repeated: int
    drift_ms: float
    lateness_p50_ms: float
    lateness_p99_ms: float
    worst_lateness_p99_ms: float
    sleeper_lateness_p99_ms: float
    resident_mb: float
    growth_mb: float
    cpu_share: float

    def faults(self) -> list[str]:
        """What does not hold, in words."""
        return [
            fault
            for holds, fault in (
                (self.messages == self.expected and not self.missing and not self.repeated, "the count is not exact"),
                (abs(self.drift_ms) <= DRIFT_MS, f"drift beyond {DRIFT_MS:g} ms"),
                (self.lateness_p99_ms < LATENESS_P99_MS, f"lateness p99 is not below {LATENESS_P99_MS:g} ms"),
                (self.resident_mb < RESIDENT_MB, f"resident memory is not below {RESIDENT_MB:g} MB"),
                (self.growth_mb <= GROWTH_MB, f"memory grows by more than {GROWTH_MB:g} MB"),
            )
            if not holds
        ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--world", default="orbit")
    parser.add_argument("--rate", type=float, default=60.0, help="publish_rate in Hz (default 60)")
    parser.add_argument("--out", type=Path, default=Path("bench/results/endurance.json"))
    arguments = parser.parse_args()
    outcome = run(arguments.world, arguments.rate, 60.0 * arguments.minutes)
    for name, figure in asdict(outcome).items():
        print(f"{name.replace('_', ' '):<24}{figure:>12,.{3 if isinstance(figure, float) else 0}f}")
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(asdict(outcome), indent=2) + "\n", encoding="utf-8")
    for fault in outcome.faults():
        print(f"FAULT: {fault}")
    return 1 if outcome.faults() else 0


def run(world: str, rate: float, seconds: float) -> Outcome:
    """Runs the node for so many seconds of its time, at real time."""
    due = ticks(world, rate, seconds)
    with listening() as listener, node_process(world, {"publish_rate": rate, "start_paused": True}) as process:
        while not listener.heard(lambda: bool(listener.arrivals), 0.2):
            listener.call(f"/{NAME}/reset")  # publishes the first tick, paused as it is
        before = cpu_seconds(process)
        began = time.monotonic()
        listener.call(f"/{NAME}/resume")
        sleeper = subprocess.Popen(
            [sys.executable, "-c", SLEEPER, str(rate), str(len(due))], stdout=subprocess.PIPE, text=True
        )
        try:
            memory = watch(process, listener, due[-1], seconds)
            share = (cpu_seconds(process) - before) / (time.monotonic() - began)
            sleeper_p99 = float(sleeper.communicate(timeout=30.0)[0])
        finally:
            sleeper.kill()
        first = max(row for row, (_, stamp) in enumerate(listener.arrivals) if stamp == due[0])
        arrivals = [(wall, stamp) for wall, stamp in listener.arrivals[first:] if stamp <= due[-1]]
    stamps = [stamp for _, stamp in arrivals]
    # Of the earliest second of arrivals and the last one, the earliest each: what is on its way varies, drift does not.
    late = np.array([wall - stamp * 1e-9 for wall, stamp in arrivals[1:]])
    edge = max(min(round(rate), len(late) // 2), 1)
    lateness = np.array(listener.lateness[2:] or [(np.nan, np.nan)])
    warm = memory[int(WARM * len(memory)) :]
    return Outcome(
        messages=len(stamps),
        expected=len(due),
        missing=len(set(due) - set(stamps)),
        repeated=len(stamps) - len(set(stamps)),
        drift_ms=float(late[-edge:].min() - late[:edge].min()) * 1e3,
        lateness_p50_ms=float(np.median(lateness[:, 0])),
        lateness_p99_ms=float(np.median(lateness[:, 1])),
        worst_lateness_p99_ms=float(lateness[:, 1].max()),
        sleeper_lateness_p99_ms=sleeper_p99,
        resident_mb=float(memory.max()),
        growth_mb=float(np.median(warm[-len(warm) // 4 :]) - np.median(warm[: max(len(warm) // 4, 1)])),
        cpu_share=share,
    )


def ticks(world: str, rate: float, seconds: float) -> list[int]:
    """The stamps that must come, in exact fractions: the first step at or after each multiple of the period."""
    grid = load(world).time
    period_ns = Fraction(1_000_000_000) / Fraction(str(rate))
    count = int(Fraction(str(seconds)) * Fraction(str(rate))) + 1
    return [grid.start_ns + ceil(i * period_ns / grid.step_ns) * grid.step_ns for i in range(count)]


def watch(process: psutil.Process, listener: Listener, last_ns: int, seconds: float) -> FloatArray:
    """Resident memory in MB, twice a second until the stamp `last_ns` has come."""
    memory: list[float] = []
    over = threading.Event()

    def sample() -> None:
        while not over.wait(0.5):
            memory.append(process.memory_info().rss / 1e6)

    sampling = threading.Thread(target=sample, daemon=True)
    sampling.start()
    try:
        listener.wait_until(lambda: listener.arrivals[-1][1] >= last_ns, seconds + 30.0)
    finally:
        over.set()
        sampling.join()
    return np.array(memory)


def cpu_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


if __name__ == "__main__":
    sys.exit(main())
