"""Rigid bodies against analytic solutions and conservation laws."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.spatial.transform import Rotation
from scipy.special import ellipk
from waiting import PATIENCE

from sim_node.simulation import Simulation
from sim_node.simulation.physics import RigidBodyEngine
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import (
    Body,
    Diverged,
    Geometry,
    Inertial,
    Motion,
    Physics,
    StaticFrame,
    TimeGrid,
    World,
    WorldError,
    load,
)
from sim_node.world.joints import JOINTS, JointType, Z, hinge, slide

MS = 1_000_000
IDENTITY = np.array([0.0, 0, 0, 0, 0, 0, 1])
DOWN = np.array([0.0, 0.0, -9.81])


def at(*position: float, rotation: Rotation | None = None) -> FloatArray:
    quaternion = (0, 0, 0, 1) if rotation is None else rotation.as_quat()
    return np.array([*position, *quaternion], dtype=float)


def world(*bodies: Body, step_ns: int = MS, frames: tuple[StaticFrame, ...] = (), **physics: Any) -> World:
    return World("test", time=TimeGrid(0, step_ns), frames=frames, bodies=bodies, physics=Physics(**physics))


def bob(mass: float = 2.0, length: float = 0.7, **more: Any) -> Body:
    """A pendulum about y: nearly a point at the end of a massless rod."""
    inertial = Inertial(mass, np.eye(3) * 1e-12, np.array([0.0, 0.0, -length]))
    return Body("bob", "map", "ry", inertial=inertial, **more)


def pose_of(simulation: Simulation, name: str) -> FloatArray:
    return np.asarray(simulation.snapshot().poses[simulation.frames.index(name)])


def angle_y(simulation: Simulation, name: str) -> float:
    quaternion = pose_of(simulation, name)[3:]
    return float(2.0 * np.arctan2(quaternion[1], quaternion[3]))


def engine_of(simulation: Simulation) -> RigidBodyEngine:
    (engine,) = simulation.engines.values()
    assert isinstance(engine, RigidBodyEngine)
    return engine


# Analytic solutions


@pytest.mark.parametrize("amplitude", [0.1, 1.0, 2.5, 3.0])
def test_a_pendulum_swings_with_the_period_of_the_elliptic_integral(amplitude: float) -> None:
    """T = 4 sqrt(l / g) K(sin^2(amplitude / 2)); after whole periods it is where it began."""
    period = 4.0 * np.sqrt(0.7 / 9.81) * ellipk(np.sin(amplitude / 2.0) ** 2)
    simulation = Simulation(world(bob(q=np.array([amplitude]))))
    instant = simulation.seek(round(period / 4 * 1e9))
    quaternion = instant.poses[simulation.frames.index("bob"), 3:]
    assert abs(2.0 * np.arctan2(quaternion[1], quaternion[3])) < 1e-7
    simulation.reset()
    quaternion = simulation.seek(round(3 * period * 1e9)).poses[simulation.frames.index("bob"), 3:]
    assert 2.0 * np.arctan2(quaternion[1], quaternion[3]) == pytest.approx(amplitude, abs=1e-7)


def test_a_spring_and_a_mass_follow_the_damped_cosine() -> None:
    """m x'' + c x' + k (x - x0) = 0, under-damped."""
    m, c, k, rest, start = 2.0, 0.6, 50.0, 0.3, -0.2
    body = Body(
        "mass",
        "map",
        "px",
        inertial=Inertial(m, np.eye(3)),
        damping=np.array([c]),
        spring_stiff=np.array([k]),
        spring_zero=np.array([rest]),
        q=np.array([start]),
    )
    simulation = Simulation(world(body))
    decay, omega = c / (2 * m), np.sqrt(k / m - (c / (2 * m)) ** 2)
    for _ in range(5):
        simulation.run(0.7)
        t = simulation.time_ns * 1e-9
        envelope = (start - rest) * np.exp(-decay * t)
        expected = rest + envelope * (np.cos(omega * t) + decay / omega * np.sin(omega * t))
        assert pose_of(simulation, "mass")[0] == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("integrator", ["rk4", "implicitfast", "euler"])
