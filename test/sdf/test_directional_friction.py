"""Friction that differs between directions: Coulomb's law along each, and MuJoCo's own pairs of geometries."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from pathlib import Path

import mujoco
import numpy as np
import pytest
from nightly import only

from sim_node.extensions.sdf.directional_friction import DirectionalFriction
from sim_node.simulation import Simulation
from sim_node.simulation.physics.rigid_bodies import RigidBodyEngine
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import WorldError, WorldWarning, load, loads
from sim_node.world.model import World
from sim_node.world.writers.yaml import to_yaml

G, SLOPE = 9.8, math.radians(35.0)
INERTIA = "<inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia>"
ODE = "<surface><friction><ode>{}</ode></friction></surface>"
BOX = "<geometry><box><size>{}</size></box></geometry>"
FLAT = BOX.format("0.4 0.4 0.02")


def slope(ode: str, shape: str = FLAT, yaw: float = 0.0, ground: str = "", more: str = "") -> World:
    """Return a flat box on a plane, with the gravity of a slope of 35 degrees down along x."""
    surface = ODE.format(ground) if ground else ""
    return loads(
        f'<sdf version="1.9"><world name="w"><gravity>{G * math.sin(SLOPE)} 0 {-G * math.cos(SLOPE)}</gravity>'
        '<model name="g"><static>1</static><link name="l"><collision name="c"><geometry><plane/></geometry>'
        f'{surface}</collision></link></model><model name="m"><pose>0 0 0.01 0 0 {yaw}</pose><link name="b"><inertial>'
        f'<mass>2</mass>{INERTIA}</inertial><collision name="c">{shape}{ODE.format(ode)}</collision></link>{more}'
        "</model></world></sdf>",
        ".sdf",
    )


def friction_of(world: World) -> float:
    """Return the coefficient that Coulomb's law gives for how the box slides down."""
    simulation = Simulation(world)
    simulation.run(0.2)  # it has settled
    before, speed = simulation.bodies["m/b"].pose[0], simulation.bodies["m/b"].twist[0]
    simulation.run(1.0)
    acceleration = 2.0 * (simulation.bodies["m/b"].pose[0] - before - speed)
    return float((G * math.sin(SLOPE) - acceleration) / (G * math.cos(SLOPE)))


MU = "<mu>0.5</mu><mu2>0.1</mu2>"
TURNED = "<pose>0 0 0 0 1.5707963267948966 0</pose>" + BOX.format("0.02 0.4 0.4")
# As the tracks of gz-sim's track_drive.sdf, a collision that touches nothing, here before one that does.
APART = ODE.format(f"{MU}<fdir1>0 1 0</fdir1>").replace(
    "</su", "<contact><collide_bitmask>0</collide_bitmask></contact></su"
)
APART = f'{FLAT}{APART}</collision><collision name="d">{FLAT}'
CHASSIS = (
    f'<link name="chassis"><pose>0 0 1 0 0 1.5707963267948966</pose><inertial><mass>0.001</mass>{INERTIA}</inertial>'
    '</link><joint name="j" type="fixed"><parent>b</parent><child>chassis</child></joint>'
)


