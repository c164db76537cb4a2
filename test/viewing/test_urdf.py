"""Descriptions of robots: read by a URDF parser, and by MuJoCo, whose kinematics say whether they are right."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest
import trimesh
from nightly import rows
from scipy.spatial.transform import Rotation
from urdf_parser_py.urdf import URDF

from sim_node.assembly import assemble
from sim_node.cli.main import main
from sim_node.simulation import Simulation
from sim_node.spatial.geometry.poses import IDENTITY
from sim_node.viewing.robots import robots_of
from sim_node.viewing.urdf import UrdfWriter
from sim_node.world import World, load
from sim_node.world.layout import joints_below, lay_out
from sim_node.world.locate import shipped_worlds
from sim_node.world.model import Sensor

# What floats must be on top level for MuJoCo, so fixed links are fused where something does.
UNFUSED = '<mujoco><compiler fusestatic="false"/></mujoco>'
# Those that MuJoCo takes: frames on keyframes weigh nothing, and balls below another joint are no free joints.
LOADABLE = ("all_joints", "arm", "cart_pole", "clock", "double_pendulum", "four_bar", "quadrotor", "formation")

SCARA = """
<mujoco model="scara"><compiler angle="radian"/><worldbody>
  <body name="column" pos="0 0 0.5">
    <geom type="box" size="0.1 0.1 0.5" mass="5"/>
    <body name="upper" pos="0 0 0.5" euler="0.1 -0.2 0.3">
      <joint name="shoulder" axis="0 0.6 0.8" range="-2 2" limited="true" ref="0.4"/>
      <geom type="capsule" size="0.05" fromto="0 0 0 0.4 0 0" mass="2"/>
      <body name="quill" pos="0.4 0 0">
        <joint name="quill" type="slide" axis="0 0 -1"/>
        <geom type="cylinder" size="0.02 0.1" mass="0.5"/>
        <site name="tip" pos="0 0 -0.1"/>
        <body name="gripper" pos="0 0 -0.2">
          <joint name="roll" axis="1 0 0" pos="0 0 0"/>
          <geom type="ellipsoid" size="0.03 0.02 0.01" mass="0.1"/>
        </body>
      </body>
    </body>
  </body>
