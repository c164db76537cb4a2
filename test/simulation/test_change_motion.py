"""Motion through changes of a world: momentum of what is attached and detached, contact, keyframes, joints."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from boxes import GRID, WEIGHTLESS, box

from sim_node import Simulation, World
from sim_node.simulation.changes import with_part
from sim_node.spatial.geometry import quaternions
from sim_node.world import Body, Geometry
from sim_node.world.model import Motion
from sim_node.world.physics import Physics
from sim_node.world.scene import Ground

Array = npt.NDArray[np.float64]


def inertia(run: Simulation, name: str, mass: float) -> Array:
    """The inertia (3, 3) of a box of that size about its centre, along the fixed frame's axes."""
    x, y, z = 1.0, 0.7, 0.4
    turn = quaternions.to_matrix(run.bodies[name].pose[3:])
    return np.asarray(turn @ np.diag([y * y + z * z, x * x + z * z, x * x + y * y]) @ turn.T * mass / 12.0)


def momentum(run: Simulation, masses: dict[str, float]) -> Array:
    """Linear and angular momentum (6,) about the origin, by the textbook."""
    total = np.zeros(6)
    for name, mass in masses.items():
        pose, twist = run.bodies[name].pose, run.bodies[name].twist
        total[:3] += mass * twist[:3]
        total[3:] += mass * np.cross(pose[:3], twist[:3]) + inertia(run, name, mass) @ twist[3:]
    return total


def test_a_pair_has_the_same_momentum_before_and_after_it_is_attached_and_detached() -> None:
    masses = {"drone": 2.0, "load": 0.5}
    bodies = (
        box("drone", (0, 0, 0), (1, 2, 3, 0.4, -0.2, 0.3), 2.0),
        box("load", (0.3, 0.1, -1.5), (-2, 0, 1, -1, 2, 0.5), 0.5),
    )
    run = Simulation(World("pair", time=GRID, physics=WEIGHTLESS, bodies=bodies))
    run.step(50)
    before, pose = momentum(run, masses), run.frames.lookup(run.present().poses, "drone", "load")
    run.attach("load", "drone")
    np.testing.assert_allclose(momentum(run, masses), before, rtol=0, atol=1e-9)
    # The merge of two rigid bodies: one velocity of the common centre of mass, one angular velocity.
    points = {name: run.bodies[name].pose[:3] for name in masses}
    centre = sum(mass * points[name] for name, mass in masses.items()) / 2.5
    about = np.zeros((3, 3))
    for name, mass in masses.items():
        arm = points[name] - centre
        about += inertia(run, name, mass) + mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    velocity = before[:3] / 2.5
    turn = np.linalg.solve(about, before[3:] - np.cross(centre, before[:3]))
    for name in masses:
        expected = [*(velocity + np.cross(turn, points[name] - centre)), *turn]
        np.testing.assert_allclose(run.bodies[name].twist, expected, rtol=0, atol=1e-9)
    assert run.frames.static[run.frames.index("load")]
    run.step(50)
    np.testing.assert_allclose(run.frames.lookup(run.present().poses, "drone", "load"), pose, rtol=0, atol=1e-12)
    before, twist = momentum(run, masses), run.bodies["load"].twist
    run.detach("load")
    np.testing.assert_allclose(momentum(run, masses), before, rtol=0, atol=1e-9)
    np.testing.assert_allclose(run.bodies["load"].twist, twist, rtol=0, atol=1e-12)


def test_a_gripper_on_an_arm_takes_a_payload_with_the_momentum_about_its_joint() -> None:
    """A hinge cannot take up the rest: a rod of 1 kg m^2 about it, and a point-like mass that hits its end."""
    rod = Body("rod", "map", "ry", geometry=(Geometry("sphere", np.array([1e-3]), 1e-6),), armature=np.array([1.0]))
    ball = Body(
        "ball",
        "map",
        "free",
        q=np.array([2.0, 0, 0, 0, 0, 0, 1]),
        qd=np.array([0, 0, -3.0, 0, 0, 0]),
        geometry=(Geometry("sphere", np.array([1e-3]), 0.5),),
    )
    run = Simulation(World("arm", time=GRID, physics=WEIGHTLESS, bodies=(rod, ball)))
    run.attach("ball", "rod")
    # I w = r m v; w about y takes what is ahead down.
    assert run.joints["rod"].velocity[0] == pytest.approx(2.0 * 0.5 * 3.0 / (1.0 + 0.5 * 4.0), abs=1e-6)


