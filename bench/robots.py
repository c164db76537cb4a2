"""Twenty robots with lidars beside a loop over mujoco.mj_step of the very same model, and beside the clock.

Run from the repository: python -m bench.robots [--out bench/results/robots.json]

Differential robots with wheels on the ground, each with a lidar of 360 rays at 10 Hz, in a hall, at timesteps of 2 ms
with implicitfast; all drive in circles. Where bare MuJoCo is 13 times real time, on two idle cores, they are to be 5
times. Exit code 1 where their ratio to MuJoCo, which a busy machine does not change, stays below that.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import mujoco

from bench.pairs import Pairs
from sim_node.simulation import Simulation
from sim_node.simulation.physics import RigidBodyEngine
from sim_node.world import World, loads

ROBOTS, TARGET, DURATION = 20, 5.0 / 13.0, 1.0
HALL = """
world: hall
time: {step: 0.01}
physics: {integrator: implicitfast, timestep: 0.002}
ground: {friction: 0.8}
bodies:
  - name: hall
    geometry:
      - {box: [24, 0.1, 1.2], pose: {position: [0, 10, 0.6]}}
      - {box: [24, 0.1, 1.2], pose: {position: [0, -10, 0.6]}}
      - {box: [0.1, 20, 1.2], pose: {position: [12, 0, 0.6]}}
      - {box: [0.1, 20, 1.2], pose: {position: [-12, 0, 0.6]}}
bases:
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("bench/results/robots.json"))
    arguments = parser.parse_args()
    pairs = Pairs()
    measure(pairs, "bases", hall("[]"), None)
    measure(pairs, "bases with lidars", hall("[LIDAR]"), TARGET)
    pairs.save(arguments.out)
    return 1 if pairs.missed else 0


def hall(sensors: str) -> World:
    """The robots on a grid of 4 m."""
    places = [(4.0 * (k % 5) - 8.0, 4.0 * (k // 5) - 6.0) for k in range(ROBOTS)]
    rows = [
        f"  - {{name: r{k}, model: differential, pose: {{position: [{x}, {y}, 0]}}, sensors: {sensors}}}\n"
        for k, (x, y) in enumerate(places)
    ]
    return loads(HALL + "".join(rows))


def measure(pairs: Pairs, what: str, world: World, target: float | None) -> None:
    """One row, and how many times faster than real time it is. The bare model turns its wheels at the same rates."""
    simulation = Simulation(world, sensors=bool(world.sensors))
    for base in simulation.vehicles.values():
        base.cmd_vel(0.5, 0.0, 0.5, timeout=0.0)
    simulation.run(2.0)
    engine = simulation.engines["rigid_bodies"]
    assert isinstance(engine, RigidBodyEngine)
    model, data = engine.model, mujoco.MjData(engine.model)
    data.qpos[:], data.qvel[:], data.ctrl[:] = engine.data.qpos, engine.data.qvel, engine.data.ctrl
    timesteps = round(DURATION / model.opt.timestep)

    def bare() -> None:
        for _ in range(timesteps):
            mujoco.mj_step(model, data)

    name = f"{DURATION:g} s of {ROBOTS} {what}"
    pairs.measure(name, lambda: simulation.run(DURATION), {"mj_step": bare}, target=target, rounds=7)
    ours, bare_factor = (DURATION / float(pairs.rows[-1]["seconds"][label]) for label in ("ours", "mj_step"))
    pairs.rows[-1]["real time factor"] = ours
    print(f"{'':<34}{ours:.3g} times real time, bare MuJoCo {bare_factor:.3g}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
