"""Stepping bodies beside a loop over mujoco.mj_step of the very same model.

Run from the repository: python -m bench.physics [--out bench/results/physics.json]

A double pendulum and a chain of ten links, Euler as x_xy models have it and RK4, a thousand steps of 1 ms at once and
one at a time with a look at the poses after each; and a ball with drag in gusts beside one without. Where imt-ring, the
x_xy format's own toolbox, is installed (pip install imt-ring), it runs the double pendulum, too, compiled by jax. Exit
code 1 where `Simulation.step` of what has no forces takes longer than the bare loop by more than a tenth.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from bench.pairs import Pairs
from sim_node.formats.x_xy_writer import to_x_xy
from sim_node.simulation import Simulation
from sim_node.simulation.physics import RigidBodyEngine
from sim_node.world import Body, Drag, Geometry, Gusts, Physics, TimeGrid, Wind, World

STEPS = 1000


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("bench/results/physics.json"))
    arguments = parser.parse_args()
    pairs = Pairs()
    for name, links in (("double pendulum", 2), ("10-link chain", 10)):
        for integrator in ("euler", "rk4"):
            measure(pairs, f"{name}, {integrator}", chain(links, integrator), target=0.9)
    for integrator in ("euler", "rk4"):
        measure(pairs, f"ball with drag in gusts, {integrator}", ball(integrator))
    if find_spec("ring"):
        # Ten links take jax two minutes to compile.
        pendulum = chain(2, "euler")
        ours = Simulation(pendulum)
        pairs.measure(f"{STEPS} steps, double pendulum", lambda: ours.step(STEPS), {"imt-ring": imt_ring(pendulum)})
    pairs.save(arguments.out)
    return 1 if pairs.missed else 0


def measure(pairs: Pairs, name: str, world: World, target: float | None = None) -> None:
    """Each contestant starts its turns anew: chaos takes the same way in both."""
    simulation = Simulation(world)
    (engine,) = simulation.engines.values()
    assert isinstance(engine, RigidBodyEngine)
    model, data = engine.model, mujoco.MjData(engine.model)

    def ours() -> None:
        simulation.reset()
        simulation.step(STEPS)

    def bare() -> None:
        mujoco.mj_resetData(model, data)
        data.qpos[:] = start
        for _ in range(STEPS):
            mujoco.mj_step(model, data)

    start = np.array(engine.data.qpos)
    pairs.measure(f"{STEPS} steps, {name}", ours, {"mj_step": bare}, target=target)

    def ours_looked_at() -> None:
        simulation.reset()
        for _ in range(STEPS):
            simulation.step()
            simulation.present()

    pairs.measure(f"{STEPS} looks, {name}", ours_looked_at, {"mj_step": bare})


def imt_ring(world: World) -> Callable[[], None]:
    """The same steps of the same model by imt-ring, in double precision, once it is compiled."""
    import jax
    import ring

    jax.config.update("jax_enable_x64", True)
    neutral = replace(world, bodies=tuple(replace(body, q=None) for body in world.bodies))  # x_xy says no states
    system = ring.System.create(to_x_xy(neutral))
    torques = jax.numpy.zeros(system.qd_size())

    @jax.jit  # type: ignore[untyped-decorator]
    def run(state: Any) -> Any:
        return jax.lax.fori_loop(0, STEPS, lambda _, now: ring.algorithms.dynamics.step(system, now, torques), state)

    start = ring.State.create(system, q=jax.numpy.array([0.7] * len(world.bodies)))
    run(start).q.block_until_ready()
    return lambda: run(start).q.block_until_ready()


def chain(links: int, integrator: str) -> World:
    """Rods on hinges, one below the other, let go from the side."""
    rod = Geometry("capsule", np.array([0.02, 0.3]), 0.2, np.array([0, 0, -0.15, 0, 0, 0, 1]))
    bodies = [
        Body(
            f"link{i}",
            f"link{i - 1}" if i else "map",
            "ry" if i % 2 else "rx",
            np.array([0, 0, -0.3, 0, 0, 0, 1]),
            q=np.array([0.7]),
            geometry=(rod,),
        )
        for i in range(links)
    ]
    return World(
        "chain",
        time=TimeGrid(step_ns=1_000_000),
        bodies=tuple(bodies),
        physics=Physics(integrator=integrator, contact=False),
    )


def ball(integrator: str) -> World:
    """A ball that falls through gusts; the bare contestant has neither drag nor wind."""
    return World(
        "ball",
        time=TimeGrid(step_ns=1_000_000),
        bodies=(Body("ball", "map", "free", geometry=(Geometry("sphere", np.array([0.1]), 1.0),)),),
        forces=(Drag("ball", quadratic=np.array([0.02] * 3)),),
        wind=Wind(np.array([5.0, 0.0, 0.0]), gusts=Gusts(np.array([1.0] * 3), np.array([50.0] * 3), 5.0)),
        physics=Physics(integrator=integrator, contact=False),
    )


if __name__ == "__main__":
    sys.exit(main())
