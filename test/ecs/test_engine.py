"""The engine of worlds in Python in a Simulation: the same numbers as an Exec, state as columns, motion for sensors."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sim_node.extensions.elodin.component_sink import component_topics
from sim_node.extensions.elodin.session.exec import Exec
from sim_node.recording.opening import open_bag
from sim_node.session import Session
from sim_node.simulation import Simulation
from sim_node.simulation.sensors.truth import FrameState
from sim_node.world import World, load
from sim_node.world.model import Sensor, StaticFrame
from sim_node.world.problems import Diverged

# Spins and falls; 1 / 250 s is a whole number of nanoseconds.
SCRIPT = """
import jax.numpy as jnp
import numpy as np
import sim_node.extensions.elodin as el

@el.map
def gravity(force: el.Force, inertia: el.Inertia) -> el.Force:
    return force + el.SpatialForce(linear=inertia.mass() * jnp.array([0.0, 0.0, -9.81]))

w = el.World()
w.spawn(
    el.Body(
        world_pos=el.SpatialTransform(
            angular=el.Quaternion.from_axis_angle(np.array([1.0, 0.0, 0.0]), 0.4), linear=np.array([0.0, 0.0, 10.0])
        ),
        world_vel=el.SpatialMotion(angular=np.array([0.3, -0.2, 2.0]), linear=np.array([1.0, 2.0, 0.0])),
        inertia=el.SpatialInertia(2.0, np.array([0.1, 0.1, 0.1])),
    ),
    name="ball",
)
w.spawn(el.C(el.WorldPos, el.SpatialTransform(linear=np.array([5.0, 0.0, 0.0]))), name="post")
"""
RUN = "w.run(el.six_dof(sys=gravity), sim_time_step=1 / 250)\n"
# Counts its ticks in a component that no system writes.
CALLED = """
from typing import Annotated
import jax
Count = Annotated[jax.Array, el.Component("count", el.ComponentType(el.PrimitiveType.I32))]
w.spawn(el.C(Count, np.int32(0)), name="counter")

def pre_step(tick, ctx):
    assert tick == ctx.tick
    ctx.write_component("counter.count", np.array([tick], dtype=np.int32))

def post_step(tick, ctx):
    speed = ctx.read_component("ball.world_vel")
    speed[3] *= 0.999
    ctx.write_component("ball.world_vel", speed)

w.run(el.six_dof(sys=gravity), sim_time_step=1 / 250, pre_step=pre_step, post_step=post_step)
"""
STEP = 1 / 250


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    path = tmp_path_factory.mktemp("spinning") / "spinning.py"
    path.write_text(SCRIPT + RUN)
    return load(path)


@pytest.fixture(scope="module")
def called(tmp_path_factory: pytest.TempPathFactory) -> World:
    path = tmp_path_factory.mktemp("called") / "called.py"
    path.write_text(SCRIPT + CALLED)
    return load(path)


def column(simulation: Simulation, name: str) -> np.ndarray:
    return np.array(simulation.columns[f"component/{name}"])


def test_components_are_columns(called: World) -> None:
    simulation = Simulation(called)
    counted, speeds = (simulation.columns.column(f"component/{name}") for name in ("count", "world_vel"))
    assert (counted.entities, counted.shape, counted.dtype, counted.state) == (("counter",), (), np.int32, True)
    assert (speeds.entities, speeds.shape) == (("ball",), (6,))
    simulation.step(5)
    assert column(simulation, "count").tolist() == [4]
    assert column(simulation, "tick").tolist() == [5.0]


def test_trajectories_are_those_of_an_exec(world: World, tmp_path: Path) -> None:
    """Bit for bit: tick by tick, many at once, and in a Session that records."""
    run = Exec(world.python.captured.program)
    run.run(100)
    expected = run.history("ball.world_pos")["ball.world_pos"].to_numpy()
    simulation = Simulation(world)
    history = simulation.history("component/world_pos")
    for _ in range(30):
        simulation.step()
    simulation.step(70)
    np.testing.assert_array_equal(history["component/world_pos"][:, 0], expected)
    again = Simulation(world)
    again.step(100)
    np.testing.assert_array_equal(column(again, "world_pos")[0], expected[-1])
    with Session(world, real_time_factor=0.0, publish_rate=250.0, record=tmp_path / "bag") as session:
        session.run(100 * STEP)
    speeds = np.stack(run.history("ball.world_vel")["ball.world_vel"].to_numpy())
    np.testing.assert_array_equal(recorded(world, tmp_path / "bag", "/ball/world_vel")[:101, 0], speeds)


def recorded(world: World, bag: Path, topic: str) -> np.ndarray:
    """The values (T, n, ...) of a component's topic in a bag."""
    layout = next(each for each in component_topics(world) if each.topic.name == topic)
    with open_bag(bag) as opened:
        messages = [np.frombuffer(each.data, np.uint8) for each in opened.messages([topic])]
    return layout.decode(np.stack(messages))


