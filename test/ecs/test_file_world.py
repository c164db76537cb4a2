"""Systems beside worlds from files: what they read is the run's, what they write moves it."""

from __future__ import annotations

import pickle
import runpy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import jax.numpy as jnp
import numpy as np
import pytest
from mcap_ros2.reader import read_ros2_messages

import sim_node.extensions.elodin as el
from sim_node.extensions.elodin.capture import Captured
from sim_node.extensions.elodin.part import PythonWorld
from sim_node.simulation import Simulation
from sim_node.world import Body, Inertial, Physics, Sensor, TimeGrid, World
from sim_node.world.load import load

ROOT = Path(__file__).parents[2]
STEP = 0.002
# N, kg/s, kg of fuel, kg of the box.
THRUST, FLOW, FUEL, MASS = 3.0, 0.5, 0.25, 2.0
Fuel = Annotated[el.jax.Array, el.Component("fuel", el.ComponentType.F64)]


@dataclass
class Tank(el.Archetype):
    fuel: Fuel


@el.map
def burn(fuel: Fuel, step: el.SimulationTimeStep) -> Fuel:
    return jnp.maximum(fuel - FLOW * step, 0.0)


@el.map
def push(force: el.Force, fuel: Fuel) -> el.Force:
    return force + el.SpatialForce(force=jnp.where(fuel > 0.0, jnp.array([THRUST, 0.0, 0.0]), 0.0))


def space() -> World:
    box = Body("box", "map", "free", inertial=Inertial(MASS, np.diag([0.02, 0.03, 0.05])))
    imu = Sensor("box/IMU", "box", np.array([0.0, 0, 0, 0, 0, 0, 1]), type="imu")
    physics = Physics(gravity=np.zeros(3))
    return World("space", time=TimeGrid(step_ns=round(STEP * 1e9)), bodies=(box,), sensors=(imu,), physics=physics)


def with_tank() -> Any:
    world = el.World.from_file(space())
    world.insert(world.entity("box"), Tank(FUEL))
    return world


def test_a_force_acts_until_the_fuel_is_gone() -> None:
    run = with_tank().build(push | burn)
    run.run(400)
    history = run.history(["box.world_vel", "box.fuel", "box.inertia", "box.world_pos"])
    speed = history["box.world_vel"].to_numpy()[:, 3]
    burns = FUEL / FLOW  # s
    assert speed[-1] == pytest.approx(THRUST * burns / MASS, rel=2 * STEP / burns)
    halfway = round(burns / 2 / STEP)
    assert speed[halfway] == pytest.approx(THRUST * halfway * STEP / MASS, rel=1e-9)
    assert history["box.fuel"][-1] == 0.0
    np.testing.assert_allclose(history["box.inertia"][0], [0.05, 0.03, 0.02, 0, 0, 0, MASS], rtol=1e-12)
    np.testing.assert_array_equal(history["box.world_pos"].to_numpy()[:, :4], np.tile([0.0, 0, 0, 1], (401, 1)))


def coupled(system: Any, **callbacks: Any) -> Simulation:
    """A run of the box with a tank."""
    world = with_tank()
    captured = Captured(world, world.program(system), source=world.source, **callbacks)
    return Simulation(replace(world.source, python=PythonWorld(Path(__file__), captured, ())))


def test_a_restored_run_goes_on_to_the_same_bytes() -> None:
    run = coupled(push | burn)
    run.run(0.2)
    kept = pickle.loads(pickle.dumps(run.state))
    run.run(0.4)
    expected = run.snapshot().poses.tobytes(), run.columns["component/fuel"].tobytes()
    run.restore(kept)
    run.run(0.4)
    assert (run.snapshot().poses.tobytes(), run.columns["component/fuel"].tobytes()) == expected
    run.reset()
    run.run(0.2)
    run.run(0.4)
    assert run.snapshot().poses.tobytes() == expected[0]


