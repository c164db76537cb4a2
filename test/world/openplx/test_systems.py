"""Systems that OpenPLX models become, and how they are assembled."""

from __future__ import annotations

import math
import textwrap
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sim_node.assembly import assembly_of
from sim_node.simulation import Simulation
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import World, WorldError, WorldWarning, load
from sim_node.world.problems import NOWHERE

MODELS = Path(__file__).parent / "models"
ROOT = Path(__file__).parents[3]


def read(path: Path, model: str | None = None) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return load(path, model=model)


def assembled(world: World) -> tuple[dict[str, FloatArray], list[str]]:
    """World poses by frame, and what was solved."""
    assembly = assembly_of(world)
    table = assembly.table
    assert assembly.conflicts == ()
    return dict(zip(table.names, assembly.in_roots, strict=True)), [table.names[row] for row in assembly.solved]


@pytest.mark.parametrize(
    ("model", "solved"),
    [
        ("SnapRod", "rod_system/rod_system/rod"),
        ("SnapRodParent", "rod_system/rod_system"),
        ("SnapRodParentParent", "rod_system"),
    ],
)
@pytest.mark.parametrize("types", ["built in", "bundles"])
def test_the_three_levels_of_the_snap_page(model: str, solved: str, types: str, request: pytest.FixtureRequest) -> None:
    """openplx.org, Physics3D, "Three-Level SNAP Example": A = S1 S2 R M, its file as it stands there."""
    if types == "bundles":
        request.getfixturevalue("bundles")
    poses, found = assembled(read(MODELS / "snap_parent.openplx", model))
    assert found == [f"{model}/{solved}"]
    rod = poses[f"{model}/rod_system/rod_system/rod"]
    half = math.sqrt(0.5)
    np.testing.assert_allclose(rod * np.sign(rod[6]), [1.1, 0, 0, 0, half, 0, half], atol=1e-12)


def test_only_transforms_that_are_said_are_given() -> None:
    """The first of the page's cases: both systems are turned to where 1, 1, 1 is, the rod is left open."""
    outer = read(MODELS / "snap_parent.openplx", "SnapRod").systems[0].systems[0]
    inner = outer.systems[0]
    for system, axis in ((outer, [1, 0, 0]), (inner, [0, 1, 0])):
        np.testing.assert_allclose(
            Rotation.from_quat(system.pose[3:]).apply(axis), np.ones(3) / math.sqrt(3), atol=1e-15
        )
        np.testing.assert_array_equal(system.pose[:3], 0)
    (rod,) = inner.bodies
    assert rod.pose is None
    assert rod.mass == 10
    assert [part.name for part in rod.geometries] == ["geometry", "arrow"]
    arrow = rod.geometries[1].geometry
    np.testing.assert_allclose(arrow.pose, [0, 0, 0.5, 0, math.sin(math.pi / 8), 0, math.cos(math.pi / 8)])
    np.testing.assert_allclose(rod.connectors[0].position, [0, 0, -0.6])


def test_the_last_system_of_a_file_is_its_world() -> None:
    assert read(MODELS / "snap_parent.openplx").systems[0].name == "SnapRodParentParent"


def test_the_clock_shows_half_past_ten_and_eight_minutes() -> None:
    """10:08:30: hands at their angles from twelve, clockwise as seen from before the face."""
    world = load(ROOT / "config" / "worlds" / "clock.openplx")
    poses, solved = assembled(world)
    assert len(solved) == 3
    face = Rotation.from_quat(poses["Clock/face"][3:])
    up, right, towards = (face.apply(axis) for axis in np.eye(3)[[1, 0, 2]])
    np.testing.assert_allclose([up, towards], [[0, 0, 1], [0, -1, 0]], atol=1e-15)
    for hand, degrees in (("hour", (10 + 8 / 60) * 30), ("minute", 8.5 * 6), ("second", 180)):
        turn = Rotation.from_quat(poses[f"Clock/{hand}_hand"][3:])
        along = turn.apply([0, 1, 0])
        expected = up * np.cos(np.radians(degrees)) + right * np.sin(np.radians(degrees))
        np.testing.assert_allclose(along, expected, atol=1e-12)
        np.testing.assert_allclose(turn.apply([0, 0, 1]), towards, atol=1e-12)