</worldbody></mujoco>
"""


def writer_of(world: World) -> UrdfWriter:
    return UrdfWriter(world, lay_out(world).frames)


def joint_positions(world: World, seconds: float) -> tuple[Simulation, dict[str, float]]:
    """A run at a time, and its hinges' and slides' positions, as encoders without noise read them."""
    names = joints_below(world, world.fixed_frame)
    perfect = dict.fromkeys(("position", "velocity", "effort"), "none")
    parameters = {"rate": 1e9 / world.time.step_ns, **perfect}
    encoders = Sensor("ENC", world.fixed_frame, IDENTITY, type="joint_states", parameters=parameters)
    simulation = Simulation(replace(world, sensors=(encoders,) if names else ()))
    subscribe = simulation.subscribe("ENC") if names else None
    simulation.run(seconds)
    read = None if subscribe is None else subscribe.latest(simulation.steps)
    return simulation, dict(zip(names, () if read is None else read.tolist(), strict=False))


@pytest.mark.parametrize("world", [*LOADABLE, "SCARA"])
def test_mujoco_puts_the_links_where_the_simulation_has_the_frames(world: str, tmp_path: Path) -> None:
    """The URDF of the whole world, at the joint positions of a run, and the poses of what floats: to 1e-9."""
    if world == "SCARA":
        (tmp_path / "scara.xml").write_text(SCARA)
        (tmp_path / "world.yaml").write_text(
            "world: lab\ninclude:\n  - {file: scara.xml, prefix: r, pose: {position: [1, 2, 0]}, q: {roll: 1.1}}\n"
        )
    loaded = assemble(load(tmp_path / "world.yaml" if world == "SCARA" else world))
    simulation, q = joint_positions(loaded, 0.8)
    text = writer_of(simulation.world).whole()
    fused = 'type="floating"' in text
    model = mujoco.MjModel.from_xml_string(text if fused else text.replace("</robot>", f"{UNFUSED}</robot>"))
    data = mujoco.MjData(model)
    frames, snapshot = simulation.frames, simulation.snapshot()
    rooted = frames.in_root(snapshot.poses)
    moved = set()
    for joint in range(model.njnt):
        name, at = model.joint(joint).name, int(model.jnt_qposadr[joint])
        if model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE:
            pose = rooted[frames.index(name.removesuffix("_floating"))]
            data.qpos[at : at + 7] = pose[[0, 1, 2, 6, 3, 4, 5]]
        else:
            data.qpos[at] = q[name]
            moved.add(name)
    if world in ("arm", "cart_pole", "double_pendulum", "SCARA"):
        assert moved == set(q), "every hinge and slide is one in the description"
    mujoco.mj_kinematics(model, data)
    bodies = {model.body(body).name: body for body in range(model.nbody)}
    compared = [(row, bodies[frame]) for row, frame in enumerate(frames.names) if row > 0 and frame in bodies]
    assert len(compared) == (np.count_nonzero(~frames.static) if fused else len(frames) - 1)
    for row, body in compared:
        np.testing.assert_allclose(data.xpos[body], rooted[row, :3], rtol=0.0, atol=1e-9)
        turn = Rotation.from_quat(rooted[row, 3:]).inv() * Rotation.from_quat(data.xquat[body][[1, 2, 3, 0]])
        assert turn.magnitude() < 1e-9


@pytest.mark.parametrize("name", rows(shipped_worlds(), ("all_joints", "arm_pick", "formation")))
@pytest.mark.filterwarnings("ignore::sim_node.world.WorldWarning")
def test_links_are_the_frames_and_their_parents_those_of_the_tree(name: str) -> None:
    """By urdf_parser_py, of each robot and of the whole world."""
    world = assemble(load(name))
    frames = lay_out(world).frames
    writer = writer_of(world)
    for robot in robots_of(world, frames):
        described = URDF.from_xml_string(writer.robot(robot).encode())
        links = {robot.link(frames.names[row]) for row in robot.rows}
        assert {link.name for link in described.links} == links
        assert described.get_root() == robot.link(frames.names[robot.rows[0]])
    whole = URDF.from_xml_string(writer.whole().encode())
    assert set(whole.link_map) == set(frames.names)
    for row, frame in enumerate(frames.names[1:], 1):
        assert whole.parent_map[frame][1] == frames.names[frames.parents[row]]


def test_masses_and_inertias_are_those_of_the_vehicle_model() -> None:
    """config/vehicles/iris.yaml, of PX4's Gazebo model: 1.5 kg; 0.029125, 0.029125, 0.055225 kg m^2."""
    world = assemble(load("quadrotor"))
    frames = lay_out(world).frames
    (robot,) = robots_of(world, frames)
    described = URDF.from_xml_string(writer_of(world).robot(robot).encode())
    inertial = described.link_map["base_link"].inertial
    assert inertial.mass == pytest.approx(1.5)
    np.testing.assert_allclose(
        inertial.inertia.to_matrix(), np.diag([0.029125, 0.029125, 0.055225]), rtol=1e-12, atol=1e-15
    )
    assert described.link_map["base_link"].visuals[0].geometry is not None


