"""Bodies and joints set by number, and wrenches from outside, beside analytic motion."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nightly import only
from scipy.spatial.transform import Rotation

from sim_node.simulation import Simulation
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import Body, Drag, Geometry, Inertial, Motion, Physics, TimeGrid, World, load

MS = 1_000_000
INERTIA = np.diag([0.02, 0.03, 0.05])
FLOATS = st.floats(-3.0, 3.0)
TWISTS = st.tuples(*[FLOATS] * 6).map(np.array)
TURNS = st.tuples(*[FLOATS] * 3).map(lambda v: Rotation.from_rotvec(v).as_quat())
PLACES = st.tuples(*[FLOATS] * 3).map(np.array)
# Forces on another body: with some, the engine pushes through other arrays.
ELSEWHERE = {"alone": (), "beside force elements": (Drag("other", linear=np.ones(3)),)}


def free(name: str, centre: Any = (0, 0, 0), **more: Any) -> Body:
    return Body(name, "map", "free", inertial=Inertial(2.0, INERTIA, np.array(centre, float)), **more)


def world(*bodies: Body, **more: Any) -> World:
    physics = Physics(integrator="rk4", contact=False, gravity=np.zeros(3))
    return World("w", time=TimeGrid(step_ns=MS), bodies=bodies, physics=physics, **more)


def two(which: str, **more: Any) -> World:
    return world(free("box", **more), free("other"), forces=ELSEWHERE[which])


@pytest.mark.parametrize("which", ELSEWHERE)
def test_a_constant_force_accelerates_the_centre_of_mass(which: str) -> None:
    """x = F t^2 / 2 m, with no turn, although the centre of mass is not at the body's origin."""
    simulation = Simulation(two(which, centre=(0.3, 0.1, 0.0)))
    simulation.bodies["box"].wrench = [4.0, 0.0, -2.0, 0.0, 0.0, 0.0]
    simulation.run(1.0)
    np.testing.assert_allclose(simulation.bodies["box"].pose, [1.0, 0, -0.5, 0, 0, 0, 1], atol=1e-9)
    np.testing.assert_allclose(simulation.bodies["box"].twist, [2.0, 0, -1.0, 0, 0, 0], atol=1e-9)
    np.testing.assert_array_equal(simulation.bodies["other"].pose, [0, 0, 0, 0, 0, 0, 1])


@pytest.mark.parametrize("which", ELSEWHERE)
@pytest.mark.parametrize("axis", range(3))
def test_a_constant_torque_spins_up_an_inertia(which: str, axis: int) -> None:
    """w = T t / I about a principal axis, and the angle T t^2 / 2 I."""
    simulation = Simulation(two(which))
    simulation.columns["wrench"][simulation.columns.rows("wrench", ["box"])[0], 3 + axis] = 0.01
    simulation.run(1.0)
    rate = 0.01 / INERTIA[axis, axis]
    np.testing.assert_allclose(simulation.bodies["box"].twist, rate * np.eye(6)[3 + axis], atol=1e-9)
    turned = Rotation.from_quat(simulation.bodies["box"].pose[3:]).as_rotvec()
    np.testing.assert_allclose(turned, rate / 2 * np.eye(3)[axis], atol=1e-6)


@pytest.mark.parametrize("integrator", ["rk4", "euler", "implicitfast"])
@pytest.mark.parametrize("which", ELSEWHERE)
def test_a_wrench_is_along_the_fixed_axes_and_held_in_states_until_a_reset(which: str, integrator: str) -> None:
    quarter = [0, 0, np.sin(np.pi / 4), np.cos(np.pi / 4)]
    made = two(which, q=np.array([0, 0, 0, *quarter]))
    made = replace(made, physics=replace(made.physics, integrator=integrator))
    simulation = Simulation(made)
    body = simulation.bodies["box"]
    body.wrench = [1.0, 0, 0, 0, 0, 0]
    simulation.run(0.5)
    np.testing.assert_allclose(body.twist, [0.25, 0, 0, 0, 0, 0], atol=1e-9)
    state = pickle.loads(pickle.dumps(simulation.state))
    simulation.run(0.5)
    expected = simulation.snapshot().poses.tobytes()
    simulation.reset()
    assert not body.wrench.any(), "a handle is of the present, after a reset, too"
    simulation.restore(state)
    assert body.wrench.tolist() == [1.0, 0, 0, 0, 0, 0]
    simulation.run(0.5)
    assert simulation.snapshot().poses.tobytes() == expected
    body.wrench = np.zeros(6)
    simulation.run(1.0)
    np.testing.assert_allclose(body.twist, [0.5, 0, 0, 0, 0, 0], atol=1e-9)


def carried(**more: Any) -> World:
    """A free body on an arm that turns, in a turned joint frame: three slides and a ball, not MuJoCo's free joint."""
    mount = np.array([0.2, -0.1, 0.4, *Rotation.from_euler("xyz", [0.4, 1.0, -2.0]).as_quat()])
    arm = Body("arm", "map", "rz", inertial=Inertial(1.0, INERTIA), q=np.array([0.7]), qd=np.array([1.3]))
    rider = Body("rider", "arm", "free", mount, inertial=Inertial(2.0, INERTIA), **more)
    return world(arm, rider, free("box", q=np.array([1.0, 2, 3, 0, 0, 0, 1])))