def test_what_is_fixed_to_the_world_stands_still_and_a_released_body_has_the_twist_of_its_carrier() -> None:
    times = np.array([0, 10_000_000_000])
    lift = Motion("lift", "map", times, np.array([[0, 0, 0, 0, 0, 0, 1], [0, 0, 20, 0, 0, 0, 1.0]]))
    world = World("lift", time=GRID, physics=WEIGHTLESS, bodies=(box("crate", (3, 0, 0), (1, 0, 0, 0, 0, 0)),))
    run = Simulation(with_part(world, lift))
    run.step(100)
    run.attach("crate", "map")
    there = run.bodies["crate"].pose
    run.step(10)
    assert run.bodies["crate"].pose.tolist() == there.tolist()
    run.attach("crate", "lift", (0, 0, 1, 0, 0, 0, 1))
    run.step(10)
    run.detach("crate")
    np.testing.assert_allclose(run.bodies["crate"].twist, [0, 0, 2, 0, 0, 0], atol=1e-6)


@pytest.mark.parametrize("integrator", ["euler", "rk4", "implicitfast"])
def test_what_is_in_contact_goes_on_within_a_nanometre(integrator: str) -> None:
    physics = Physics(integrator=integrator, timestep_ns=2_000_000)
    world = World("w", time=GRID, physics=physics, ground=Ground(), bodies=(box("a", (0, 0, 0.3), (1, 0, 0, 0, 1, 0)),))
    one, other = Simulation(world), Simulation(world)
    one.step(50)
    other.step(50)
    other.add(box("b", (5, 0, 0.3), (0, 1, 0, 1, 0, 0)))
    for _ in range(250):
        one.step()
        other.step()
        np.testing.assert_allclose(one.bodies["a"].pose, other.bodies["a"].pose, rtol=0, atol=1e-9)
        np.testing.assert_allclose(one.bodies["a"].twist, other.bodies["a"].twist, rtol=0, atol=1e-9)


def test_new_keyframes_are_where_they_would_be_by_now() -> None:
    """A platform that rises by 2 m/s is added at 0.4 s, and carries a shape that others touch."""
    times = np.array([0, 10_000_000_000])
    lift = Motion("lift", "map", times, np.array([[0, 0, 0, 0, 0, 0, 1], [0, 0, 20, 0, 0, 0, 1.0]]))
    run = Simulation(World("w", time=GRID, physics=WEIGHTLESS, bodies=(box("a", (9, 0, 0)),)))
    run.step(100)
    run.add(lift, Body("plate", "lift", geometry=(Geometry("box", np.ones(3)),)))
    for _ in range(2):
        plate = run.frames.lookup(run.present().poses, "map", "plate")
        assert plate[2] == pytest.approx(2.0 * run.time_ns * 1e-9, abs=1e-12)
        assert run.columns["mocap_pos"][0, 2] == pytest.approx(plate[2], abs=1e-12)
        run.step()
    # The first engine of a run may be added, too: its time is that of the run.
    empty = Simulation(World("w", time=GRID))
    empty.step(100)
    empty.add(box("a", qd=(1, 0, 0, 0, 0, 0)), lift)
    empty.step(25)
    assert empty.columns["time"][0] == pytest.approx(0.5)
    assert empty.bodies["a"].pose[0] == pytest.approx(0.1)
    assert empty.present().poses[empty.frames.index("lift"), 2] == pytest.approx(1.0)


def test_a_floating_body_stays_where_it_is_if_its_joint_is_described_otherwise() -> None:
    """With a spring MuJoCo has it on three slides and a ball; a joint frame may turn its axes."""
    run = Simulation(World("w", time=GRID, physics=WEIGHTLESS, bodies=(box("a", (1, 2, 3), (1, 0, 0, 0, 2, 1)),)))
    run.step(40)
    pose, twist = run.bodies["a"].pose, run.bodies["a"].twist
    turned = np.array([5, 0, 0, 0, 0, *np.sqrt([0.5, 0.5])])
    (body,) = run.world.bodies
    for changed in (replace(body, spring_stiff=np.full(6, 1e-9)), replace(body, pose=turned), body):
        run.change(replace(run.world, bodies=(changed,)))
        np.testing.assert_allclose(run.bodies["a"].pose, pose, rtol=0, atol=1e-12)
        np.testing.assert_allclose(run.bodies["a"].twist, twist, rtol=0, atol=1e-12)