def test_readings_are_those_of_the_run() -> None:
    seen: list[Any] = []
    runs: list[Simulation] = []

    def look(tick: int, context: el.StepContext) -> None:
        for run in runs:
            both = context.component_batch_operation(reads=["box.world_vel", "box/IMU.imu"])
            seen.append((run.bodies["box"].twist.copy(), run.sensors["box/IMU"].newest_by(run.steps), both))

    runs.append(coupled(push, post_step=look))
    runs[0].run(0.05)
    for twist, measured, both in seen:
        np.testing.assert_allclose(both["box.world_vel"], twist[[3, 4, 5, 0, 1, 2]], atol=1e-15)
        np.testing.assert_array_equal(both["box/IMU.imu"], measured)
    assert len(seen) == 25
    # At rest in free space, the accelerometer measures the thrust: its noise is a hundredth of it.
    assert seen[-1][2]["box/IMU.imu"][3] == pytest.approx(THRUST / MASS, abs=0.1)


# Takes seconds: make test has targets of actuators, and the pole without a controller.
@pytest.mark.nightly
def test_a_controller_balances_the_shipped_pole(tmp_path: Path) -> None:
    shipped = runpy.run_path(str(ROOT / "config/python/balance.py"))
    run = shipped["world"].build(shipped["balance"])
    run.run(1000)
    history = run.history(["pole.joint_position", "cart.joint_position", "cart.joint_effort"])
    assert abs(history["pole.joint_position"][0] - 0.05) < 1e-12  # rad, from the file
    assert abs(history["pole.joint_position"][-1]) < 1e-3
    assert abs(history["cart.joint_position"][-1]) < 0.01
    assert history["cart.joint_effort"].abs().max() <= 20.0

    folder = tmp_path / "bag"
    shipped["world"].run(shipped["balance"], max_ticks=100, interactive=False, db_path=folder)
    (file,) = folder.glob("*.mcap")
    angles = [each.ros_msg.position[1] for each in read_ros2_messages(file, topics=["/encoders/joint_states"])]
    np.testing.assert_allclose(angles, history["pole.joint_position"][: len(angles)], atol=5e-3)
    assert len(angles) == 101


def test_without_a_controller_the_pole_falls() -> None:
    run = el.World.from_file("cart_pole").build(None)
    run.run(300)
    falling = Simulation(load("cart_pole"))
    falling.run(3.0)
    found = run.history("pole.joint_position")["pole.joint_position"][-1]
    assert abs(found) > 1.0
    assert found == falling.joints["pole"].position[0]


def test_targets_of_actuators_are_followed(tmp_path: Path) -> None:
    path = tmp_path / "arm.yaml"
    path.write_text(
        "world: arm\nphysics: {gravity: [0, 0, 0]}\n"
        "bodies: [{name: link, geometry: [{box: [1, 0.1, 0.1], mass: 1}], joint: {type: rz, damping: 2}}]\n"
        "actuators: [{joint: link, kp: 50}]\n"
    )
    aim = el.map(_aim)
    run = el.World.from_file(path).build(aim)
    run.run(800)
    assert run.history("link.joint_position")["link.joint_position"][-1] == pytest.approx(0.7, abs=1e-3)


def _aim(target: el.JointTarget) -> el.JointTarget:
    return target * 0 + 0.7


def test_an_exception_of_a_callback_is_the_users() -> None:
    def fail(tick: int, context: el.StepContext) -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        with_tank().run(burn, max_ticks=3, interactive=False, post_step=fail)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"sim_time_step": 0.003}, "sim_time_step: 0.003 s is not a multiple of the file's step of 0.002 s"),
        ({"start_timestamp": 0}, "start_timestamp: the file gives the time of the start"),
        ({"max_tick": 3}, "unknown argument 'max_tick'; did you mean max_ticks?"),
    ],
)
def test_wrong_arguments_name_the_line(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(el.EcsError) as error:
        with_tank().run(burn, interactive=False, **wrong)
    assert str(error.value).startswith(f"{Path(__file__).relative_to(Path.cwd())}:")
    assert str(error.value).endswith(message)


def test_an_entity_that_is_not_there_is_named_with_the_nearest() -> None:
    with pytest.raises(el.EcsError, match="there is no entity 'bow'; did you mean box"):
        with_tank().entity("bow")


def test_an_entity_of_its_own_has_no_frame() -> None:
    world = with_tank()
    world.spawn(el.Body(), name="other")
    with pytest.raises(el.EcsError, match="'other' has a WorldPos: beside a world from a file"):
        world.build(None)
