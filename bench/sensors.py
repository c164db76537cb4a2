"""What sensors on rigid bodies cost, beside the same run without them and a loop over mujoco.mj_step of the same model.

Run from the repository: python -m bench.sensors [--out bench/results/sensors.json]

A simulated second of one free body at 1 kHz with an IMU at 250 Hz, barometer and magnetometer at 50 Hz and GPS at
10 Hz, together and one at a time; and of 100 bodies at 250 Hz with an IMU each. Exit code 1 where the sensors of one
body take more than 5 ms of processor time a second, which is what leaves room for a vehicle at 80 times real time.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import mujoco
import numpy as np

from bench.pairs import Pairs, figure
from sim_node.simulation import Simulation
from sim_node.simulation.physics import RigidBodyEngine
from sim_node.world import Body, Inertial, Origin, Physics, Sensor, TimeGrid, World

RATES = {"imu": 250.0, "barometer": 50.0, "magnetometer": 50.0, "gps": 10.0}
MAX_S = 5e-3


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("bench/results/sensors.json"))
    arguments = parser.parse_args()
    pairs = Pairs()
    for kind in RATES:
        measure(pairs, f"1 s, one body, {kind}", bodies(1, 1_000_000, (kind,)))
    taken = measure(pairs, "1 s, one body, all four", bodies(1, 1_000_000, tuple(RATES)))
    measure(pairs, "1 s, 100 bodies, imu", bodies(100, 4_000_000, ("imu",)))
    pairs.save(arguments.out)
    held = figure("1 s, sensors of one body", taken * 1e3, "ms", limit=MAX_S * 1e3)
    return 0 if held else 1


def measure(pairs: Pairs, name: str, world: World) -> float:
    """How much longer (s) a second takes with sensors than without."""
    watched, alone = Simulation(world), Simulation(world, sensors=False)
    (engine,) = alone.engines.values()
    assert isinstance(engine, RigidBodyEngine)
    model, data = engine.model, mujoco.MjData(engine.model)
    steps = round(1e9 / world.time.step_ns) * world.physics.substeps(world.time.step_ns)

    def bare() -> None:
        for _ in range(steps):
            mujoco.mj_step(model, data)

    rivals = {"no sensors": lambda: alone.run(1.0), "mj_step": bare}
    pairs.measure(name, lambda: watched.run(1.0), rivals, clock=time.thread_time)
    seconds = pairs.rows[-1]["seconds"]
    return float(seconds["ours"] - seconds["no sensors"])


def bodies(count: int, step_ns: int, kinds: tuple[str, ...]) -> World:
    """Free bodies that fall and tumble, each with sensors."""
    inertial = Inertial(1.5, np.diag([0.02, 0.02, 0.03]))
    here = np.array([0.05, 0.0, 0.02, 0.0, 0.0, 0.0, 1.0])
    return World(
        "bodies",
        origin=Origin(47.397742, 8.545594, 488.0),
        time=TimeGrid(step_ns=step_ns),
        bodies=tuple(
            Body(
                f"b{k}",
                "map",
                "free",
                inertial=inertial,
                q=np.array([3.0 * k, 0, 0, 0, 0, 0, 1]),
                qd=np.array([0, 0, 0, 0.1, 0.2, 0.3]),
            )
            for k in range(count)
        ),
        sensors=tuple(
            Sensor(f"b{k}/{kind}", f"b{k}", here, type=kind, parameters={"rate": RATES[kind]})
            for k in range(count)
            for kind in kinds
        ),
        physics=Physics(timestep_ns=step_ns, integrator="implicitfast", contact=False, gravity=np.zeros(3)),
    )


if __name__ == "__main__":
    sys.exit(main())
