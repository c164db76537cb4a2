"""The proof that nothing can touch, beside MuJoCo's own search for contacts."""

from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim_node.simulation import Simulation
from sim_node.simulation.physics import RigidBodyEngine
from sim_node.simulation.physics import rigid_bodies as rigid_bodies_module
from sim_node.simulation.physics.clearance import Clearance, clearance_of
from sim_node.world import Body, Drag, Geometry, Ground, Physics, TimeGrid, World

SHAPES = (
    Geometry("box", np.array([0.4, 0.2, 0.1]), 1.0),
    Geometry("sphere", np.array([0.2]), 1.0),
    Geometry("capsule", np.array([0.05, 0.6]), 1.0, np.array([0.3, 0.0, 0.1, 0.0, 0.0, 0.0, 1.0])),
)


def thrown(places: np.ndarray, turns: np.ndarray, *, post: bool = True) -> World:
    """Bodies let go at places (K, 3) with attitudes (K, 4), in air that brakes them, above ground and beside a post."""
    bodies = [
        Body(f"b{k}", "map", "free", q=np.array([*place, *turn]), geometry=(SHAPES[k % len(SHAPES)],))
        for k, (place, turn) in enumerate(zip(places, turns / np.linalg.norm(turns, axis=1)[:, None], strict=True))
    ]
    if post:
        still = Geometry("box", np.array([0.3, 0.3, 2.0]), 1.0)
        bodies.append(Body("post", "map", "frozen", np.array([0, 0, 1.0, 0, 0, 0, 1]), geometry=(still,)))
    return World(
        "thrown",
        time=TimeGrid(step_ns=4_000_000),
        physics=Physics(timestep_ns=4_000_000, integrator="euler"),
        ground=Ground(),
        bodies=tuple(bodies),
        forces=tuple(Drag(f"b{k}", np.zeros(3), np.full(3, 0.1)) for k in range(len(places))),
    )


def engine_of(simulation: Simulation) -> RigidBodyEngine:
    (engine,) = simulation.engines.values()
    assert isinstance(engine, RigidBodyEngine)
    return engine


@given(st.integers(0, 2**32 - 1), st.floats(0.5, 4.0))
def test_where_the_proof_holds_mujoco_finds_no_contact(seed: int, spread: float) -> None:
    random = np.random.default_rng(seed)
    places = random.uniform(-spread, spread, (6, 3)) + [0.0, 0.0, spread + 0.3]
    engine = engine_of(Simulation(thrown(places, random.normal(size=(6, 4)))))
    clearance = clearance_of(engine.model, engine.data)
    assert clearance is not None
    for _ in range(20):
        # Up to the way that all are free to go, and beyond it, to where the next search is due.
        engine.data.qpos.reshape(-1, 7)[:, :3] += random.uniform(-0.3, 0.3, (6, 3))
        clearance._pause = 0
        if clearance.holds():
            mujoco.mj_kinematics(engine.model, engine.data)
            mujoco.mj_comPos(engine.model, engine.data)
            mujoco.mj_collision(engine.model, engine.data)
            assert engine.data.ncon == 0


def test_what_is_far_apart_is_proven_to_be_clear() -> None:
    places = np.array([[2.0, 0.0, 3.0], [5.0, 0.0, 3.0], [2.0, 4.0, 3.0]])
    engine = engine_of(Simulation(thrown(places, np.tile([0, 0, 0, 1.0], (3, 1)))))
    clearance = clearance_of(engine.model, engine.data)
    assert clearance is not None
    assert clearance.holds()


def test_falling_bodies_come_to_rest_as_they_do_with_every_contact_searched_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    random = np.random.default_rng(3)
    # A grid, and each body of its second half above one of its first.
    grid = [[x, y, z] for z in (1.5, 3.5) for x in (3.0, 5.0, 7.0) for y in (0.0, 2.0)]
    places = np.array(grid) + random.uniform(-0.05, 0.05, (12, 3))
    world = thrown(places, random.normal(size=(12, 4)))
    held: list[bool] = []
    holds = Clearance.holds

    def noted(self: Clearance) -> bool:
        held.append(holds(self))
        return held[-1]

    monkeypatch.setattr(Clearance, "holds", noted)
    runs = []
    for least in (1000, 1):
        monkeypatch.setattr(rigid_bodies_module, "MIN_BODIES", least)
        simulation = Simulation(world)
        states = []
        for _ in range(100):
            simulation.step(5)
            states.append(engine_of(simulation).data.qpos.tobytes())
        runs.append(states)
        assert engine_of(simulation).data.ncon > 0
    assert runs[0] == runs[1]
    assert {True, False} <= set(held)


def test_bodies_on_other_joints_have_no_proof() -> None:
    world = thrown(np.array([[2.0, 0.0, 3.0]]), np.array([[0, 0, 0, 1.0]]))
    arm = Body("arm", "map", "rx", np.array([9.0, 0, 3, 0, 0, 0, 1]), geometry=(SHAPES[0],))
    engine = engine_of(Simulation(replace(world, bodies=(*world.bodies, arm))))
    assert clearance_of(engine.model, engine.data) is None