def test_free_fall_is_a_parabola(integrator: str) -> None:
    """Exact for RK4; first-order integrators are off by g t dt / 2."""
    start, speed = np.array([1.0, 2.0, 30.0]), np.array([3.0, -1.0, 4.0])
    body = Body(
        "stone",
        "map",
        "free",
        geometry=(Geometry("sphere", np.array([0.1]), 1.0),),
        q=np.array([*start, 0, 0, 0, 1]),
        qd=np.array([*speed, 0, 0, 0]),
    )
    simulation = Simulation(world(body, integrator=integrator))
    simulation.run(2.0)
    expected = start + speed * 2.0 + 0.5 * DOWN * 2.0**2
    if integrator != "rk4":
        expected = expected + 0.5 * DOWN * 2.0 * 1e-3
    np.testing.assert_allclose(pose_of(simulation, "stone")[:3], expected, atol=1e-10)


def test_a_symmetric_top_without_torque_precesses_as_euler_has_it() -> None:
    """L fixed in space; the axis goes round it at L / I1, the body spins about its axis at (I1 - I3) / I1 w3."""
    i1, i3 = 0.3, 0.5
    spin = np.array([0.4, 0.0, 3.0])
    body = Body("top", "map", "spherical", inertial=Inertial(1.0, np.diag([i1, i1, i3])), qd=spin)
    simulation = Simulation(world(body, gravity=np.zeros(3)))
    momentum = np.array([i1 * spin[0], 0.0, i3 * spin[2]])
    for _ in range(4):
        simulation.run(0.5)
        t = simulation.time_ns * 1e-9
        precession = Rotation.from_rotvec(momentum / i1 * t)
        expected = precession * Rotation.from_rotvec([0, 0, (i1 - i3) / i1 * spin[2] * t])
        off = expected.inv() * Rotation.from_quat(pose_of(simulation, "top")[3:])
        assert off.magnitude() < 1e-8


def test_a_ball_of_springs_swings_about_one_axis_like_a_torsion_pendulum() -> None:
    k, inertia = 4.0, 0.25
    body = Body(
        "ball",
        "map",
        "spherical",
        inertial=Inertial(1.0, np.eye(3) * inertia),
        spring_stiff=np.array([k, k, k]),
        q=Rotation.from_rotvec([0, 0.5, 0]).as_quat(),
    )
    simulation = Simulation(world(body, gravity=np.zeros(3)))
    simulation.run(1.0)
    assert angle_y(simulation, "ball") == pytest.approx(0.5 * np.cos(np.sqrt(k / inertia)), abs=1e-9)


def test_a_box_on_a_plane_stays_there() -> None:
    ground = Body("ground", "map", geometry=(Geometry("plane", np.array([])),))
    box = Body(
        "box",
        "map",
        "free",
        geometry=(Geometry("box", np.array([0.2, 0.2, 0.2]), 1.0),),
        q=np.array([0, 0, 0.5, 0, 0, 0, 1]),
    )
    simulation = Simulation(world(ground, box))
    simulation.run(3.0)
    assert pose_of(simulation, "box")[2] == pytest.approx(0.1, abs=2e-3)
    falling = Simulation(world(ground, box, contact=False))
    falling.run(3.0)
    assert pose_of(falling, "box")[2] == pytest.approx(0.5 - 0.5 * 9.81 * 9.0, abs=1e-9)


# Masses of shapes

SOLIDS: dict[str, tuple[list[float], Callable[..., float]]] = {
    "box": ([0.2, 0.4, 0.6], lambda m, s: m / 12 * (s[0] ** 2 + s[1] ** 2)),
    "sphere": ([0.3], lambda m, s: 0.4 * m * s[0] ** 2),
    "cylinder": ([0.3, 0.8], lambda m, s: 0.5 * m * s[0] ** 2),
    "ellipsoid": ([0.2, 0.3, 0.5], lambda m, s: 0.2 * m * (s[0] ** 2 + s[1] ** 2)),
}


