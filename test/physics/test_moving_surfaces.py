# ruff: noqa: E501  worlds stand on their lines
"""Surfaces that run around their shapes, robots that drive on them, and suction that holds what it touches."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nightly import only

from sim_node.simulation import Simulation
from sim_node.world import World, WorldError, load, loads
from sim_node.world.writers.yaml import to_yaml

GRAVITY = 9.81


def _floor(cone: str, speed: float, turn: float, velocity: list[float], integrator: str = "implicitfast") -> World:
    return loads(f"""
world: belt
physics: {{integrator: {integrator}, cone: {cone}, timestep: 0.001}}
time: {{step: 0.01}}
bodies:
  - name: belt
    geometry: [{{box: [200, 200, 0.2], friction: 0.5, surface_velocity: {speed},
                pose: {{position: [0, 0, -0.1], rpy: [0, 0, {turn}]}}}}]
  - name: parcel
    pose: {{position: [0, 0, 0.1]}}
    joint: {{type: free, qd: [{velocity[0]}, {velocity[1]}, 0, 0, 0, {velocity[2]}]}}
    geometry: [{{box: [0.3, 0.2, 0.2], mass: 2, friction: 0.5}}]
""")


def _positions(world: World, seconds: float) -> np.ndarray:
    run = Simulation(world)
    found = []
    for _ in range(round(seconds / 0.05)):
        run.run(0.05)
        found.append(run.bodies["parcel"].pose)
    return np.array(found)


# Takes seconds: make test has parcels that a belt accelerates.
@pytest.mark.nightly
@pytest.mark.parametrize("cone", only(["elliptic", "pyramidal"], 0))
@given(
    speed=st.floats(-2.0, 2.0),
    turn=st.floats(-3.0, 3.0),
    velocity=st.lists(st.floats(-1.0, 1.0), min_size=3, max_size=3),
)
@settings(max_examples=8, deadline=None)
def test_a_parcel_on_a_belt_moves_as_on_a_floor_that_is_seen_from_a_train(
    cone: str, speed: float, turn: float, velocity: list[float]
) -> None:
    """Galilei: the same contact, with velocities that differ by the belt's. MuJoCo knows no belts here."""
    belt = speed * np.array([np.cos(turn), np.sin(turn)])
    on_belt = _positions(_floor(cone, speed, turn, velocity), 0.4)
    on_floor = _positions(_floor(cone, 0.0, turn, [*(velocity[:2] - belt), velocity[2]]), 0.4)
    on_floor[:, :2] += belt * 0.05 * np.arange(1, len(on_floor) + 1)[:, None]
    np.testing.assert_allclose(on_belt, on_floor, atol=1e-6)


@pytest.mark.parametrize("integrator", ["implicitfast", "euler", "rk4"])
def test_a_parcel_is_accelerated_by_friction_up_to_the_speed_of_the_belt(integrator: str) -> None:
    """Coulomb: mu g until it lies still on the belt, after 1 m/s / (0.5 g); the way is half of that at 1 m/s."""
    run = Simulation(_floor("elliptic", 1.0, 0.0, [0.0, 0.0, 0.0], integrator))
    until = 1.0 / (0.5 * GRAVITY)
    run.run(0.1)
    assert run.bodies["parcel"].twist[0] == pytest.approx(0.5 * GRAVITY * 0.1, rel=0.03)
    run.run(0.9)
    assert run.bodies["parcel"].twist[0] == pytest.approx(1.0, abs=1e-4)
    assert run.bodies["parcel"].pose[0] == pytest.approx(1.0 - until / 2.0, abs=0.005)


