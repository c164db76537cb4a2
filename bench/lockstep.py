"""The lockstep with the built-in autopilot over TCP: how many times faster than real time, and steps that went missing.

Run from the repository: python -m bench.lockstep [--seconds 60] [--out bench/results/lockstep.json]

Each step of 4 ms is one exchange: physics, sensors, HIL_SENSOR to a process of its own, HIL_ACTUATOR_CONTROLS back.
Exit code 1 below 15 times real time, or where a step had no answer of its own time. `make stress` runs half an hour.
What both processes take of a CPU tells them apart from what else runs on a busy machine.
"""

from __future__ import annotations

import argparse
import json
import socket
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import psutil

from bench.pairs import aim
from sim_node.autopilots.vehicle_co_simulator import attach_autopilots
from sim_node.simulation import Simulation
from sim_node.world import load

SLOWEST, RATE = 15.0, 250
WORLD = """\
origin: {{latitude: 47.397742, longitude: 8.545594, altitude: 488.0}}
time: {{step: 0.004}}
physics: {{integrator: euler, timestep: 0.001}}
bodies: [{{name: ground, geometry: [{{plane: true}}]}}]
vehicles:
  - name: v
    model: iris
    pose: {{position: [0, 0, 0.13]}}
    autopilot: {{type: mavlink_builtin, instance: {instance}}}
    pilot: {{take_off: 3, waypoints: [[10, 0, 5], [10, 10, 4], [0, 0, 3]], after: loop}}
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="simulated")
    parser.add_argument("--out", type=Path, default=Path("bench/results/lockstep.json"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lockstep.yaml"
        path.write_text(WORLD.format(instance=free_instance()))
        found = measure(Simulation(load(path), seed=1), arguments.seconds)
    factor, missed = found["real time factor"], found["missed"]
    held = factor >= SLOWEST and not missed
    print(
        f"lockstep at {RATE} Hz    {factor:.1f} times real time   p50 {found['p50_s'] * 1e6:.0f} us   "
        f"p99 {found['p99_s'] * 1e6:.0f} us a step, CPU {found['simulation_cpu_s'] * 1e6:.0f} us, of the autopilot "
        f"{found['autopilot_cpu_s'] * 1e6:.0f} us   {missed} of {found['steps']} steps without an answer"
        f"{aim(f'target {SLOWEST:g} times, none', held)}"
    )
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    return 0 if held else 1


def measure(simulation: Simulation, seconds: float) -> dict[str, float]:
    """From the air on, so that what starts up is not counted."""
    (peer,) = attach_autopilots(simulation)
    try:
        simulation.run(5.0)
        answered, steps = peer.wait.answered, round(seconds * RATE)
        elapsed = np.empty(steps)
        (child,) = psutil.Process().children()
        autopilot_cpu, cpu = sum(child.cpu_times()[:2]), time.process_time()
        began = time.perf_counter()
        for step in range(steps):
            before = time.perf_counter()
            simulation.step()
            elapsed[step] = time.perf_counter() - before
        wall = time.perf_counter() - began
        cpu = (time.process_time() - cpu) / steps
        autopilot_cpu = (sum(child.cpu_times()[:2]) - autopilot_cpu) / steps
        height = float(simulation.snapshot().poses[simulation.frames.index("v/base_link"), 2])
        assert height > 1.0, "it flies"
    finally:
        simulation.close()
    p50, p99 = np.percentile(elapsed, [50, 99]).tolist()
    missed = steps - (peer.wait.answered - answered)
    return {
        "real time factor": seconds / wall,
        "p50_s": p50,
        "p99_s": p99,
        "simulation_cpu_s": cpu,
        "autopilot_cpu_s": autopilot_cpu,
        "steps": steps,
        "missed": missed,
    }


def free_instance() -> int:
    for instance in range(200, 250):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", 4560 + instance))
            return instance
    raise OSError("no free port")


if __name__ == "__main__":
    sys.exit(main())