@pytest.mark.parametrize("shape", SOLIDS)
def test_the_inertia_of_a_shape_is_that_of_the_solid(shape: str) -> None:
    """Sizes are whole lengths and radii: a torsion spring about z tells the moment (T = 2 pi sqrt(I / k))."""
    size, moment = SOLIDS[shape]
    body = Body(
        "body",
        "map",
        "rz",
        geometry=(Geometry(shape, np.array(size), 1.5),),
        spring_stiff=np.array([1.0]),
        q=np.array([0.4]),
    )
    simulation = Simulation(world(body))
    period = 2 * np.pi * np.sqrt(moment(1.5, size))
    quaternion = simulation.seek(round(period * 1e9)).poses[simulation.frames.index("body"), 3:]
    assert 2 * np.arctan2(quaternion[2], quaternion[3]) == pytest.approx(0.4, abs=1e-8)


def test_the_length_of_a_capsule_is_without_its_caps() -> None:
    """By integrating over discs along its axis."""
    radius, length, mass = 0.3, 0.8, 1.5

    def disc(z: float) -> float:
        beyond = max(abs(z) - length / 2, 0.0)
        return radius**2 - beyond**2

    end = length / 2 + radius
    volume = quad(disc, -end, end, points=[-length / 2, length / 2])[0]
    moment = mass * quad(lambda z: disc(z) ** 2 / 2, -end, end, points=[-length / 2, length / 2])[0] / volume
    body = Body(
        "body", "map", "rz", geometry=(Geometry("capsule", np.array([radius, length]), mass),), qd=np.array([1.0])
    )
    assert engine_of(Simulation(world(body))).energy() == pytest.approx(0.5 * moment, rel=1e-8)


# Conservation


def chain(*joints: str, gravity: FloatArray = DOWN, **physics: Any) -> World:
    """Bodies of odd shapes, each on the one before, all turning."""
    random = np.random.default_rng(5)
    bodies, parent = [], "map"
    for index, name in enumerate(joints):
        joint = JOINTS[name]
        axes = random.standard_normal((joint.open_axes, 3))
        pose = at(0.1, -0.2, 0.4, rotation=Rotation.random(random_state=index))
        shape = Geometry("box", np.array([0.1, 0.2, 0.3]), 0.5, at(0.05, 0.1, -0.2))
        body = Body(
            f"b{index}",
            parent,
            name,
            pose,
            axes,
            (shape,),
            q=_some_q(joint, random),
            qd=random.standard_normal(joint.qd_size),
        )
        bodies.append(body)
        parent = body.name
    return world(*bodies, gravity=gravity, contact=False, **physics)


def _some_q(joint: JointType, random: np.random.Generator) -> FloatArray:
    parts = [
        Rotation.random(random_state=7).as_quat() if p.kind == "ball" else random.standard_normal(1)
        for p in joint.parts
    ]
    return np.concatenate(parts) if parts else np.zeros(0)


def test_energy_is_kept_by_joints_without_damping() -> None:
    simulation = Simulation(chain("saddle", "rx", "spherical", "p3d", "hinge"))
    before = engine_of(simulation).energy()
    simulation.run(2.0)
    assert engine_of(simulation).energy() == pytest.approx(before, abs=1e-6)


def test_momentum_and_angular_momentum_of_a_floating_chain_are_kept() -> None:
    """From twists and masses: P = sum m v, L = sum (r x m v + I w), without gravity."""
    floating = chain("free", "ry", "spherical", gravity=np.zeros(3))
    simulation = Simulation(floating)

    def momenta() -> FloatArray:
        twists, _ = simulation.motion()
        poses = simulation.frames.in_root(simulation.snapshot().poses)
        linear, angular = np.zeros(3), np.zeros(3)
        for body in floating.bodies:
            row = simulation.frames.index(body.name)
            turn = Rotation.from_quat(poses[row, 3:])
            shape = body.geometry[0]
            arm = shape.pose[:3].copy()
            v = turn.apply(twists[row, :3] + np.cross(twists[row, 3:], arm))
            x, y, z = shape.size
            inertia = shape.mass / 12 * np.array([y * y + z * z, x * x + z * z, x * x + y * y])
            centre = poses[row, :3] + turn.apply(arm)
            linear += shape.mass * v
            angular += np.cross(centre, shape.mass * v) + turn.apply(inertia * twists[row, 3:])
        return np.concatenate([linear, angular])

    before = momenta()
    assert np.linalg.norm(before) > 0.1
    simulation.run(2.0)
    np.testing.assert_allclose(momenta(), before, atol=1e-9)