def test_a_restored_state_gives_the_same_bytes(world: World, called: World) -> None:
    for each in (world, called):
        one = Simulation(each)
        one.step(40)
        state = pickle.loads(pickle.dumps(one.state))
        one.step(35)
        other = Simulation(each)
        other.step(3)
        other.restore(state)
        assert other.time_ns == 40 * 4_000_000
        other.step(35)
        assert other.state == one.state
        assert other.snapshot().poses.tobytes() == one.snapshot().poses.tobytes()


def test_reset_goes_back_to_the_start(called: World) -> None:
    simulation = Simulation(called)
    start = simulation.state
    simulation.step(20)
    first = simulation.state
    simulation.reset()
    assert simulation.state == start
    simulation.step(20)
    assert simulation.state == first


def test_between_two_ticks_entities_go_on_with_their_velocity(world: World) -> None:
    simulation = Simulation(world)
    simulation.step(100)
    before = simulation.state
    velocity, pose = column(simulation, "world_vel")[0], simulation.snapshot().poses[simulation.frames.index("ball")]
    ahead = simulation.seek(simulation.time_ns + 1_000_000).poses[simulation.frames.index("ball")]
    np.testing.assert_allclose(ahead[:3], pose[:3] + 1e-3 * velocity[3:], atol=1e-14)
    turned = Rotation.from_rotvec(1e-3 * velocity[:3]) * Rotation.from_quat(pose[3:])
    assert (Rotation.from_quat(ahead[3:]) * turned.inv()).magnitude() < 1e-14
    assert simulation.state == before
    post = simulation.frames.index("post")
    np.testing.assert_array_equal(simulation.seek(simulation.time_ns + 1_000_000).poses[post], [5, 0, 0, 0, 0, 0, 1])


def test_sensors_and_frames_ride_on_bodies(world: World) -> None:
    """A sphere keeps its angular velocity; a point on it has v + w x r and a + w x (w x r)."""
    arm = np.array([0.1, 0.2, 0.3, 0.0, 0.0, 0.0, 1.0])
    parts = {"frames": (*world.frames, StaticFrame("tip", "ball", arm)), "sensors": (odometry("ball"),)}
    simulation = Simulation(replace(world, **parts))
    observe = simulation.observer(["ball", "tip"])
    simulation.step(50)
    state: FrameState = observe()
    turn, fall = np.array([0.3, -0.2, 2.0]), np.array([0.0, 0.0, -9.81])
    np.testing.assert_allclose(state.twist[0], [1.0, 2.0, -9.81 * 50 * STEP, *turn], atol=1e-12)
    np.testing.assert_allclose(state.acceleration[0], [*fall, 0.0, 0.0, 0.0], atol=1e-12)
    orientation = Rotation.from_rotvec(turn * 50 * STEP) * Rotation.from_rotvec([0.4, 0.0, 0.0])
    reach = orientation.apply(arm[:3])
    np.testing.assert_allclose(state.pose[1, :3], state.pose[0, :3] + reach, atol=1e-8)
    np.testing.assert_allclose(state.twist[1, :3], state.twist[0, :3] + np.cross(turn, reach), atol=1e-8)
    np.testing.assert_allclose(state.acceleration[1, :3], fall + np.cross(turn, np.cross(turn, reach)), atol=1e-7)
    twists, _ = simulation.motion()
    ball = simulation.frames.index("ball")
    np.testing.assert_allclose(twists[ball, 3:], orientation.inv().apply(turn), atol=1e-8)


def odometry(parent: str) -> Sensor:
    return Sensor("ODOM", parent, np.array([0.0, 0, 0, 0, 0, 0, 1]), type="odometry", parameters={"rate": 10})


def test_a_sensor_needs_a_velocity(world: World) -> None:
    with pytest.raises(ValueError, match="sensor 'ODOM' needs to know how 'post' moves"):
        Simulation(replace(world, sensors=(odometry("post"),)))


@pytest.mark.parametrize("broken", [np.nan, np.inf])
def test_a_pose_that_is_not_finite_names_its_entity(world: World, broken: float) -> None:
    simulation = Simulation(world)
    simulation.step(25)
    state = simulation.state
    state.columns["component/world_vel"][0, 4] = broken
    simulation.restore(state)
    simulation.step()
    with pytest.raises(Diverged, match=r"ball: world_pos is not finite any more after 0\.104 s of the run"):
        simulation.snapshot()


def test_what_does_not_change_is_sent_once(world: World, called: World, tmp_path: Path) -> None:
    """Unless callbacks could change it."""
    for each in (world, called):
        with Session(each, real_time_factor=0.0, record=tmp_path / each.name) as session:
            session.run(0.2)
    assert len(recorded(world, tmp_path / world.name, "/ball/inertia")) == 1
    inertias = recorded(called, tmp_path / called.name, "/ball/inertia")
    assert len(inertias) > 1
    np.testing.assert_array_equal(inertias[:, 0], np.tile([0.1, 0.1, 0.1, 0.0, 0.0, 0.0, 2.0], (len(inertias), 1)))
    assert recorded(called, tmp_path / called.name, "/counter/count")[-1].tolist() == [49]
