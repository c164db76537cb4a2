# ruff: noqa: E501  a message of a table stands on its line
"""Bodies and physics in world files, key by key, and every fault at its place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

from sim_node.simulation import Simulation
from sim_node.simulation.physics import RigidBodyEngine
from sim_node.world import Body, Geometry, Inertial, Physics, TimeGrid, World, WorldError, lay_out, load
from sim_node.world.joints import JOINTS, JointType, register_joint_types

IDENTITY = [0, 0, 0, 0, 0, 0, 1]

EVERYTHING = """\
world: plant
time: {step: 0.004}
physics: {integrator: implicitfast, timestep: 0.002, gravity: [0, 0, -1.62], contact: false, armature: 1.0e-6}
bodies:
  - name: ground
    geometry: [{plane: true, color: [0.1, 0.2, 0.3]}]
  - name: arm
    parent: ground
    pose: {position: [1, 2, 3], rpy_deg: [0, 0, 90]}
    joint: {type: hinge, axis: [0, 3, 4], damping: 0.1, armature: 0.2, spring_stiff: 0.3, spring_zero: 0.4, q: 0.5, qd: 0.6}
    inertial: {mass: 2, center: [0, 0, 0.1], inertia: [0.1, 0.2, 0.25, 0.01, 0.02, 0.03]}
    geometry:
      - {capsule: [0.1, 1], mass: 7, color: [1, 0.5, 0, 0.5], pose: {position: [0, 0, 0.5]}}
      - {sphere: 0.2}
      - {box: [1, 2, 3]}
      - {cylinder: [0.1, 1]}
      - {ellipsoid: [0.1, 0.2, 0.3]}
      - {xyz: 0.25}
  - name: arm/ball
    joint: {type: spherical, damping: [1, 2, 3], spring_stiff: 5, q: [0, 0, 0.6, 0.8], qd: [1, 2, 3]}
    geometry: [{sphere: 0.1, mass: 1}]