# Takes seconds: make test has bodies and joints with each integrator.
@pytest.mark.nightly
def test_rk4_at_one_millisecond_is_within_1e_8_of_a_tenth_of_it() -> None:
    worlds = [chain("free", "saddle", "rx", "spherical"), chain("ry", "ry", "p3d", "rr")]
    for smooth in worlds:
        coarse, fine = (
            Simulation(smooth),
            Simulation(replace(smooth, physics=replace(smooth.physics, timestep_ns=100_000))),
        )
        coarse.run(2.0)
        fine.run(2.0)
        assert np.abs(coarse.snapshot().poses - fine.snapshot().poses).max() < 1e-8


# Frames


@pytest.mark.parametrize("name", JOINTS)
def test_every_joint_is_the_composition_that_it_says(name: str) -> None:
    """scipy's rotations, part by part, at the initial state: at top level and below another body."""
    joint = JOINTS[name]
    random = np.random.default_rng(3)
    axes, q = random.standard_normal((joint.open_axes, 3)), _some_q(joint, random)
    expected, at_q = np.eye(4), 0
    own = iter(axes / np.linalg.norm(axes, axis=1, keepdims=True))
    for part in joint.parts:
        step = np.eye(4)
        axis = np.array(part.axis if part.axis is not None else next(own) if part.kind != "ball" else (0, 0, 1.0))
        if part.kind == "slide":
            step[:3, 3] = axis * q[at_q]
        elif part.kind == "hinge":
            step[:3, :3] = Rotation.from_rotvec(axis * q[at_q]).as_matrix()
        else:
            step[:3, :3] = Rotation.from_quat(q[at_q : at_q + 4]).as_matrix()
        expected, at_q = expected @ step, at_q + part.q_size
    mount = at(1.0, 2.0, 3.0, rotation=Rotation.from_rotvec([0.1, 0.2, 0.3]))
    shape = (Geometry("box", np.array([0.1, 0.2, 0.3]), 1.0),)
    for below in ("map", "carrier"):
        carrier = Body("carrier", "map", "rx", at(0, 0, 1), geometry=shape)
        simulation = Simulation(world(carrier, Body("body", below, name, mount, axes, shape, q=q), armature=1e-6))
        frames, poses = simulation.frames, simulation.snapshot().poses
        rest = at(0, 0, 0) if not joint.parts else mount
        found = poses[frames.index("body")]
        if joint.parts:
            np.testing.assert_allclose(poses[frames.index("body/joint")], rest, atol=1e-15)
        else:
            expected[:3, 3], expected[:3, :3] = mount[:3], Rotation.from_quat(mount[3:]).as_matrix()
        np.testing.assert_allclose(found[:3], expected[:3, 3], atol=1e-12)
        np.testing.assert_allclose(Rotation.from_quat(found[3:]).as_matrix(), expected[:3, :3], atol=1e-12)


def test_a_free_body_is_the_same_at_top_level_and_on_something_that_stands() -> None:
    """MuJoCo's free joint, and three slides and a ball."""
    shape = (Geometry("box", np.array([0.1, 0.2, 0.3]), 1.0, at(0.02, 0.03, 0.04)),)
    state: dict[str, Any] = {
        "q": [1, 2, 3, *Rotation.from_rotvec([0.3, 0.2, 0.1]).as_quat()],
        "qd": [0.1, 0.2, 0.3, 1.0, 2.0, 3.0],
    }
    turned = at(5, 6, 7, rotation=Rotation.from_rotvec([0, 0, 0.5]))
    down_there = Rotation.from_rotvec([0, 0, 0.5]).inv().apply(DOWN)
    one = Simulation(world(Body("body", "map", "free", at(5, 6, 7), geometry=shape, **state), gravity=down_there))
    other = Simulation(world(Body("body", "map", "free", turned, geometry=shape, **state), gravity=DOWN))
    assert (engine_of(one).model.njnt, engine_of(other).model.njnt) == (1, 4)
    one.run(1.0)
    other.run(1.0)
    np.testing.assert_allclose(pose_of(one, "body"), pose_of(other, "body"), atol=1e-9)