# The rows of a table of directions, each read alone.
@pytest.mark.parametrize(
    ("world", "expected"),
    only(
        [
            (slope(f"{MU}<fdir1>1 0 0</fdir1>"), 0.5),
            (slope(f"{MU}<fdir1>0 1 0</fdir1>"), 0.1),
            (slope(f"{MU}<fdir1>1 1 0</fdir1>", yaw=-math.pi / 4.0), 0.5),
            (slope(f"{MU}<fdir1>1 0 0</fdir1>", yaw=math.pi / 2.0), 0.1),
            # As in the wheels of gz-sim's worlds, whose z is turned to their axis.
            (slope(f"{MU}<fdir1>0 0 1</fdir1>", TURNED), 0.5),
            (slope(f'{MU}<fdir1 gz:expressed_in="chassis">1 0 0</fdir1>', more=CHASSIS), 0.1),
            (slope(f"{MU}<fdir1>1 0 0</fdir1>", APART), 0.5),
            # Without a direction, it is the world's z, which is upright here, so that it is x.
            (slope(MU), 0.5),
            # Of the other shape, smaller coefficients count.
            (slope(f"{MU}<fdir1>1 0 0</fdir1>", ground="<mu>0.3</mu>"), 0.3),
            (slope(f"{MU}<fdir1>1 0 0</fdir1>", ground="<mu>50</mu>"), 0.5),
            (slope("<mu>0.5</mu>", ground=f"{MU}<fdir1>0 1 0</fdir1>"), 0.1),
            (slope("<mu>0.4</mu><mu2>0.3</mu2><fdir1>1 0 0</fdir1>", ground=f"{MU}<fdir1>0 1 0</fdir1>"), 0.4),
        ],
        2,
        5,
        11,
    ),
)
def test_a_box_slides_by_the_coefficient_of_its_direction(world: World, expected: float) -> None:
    assert friction_of(world) == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize(
    ("key", "numbers", "size"),
    only(
        [("", (0.005, 0.0001), 3), (", torsional: 0.01", (0.01, 0.0001), 4), (", rolling: 0.002", (0.005, 0.002), 6)], 2
    ),
)
@pytest.mark.parametrize("boxes", [1, 12])  # MuJoCo's matrices are sparse from 60 degrees of freedom on
def test_it_is_that_of_mujocos_pairs(boxes: int, key: str, numbers: tuple[float, float], size: int) -> None:
    """The directions of a contact whose normal is upright are y and -x in MuJoCo; its pairs have two coefficients."""
    bodies, forces, made, pairs = [], [], [], []
    torsional, rolling = numbers
    for number in range(boxes):
        start = f"joint: {{type: free, q: [{number}, 0, 0.05, 0, 0, 0, 1]}}"
        shape = f"{{box: [0.4, 0.4, 0.1], mass: 1, friction: {{sliding: 0.7{key}}}}}"
        bodies.append(f"{{name: b{number}, {start}, geometry: [{shape}]}}")
        of = "direction: [0, 1, 0], frame: root, along: 0.5, across: 0.2"
        forces.append(f"{{type: directional_friction, body: b{number}, {of}}}")
        made.append(
            f'<body name="b{number}" pos="{number} 0 0.05"><freejoint/>'
            f'<geom name="b{number}" type="box" size="0.2 0.2 0.05" mass="1"/></body>'
        )
        pairs.append(
            f'<pair geom1="g" geom2="b{number}" condim="{size}" friction="0.5 0.2 {torsional} {rolling} {rolling}"/>'
        )
    run = Simulation(
        loads(
            "world: w\nfixed_frame: root\ntime: {step: 0.001}\nphysics: {integrator: euler}\nground: {}\n"
            f"bodies: [{', '.join(bodies)}]\nforces: [{', '.join(forces)}]\n"
        )
    )
    (engine,) = run.engines.values()
    assert isinstance(engine, RigidBodyEngine)
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><worldbody><geom name="g" type="plane" size="0 0 1"/>{"".join(made)}</worldbody>'
        f"<contact>{''.join(pairs)}</contact></mujoco>"
    )
    data = mujoco.MjData(model)
    for name in ("timestep", "cone", "impratio", "integrator", "disableflags", "enableflags", "gravity"):
        setattr(model.opt, name, getattr(engine.model.opt, name))
    data.qvel[:] = engine.data.qvel[:] = np.tile([2.0, 1.0, 0.0, 0.0, 0.0, 0.5], boxes)
    mujoco.mj_step(model, data, 200)
    engine.step(200)
    np.testing.assert_allclose(engine.data.qpos, data.qpos, atol=1e-9)
    assert data.qpos[0] > 0.2