CRAWLER = """
world: crawler
physics: {timestep: 0.001}
time: {step: 0.01}
ground: {friction: 1.0}
bodies:
  - name: hull
    pose: {position: [0, 0, 0.21]}
    joint: free
    geometry:
      - {box: [0.6, 0.3, 0.2], mass: 20}
      - {box: [0.8, 0.1, 0.2], mass: 5, pose: {position: [0, 0.25, -0.1]}, friction: 1.0,
         surface_velocity: {joint: left, radius: 0.1}}
      - {box: [0.8, 0.1, 0.2], mass: 5, pose: {position: [0, -0.25, -0.1]}, friction: 1.0,
         surface_velocity: {joint: right, radius: 0.1}}
  - {name: left, parent: hull, joint: {type: ry, armature: 0.01}, geometry: [{sphere: 0.02, mass: 0.1, only: collision, touches: []}]}
  - {name: right, parent: hull, joint: {type: ry, armature: 0.01}, geometry: [{sphere: 0.02, mass: 0.1, only: collision, touches: []}]}
actuators:
  - {joint: left, type: velocity, damping: 5}
  - {joint: right, type: velocity, damping: 5}
bases:
  - {name: crawler, body: hull, type: skid, wheel_radius: 0.1, track: 0.5, timeout: 0, joints: {left: left, right: right}}
"""


def test_a_base_on_tracks_drives_as_it_is_commanded() -> None:
    """Forwards exactly; turning, its tracks skid at both ends, as odometry of a skid base has it by track_factor."""
    run = Simulation(loads(CRAWLER))
    run.run(0.2)
    run.vehicles["crawler"].cmd_vel(0.5)
    run.run(1.0)
    before = run.bodies["hull"].pose
    run.run(1.0)
    np.testing.assert_allclose(run.bodies["hull"].pose[:3] - before[:3], [0.5, 0.0, 0.0], atol=2e-3)
    assert run.vehicles["crawler"].odometry[0] == pytest.approx(run.bodies["hull"].pose[0], abs=0.02)
    run.vehicles["crawler"].cmd_vel(angular_z=0.5)
    run.run(2.0)
    assert 0.1 < run.bodies["hull"].twist[5] < 0.5
    run.vehicles["crawler"].cmd_vel(0.0)
    run.run(1.0)
    np.testing.assert_allclose(run.bodies["hull"].twist, np.zeros(6), atol=1e-3)


# Takes seconds: make test has parcels and bases on belts.
@pytest.mark.nightly
def test_the_front_of_a_track_climbs_a_step() -> None:
    """The surface runs around its shape: up in front, where a sliding box would only push."""
    step = (
        "  - {name: step, pose: {position: [1.5, 0, 0.04]}, geometry: [{box: [1, 2, 0.08], friction: 1.0}]}\nactuators"
    )
    world = loads(CRAWLER.replace("actuators", step, 1))
    run = Simulation(world)
    run.vehicles["crawler"].cmd_vel(0.4)
    run.run(4.0)
    assert run.bodies["hull"].pose[2] > 0.25
    assert run.bodies["hull"].pose[0] > 1.0


def test_what_drives_a_surface_is_a_joint_of_the_world(tmp_path: Path) -> None:
    with pytest.raises(WorldError, match=r"surface_velocity: 'lefd' is no joint; did you mean left\?"):
        Simulation(loads(CRAWLER.replace("joint: left, radius", "joint: lefd, radius")))
    with pytest.raises(WorldError, match="radius: has no effect without a joint"):
        loads(CRAWLER.replace("joint: left, radius: 0.1", "speed: 1, radius: 0.1"))
    (tmp_path / "crawler.yaml").write_text(CRAWLER)
    (tmp_path / "two.yaml").write_text("""
physics: {integrator: implicitfast}
ground: {friction: 1.0}
include:
  - {file: crawler.yaml, prefix: one}
  - {file: crawler.yaml, prefix: other, pose: {position: [0, 2, 0]}}
""")
    world = load(tmp_path / "two.yaml")
    assert loads(to_yaml(world)).bodies == world.bodies
    run = Simulation(world)
    run.vehicles["other/crawler"].cmd_vel(0.5)
    run.run(1.0)
    assert run.bodies["other/hull"].pose[0] > 0.4
    assert abs(run.bodies["one/hull"].pose[0]) < 1e-3