def test_a_moving_centre_of_rotation_does_not_change_how_a_body_falls() -> None:
    """Only armature tells the ways apart in which a `cor` joint can move its body: the sum of them is free fall."""
    shape = (Geometry("box", np.array([0.1, 0.2, 0.3]), 1.0),)
    body = Body("body", "map", "cor", geometry=shape, qd=np.array([1, 0, 0, 0, 0, 2.0, 0, 0, 0]))
    simulation = Simulation(world(body, armature=1e-6))
    simulation.run(0.5)
    found = simulation.frames.in_root(simulation.snapshot().poses)[simulation.frames.index("body")]
    np.testing.assert_allclose(found, [0.5, 0, -0.5 * 9.81 * 0.25, 0, 0, np.sin(0.5), np.cos(0.5)], atol=1e-5)


def test_twists_and_accelerations_are_the_derivatives_of_the_poses() -> None:
    """Central differences of positions and rotations, for bodies and for frames fixed to them."""
    sensor = StaticFrame("imu", "b2", at(0.1, 0.2, -0.3, rotation=Rotation.from_rotvec([0.5, 0.1, -0.2])))
    mast = StaticFrame("mast", "map", at(1, 0, 0))
    moving = replace(chain("free", "saddle", "spherical"), frames=(sensor, mast))
    simulation = Simulation(moving)
    h = 20_000
    t = 300 * MS

    def in_root(time_ns: int) -> FloatArray:
        return simulation.frames.in_root(simulation.seek(time_ns).poses)

    before, now, after = in_root(t - h), in_root(t), in_root(t + h)
    simulation.seek(t)
    twists, accelerations = simulation.motion()
    for name in ("b0", "b1", "b2", "imu"):
        row = simulation.frames.index(name)
        turn = [Rotation.from_quat(poses[row, 3:]) for poses in (before, now, after)]
        velocity = (after[row, :3] - before[row, :3]) / (2e-9 * h)
        spin = (turn[2] * turn[0].inv()).as_rotvec() / (2e-9 * h)
        np.testing.assert_allclose(turn[1].apply(twists[row, :3]), velocity, atol=2e-6)
        np.testing.assert_allclose(turn[1].apply(twists[row, 3:]), spin, atol=2e-6)
        acceleration = (after[row, :3] - 2 * now[row, :3] + before[row, :3]) / (1e-9 * h) ** 2
        np.testing.assert_allclose(turn[1].apply(accelerations[row, :3]), acceleration, atol=2e-4)
    for name in ("map", "mast"):
        assert not twists[simulation.frames.index(name)].any()


def test_a_frame_on_keyframes_has_no_twist_that_is_known() -> None:
    keyframes = Motion("bird", "map", np.array([0, 10**9]), np.array([IDENTITY, at(1, 0, 0)]))
    simulation = Simulation(replace(world(bob()), motions=(keyframes,)))
    twists, _ = simulation.motion()
    assert np.isnan(twists[simulation.frames.index("bird")]).all()
    assert not np.isnan(twists[simulation.frames.index("bob")]).any()


# Runs


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 40), min_size=1, max_size=6))
def test_small_steps_are_one_large_one_bit_for_bit(strides: Sequence[int]) -> None:
    """Whatever is looked at in between."""
    once, often = (Simulation(chain("free", "saddle", "spherical")) for _ in range(2))
    for stride in strides:
        often.step(stride)
        often.seek(often.time_ns + 300_000)
        often.motion()
    once.step(sum(strides))
    assert once.snapshot().poses.tobytes() == often.snapshot().poses.tobytes()


def test_a_restored_run_goes_on_as_it_did() -> None:
    """With contacts, whose solver starts from the last solution; through pickle, into another simulation."""
    ground = Body("ground", "map", geometry=(Geometry("plane", np.array([])),))
    box = Body(
        "box",
        "map",
        "free",
        geometry=(Geometry("box", np.array([0.2, 0.3, 0.4]), 1.0),),
        q=np.array([0, 0, 0.5, 0, 0, 0, 1]),
        qd=np.array([1, 0, 0, 3, 2, 1]),
    )
    tumbling = world(ground, box)
    simulation = Simulation(tumbling, seed=3)
    simulation.run(0.4)
    state = simulation.state
    simulation.run(0.5)
    expected = simulation.snapshot()
    other = Simulation(tumbling)
    for run in (simulation, other):
        run.restore(pickle.loads(pickle.dumps(state)))
        assert (run.time_ns, run.seed) == (400 * MS, 3)
        run.run(0.5)
        assert run.snapshot().poses.tobytes() == expected.poses.tobytes()