def test_the_hands_of_the_clock_turn_once_in_twelve_hours_an_hour_and_a_minute() -> None:
    drives = {drive.joint: drive for drive in load(ROOT / "config" / "worlds" / "clock.openplx").actuators}
    for name, period in (("hours", 43200), ("minutes", 3600), ("seconds", 60)):
        assert drives[f"Clock/{name}#0"].target * period == pytest.approx(2 * math.pi)


# Takes seconds: make test has the angles of these hands, above.
@pytest.mark.nightly
def test_the_hands_of_the_running_clock() -> None:
    """Fifteen seconds on, the second hand points from half to a quarter to; its motor holds its speed."""
    simulation = Simulation(load("clock"))
    simulation.run(15.0)
    poses = simulation.snapshot().poses
    for hand, degrees in (("hour", (10 + 8 / 60) * 30 + 15 / 120), ("minute", 8.5 * 6 + 1.5), ("second", 270)):
        pose = simulation.frames.lookup(poses, "world", f"Clock/{hand}_hand")
        along = Rotation.from_quat(pose[3:]).apply([0, 1, 0])
        expected = [np.sin(np.radians(degrees)), 0, np.cos(np.radians(degrees))]
        np.testing.assert_allclose(along, expected, atol=1e-6)


def test_a_yaml_world_includes_one(write: Callable[..., Path]) -> None:
    """Under a prefix and at a place, as it includes other worlds."""
    text = """\
    world: shop
    include:
      - {file: "package://sim_node/config/worlds/clock.openplx", prefix: wall, pose: {position: [0, 3, 0]}}
    """
    simulation = Simulation(load(write(text)))
    simulation.run(1.0)
    hand = simulation.frames.lookup(simulation.snapshot().poses, "map", "wall/Clock/second_hand")
    np.testing.assert_allclose(hand[:3], [0, 3 - 0.015, 1.5], atol=1e-9)


def test_models_are_chosen_by_name(write: Callable[..., Path]) -> None:
    with pytest.raises(WorldError) as raised:
        load(MODELS / "snap_parent.openplx", model="SnapRodd")
    assert str(raised.value).endswith(
        "no system 'SnapRodd' in it; did you mean SnapRod? (known: RodParent, RodParentParent, World, SnapRod, "
        "SnapRodParent, SnapRodParentParent)"
    )
    with pytest.raises(WorldError, match=r"w.yaml: contains one world; a model can be chosen only from .openplx"):
        load(write("world: w\nframes: [{name: a}]\n"), model="a")


ARM = """\
Base is Robotics.Links.RigidBoxLink:
    is_dynamic: false
    kinematics.local_transform.position.z: 1

Arm is Robotics.Robots.Robot:
    base is Base
    upper is Robotics.Links.RigidBoxLink
    fore is Robotics.Links.RigidBoxLink:
        geometry.size: Math.Vec3.from_xyz(1, 1, 1)
        inertia.mass: 0.5
    shoulder is Robotics.Joints.TorqueHingeJoint:
        links: [base, upper]
        mate.initial_angle: Math.PI / 2
    elbow is Robotics.Joints.HingeJoint:
        links: [upper, fore]
        mate.initial_angle: -Math.PI / 2
"""


@pytest.mark.usefixtures("bundles")
def test_a_robot_arm_of_robotics_links(write: Callable[..., Path]) -> None:
    """Planar, about -y: each link reaches 0.6 of its size before and behind its centre."""
    world = load(write(ARM, "arm.openplx"))
    assert [(each.joint, each.type) for each in world.actuators] == [("Arm/shoulder.mate#0", "effort")]
    poses, _ = assembled(world)
    # The base ends at x = 1.2; the upper arm turns by 90 degrees about -y, from x to z; the fore arm turns back.
    np.testing.assert_allclose(poses["Arm/upper"][:3], [1.2, 0, 1 + 1.2], atol=1e-12)
    np.testing.assert_allclose(Rotation.from_quat(poses["Arm/upper"][3:]).apply([1, 0, 0]), [0, 0, 1], atol=1e-12)
    np.testing.assert_allclose(poses["Arm/fore"][:3], [1.2 + 0.6, 0, 1 + 2.4], atol=1e-12)
    np.testing.assert_allclose(Rotation.from_quat(poses["Arm/fore"][3:]).as_rotvec(), 0, atol=1e-12)
    arm = world.systems[0]
    assert [(mate.name, mate.kind, mate.connectors) for mate in arm.mates] == [
        ("shoulder.mate", "hinge", ("base/end", "upper/start")),
        ("elbow.mate", "hinge", ("upper/end", "fore/start")),
    ]
    assert [body.mass for body in arm.bodies] == [1, 1, 0.5]
    assert [body.static for body in arm.bodies] == [True, False, False]