GRIPPER = """
world: gripper
physics: {{integrator: implicitfast, timestep: 0.001}}
time: {{step: 0.01}}
bodies:
  - {{name: cup, pose: {{position: [0, 0, 1]}}, joint: pz, geometry: [{{cylinder: [0.05, 0.02], mass: 0.5}}]}}
  - {{name: plate, pose: {{position: [0, 0, 0.965]}}, joint: free, geometry: [{{box: [0.3, 0.3, 0.05], mass: 2}}]}}
actuators:
  - {{joint: cup, type: position, stiffness: 2.0e+4, damping: 400}}
suction:
  - {{name: vacuum, body: cup, force: {force}, engagement: 1}}
signals:
  - {{name: vacuum/activate, of: vacuum, quantity: engagement, input: true}}
"""


@given(share=st.sampled_from([0.5, 0.9, 1.5, 2.0, 10.0]))
@settings(max_examples=5, deadline=None)
def test_a_suction_gripper_holds_what_weighs_less_than_its_force(share: float) -> None:
    run = Simulation(loads(GRIPPER.format(force=share * 2.0 * GRAVITY)))
    run.run(1.0)
    assert (run.bodies["plate"].pose[2] > 0.9) == (share > 1.0)


def test_a_suction_gripper_is_the_adhesion_of_mujoco_and_lets_go_by_its_signal() -> None:
    """The same model as MJCF, stepped by MuJoCo alone."""
    run = Simulation(loads(GRIPPER.format(force=100)))
    raw = mujoco.MjModel.from_xml_string("""
<mujoco><option timestep="0.001" integrator="implicitfast"/>
<worldbody>
<body name="cup" pos="0 0 1"><joint name="cup" type="slide" axis="0 0 1"/><geom type="cylinder" size="0.05 0.01" mass="0.5" margin="0.002" gap="0.002"/></body>
<body name="plate" pos="0 0 0.965"><freejoint/><geom type="box" size="0.15 0.15 0.025" mass="2"/></body>
</worldbody>
<actuator><position joint="cup" kp="2e4" kv="400"/><adhesion body="cup" gain="100" ctrlrange="0 1"/></actuator></mujoco>""")
    data = mujoco.MjData(raw)
    data.ctrl[1] = 1.0
    for _ in range(30):
        run.run(0.01)
        mujoco.mj_step(raw, data, 10)
        np.testing.assert_allclose(run.bodies["plate"].pose[2], data.qpos[3], atol=1e-9)
    assert data.qpos[3] > 0.9
    run.signals["vacuum/activate"].value = 0.0
    run.run(0.5)
    assert run.bodies["plate"].pose[2] == pytest.approx(0.9655 - GRAVITY / 2 * 0.25, abs=0.02)
    with pytest.raises(WorldError, match="quantity: 'vacuum' is a suction gripper; allowed: engagement"):
        Simulation(loads(GRIPPER.format(force=100).replace("quantity: engagement", "quantity: target")))
    with pytest.raises(WorldError, match=r"no body 'cap'; did you mean cup\?"):
        Simulation(loads(GRIPPER.format(force=100).replace("body: cup", "body: cap")))


@pytest.mark.parametrize(
    ("physics", "told"),
    [
        (
            "physics: {integrator: rk4}",
            ["belt.yaml:2:23: physics.integrator: moving surfaces are integrated by implicitfast"],
        ),
        ("physics: {integrator: implicitfast}", []),
        ("physics: {contact: true}", []),
    ],
)
def test_a_world_that_states_another_integrator_is_warned_once(
    tmp_path: Path, physics: str, told: list[str], recwarn: pytest.WarningsRecorder
) -> None:
    file = tmp_path / "belt.yaml"
    file.write_text(
        f"world: belt\n{physics}\nbodies: [{{name: belt, geometry: [{{box: [3, 0.6, 0.8], surface_velocity: 0.5}}]}}]\n"
    )
    simulation = Simulation(file)
    simulation.step(3)
    simulation.reset()
    found = [str(each.message) for each in recwarn if "integrated" in str(each.message)]
    assert len(found) == len(told)
    assert all(line in each for line, each in zip(told, found, strict=True))