def test_a_state_of_another_world_is_refused() -> None:
    state = Simulation(world(bob())).state
    other = Simulation(chain("free"))
    other.run(0.1)
    before = other.state
    with pytest.raises(ValueError, match=r"another world: column 'qpos': found float64 of shape \(1,\), needs"):
        other.restore(state)
    assert other.state == before, "a state that is refused changes nothing"
    with pytest.raises(ValueError, match="column 'time' is not of this world, column 'qpos' is not of this world"):
        Simulation(World("empty")).restore(state)
    with pytest.raises(ValueError, match="column 'time' is missing"):
        Simulation(world(bob())).restore(Simulation(World("empty")).state)
    with pytest.raises(ValueError, match="'qpos' has rows of 'bob'"):
        Simulation(world(replace(bob(), name="other"))).restore(state)


def test_a_step_of_the_world_is_as_many_timesteps_as_it_takes() -> None:
    coarse = Simulation(world(bob(q=[1.0]), step_ns=10 * MS))
    fine = Simulation(world(bob(q=[1.0]), step_ns=MS))
    coarse.step(7)
    fine.step(70)
    assert coarse.snapshot().poses.tobytes() == fine.snapshot().poses.tobytes()


def test_a_run_that_blows_up_says_so_and_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    stiff = Body(
        "mass", "map", "px", inertial=Inertial(1.0, np.eye(3)), spring_stiff=np.array([1e9]), q=np.array([1.0])
    )
    # Each timestep multiplies the amplitude by the last term of Runge-Kutta's series; MuJoCo squares speeds.
    growth = (1e9 * 0.01**2) ** 2 / 24
    begins = 0.01 * np.log(np.finfo(float).max) / 2.0 / np.log(growth)
    calm = replace(bob(), name="calm")
    simulation = Simulation(world(calm, stiff, step_ns=10 * MS, timestep_ns=10 * MS))

    def whole() -> None:
        simulation.run(10.0)

    def step_by_step() -> None:
        for _ in range(1000):
            simulation.step()

    for run in (whole, step_by_step):
        with pytest.raises(Diverged, match=r"^'mass': not finite any more after .* shorter physics.timestep") as caught:
            run()
        assert float(str(caught.value).split("after ")[1].split()[0]) == pytest.approx(begins, abs=0.02)
        with pytest.raises(Diverged, match="not finite any more"):
            simulation.snapshot()
        simulation.reset()
        simulation.step()
    assert not list(tmp_path.iterdir())


# Takes seconds: make test has bodies and joints with each integrator.
@pytest.mark.nightly
def test_worlds_without_bodies_start_without_mujoco() -> None:
    program = (
        "import sys; from sim_node.simulation import Simulation; from sim_node.world import load; "
        "Simulation(load('orbit')).run(1.0); assert 'mujoco' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=PATIENCE)


def test_without_mujoco_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(WorldError, match=r"bodies need MuJoCo.*pip install 'mujoco!=4\.0\.0,"):
        Simulation(world(bob()))


def test_the_shipped_double_pendulum_keeps_its_energy() -> None:
    simulation = Simulation(load("double_pendulum"))
    before = engine_of(simulation).energy()
    simulation.run(5.0)
    assert engine_of(simulation).energy() == pytest.approx(before, abs=1e-6)


def test_a_new_joint_type_is_one_entry() -> None:
    """A screw without a lead: slides along z and turns about it."""
    with JOINTS.extended({"sleeve": JointType("sleeve", (slide(Z), hinge(Z)))}):
        body = Body("nut", "map", "sleeve", geometry=(Geometry("box", np.ones(3), 1.0),), qd=np.array([0.5, 2.0]))
        simulation = Simulation(world(body, gravity=np.zeros(3)))
        simulation.run(1.0)
    np.testing.assert_allclose(pose_of(simulation, "nut"), [0, 0, 0.5, 0, 0, np.sin(1.0), np.cos(1.0)], atol=1e-12)
