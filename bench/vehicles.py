"""Multirotors beside a loop over mujoco.mj_step of the very same model, and beside the clock.

Run from the repository: python -m bench.vehicles [--out bench/results/vehicles.json]

One quadrotor on its mission at 1 kHz, without and with its sensors, and as a node that publishes all of them; 1, 10,
100 and 1,000 in one world at 250 Hz, all flown by their pilots. All in seconds of one core. Exit code 1 where one with
its sensors stays below 80 times real time or its node below 25 times, where a hundred stay below 5 times, where one of
a thousand costs more than twice as much as one of ten, or where memory grows with simulated time.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import psutil

from bench.pairs import Pairs, figure
from sim_node.simulation import Simulation
from sim_node.simulation.physics import RigidBodyEngine
from sim_node.world import Multirotor, Physics, Pilot, TimeGrid, Waypoint, World, load

FASTEST_ONE, FASTEST_NODE, FASTEST_HUNDRED, FLAT = 80.0, 25.0, 5.0, 2.0
# Of memory, in simulated time: kB per second, and how long it is watched after how long, s.
GROWTH, WATCHED, WARM = 0.1, 1800.0, 120.0
AIRBORNE = 5.0
ROOT = Path(__file__).parents[1]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("bench/results/vehicles.json"))
    arguments = parser.parse_args()
    pairs, held = Pairs(), []

    mission = replace(load(ROOT / "config" / "worlds" / "quadrotor.yaml"), time=TimeGrid(step_ns=4_000_000))
    measure(pairs, "1 s of a quadrotor", replace(mission, sensors=()), 1.0)
    factor = measure(pairs, "1 s of it with sensors", of_its_model(mission), 1.0)
    held.append(figure("a quadrotor with sensors", factor, "times real time", target=FASTEST_ONE))
    held.append(figure("memory of a run, growth", growth(of_its_model(mission)), "kB per simulated s", limit=GROWTH))
    factor = published("quadrotor", 20, 220)
    held.append(figure("a quadrotor as a node", factor, "times real time", target=FASTEST_NODE))
    pairs.rows.append({"name": "a quadrotor as a node", "real time factor": factor, "target": None, "ratio": None})

    costs = {}
    for count in (1, 10, 100, 1000):
        duration = 1.0 if count <= 10 else 0.1
        factor = measure(pairs, f"{duration:g} s of {count} at 250 Hz", swarm(mission, count), duration)
        costs[count] = 1.0 / (factor * count)
        if count == 100:
            held.append(figure("100 quadrotors", factor, "times real time", target=FASTEST_HUNDRED))
    print("cost of each in simulated time: " + ", ".join(f"{n}: 1/{1 / cost:.0f}" for n, cost in costs.items()))
    held.append(figure("one of 1,000 quadrotors, of one of ten", costs[1000] / costs[10], "times", limit=FLAT))
    pairs.save(arguments.out)
    return 0 if all(held) else 1


def measure(pairs: Pairs, name: str, world: World, duration: float) -> float:
    """One row, and how many times faster than real time. Both begin in the air; the bare bodies hang there."""
    simulation = Simulation(world, sensors=bool(world.sensors))
    simulation.run(AIRBORNE)
    (engine,) = simulation.engines.values()
    assert isinstance(engine, RigidBodyEngine)
    model, data = engine.model, mujoco.MjData(engine.model)
    data.xfrc_applied[:, 2] = model.body_mass * np.linalg.norm(model.opt.gravity)
    timesteps = round(duration / model.opt.timestep)
    # Bodies, rotors and pilots go back to the start of each turn; sensors read on, their noise is not drawn again.
    moved = (n for n in simulation.columns if not n.startswith(("sensor/", "noise/")))
    memory, qpos = simulation.columns.checkpoint(moved), np.array(engine.data.qpos)
    begin = memory.save()

    def ours() -> None:
        memory.restore(begin)
        simulation.run(duration)

    def bare() -> None:
        data.qpos[:], data.qvel[:] = qpos, 0.0
        for _ in range(timesteps):
            mujoco.mj_step(model, data)

    pairs.measure(name, ours, {"mj_step": bare}, rounds=9, clock=time.thread_time)
    factor = duration / float(pairs.rows[-1]["seconds"]["ours"])
    pairs.rows[-1]["real time factor"] = factor
    print(f"{'':<34}{factor:.3g} times real time", flush=True)
    return factor


def growth(world: World) -> float:
    """Resident memory that a simulated second leaves behind, kB."""
    simulation, process = Simulation(world), psutil.Process()
    simulation.run(WARM)
    before = process.memory_info().rss
    for _ in range(round(WATCHED)):
        simulation.run(1.0)
        simulation.present()
    return float(process.memory_info().rss - before) / 1e3 / WATCHED


def published(world: str, short: int, long: int) -> float:
    """How many times faster than real time its node is; what it takes to start is in runs of both durations."""
    seconds = []
    for duration in (short, long):
        command = [
            sys.executable,
            "-m",
            "sim_node.cli.main",
            "run",
            world,
            "--speed",
            "max",
            "--duration",
            str(duration),
        ]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    factor = (long - short) / (seconds[1] - seconds[0])
    return factor


def of_its_model(world: World) -> World:
    """The world with the sensors of the vehicle's model only: imu 250 Hz, mag and baro 50 Hz, gps 10 Hz."""
    return replace(world, sensors=tuple(s for s in world.sensors if s.type != "ground_truth"))


def swarm(world: World, count: int) -> World:
    """So many of the world's vehicle, 4 m apart, that hold where they are."""
    (vehicle,), ground = world.vehicles, world.bodies[:1]
    body = next(body for body in world.bodies if body.name == vehicle.body)
    pilot = Pilot((Waypoint(np.array([0, 0, 0])),), wait=0.0, after="hold")
    bodies, vehicles = [], []
    for index in range(count):
        name, place = f"drone{index}/base_link", 4.0 * np.array([index % 32, index // 32, 1.0])
        bodies.append(replace(body, name=name, q=np.array([*place, 0, 0, 0, 1])))
        pilot = replace(pilot, waypoints=(Waypoint(place + [0, 0, 2]),))
        vehicles.append(Multirotor(f"drone{index}", name, vehicle.rotors, *_drags(vehicle), pilot))
    physics = Physics(timestep_ns=4_000_000, integrator="euler")
    return World("swarm", time=TimeGrid(step_ns=4_000_000), physics=physics, bodies=(*ground, *bodies),
                 vehicles=tuple(vehicles))  # fmt: skip


def _drags(vehicle: Multirotor) -> tuple[np.ndarray, np.ndarray]:
    return vehicle.drag_linear, vehicle.drag_quadratic


if __name__ == "__main__":
    sys.exit(main())
