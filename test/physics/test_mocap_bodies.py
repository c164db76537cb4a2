"""Shapes that stand or follow keyframes: what touches them, and where a ray meets them."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sim_node.simulation import Simulation
from sim_node.simulation.physics.rigid_bodies import RigidBodyEngine
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import Body, Geometry, Motion, Physics, StaticFrame, TimeGrid, Wind, World

MS = 1_000_000
S = 1_000_000_000


def at(*position: float, yaw: float = 0.0) -> list[float]:
    return [*position, 0, 0, np.sin(yaw / 2), np.cos(yaw / 2)]


def world(
    *bodies: Body,
    motions: tuple[Motion, ...] = (),
    frames: tuple[StaticFrame, ...] = (),
    step_ns: int = 10 * MS,
    **more: Any,
) -> World:
    physics = Physics(integrator="implicitfast")
    return World("w", time=TimeGrid(0, step_ns), frames=frames, motions=motions, physics=physics, bodies=bodies, **more)


def ray(simulation: Simulation, start: Sequence[float], along: Sequence[float]) -> float:
    """How far the first shape is, by MuJoCo."""
    (engine,) = (each for each in simulation.engines.values() if isinstance(each, RigidBodyEngine))
    mujoco.mj_kinematics(engine.model, engine.data)
    hit = np.zeros(1, dtype=np.int32)
    distance = mujoco.mj_ray(engine.model, engine.data, np.array(start), np.array(along), None, 1, -1, hit)
    return distance if hit[0] >= 0 else np.inf


def pose_of(simulation: Simulation, name: str) -> FloatArray:
    return np.asarray(simulation.frames.in_root(simulation.snapshot().poses)[simulation.frames.index(name)])


LIFT = Motion(
    "lift", "map", np.array([0, S, 3 * S, 4 * S]), np.array([at(0, 0, 0), at(0, 0, 0), at(0, 0, 1), at(0, 0, 1)])
)
FLOOR = Body(
    "lift/floor", "lift", pose=np.array(at(0, 0, -0.1)), geometry=(Geometry("box", np.array([2, 2, 0.2]), 1.0),)
)
CRATE = Body(
    "crate", "map", "free", geometry=(Geometry("box", np.array([0.2, 0.2, 0.2]), 1.0),), q=np.array(at(0.3, 0.2, 0.1))
)


def test_a_crate_rides_a_lift_that_follows_keyframes() -> None:
    """Up a metre at half a metre per second, from and to rest. On its way it lags: contact knows no speed of mocaps."""
    simulation = Simulation(world(FLOOR, CRATE, motions=(LIFT,)))
    for seconds, height, most in ((1.0, 0.0, 2e-3), (2.0, 0.5, 0.025), (5.0, 1.0, 2e-3)):
        simulation.seek(round(seconds * S))
        np.testing.assert_allclose(pose_of(simulation, "crate")[:3], [0.3, 0.2, height + 0.1], atol=most)


def test_a_ray_meets_a_shape_where_its_keyframes_have_it() -> None:
    """A box of 1 m on an arm that turns: on a static frame on a frozen body on keyframes on keyframes."""
    carousel = Motion("hub", "map", np.array([0, 4 * S]), np.array([at(1, 2, 0), at(1, 2, 0, yaw=np.pi * 0.9)]))
    wagon = Motion("wagon", "hub", np.array([0, 4 * S]), np.array([at(2, 0, 0), at(4, 0, 0)]))
    rack = StaticFrame("rack", "arm", np.array(at(0, 0, 0.5)))
    arm = Body("arm", "wagon", pose=np.array(at(0, 0, 1)))
    box = Body("box", "rack", geometry=(Geometry("sphere", np.array([0.5])),))
    simulation = Simulation(world(arm, box, motions=(carousel, wagon), frames=(rack,)))
    for seconds in (0.0, 0.01, 1.3, 4.0):
        simulation.seek(round(seconds * S))
        yaw, way = np.pi * 0.9 * seconds / 4, 2 + seconds / 2
        centre = np.array([1, 2, 0]) + Rotation.from_rotvec([0, 0, yaw]).apply([way, 0, 1.5])
        np.testing.assert_allclose(pose_of(simulation, "box")[:3], centre, atol=1e-12)
        assert ray(simulation, [*centre[:2], 10.0], [0, 0, -1.0]) == pytest.approx(8.0, abs=1e-9)
        assert ray(simulation, [*(centre[:2] + 0.6), 10.0], [0, 0, -1.0]) == np.inf


def test_a_ball_is_swept_along_by_a_paddle() -> None:
    ground = Body("ground", "map", geometry=(Geometry("plane", np.array([])),))
    paddle = Motion("paddle", "map", np.array([0, 2 * S]), np.array([at(0, 0, 0.2), at(1, 0, 0.2)]))
    blade = Body("blade", "paddle", geometry=(Geometry("box", np.array([0.1, 1.0, 0.3])),))
    ball = Body(
        "ball", "map", "free", geometry=(Geometry("sphere", np.array([0.1]), 1.0),), q=np.array(at(0.3, 0, 0.1))
    )
    simulation = Simulation(world(ground, blade, ball, motions=(paddle,)))
    simulation.run(2.0)
    assert pose_of(simulation, "ball")[0] > 1.1


def test_frames_on_keyframes_have_no_twist_that_is_known() -> None:
    simulation = Simulation(world(FLOOR, CRATE, motions=(LIFT,)))
    twists, _ = simulation.motion()
    for name in ("lift", "lift/floor"):
        assert np.isnan(twists[simulation.frames.index(name)]).all()
    assert np.isfinite(twists[simulation.frames.index("crate")]).all()


def test_small_steps_are_one_large_one_and_a_restored_run_goes_on() -> None:
    lifted = world(FLOOR, CRATE, motions=(LIFT,))
    once, often = Simulation(lifted), Simulation(lifted)
    once.step(250)
    for stride in (1, 99, 30, 0, 120):
        often.step(stride)
        often.seek(often.time_ns + 3 * MS)
    assert once.snapshot().poses.tobytes() == often.snapshot().poses.tobytes()
    state = pickle.loads(pickle.dumps(once.state))
    once.step(100)
    other = Simulation(lifted)
    other.restore(state)
    other.step(100)
    assert other.snapshot().poses.tobytes() == once.snapshot().poses.tobytes()


def test_a_world_that_only_stands_has_shapes_too() -> None:
    wall = Body("wall", "post", geometry=(Geometry("box", np.array([0.2, 4, 2])),))
    simulation = Simulation(world(wall, frames=(StaticFrame("post", "map", np.array(at(3, 0, 1))),)))
    simulation.run(10.0)
    assert ray(simulation, [0, 0, 1.0], [1.0, 0, 0]) == pytest.approx(2.9)


def test_what_only_follows_keyframes_is_where_they_are_after_any_number_of_steps() -> None:
    bird = Motion("bird", "map", np.array([0, S]), np.array([at(0, 0, 0), at(1, 0, 0)]), after="pingpong")
    body = Body("body", "bird", geometry=(Geometry("sphere", np.array([0.25])),))
    simulation = Simulation(world(body, motions=(bird,)))
    for steps in (40, 1, 100, 12345):
        simulation.step(steps)
        x = pose_of(simulation, "body")[0]
        assert ray(simulation, [x, 0, 5.0], [0, 0, -1.0]) == pytest.approx(4.75)
    state = simulation.state
    simulation.step(7)
    expected = ray(simulation, [0.5, 0, 5.0], [0, 0, -1.0])
    simulation.restore(state)
    simulation.step(7)
    assert ray(simulation, [0.5, 0, 5.0], [0, 0, -1.0]) == expected


def test_a_wind_blows_in_a_world_without_bodies() -> None:
    simulation = Simulation(world(wind=Wind(np.array([1.0, 2.0, 3.0]))))
    (engine,) = simulation.engines.values()
    assert isinstance(engine, RigidBodyEngine)
    assert engine.wind.velocity(np.zeros((2, 3))).tolist() == [[1, 2, 3], [1, 2, 3]]
