"""Groups of a fleet, beside the same fleet as one model of MuJoCo."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nightly import only
from waiting import PATIENCE

from sim_node.simulation import Simulation
from sim_node.simulation.physics import RigidBodyEngine
from sim_node.simulation.physics import groups as groups_module
from sim_node.simulation.physics import rigid_bodies as rigid_bodies_module
from sim_node.simulation.physics.groups import BodyGroups, body_ranges
from sim_node.world import Body, Drag, Geometry, Ground, Inertial, Multirotor, Physics, Pilot, Rotor, TimeGrid, World
from sim_node.world.forces import Gusts, Wind

INTEGRATORS = ("euler", "implicitfast", "implicit")
GUSTY = Wind(np.array([3.0, 1.0, 0.0]), 0.14, gusts=Gusts(np.ones(3), np.full(3, 50.0), 5.0))
ARMS = ((0.2, 0.2), (-0.2, 0.2), (-0.2, -0.2), (0.2, -0.2))


def quadrotor(index: int, random: np.random.Generator, height: float) -> tuple[Body, Multirotor]:
    """A quadrotor with a mass, a centre and axes of inertia of its own. Some have a pilot, of two rates."""
    name, mass = f"v{index}/base_link", float(random.uniform(1.0, 2.0))
    turn = np.linalg.qr(random.normal(size=(3, 3)))[0]
    inertia = turn @ np.diag(random.uniform(0.02, 0.03, 3)) @ turn.T
    attitude = random.normal(size=4) * 0.1 + [0, 0, 0, 1.0]
    body = Body(
        name,
        "map",
        "free",
        q=np.array([3.0 * (index % 8), 3.0 * (index // 8), height, *(attitude / np.linalg.norm(attitude))]),
        qd=random.normal(size=6) * 0.3,
        inertial=Inertial(mass, inertia, random.uniform(-0.01, 0.01, 3)),
        geometry=(Geometry("box", np.array([0.4, 0.4, 0.1]), 0.0),),
    )
    rotors = tuple(
        Rotor(
            np.array([x, y, 0.0]),
            spin=("ccw", "cw")[k % 2],
            thrust_coefficient=1e-5,
            moment_coefficient=0.05,
            max_speed=1100.0,
            time_constant_up=0.02,
            drag_coefficient=1e-4,
        )
        for k, (x, y) in enumerate(ARMS)
    )
    pilot = None if index % 5 == 0 else Pilot(rate=(250.0, 125.0)[index // 7 % 2], wait=0.0)
    return body, Multirotor(f"v{index}", name, rotors, np.full(3, 0.1), np.full(3, 0.05), pilot)


def fleet(
    seed: int, count: int = 40, *, integrator: str = "euler", height: float = 6.0, wind: Wind | None = None
) -> World:
    random = np.random.default_rng(seed)
    made = [quadrotor(index, random, height) for index in range(40)]
    return World(
        "fleet",
        time=TimeGrid(step_ns=4_000_000),
        physics=Physics(timestep_ns=4_000_000, integrator=integrator),
        ground=Ground(),
        bodies=tuple(body for body, _ in made),
        vehicles=tuple(vehicle for _, vehicle in made),
        wind=wind,
    )


def engine_of(simulation: Simulation) -> RigidBodyEngine:
    engine = simulation.engines["rigid_bodies"]
    assert isinstance(engine, RigidBodyEngine)
    return engine


def states(world: World, threads: int, steps: int = 60) -> list[dict[str, bytes]]:
    """All columns of a run, at several instants; wrenches, a failed rotor and velocities by hand come in between."""
    simulation = Simulation(replace(world, physics=replace(world.physics, threads=threads)), seed=5)
    found = []
    for part in range(3):
        simulation.step(steps)
        found.append({name: values.tobytes() for name, values in simulation.state.columns.items()})
        simulation.bodies[f"v{part}/base_link"].wrench[:] = 0.3, 0.2, 0.1, 0.01, 0.02, 0.03
        simulation.vehicles["v33"].fail(part, gain=0.9, blades=0.8)
        simulation.vehicles["v0"].command[:] = 0.6
    return found


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of groups of each timestep that was made in groups; groups have at least eight bodies."""
    counts: list[int] = []
    step = BodyGroups.step

    def noted(self: BodyGroups) -> None:
        counts.append(len(self._groups))
        step(self)

    monkeypatch.setattr(groups_module, "MIN_BODIES", 8)
    monkeypatch.setattr(BodyGroups, "step", noted)
    return counts


