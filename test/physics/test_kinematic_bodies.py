"""Bodies that keep their velocity: exactly where it leads, and what they push, carry and turn."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nightly import only
from scipy.spatial.transform import Rotation

from sim_node.simulation import Simulation
from sim_node.simulation.physics.rigid_bodies import RigidBodyEngine
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import Body, Geometry, Physics, StaticFrame, TimeGrid, World, WorldError, load, loads

MS = 1_000_000
TURNED = [0.1, 0.2, 0.3, *Rotation.from_rotvec([0.3, -0.5, 0.7]).as_quat()]
TWIST = [0.3, -0.2, 0.1, 2.0, -3.0, 5.0]
WALL = Body(
    "wall", "map", "free", kinematic=True, q=np.array(TURNED), qd=np.array(TWIST),
    geometry=(Geometry("box", np.array([0.5, 0.5, 0.5]), 1.0),),
)  # fmt: skip


def world(*bodies: Body, step_ns: int = 2 * MS, integrator: str = "rk4") -> World:
    frames = (StaticFrame("tilted", "map", np.array([1, 2, 3, *Rotation.from_rotvec([1, 0, 0]).as_quat()])),)
    return World("w", time=TimeGrid(0, step_ns), frames=frames, physics=Physics(integrator=integrator), bodies=bodies)


def pose_of(simulation: Simulation, name: str) -> FloatArray:
    return np.asarray(simulation.frames.in_root(simulation.snapshot().poses)[simulation.frames.index(name)])


def along_a_twist(start: list[float], twist: list[float], seconds: float) -> tuple[FloatArray, Rotation]:
    """Where a constant velocity leads; the angular one is about the body's axes."""
    position = np.array(start[:3]) + seconds * np.array(twist[:3])
    return position, Rotation.from_quat(start[3:]) * Rotation.from_rotvec(seconds * np.array(twist[3:]))