"""


def test_every_key(read: Callable[..., World]) -> None:
    world = read(EVERYTHING)
    assert world.physics == Physics(2_000_000, "implicitfast", np.array([0, 0, -1.62]), False, 1e-6)
    ground, arm, ball = world.bodies
    assert ground == Body(
        "ground", "map", geometry=(Geometry("plane", np.array([]), colour=np.array([0.1, 0.2, 0.3, 1])),)
    )
    assert (arm.name, arm.parent, arm.joint, ball.parent) == ("arm", "ground", "hinge", "arm")
    assert arm.axes.tolist() == [[0, 0.6, 0.8]]
    for key, value in {
        "damping": 0.1,
        "armature": 0.2,
        "spring_stiff": 0.3,
        "spring_zero": 0.4,
        "q": 0.5,
        "qd": 0.6,
    }.items():
        assert getattr(arm, key).tolist() == [value]
    inertia = [[0.1, 0.01, 0.02], [0.01, 0.2, 0.03], [0.02, 0.03, 0.25]]
    assert arm.inertial == Inertial(2, np.array(inertia), np.array([0, 0, 0.1]))
    capsule, sphere, *_ = arm.geometry
    assert capsule == Geometry(
        "capsule", np.array([0.1, 1]), 7, np.array([0, 0, 0.5, 0, 0, 0, 1]), np.array([1, 0.5, 0, 0.5])
    )
    assert sphere == Geometry("sphere", np.array([0.2]))
    assert [(g.shape, g.size.tolist()) for g in arm.geometry[2:]] == [
        ("box", [1, 2, 3]),
        ("cylinder", [0.1, 1]),
        ("ellipsoid", [0.1, 0.2, 0.3]),
        ("xyz", [0.25]),
    ]
    assert np.asarray(ball.q).tolist() == pytest.approx([0, 0, 0.6, 0.8])
    assert (
        np.asarray(ball.damping).tolist(),
        np.asarray(ball.spring_stiff).tolist(),
        np.asarray(ball.qd).tolist(),
    ) == (
        [1, 2, 3],
        [5, 5, 5],
        [1, 2, 3],
    )
    Simulation(world).run(0.1)


def test_a_density_makes_the_mass_that_mujoco_makes_of_it(read: Callable[..., World]) -> None:
    """MuJoCo computes the volumes of its shapes itself."""
    shapes = {
        "box: [0.2, 0.4, 0.6]": (mujoco.mjtGeom.mjGEOM_BOX, [0.1, 0.2, 0.3]),
        "sphere: 0.3": (mujoco.mjtGeom.mjGEOM_SPHERE, [0.3, 0, 0]),
        "cylinder: [0.3, 0.8]": (mujoco.mjtGeom.mjGEOM_CYLINDER, [0.3, 0.4, 0]),
        "capsule: [0.3, 0.8]": (mujoco.mjtGeom.mjGEOM_CAPSULE, [0.3, 0.4, 0]),
        "ellipsoid: [0.2, 0.3, 0.5]": (mujoco.mjtGeom.mjGEOM_ELLIPSOID, [0.2, 0.3, 0.5]),
    }
    for text, (kind, size) in shapes.items():
        spec = mujoco.MjSpec()
        spec.worldbody.add_body(name="a").add_geom(type=kind, size=size, density=700.0)
        (body,) = read(f"bodies: [{{name: a, geometry: [{{{text}, density: 700}}]}}]").bodies
        assert body.own_mass() == pytest.approx(float(spec.compile().body("a").mass[0]), rel=1e-12)


def test_the_inertia_that_a_file_says_is_what_moves(read: Callable[..., World]) -> None:
    """Kinetic energy 1/2 w I w about the centre of mass, and 1/2 m v^2 of it."""
    world = read(
        """\
        physics: {gravity: [0, 0, 0]}
        bodies:
          - name: body
            joint: {type: spherical, qd: [1, 2, 3]}
            inertial: {mass: 2, center: [0, 0, 0.1], inertia: [0.1, 0.2, 0.25, 0.01, 0.02, 0.03]}
        """
    )
    (engine,) = Simulation(world).engines.values()
    assert isinstance(engine, RigidBodyEngine)
    spin = np.array([1, 2, 3])
    inertia = np.array([[0.1, 0.01, 0.02], [0.01, 0.2, 0.03], [0.02, 0.03, 0.25]])
    speed = np.cross(spin, [0, 0, 0.1])
    assert engine.energy() == pytest.approx(0.5 * spin @ inertia @ spin + 0.5 * 2 * speed @ speed, rel=1e-12)


def test_frames_hang_below_bodies_and_joint_frames_are_frames(read: Callable[..., World]) -> None:
    table = lay_out(
        read(
            """\
            fixed_frame: world
            bodies:
              - {name: cart, joint: px, geometry: [{sphere: 1, mass: 1}]}
              - {name: pole, parent: hook, pose: {position: [0, 0, 1]}, joint: ry, geometry: [{sphere: 1, mass: 1}]}
              - {name: sign, parent: pole, pose: {position: [0, 1, 0]}, geometry: [{sphere: 1}]}
            frames:
              - {name: hook, parent: cart}
              - {name: tip, parent: sign}
            """
        )
    ).frames
    assert [table.names[row] for row in reversed(table.chain(table.index("tip")))] == [
        "world",
        "cart",  # at its parent: no joint frame of its own
        "hook",
        "pole/joint",
        "pole",
        "sign",
        "tip",
    ]
    assert {name for name, static in zip(table.names, table.static, strict=True) if not static} == {"cart", "pole"}


def test_an_included_world_brings_its_bodies_under_its_prefix(write: Callable[..., Path]) -> None:
    write(
        "bodies: [{name: ball, joint: free, geometry: [{sphere: 1, mass: 1}]}]\nphysics: {gravity: [0, 0, 0]}\n",
        "ball.yaml",
    )
    world = load(write("include: [{file: ball.yaml, prefix: red, pose: {position: [0, 0, 5]}}]\n"))
    (ball,) = world.bodies
    assert (ball.name, ball.parent) == ("red/ball", "red/map")
    assert world.physics == Physics(), "as name, time and origin: the including world's"
    simulation = Simulation(world)
    simulation.run(1.0)
    pose = simulation.frames.lookup(simulation.snapshot().poses, "map", "red/ball")
    assert pose[2] == pytest.approx(5 - 9.81 / 2)


def test_axes_that_nobody_gives_are_drawn_the_same_every_time(read: Callable[..., World]) -> None:
    text = "bodies:\n" + "".join(
        f"  - {{name: b{i}, joint: {joint}, geometry: [{{sphere: 1, mass: 1}}]}}\n"
        for i, joint in enumerate(["rr", "rr_imp", "rsaddle", "rr"])
    )
    first, second = read(text), read(text)
    assert first.bodies == second.bodies
    axes = [body.axes for body in first.bodies]
    for rows in axes:
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-15)
    assert abs(axes[1][0] @ axes[1][1]) < 1e-15
    assert abs(axes[0][0] @ axes[3][0]) < 0.999


FAULTS = [
    ("physics: {integrator: rk5}", "w.yaml:1:23: physics.integrator: found 'rk5'; allowed: rk4, implicitfast, implicit, euler; did you mean rk4?"),
    ("physics: {gravity: 9.81}", "w.yaml:1:20: physics.gravity: a list of 3 numbers is needed, found '9.81'"),
    ("physics: {contact: maybe}", "w.yaml:1:20: physics.contact: found 'maybe'; allowed: true,"),
    ("physics: {engine: mujocco}", "w.yaml:1:19: physics.engine: found 'mujocco'; allowed: mujoco; did you mean mujoco?"),
    ("physics: {armature: -1}", "w.yaml:1:21: physics.armature: -1 is out of range; allowed: 0 to 1e+09"),
    ("bodies: [{name: a, joint: {type: spherical, q: [1e200, 0, 0, 1e200]}}]", "w.yaml:1:48: bodies[0].joint.q: the quaternion's norm is 1.414e+200, a rotation needs 1"),
    ("physics: {timestep: 0}", "w.yaml:1:21: physics.timestep: 0 s is out of range"),
    ("bodies: [{joint: rx}]", "w.yaml:1:10: bodies[0]: name is missing"),
    ("bodies: [{name: a, joint: rxx}]", "w.yaml:1:27: bodies[0].joint: found 'rxx'; allowed: frozen, free,"),
    ("bodies: [{name: a, joint: hinge}]", "w.yaml:1:27: bodies[0].joint: a hinge joint needs an axis: {type: hinge, axis: [0, 0, 1]}"),
    ("bodies: [{name: a, joint: {type: rx, axis: [1, 0, 0]}}]", "w.yaml:1:44: bodies[0].joint.axis: the axes of a rx joint are fixed; joints with an axis are hinge,"),
    ("bodies: [{name: a, joint: {type: hinge, axis: [0, 0, 0]}}]", "w.yaml:1:47: bodies[0].joint.axis: is zero; an axis needs a direction"),
    ("bodies: [{name: a, joint: {type: rx, dampning: 1}}]", "w.yaml:1:38: bodies[0].joint.dampning: unknown key; did you mean damping?"),
    ("bodies: [{name: a, joint: {type: saddle, damping: [1]}}]", "w.yaml:1:51: bodies[0].joint.damping: a list of 2 numbers is needed, found a list of 1"),
    ("bodies: [{name: a, joint: {type: rx, damping: -1}}]", "w.yaml:1:47: bodies[0].joint.damping: -1 is out of range; allowed: 0 or more"),
    ("bodies: [{name: a, joint: {type: spherical, q: [0, 0, 0, 2]}}]", "w.yaml:1:48: bodies[0].joint.q: the quaternion's norm is 2, a rotation needs 1"),
    ("bodies: [{name: a, geometry: [{mass: 1}]}]", "w.yaml:1:31: bodies[0].geometry[0]: one shape is needed (box, sphere,"),
    ("bodies: [{name: a, geometry: [{box: [1, 2]}]}]", "w.yaml:1:37: bodies[0].geometry[0].box: needs a list of sizes in m, [length_x, length_y, length_z]; found a list of 2"),
    ("bodies: [{name: a, geometry: [{cylinder: {radius: 1, length: 2}}]}]", "w.yaml:1:42: bodies[0].geometry[0].cylinder: needs a list of sizes in m, [radius, length]; found a mapping"),
    ("bodies: [{name: a, geometry: [{sphere: 0}]}]", "w.yaml:1:40: bodies[0].geometry[0].sphere: a size must be above zero"),
    ("bodies: [{name: a, geometry: [{sphere: 1, mass: -1}]}]", "w.yaml:1:49: bodies[0].geometry[0].mass: -1 is out of range; allowed: 0 to 1e+09"),
    ("bodies: [{name: a, geometry: [{sphere: 1, color: [1, 2, 0]}]}]", "w.yaml:1:54: bodies[0].geometry[0].color[1]: 2 is out of range; allowed: 0 to 1"),
    ("bodies: [{name: a, geometry: [{sphere: 1, mass: 1, density: 1}]}]", "w.yaml:1:61: bodies[0].geometry[0].density: cannot be combined with mass; give one of them"),
    ("bodies: [{name: a, geometry: [{plane: true, density: 1}]}]", "w.yaml:1:54: bodies[0].geometry[0].density: a plane has no volume; those with one are box, sphere,"),
    ("bodies: [{name: a, geometry: [{sphere: 100, density: 1000}]}]", "w.yaml:1:54: bodies[0].geometry[0].density: results in 4.189e+09 kg; allowed: up to 1e+09 kg"),
    ("bodies: [{name: a, inertial: {mass: 0, inertia: [1, 1, 1]}}]", "w.yaml:1:37: bodies[0].inertial.mass: 0 is out of range; allowed: above 0, up to 1e+09"),
    ("bodies: [{name: a, geometry: [{sphere: 1, only: visual, mass: 1}]}]", "w.yaml:1:63: bodies[0].geometry[0].mass: a shape that is only shown has no mass"),
    ("bodies: [{name: a, inertial: {mass: 1}}]", "w.yaml:1:30: bodies[0].inertial: inertia is missing"),
    ("bodies: [{name: a, parent: b}]", "w.yaml:1:28: bodies[0].parent: 'b' is not a frame of this world"),
    ("bodies: [{name: a}, {name: a}]", "w.yaml:1:28: bodies[1].name: a second frame 'a', the first is at w.yaml:1:17"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line"), FAULTS, ids=[text[:60] for text, _ in FAULTS])
def test_a_fault_is_reported_at_its_place(faults: Callable[..., list[str]], text: str, line: str) -> None:
    assert faults(text)[0].startswith(line)
    assert len(faults(text)) == 1


LAID_OUT = [
    ("time: {step: 0.01}\nphysics: {timestep: 0.003}\nbodies: [{name: a}]", "w.yaml:2:21: physics.timestep: the world's step of 0.01 s is not a multiple of 0.003 s; did you mean 0.003333333333?"),
    ("bodies: [{name: a, joint: rx}]", "w.yaml:1:17: bodies[0].name: mass: a moving body needs a mass"),
    ("bodies: [{name: a, inertial: {mass: 1, inertia: [1, 1, 3]}}]", "w.yaml:1:17: bodies[0].name: inertial.inertia: principal moments 1, 1, 3: the sum of two must be at least the third"),
    ("bodies: [{name: a, joint: cor, geometry: [{sphere: 1, mass: 1}]}]", "w.yaml:1:17: bodies[0].name: armature: a cor joint has redundant degrees of freedom and needs an armature above 0"),
    ("bodies: [{name: a, parent: m, joint: rx, geometry: [{sphere: 1, mass: 1}]}]\nmotions: [{frame: m, keyframes: [{t: 0}]}]", "w.yaml:1:28: bodies[0].parent: 'm' follows keyframes, and a joint would not feel their acceleration; the parent of a body with a joint must be"),
    ("bodies: [{name: b, parent: m}, {name: a, parent: b, joint: rx, geometry: [{sphere: 1, mass: 1}]}]\nmotions: [{frame: m, keyframes: [{t: 0}]}]", "w.yaml:1:50: bodies[1].parent: 'm' follows keyframes"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line"), LAID_OUT, ids=[line[:60] for _, line in LAID_OUT])
def test_what_only_the_whole_world_shows_is_reported_when_it_is_laid_out(
    read: Callable[..., World], text: str, line: str
) -> None:
    with pytest.raises(WorldError) as error:
        lay_out(read(text))
    (reported,) = error.value.lines()
    assert reported.startswith(line)


def test_a_massless_body_may_carry_one_that_is_fixed_to_it(read: Callable[..., World]) -> None:
    world = read(
        """\
        bodies:
          - {name: axle, joint: rx, geometry: [{xyz: 1}]}
          - {name: wheel, parent: axle, geometry: [{sphere: 1, mass: 1}]}
        """
    )
    Simulation(world).run(0.1)


@pytest.mark.parametrize("size", [5e-324, 1e-200, 1.0, 1e200, 1.7e308])
def test_an_axis_of_any_length_is_a_direction(size: float) -> None:
    body = Body("a", "map", "hinge", axes=np.array([[0.0, size, 0.0]]))
    assert body.axes.tolist() == [[0.0, 1.0, 0.0]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"joint": "rxx"}, "no joint type 'rxx'"),
        ({"q": [1, 2]}, r"'a': q has shape \(2,\), needs \(1,\)"),
        ({"joint": "hinge"}, r"axes has shape \(0, 3\), needs \(1, 3\)"),
        ({"joint": "hinge", "axes": [[0, 0, 0]]}, "an axis needs a direction"),
        ({"pose": [1, 2, 3]}, r"pose has shape \(3,\), needs \(7,\)"),
    ],
)
def test_bodies_made_in_python_are_checked(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(Body("a", "map", "rx"), **change)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (Body("a", "map", geometry=(Geometry("cube", np.array([1])),)), r"a: geometry\[0\]: no shape 'cube'; allowed: box,"),
        (Body("a", "map", geometry=(Geometry("box", np.array([1])),)), r"a: geometry\[0\]: a box has 3 sizes"),
        (Body("a", "map", geometry=(Geometry("sphere", np.array([-1])),)), r"a: geometry\[0\]: sizes \[-1.0\] must be above zero"),
        (Body("a", "map", "rx", damping=np.array([-1]), inertial=Inertial(1, np.eye(3))), r"a: damping: \[-1.0\] must be zero or more"),
        (Body("a", "map", "rx", q=np.array([np.nan]), inertial=Inertial(1, np.eye(3))), r"a: q: \[nan\] is not finite"),
        (Body("a", "map", inertial=Inertial(-1, np.eye(3))), "a: inertial.mass: -1 is out of range"),
        (Body("a", "map", inertial=Inertial(1, -np.eye(3))), "smallest principal moment is -1"),
        (Body("a", "map", pose=np.array([0, 0, 0, 0, 0, 0, 2])), "a: pose: the quaternion's norm is 2"),
    ],
)  # fmt: skip
def test_numbers_of_bodies_made_in_python_are_checked_when_laid_out(body: Body, message: str) -> None:
    with pytest.raises(WorldError, match=message):
        lay_out(World("w", bodies=(body,)))


@pytest.mark.parametrize(
    ("physics", "message"),
    [
        ({"integrator": "verlet"}, "physics.integrator: found 'verlet'; allowed: rk4, implicitfast, implicit, euler"),
        ({"gravity": [0, 0, np.nan]}, "physics.gravity: .* out of range"),
        ({"timestep_ns": 20_000_000}, "physics.timestep: 0.02 s is out of range; allowed: 1e-06 to the world's step, 0.01 s"),
        ({"engine": "ode"}, "physics.engine: found 'ode'; allowed: mujoco"),
        ({"armature": -1.0}, "physics.armature: -1 is out of range"),
    ],
)  # fmt: skip
def test_physics_made_in_python_is_checked_when_laid_out(physics: dict[str, Any], message: str) -> None:
    with pytest.raises(WorldError, match=message):
        lay_out(World("w", bodies=(Body("a", "map"),), physics=Physics(**physics)))


def test_a_long_step_is_divided_into_timesteps_of_at_most_a_millisecond() -> None:
    assert [Physics().substeps(step_ns) for step_ns in (1000, 1_000_000, 2_500_000, 10_000_000)] == [1, 1, 3, 10]
    slow = World("w", time=TimeGrid(step_ns=10**12), bodies=(Body("a", "map"),))
    with pytest.raises(WorldError, match="takes 1000000 timesteps; allowed: up to 10000"):
        lay_out(slow)


def test_a_joint_type_given_twice_is_refused() -> None:
    with pytest.raises(ValueError, match=r"joint type 'rx': both sim_node\.world\.joints and .*test_bodies"):
        register_joint_types(JointType("rx", JOINTS["rx"].parts))