def test_joints_of_robotics_are_known_without_the_bundle(write: Callable[..., Path]) -> None:
    text = ARM.replace("Robotics.Links.RigidBoxLink", "Link").replace("TorqueHinge", "Hinge")
    link = """\
    Link is Robotics.Links.RigidLink:
        geometry is Physics3D.Geometries.Box:
            size: {2, 1, 1}
        start:
            position.x: -0.6 * geometry.size.x
            main_axis: {0, -1, 0}
            normal: {1, 0, 0}
        end:
            position.x: 0.6 * geometry.size.x
            main_axis: {0, -1, 0}
            normal: {1, 0, 0}
    """
    poses, _ = assembled(read(write(text + textwrap.dedent(link), "arm.openplx"), "Arm"))
    np.testing.assert_allclose(poses["Arm/fore"][:3], [1.8, 0, 3.4], atol=1e-12)


def test_shapes_and_what_they_weigh(objects: Callable[..., dict[str, Any]], write: Callable[..., Path]) -> None:
    path = write(
        """\
        Steel is Physics.Geometries.Material:
            density: 7800
        Yard is Physics3D.System:
            floor is Physics3D.Geometries.Box:
                size: {10, 10, 0.1}
            body is Physics3D.Bodies.RigidBody:
                steel is Steel
                ball is Physics3D.Geometries.Sphere:
                    radius: 0.1
                    material: steel
                    include_in_mass_properties: false
                pole is Physics3D.Geometries.Cylinder:
                    radius: 0.1
                    height: 2
                    local_transform.position.x: 3
                pill is Physics3D.Geometries.Capsule:
                    radius: 0.2
                    height: 1
                inertia.mass: 4
                inertia.tensor: Physics3D.Bodies.Inertia.symmetric_tensor({1, 2, 2.5}, 0.1, 0, 0)
                kinematics:
                    local_transform.position: {0, 0, 5}
                    local_cm_transform:
                        position.y: 0.5
                        rotation: Math.Quat.angle_axis(Math.PI / 2, {0, 0, 1})
                    initial_local_linear_velocity.x: 1
                    initial_local_angular_velocity.z: 2
        """,
        "w.openplx",
    )
    yard = read(path).systems[0]
    assert yard.geometries[0].geometry.size.tolist() == [10, 10, 0.1]
    (body,) = yard.bodies
    ball, pole, pill = body.geometries
    assert (ball.geometry.shape, ball.density, ball.massive) == ("sphere", 7800, False)
    assert (pole.density, pole.massive) == (1000, True)
    # A cylinder's height is along y (Physics3D.Geometries.Cylinder), a World's along z.
    for part, x in ((pole, 3), (pill, 0)):
        np.testing.assert_allclose(Rotation.from_quat(part.geometry.pose[3:]).apply([0, 0, 1]), [0, 1, 0], atol=1e-15)
        np.testing.assert_allclose(part.geometry.pose[:3], [x, 0, 0])
    assert (body.mass, body.centre.tolist(), body.speed.tolist()) == (4, [0, 0.5, 0], [1, 0, 0, 0, 0, 2])
    # Turned by 90 degrees about z, x and y change places and their product its sign.
    np.testing.assert_allclose(body.inertia, [[2, -0.1, 0], [-0.1, 1, 0], [0, 0, 2.5]], atol=1e-15)
    assert body.pose.tolist() == [0, 0, 5, 0, 0, 0, 1]


MATES = """\
Part is Physics3D.Bodies.RigidBody:
    a is Physics3D.Interactions.MateConnector:
        main_axis: Math.Vec3.Z_AXIS()
    b is Physics3D.Interactions.MateConnector:
        main_axis: Math.Vec3.Z_AXIS()
Rig is Physics3D.System:
    one is Part
    two is Part
    mate is Physics3D.Interactions.{}:
        connectors: [one.a, two.b]
        {}
"""