# Takes seconds: make test has boxes that slide and slip by each direction.
@pytest.mark.nightly
def test_a_smooth_coefficient_lets_slide_without_end() -> None:
    """With mu2 0, the speed across the first direction stays."""
    simulation = Simulation(slope("<mu>0.9</mu><mu2>0</mu2><fdir1>1 0 0</fdir1>"))
    simulation.run(0.2)
    simulation.bodies["m/b"].twist = [0.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    before = simulation.bodies["m/b"].pose
    simulation.run(1.0)
    assert simulation.bodies["m/b"].pose[1] - before[1] == pytest.approx(1.0, rel=1e-3)


# Takes seconds: make test has boxes that slide and slip by each direction.
@pytest.mark.nightly
def test_wheels_of_a_mecanum_drive_as_gazebo_has_them_go_to_the_side() -> None:
    wheels, named = "", {}
    for name, (x, y, side) in {
        "front_left": (0.5, 0.4, -1), "front_right": (0.5, -0.4, 1), "back_left": (-0.5, 0.4, 1),
        "back_right": (-0.5, -0.4, -1),
    }.items():  # fmt: skip
        named[name] = f"<{name}_joint>{name}</{name}_joint>"
        ode = f'<mu>1</mu><mu2>0</mu2><fdir1 gz:expressed_in="chassis">1 {side} 0</fdir1>'
        wheels += (
            f'<link name="{name}_wheel"><pose>{x} {y} 0.2 -1.5707963267948966 0 0</pose><inertial><mass>2</mass>'
            "<inertia><ixx>0.05</ixx><iyy>0.05</iyy><izz>0.05</izz></inertia></inertial>"
            "<collision name='c'><geometry><sphere>"
            f"<radius>0.2</radius></sphere></geometry>{ODE.format(ode)}</collision></link><joint name='{name}' "
            f"type='revolute'><parent>chassis</parent><child>{name}_wheel</child><axis><xyz>0 0 1</xyz></axis></joint>"
        )
    world = loads(
        '<sdf version="1.9"><world name="w"><model name="g"><static>1</static><link name="l"><collision name="c">'
        f"<geometry><plane/></geometry>{ODE.format('<mu>50</mu>')}</collision></link></model><model name='m'>"
        f"<link name='chassis'><pose>0 0 0.2 0 0 0</pose><inertial><mass>10</mass>{INERTIA}</inertial></link>{wheels}"
        "<plugin filename='gz-sim-mecanum-drive-system' name='gz::sim::systems::MecanumDrive'>"
        f"{''.join(named.values())}<wheel_separation>0.8</wheel_separation><wheelbase>1</wheelbase>"
        "<wheel_radius>0.2</wheel_radius></plugin></model></world></sdf>",
        ".sdf",
    )
    simulation = Simulation(world)
    simulation.vehicles["m/chassis"].cmd_vel(0.0, 0.3, timeout=0.0)
    simulation.run(1.0)
    before = simulation.bodies["m/chassis"].pose
    simulation.run(1.0)
    np.testing.assert_allclose(simulation.bodies["m/chassis"].pose[:2] - before[:2], [0.0, 0.3], atol=3e-3)


def test_it_is_written_in_world_files_and_included_under_another_name(tmp_path: Path) -> None:
    world = slope(f'{MU}<fdir1 gz:expressed_in="chassis">1 0 0</fdir1>', more=CHASSIS)
    assert loads(to_yaml(world)).forces == world.forces
    (tmp_path / "in.yaml").write_text(to_yaml(world))
    (tmp_path / "w.yaml").write_text("world: w\ninclude: [{file: in.yaml, prefix: a}]\n")
    (force,) = load(tmp_path / "w.yaml").forces
    assert isinstance(force, DirectionalFriction)
    assert (force.body, force.frame) == ("a/m/b", "a/m/chassis")


def test_an_unknown_link_of_a_direction_is_said_at_its_line() -> None:
    said = r"1:\d+: fdir1: no frame 'x' in the model 'm'; the direction is in the collision, as in Gazebo"
    with pytest.warns(WorldWarning, match=said):
        (force,) = slope(f'{MU}<fdir1 gz:expressed_in="x">1 0 0</fdir1>').forces
    assert isinstance(force, DirectionalFriction)
    assert not force.frame


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("frame: b", r"forces\[0\]\.frame: no body 'b'"),
        ("shape: 1", r"forces\[0\]\.shape: 1 is not one of the 1 shapes of a that touch"),
        ("along: -1", r"forces\[0\]\.along: -1 is out of range; allowed: 0 to 100"),
    ],
)
def test_faults_have_their_places(keys: str, said: str) -> None:
    text = "bodies: [{name: a, joint: free, geometry: [{sphere: 1, mass: 1, friction: 1}]}]\n"
    with pytest.raises(WorldError, match=said):
        Simulation(loads(f"world: w\n{text}forces: [{{type: directional_friction, body: a, {keys}}}]\n"))


SLIPS = "<mu>0.8</mu><slip1>{}</slip1><slip2>{}</slip2><fdir1>{}</fdir1>"