@pytest.mark.parametrize("integrator", ["rk4", "euler", "implicitfast", "implicit"])
# One step is like another.
# The same steps, more or fewer of them.
@pytest.mark.parametrize("step_ms", only([1, 2, 5, 7, 20], 4))
def test_a_kinematic_body_is_where_its_velocity_leads(step_ms: int, integrator: str) -> None:
    run = Simulation(world(WALL, step_ns=step_ms * MS, integrator=integrator))
    run.step(1400 // step_ms)
    position, turn = along_a_twist(TURNED, TWIST, 1.4)
    pose = pose_of(run, "wall")
    np.testing.assert_allclose(pose[:3], position, rtol=0, atol=1e-12)
    assert (turn.inv() * Rotation.from_quat(pose[3:])).magnitude() < 1e-12


NUMBERS = st.floats(-20.0, 20.0)


# Takes seconds: make test has bodies with each integrator.
@pytest.mark.nightly
@settings(max_examples=20)
@given(st.lists(NUMBERS, min_size=6, max_size=6), st.sampled_from(["map", "tilted"]))
def test_so_is_any_in_any_frame(twist: list[float], parent: str) -> None:
    body = Body("b", parent, "free", kinematic=True, q=np.array(TURNED), qd=np.array(twist))
    run = Simulation(world(body, step_ns=20 * MS))
    run.step(10)
    position, turn = along_a_twist(TURNED, twist, 0.2)
    pose = run.snapshot().poses[run.frames.index("b")]
    np.testing.assert_allclose(pose[:3], position, rtol=0, atol=1e-11)
    assert (turn.inv() * Rotation.from_quat(pose[3:])).magnitude() < 1e-11


PLANT = """
world: plant
time: {{step: 0.002}}
physics: {{integrator: {integrator}}}
ground: {{}}
bodies:
  - name: wall
    kinematic: true
    joint: {{type: free, q: [-1, 0, 0.5, 0, 0, 0, 1], qd: [1, 0, 0, 0, 0, 0]}}
    geometry: [{{box: [0.2, 2, 1]}}]
  - name: block
    joint: {{type: free, q: [0, 0, 0.25, 0, 0, 0, 1]}}
    geometry: [{{box: [0.5, 0.5, 0.5], mass: 3, friction: 0.3}}]
  - name: belt
    kinematic: true
    joint: {{type: free, q: [0, 5, 0.1, 0, 0, 0, 1], qd: [0.5, 0, 0, 0, 0, 0]}}
    geometry: [{{box: [20, 2, 0.2], friction: 0.5}}]
  - name: parcel
    joint: {{type: free, q: [0, 5, 0.45, 0, 0, 0, 1]}}
    geometry: [{{box: [0.5, 0.5, 0.5], mass: 3, friction: 0.5}}]
"""


@pytest.mark.parametrize(("integrator", "off"), only([("rk4", 3e-4), ("implicitfast", 3e-4)], 1))
def test_a_wall_pushes_and_a_belt_carries(integrator: str, off: float) -> None:
    """A parcel put on a belt lags by v^2 / (2 mu g), the way on which friction accelerates it."""
    run = Simulation(loads(PLANT.format(integrator=integrator)))
    run.run(2.0)
    assert pose_of(run, "wall")[0] == pytest.approx(1.0, abs=1e-12)
    assert pose_of(run, "block")[0] == pytest.approx(1.0 + 0.1 + 0.25, abs=1e-3)
    lag = 0.5**2 / (2.0 * 0.5 * 9.81)
    assert pose_of(run, "parcel")[0] == pytest.approx(0.5 * 2.0 - lag, abs=off)


def test_it_feels_nothing_and_still_things_do_not_feel_it() -> None:
    """A wall in the ground, pushed by a wrench: it feels no force, and the energy is that of the other bodies."""
    text = PLANT.format(integrator="rk4").replace("q: [-1, 0, 0.5,", "q: [-9, 0, 0.1,")
    run = Simulation(loads(text))
    run.bodies["wall"].wrench = [0.0, 1e4, 0.0, 0.0, 0.0, 0.0]
    run.run(0.5)
    np.testing.assert_allclose(pose_of(run, "wall"), [-8.5, 0, 0.1, 0, 0, 0, 1], rtol=0, atol=1e-12)
    (engine,) = (each for each in run.engines.values() if isinstance(each, RigidBodyEngine))
    assert np.abs(engine.data.qfrc_constraint[:6]).max() < 1e-9
    # The parcel has the belt's speed; belt and wall have no mass.
    assert engine.energy() == pytest.approx(3 * 9.81 * (0.25 + 0.45) + 0.5 * 3 * 0.5**2, rel=2e-3)


def test_a_pendulum_on_it_hangs_as_on_something_that_stands() -> None:
    """In a frame that moves steadily the laws are the same (Galilei): it swings as on a body that is fixed."""
    arm = Body(
        "arm", "cart", "ry", q=np.array([0.4]),
        geometry=(Geometry("sphere", np.array([0.1]), 1.0, np.array([0, 0, -1, 0, 0, 0, 1])),),
    )  # fmt: skip
    moving = Body("cart", "map", "free", kinematic=True, qd=np.array([3.0, 0, 0, 0, 0, 0]))
    runs = [Simulation(world(cart, arm)) for cart in (moving, Body("cart", "map"))]
    for run in runs:
        run.run(2.0)
    angles = [run.joints["arm"].position for run in runs]
    np.testing.assert_allclose(angles[0], angles[1], rtol=0, atol=1e-7)
    assert pose_of(runs[0], "cart")[0] == pytest.approx(6.0, abs=1e-11)


def test_a_velocity_set_in_a_run_is_kept() -> None:
    run = Simulation(world(WALL))
    run.run(0.1)
    run.bodies["wall"].twist = [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    before = pose_of(run, "wall")
    run.run(0.5)
    np.testing.assert_allclose(pose_of(run, "wall") - before, [0, 0, 0.5, 0, 0, 0, 0], rtol=0, atol=1e-12)


def test_only_a_free_body_is_kinematic() -> None:
    with pytest.raises(WorldError, match="b: kinematic: only a body on a free joint keeps its velocity by itself"):
        Simulation(world(Body("b", "map", "rx", kinematic=True)))


def model(mates: str, velocity: str = "{0.5, 0, 0}", spin: str = "{0, 0, 1}") -> str:
    return f"""\
Rig is Physics3D.System:
    table is Physics3D.Bodies.RigidBody:
        is_dynamic: false
        kinematics.local_transform.position: {{0, 0, 1}}
        kinematics.local_transform.rotation: Math.Quat.angle_axis(0.5, Math.Vec3.Y_AXIS())
        kinematics.initial_local_linear_velocity: {velocity}
        kinematics.initial_local_angular_velocity: {spin}
        top is Physics3D.Interactions.MateConnector:
            position: {{0, 0, 0.5}}
    base is Physics3D.Bodies.RigidBody:
        is_dynamic: false
        kinematics.local_transform.position: {{0, 0, 1.5}}
        foot is Physics3D.Interactions.MateConnector
    load is Physics3D.Bodies.RigidBody:
        ball is Physics3D.Geometries.Sphere:
            radius: 0.1
        foot is Physics3D.Interactions.MateConnector
{mates}"""


Reader = Callable[[str], World]


@pytest.fixture
def read(tmp_path: Path) -> Reader:
    """The world of a model of OpenPLX, about which nothing is reported."""
    pytest.importorskip("sim_node.extensions.openplx", reason="these tests run without extensions, too")

    def read(text: str) -> World:
        path = tmp_path / "rig.openplx"
        path.write_text(text, encoding="utf-8")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return load(path)

    return read


STANDS = "        kinematics.local_transform.position: {5, 0, 0}\n"
HINGE = (
    "    on is Physics3D.Interactions.Hinge:\n        connectors: [base.foot, table.top]\n        enable_snap: false\n"
)


@pytest.mark.parametrize("mates", only([STANDS, STANDS + HINGE], 1), ids=["alone", "on a hinge"])
def test_a_body_of_openplx_that_is_not_dynamic_moves_by_its_velocity(read: Reader, mates: str) -> None:
    """RigidBody.openplx of bundle 0.19: "their motion is defined by explicit velocities", relative to the system.

    A mate between two bodies that are not dynamic holds neither.
    """
    run = Simulation(read(model(mates, spin="{1, -2, 3}")))
    run.run(2.0)
    pose = pose_of(run, "Rig/table")
    np.testing.assert_allclose(pose[:3], [1.0, 0, 1], rtol=0, atol=1e-11)
    turn = Rotation.from_rotvec(2.0 * np.array([1, -2, 3])) * Rotation.from_rotvec([0, 0.5, 0])
    assert (turn.inv() * Rotation.from_quat(pose[3:])).magnitude() < 1e-11


def test_what_is_mated_to_it_goes_with_it(read: Reader) -> None:
    lock = "    on is Physics3D.Interactions.Lock:\n        connectors: [table.top, load.foot]\n"
    run = Simulation(read(model(lock)))
    run.run(2.0)
    table, load = pose_of(run, "Rig/table"), pose_of(run, "Rig/load")
    turn = Rotation.from_rotvec([0, 0, 2.0]) * Rotation.from_rotvec([0, 0.5, 0])
    np.testing.assert_allclose(load[:3] - table[:3], turn.apply([0, 0, 0.5]), rtol=0, atol=1e-9)