@pytest.mark.parametrize(
    ("type_", "line", "kind", "values"),
    [
        ("Lock", "enabled: true", "lock", None),
        ("Hinge", "initial_angle: 0.5", "hinge", (0.5,)),
        ("Hinge", "enabled: true", "hinge", None),
        ("Prismatic", "initial_position: 0.2", "prismatic", (0.2,)),
        ("Cylindrical", "initial_angle: 0.3", "cylindrical", (None, 0.3)),
        ("Ball", "enabled: true", "ball", None),
        ("Distance", "initial_distance: 2", "distance", (2.0,)),
    ],
)
def test_mates_and_their_initial_values(
    write: Callable[..., Path], type_: str, line: str, kind: str, values: tuple[float | None, ...] | None
) -> None:
    (mate,) = read(write(MATES.format(type_, line), "w.openplx")).systems[0].mates
    assert (mate.kind, mate.values, mate.enabled, mate.snap) == (kind, values, True, True)


def test_mates_may_be_switched_off(write: Callable[..., Path]) -> None:
    (mate,) = (
        read(write(MATES.format("Lock", "enabled: false\n        enable_snap: false"), "w.openplx")).systems[0].mates
    )
    assert (mate.enabled, mate.snap) == (False, False)


def test_redirected_connectors_and_the_origin_of_the_world(write: Callable[..., Path]) -> None:
    text = """\
    Part is Physics3D.Bodies.RigidBody
    Rig is Physics3D.System:
        inner is Physics3D.System:
            part is Part
        handle is Physics3D.Interactions.RedirectedMateConnector:
            redirected_parent: inner.part
            position.x: 0.5
            main_axis: Math.Vec3.Z_AXIS()
        hold is Physics3D.Interactions.Lock:
            connectors: [handle, Physics3D.Interactions.World]
    """
    rig = read(write(text, "w.openplx")).systems[0]
    handle, origin = rig.connectors
    assert handle.body == "inner/part"
    assert origin.pose.tolist() == [0, 0, 0, 0, 0, 0, 1]
    assert rig.mates[0].connectors == ("handle", origin.name)


def test_gravity_of_an_environment(write: Callable[..., Path]) -> None:
    text = """\
    Moon is Simulation.Environment:
        gravity becomes Simulation.UniformGravitationalField:
            vector.z: -1.62
    """
    np.testing.assert_array_equal(read(write(text, "w.openplx")).physics.gravity, [0, 0, -1.62])


def test_the_whole_frame_tree_knows_where_it_was_written(write: Callable[..., Path]) -> None:
    world = read(
        write(
            ARM.replace("RigidBoxLink", "RigidLink")
            .replace("Torque", "")
            .replace("geometry.size: Math.Vec3.from_xyz(1, 1, 1)", "is_dynamic: true"),
            "arm.openplx",
        )
    )
    for name, frame in world.systems[0].frames():
        assert frame.place.where != NOWHERE
        assert frame.place.where.file == "arm.openplx", name


def test_what_is_not_known_is_reported_and_left_out(write: Callable[..., Path]) -> None:
    text = """\
    Rig is Physics3D.System:
        engine is DriveTrain.EmpiricalEngine:
            max_torque: 100
        part is Physics3D.Bodies.RigidBody:
            light is Sensors.Lamp
            mesh is Physics3D.Geometries.Torus
            inertia.mass: 2
        power is Physics3D.Signals.Thing:
            source: engine.output
    """
    path = write(text, "w.openplx")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        world = load(path)
    reported = [str(one.message) for one in caught if one.category is WorldWarning]
    hint = "is unknown and ignored (is the folder of its bundle in OPENPLX_BUNDLE_PATH?)"
    assert reported == [
        f"w.openplx:2:15: Rig.engine: DriveTrain.EmpiricalEngine {hint}",
        f"w.openplx:5:18: Rig.part.light: Sensors.Lamp {hint}",
        f"w.openplx:6:17: Rig.part.mesh: Physics3D.Geometries.Torus {hint}",
        f"w.openplx:8:14: Rig.power: Physics3D.Signals.Thing {hint}",
    ]
    assert [body.name for body in world.systems[0].bodies] == ["part"]