# The surface of a box, the force that pulls it, and the velocity that it comes to.
PULLED = [
    (SLIPS.format(0.01, 0.01, "1 0 0"), (20.0, 10.0), (0.2, 0.1)),
    (SLIPS.format(0.01, 0, "1 0 0"), (20.0, 0.0), (0.2, 0.0)),
    (SLIPS.format(0.01, 0, "1 0 0"), (0.0, 20.0), (0.0, 0.0)),
    (SLIPS.format(0, 0.01, "1 0 0"), (30.0, 20.0), (0.0, 0.2)),
    (SLIPS.format(0, 0.01, "0 1 0"), (20.0, 30.0), (0.2, 0.0)),
    (SLIPS.format(0.002, 0.02, "1 0 0"), (20.0, -20.0), (0.04, -0.4)),
    # Without coefficients, those of SDF.
    ("<slip1>0.01</slip1><fdir1>0 1 0</fdir1>", (0.0, 20.0), (0.0, 0.2)),
    ("<mu>0.8</mu><mu2>0.6</mu2><slip2>0.01</slip2><fdir1>1 0 0</fdir1>", (20.0, 20.0), (0.0, 0.2)),
]


def slipping(pulled: Sequence[tuple[str, tuple[float, float]]], ground: str = "", seconds: float = 2.0) -> FloatArray:
    """Return velocities and, over half the time, accelerations (N, 2, 3) of boxes of 10 kg, each on a plane.

    They have surfaces of their own, and are pulled by forces of their own; one run of all costs little more than that
    of one.
    """
    block = BOX.format("0.4 0.4 0.1")
    boxes = "".join(
        f'<model name="m{number}"><pose>0 {10 * number} 0.05 0 0 0</pose><link name="b"><inertial><mass>10</mass>'
        f'{INERTIA}</inertial><collision name="c">{block}{ODE.format(ode)}</collision></link></model>'
        for number, (ode, _) in enumerate(pulled)
    )
    text = (
        f'<sdf version="1.9"><world name="w"><gravity>0 0 {-G}</gravity>'
        '<model name="g"><static>1</static><link name="l"><collision name="c"><geometry><plane/></geometry>'
        f"{ODE.format(ground)}</collision></link></model>{boxes}</world></sdf>"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # there is nothing to say
        simulation = Simulation(loads(text, ".sdf"))
    bodies = [simulation.bodies[f"m{number}/b"] for number in range(len(pulled))]
    for body, (_, force) in zip(bodies, pulled, strict=True):
        # Along the ground, at its height, so that it does not tilt.
        body.apply_force([*force, 0.0], point=[0.0, 0.0, -0.05])
    simulation.run(0.5 * seconds)
    before = np.array([body.twist[:3] for body in bodies])
    simulation.run(0.5 * seconds)
    after = np.array([body.twist[:3] for body in bodies])
    return np.stack([after, 2.0 * (after - before) / seconds], axis=1)


@pytest.fixture(scope="module")
def pulled() -> FloatArray:
    """Velocities (N, 3) of boxes that are PULLED."""
    return slipping([(ode, force) for ode, force, _ in PULLED])[:, 0]


@pytest.mark.parametrize(("number", "ode", "force", "expected"), [(number, *row) for number, row in enumerate(PULLED)])
def test_a_box_slips_by_each_direction_in_proportion_to_its_force(
    number: int, ode: str, force: tuple[float, float], expected: tuple[float, float], pulled: FloatArray
) -> None:
    # Where it does not slip, MuJoCo's soft contacts creep.
    assert pulled[number, :2] == pytest.approx(expected, rel=0.01, abs=3e-4)


# Takes seconds: make test has boxes that slide and slip by each direction.
@pytest.mark.nightly
def test_slips_of_both_surfaces_are_added_each_along_its_own_first_direction_that_counts() -> None:
    ground = "<mu>2</mu><slip1>0.004</slip1><slip2>0.005</slip2>"
    ((velocity, _),) = slipping([(SLIPS.format(0.002, 0.01, "1 0 0"), (20.0, 20.0))], ground)
    assert velocity[:2] == pytest.approx((0.12, 0.3), rel=0.01, abs=3e-4)


# Takes seconds: make test has boxes that slide and slip by each direction.
@pytest.mark.nightly
def test_friction_still_limits_what_slips() -> None:
    """Coulomb's law of the impulses, as boxes rock that are pulled along the direction that slips, one each."""
    pulled = [
        (SLIPS.format(0.01, 0.0, "1 0 0"), (100.0, 0.0)),
        (SLIPS.format(0.0, 0.01, "1 0 0"), (0.0, 100.0)),
    ]
    for along, across, up in slipping(pulled)[:, 1]:
        assert math.hypot(along, across) == pytest.approx(100.0 / 10.0 - 0.8 * (G + up), rel=0.01)