@pytest.mark.parametrize("integrator", only(INTEGRATORS, 0))
@pytest.mark.parametrize(
    "wind", [None, Wind(np.array([3.0, 1.0, 0.0]), 0.14, gusts=Gusts(np.ones(3), np.full(3, 50.0), 5.0))]
)
def test_any_number_of_threads_gives_the_bytes_of_one_model(
    integrator: str, wind: Wind | None, used: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = fleet(3, integrator=integrator, wind=wind)
    found = [states(world, threads) for threads in (1, 2, 5)]
    assert set(used) == {1, 2, 5}
    used.clear()
    monkeypatch.setattr(rigid_bodies_module, "MIN_BODIES", 1000)
    whole = states(world, 1)
    assert not used
    for each in found:
        assert each == whole


def test_a_fleet_that_falls_to_the_ground_has_the_bytes_of_one_model(
    used: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = fleet(4, height=1.0)
    found = states(world, 3, 100)
    assert 0 < len(used) < 300
    monkeypatch.setattr(rigid_bodies_module, "MIN_BODIES", 1000)
    assert found == states(world, 3, 100)


@settings(max_examples=15)
@given(st.integers(1, 700), st.integers(1, 64))
def test_every_body_is_in_one_group_and_none_is_small(count: int, threads: int) -> None:
    spec = mujoco.MjSpec()
    spec.worldbody.add_body().add_geom(size=[1, 1, 1])
    for _ in range(count):
        body = spec.worldbody.add_body(explicitinertial=True, mass=1.0)
        body.inertia = 1.0, 1.0, 1.0
        body.add_freejoint()
    ranges = body_ranges(spec.compile(), Physics(threads=threads))
    assert [body for bodies in ranges for body in bodies] == [*range(2, count + 2)]
    assert len(ranges) <= threads
    assert len(ranges) == 1 or min(map(len, ranges)) >= groups_module.MIN_BODIES


# Takes seconds: make test has groups of the same fleet against one model.
@pytest.mark.nightly
def test_what_moves_with_or_by_others_is_not_divided(used: list[int]) -> None:
    world = fleet(1)
    ball = (Geometry("sphere", np.array([0.1]), 1.0),)
    arm = Body("arm", "map", "rx", np.array([-9.0, 0, 3, 0, 0, 0, 1]), geometry=ball)
    payload = Body("v3/arm", "v3/base_link", geometry=ball)
    damped = replace(world.bodies[3], damping=np.full(6, 0.1))
    first, *others, last = world.vehicles
    assert engine_of(Simulation(world))._groups is not None
    for other in (
        replace(world, bodies=(*world.bodies, arm)),
        replace(world, bodies=(*world.bodies, payload)),
        replace(world, bodies=(*world.bodies[:3], damped, *world.bodies[4:])),
        replace(world, forces=(Drag("v3/base_link", np.zeros(3), np.full(3, 0.1)),)),
        replace(world, physics=Physics(threads=2, integrator="euler"), vehicles=(last, *others, first)),
    ):
        assert engine_of(Simulation(other))._groups is None


def test_what_looks_on_sees_all_bodies_at_its_timestep(used: list[int]) -> None:
    world = fleet(2)
    simulation = Simulation(replace(world, physics=replace(world.physics, threads=3)))
    engine, seen = engine_of(simulation), []
    simulation.step(3)
    assert used == [3, 3, 3]
    heights = engine.data.qpos[2::7].copy()
    engine.observe_timesteps("test", lambda _: seen.append(engine.data.xpos[engine.model.jnt_bodyid, 2].copy()))
    simulation.step(1)
    np.testing.assert_array_equal(seen, [heights])
    assert used == [3, 3, 3]


def test_numbers_of_the_model_that_change_apply_from_the_next_reset_on(
    used: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = fleet(6)

    def flown() -> bytes:
        simulation = Simulation(world)
        engine = engine_of(simulation)
        engine.model.body_mass[5] *= 1.5
        engine.model.body_subtreemass[5] *= 1.5
        engine.model.opt.gravity[2] = -3.0
        simulation.reset()
        simulation.step(30)
        return bytes(engine.data.qpos.tobytes())

    grouped = flown()
    assert used
    monkeypatch.setattr(rigid_bodies_module, "MIN_BODIES", 1000)
    assert grouped == flown()


FORKS = """
import os
from sim_node.simulation.physics.groups import _pool
assert _pool(2).submit(int, "7").result() == 7
child = os.fork()
if not child:
    os._exit(_pool(2).submit(int, "8").result())
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


# Takes seconds: make test has groups of the same fleet against one model.
@pytest.mark.nightly
def test_a_child_of_a_process_has_threads_of_its_own() -> None:
    run = subprocess.run([sys.executable, "-c", FORKS], capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert run.stdout == "8\n"