@pytest.mark.parametrize("name", only(["box", "rider"], 1))
@settings(max_examples=20, deadline=None)
@given(PLACES, TURNS, TWISTS)
def test_a_body_is_where_it_is_placed_and_moves_as_it_is_reported(
    name: str, place: FloatArray, turn: FloatArray, twist: FloatArray
) -> None:
    simulation = Simulation(carried(spring_stiff=np.zeros(6), anchor=np.array([0.1, 0.2, 0.3])))
    body = simulation.bodies[name]
    pose = np.array([*place, *turn])
    body.pose = pose
    body.twist = twist
    np.testing.assert_allclose(body.twist, twist, atol=1e-9)
    found = simulation.frames.lookup(simulation.snapshot().poses, "map", name)
    np.testing.assert_allclose(found[:3], place, atol=1e-12)
    assert (Rotation.from_quat(found[3:]).inv() * Rotation.from_quat(turn)).magnitude() < 1e-7
    np.testing.assert_allclose(simulation.columns["twist"][simulation.frames.index(name)], twist, atol=1e-9)
    np.testing.assert_allclose(body.pose[:3], place, atol=1e-12)


def test_joints_are_set_as_world_files_say_them() -> None:
    saddle = Body("saddle", "map", "saddle", inertial=Inertial(1.0, INERTIA))
    simulation = Simulation(world(saddle, free("box", q=np.array([1.0, 2, 3, 0, 0, 0, 1]))))
    joint, box = simulation.joints["saddle"], simulation.joints["box"]
    joint.position, joint.velocity = [0.3, -0.2], [1.0, 2.0]
    assert joint.position.tolist() == [0.3, -0.2]
    assert joint.velocity.tolist() == [1.0, 2.0]
    wanted = Rotation.from_euler("YZ", [0.3, -0.2]).as_quat()
    np.testing.assert_allclose(simulation.bodies["saddle"].pose[3:], wanted, atol=1e-12)
    q = np.array([3.0, 2, 1, *Rotation.from_euler("xyz", [0.1, 0.2, 0.3]).as_quat()])
    box.position = q
    np.testing.assert_allclose(box.position, q, atol=1e-15)
    np.testing.assert_allclose(simulation.bodies["box"].pose, q, atol=1e-12)
    assert list(simulation.joints) == ["saddle", "box"]


def test_joints_of_models_are_set_by_their_names() -> None:
    simulation = Simulation(load("arm"), sensors=False)
    assert len(simulation.joints) > 2
    for number, joint in enumerate(simulation.joints.values()):
        if joint.position.shape == (1,):
            joint.position = 0.01 * number
            assert joint.position.tolist() == [0.01 * number]


def keyframed() -> World:
    motion = Motion("lift", "map", np.array([0, 10**9]), np.array([[0, 0, z, 0, 0, 0, 1.0] for z in (0, 1)]))
    plate = Body("plate", "lift", geometry=(Geometry("box", np.ones(3)),))
    ground = Body("ground", "map", geometry=(Geometry("box", np.ones(3)),))
    arm = Body("arm", "map", "rx", inertial=Inertial(1.0, INERTIA))
    hand = Body("hand", "arm", inertial=Inertial(1.0, INERTIA))
    return world(
        ground,
        plate,
        arm,
        hand,
        motions=(motion,),
    )


@pytest.mark.parametrize(
    ("name", "what", "value", "message"),
    [
        ("plate", "pose", [0, 0, 0, 0, 0, 0, 1], "'plate': pose cannot be set, keyframes carry it"),
        ("ground", "pose", [0, 0, 0, 0, 0, 0, 1], "'ground': pose cannot be set, it is fixed to the fixed frame"),
        ("hand", "twist", np.zeros(6), "'hand': twist cannot be set, it is fixed to 'arm'"),
        ("arm", "pose", [0, 0, 0, 0, 0, 0, 1], r"'arm': pose cannot be set, its joint \(hinge\) .*; set `joints`"),
        ("plate", "wrench", np.zeros(6), "'plate' has no wrench: no force moves it, keyframes carry it"),
        ("ground", "wrench", np.zeros(6), "'ground' has no wrench: no force moves it, it is fixed to the fixed frame"),
        ("hand", "wrench", np.zeros(5), r"'hand': wrench has shape \(5,\), needs \(6,\)"),
        ("hand", "wrench", [0, 0, np.nan, 0, 0, 0], "'hand': wrench .* is not finite"),
        ("hand", "wrench", "hard", "'hand': wrench needs 6 numbers, found 'hard'"),
    ],
)
def test_what_cannot_be_set_is_refused_and_why(name: str, what: str, value: Any, message: str) -> None:
    simulation = Simulation(keyframed())
    before = simulation.state
    with pytest.raises(ValueError, match=message):
        setattr(simulation.bodies[name], what, value)
    assert simulation.state == before


def test_wrong_numbers_are_refused() -> None:
    simulation = Simulation(world(free("box")))
    with pytest.raises(KeyError, match="no body 'bxo'; did you mean box"):
        simulation.bodies["bxo"]
    with pytest.raises(KeyError, match="no joint 'boxx'; did you mean box"):
        simulation.joints["boxx"]
    with pytest.raises(ValueError, match=r"'box': pose has shape \(6,\), needs \(7,\)"):
        simulation.bodies["box"].pose = np.zeros(6)
    with pytest.raises(ValueError, match="the quaternion's norm in pose is 2, a rotation needs 1"):
        simulation.bodies["box"].pose = [0, 0, 0, 0, 0, 0, 2]
    with pytest.raises(ValueError, match=r"pose .* is out of range"):
        simulation.bodies["box"].pose = [1e30, 0, 0, 0, 0, 0, 1]
    with pytest.raises(ValueError, match="the quaternion's norm in position is 0"):
        simulation.joints["box"].position = np.zeros(7)
    with pytest.raises(ValueError, match=r"'box': velocity has shape \(1,\), needs \(6,\)"):
        simulation.joints["box"].velocity = 1.0