def test_shapes_have_the_sizes_of_the_world(tmp_path: Path) -> None:
    """Sizes of URDF: whole edges, radii, whole lengths. A capsule is a cylinder between two balls."""
    path = tmp_path / "shapes.yaml"
    path.write_text(
        "world: shapes\nbodies:\n  - name: base\n    geometry: [{box: [0.1, 0.2, 0.3], mass: 1}]\n"
        "  - name: arm\n    parent: base\n    joint: rz\n    pose: {position: [0, 0, 1]}\n    geometry:\n"
        "      - {capsule: [0.05, 0.4], mass: 1, color: [1, 0, 0, 0.5]}\n      - {cylinder: [0.07, 0.2], mass: 1}\n"
    )
    world = load(path)
    frames = lay_out(world).frames
    (robot,) = robots_of(world, frames)
    described = URDF.from_xml_string(writer_of(world).robot(robot).encode())
    assert described.link_map["base"].visual.geometry.size == [0.1, 0.2, 0.3]
    middle, *ends, wheel = described.link_map["arm"].visuals
    assert (middle.geometry.radius, middle.geometry.length) == (0.05, 0.4)
    assert middle.material.color.rgba == [1.0, 0.0, 0.0, 0.5]
    assert sorted(end.origin.xyz[2] for end in ends) == [-0.2, 0.2]
    assert [end.geometry.radius for end in ends] == [0.05, 0.05]
    assert (wheel.geometry.radius, wheel.geometry.length) == (0.07, 0.2)
    assert len(described.link_map["arm"].collisions) == 4
    assert described.joint_map["arm"].axis == [0, 0, 1]
    assert described.joint_map["arm"].type == "continuous"


ROBOT = """<?xml version="1.0"?>
<!-- Kept as it is. -->
<robot name="mill">
  <link name="tower"><visual><geometry><mesh filename='meshes/tower.stl' scale="2 2 2"/></geometry></visual></link>
  <link name="sail">
    <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <joint name="shaft" type="continuous"><parent link="tower"/><child link="sail"/><axis xyz="1 0 0"/></joint>
  <gazebo><plugin filename="libmill.so"/></gazebo>
</robot>
"""


def test_a_urdf_model_is_described_by_its_own_text_with_its_meshes_found(tmp_path: Path) -> None:
    (tmp_path / "meshes").mkdir()
    trimesh.creation.box((1, 1, 1)).export(tmp_path / "meshes" / "tower.stl")
    (tmp_path / "mill.urdf").write_text(ROBOT)
    (tmp_path / "world.yaml").write_text("world: farm\ninclude:\n  - {file: mill.urdf, prefix: north}\n")
    world = load(tmp_path / "world.yaml")
    frames = lay_out(world).frames
    (robot,) = robots_of(world, frames)
    text = writer_of(world).robot(robot)
    mesh = (tmp_path / "meshes" / "tower.stl").resolve().as_uri()
    assert text == ROBOT.replace("meshes/tower.stl", mesh)
    assert (robot.name, robot.tf_prefix) == ("north", "north")
    assert set(URDF.from_xml_string(text.encode()).link_map) == {"tower", "sail"}


def test_a_mesh_file_of_a_body_is_a_uri(tmp_path: Path) -> None:
    trimesh.creation.box((1, 1, 1)).export(tmp_path / "a cube.stl")
    (tmp_path / "world.yaml").write_text(
        "world: w\nbodies:\n  - {name: base}\n  - {name: b, parent: base, joint: rz, geometry: "
        "[{mesh: a cube.stl, scale: 0.1, mass: 1}]}\n"
    )
    world = load(tmp_path / "world.yaml")
    (robot,) = robots_of(world, lay_out(world).frames)
    described = URDF.from_xml_string(writer_of(world).robot(robot).encode())
    mesh = described.link_map["b"].visual.geometry
    assert mesh.filename == (tmp_path / "a cube.stl").resolve().as_uri()
    assert mesh.scale == [0.1, 0.1, 0.1]


def test_the_command_writes_a_robot_or_the_world(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["urdf", "formation", "bravo", "-o", str(tmp_path / "bravo.urdf")]) == 0
    assert URDF.from_xml_file(str(tmp_path / "bravo.urdf")).get_root() == "base_link"
    assert main(["urdf", "formation"]) == 0
    assert URDF.from_xml_string(capsys.readouterr().out.encode()).get_root() == "map"
    assert main(["urdf", "formation", "bravp"]) == 2
    reported = capsys.readouterr().err
    assert "no robot 'bravp'; did you mean bravo? (robots of formation: alpha, bravo, charlie)" in reported
