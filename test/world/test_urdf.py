"""URDF models: the kinematics by transforms3d from the file's own numbers, what ROS means by the rest, faults."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np
import pytest
from mujoco import MjModel
from scipy.spatial.transform import Rotation
from transforms3d.affines import compose
from transforms3d.axangles import axangle2mat
from transforms3d.euler import euler2mat

from sim_node.simulation import Simulation
from sim_node.simulation.physics import RigidBodyEngine
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import FrameTable, World, WorldError, WorldWarning, lay_out, load
from sim_node.world.locate import share

SHARE = share("sim_node")
assert SHARE is not None
ARM = SHARE / "config" / "models" / "arm.urdf"
INERTIAL = '<inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
# One joint of each type, turned frames, an axis of no unit length.
ZOO = f"""\
<robot name="zoo">
  <link name="base"/>
  <link name="a">{INERTIAL}</link> <link name="b">{INERTIAL}</link> <link name="c">{INERTIAL}</link>
  <link name="d"/> <link name="e">{INERTIAL}</link>
  <joint name="turn" type="revolute">
    <parent link="base"/><child link="a"/><origin xyz="0.1 0.2 0.3" rpy="0.4 -0.5 0.6"/><axis xyz="0 3 4"/>
    <limit lower="-1" upper="2" effort="30" velocity="3"/><dynamics damping="0.3" friction="0.2"/>
  </joint>
  <joint name="spin" type="continuous">
    <parent link="a"/><child link="b"/><origin xyz="0 0 0.5" rpy="1 2 3"/>
  </joint>
  <joint name="reach" type="prismatic">
    <parent link="b"/><child link="c"/><origin rpy="0 0 1"/><axis xyz="0 1 1"/>
    <limit lower="0" upper="0.4" effort="5" velocity="1"/>
  </joint>
  <joint name="weld" type="fixed"><parent link="c"/><child link="d"/><origin xyz="1 0 0" rpy="0 1 0"/></joint>
  <joint name="follower" type="revolute">
    <parent link="d"/><child link="e"/><axis xyz="0 0 1"/><limit lower="-9" upper="9" effort="1" velocity="1"/>
    <mimic joint="turn" multiplier="-2" offset="0.1"/>
  </joint>
  <transmission name="ignored"><type>text</type></transmission>
  <gazebo><plugin filename="/lib/x.so">text</plugin></gazebo>
</robot>
"""
SMALL = (
    '<robot name="r"><link name="base">\n{visual}</link><link name="tip">' + INERTIAL + '</link>\n<joint name="j" '
    'type="{type}"><parent link="base"/><child link="tip"/>{joint}</joint>\n{more}</robot>'
)


def small(visual: str = "", type: str = "continuous", joint: str = "", more: str = "") -> str:
    return SMALL.format(visual=visual, type=type, joint=joint, more=more)


def numbers(element: Element | None, key: str, default: str) -> FloatArray:
    return np.array([float(word) for word in element.get(key, default).split()]) if element is not None else np.zeros(3)


def chain(text: str, q: Mapping[str, float]) -> dict[str, FloatArray]:
    """Every link's 4 x 4 in the root link: the origin of its joint, then q about or along the axis."""
    root = ET.fromstring(text)
    joints = {joint.find("child").attrib["link"]: joint for joint in root.findall("joint")}  # type: ignore[union-attr]

    def matrix(link: str) -> FloatArray:
        if link not in joints:
            return np.eye(4)
        joint = joints[link]
        origin, axis = joint.find("origin"), joint.find("axis")
        fixed = compose(
            numbers(origin, "xyz", "0 0 0"), euler2mat(*numbers(origin, "rpy", "0 0 0"), axes="sxyz"), np.ones(3)
        )
        along = np.array([1.0, 0.0, 0.0]) if axis is None else numbers(axis, "xyz", "1 0 0")
        along /= np.linalg.norm(along)
        value, kind = q.get(joint.attrib["name"], 0.0), joint.get("type")
        moved = np.eye(4)
        if kind == "prismatic":
            moved[:3, 3] = along * value
        elif kind != "fixed":
            moved[:3, :3] = axangle2mat(along, value, is_normalized=True)
        parent = joint.find("parent")
        assert parent is not None
        return np.asarray(matrix(parent.attrib["link"]) @ fixed @ moved)

    return {link.attrib["name"]: matrix(link.attrib["name"]) for link in root.findall("link")}


def assert_at(frames: FrameTable, poses: FloatArray, prefix: str, expected: Mapping[str, FloatArray]) -> None:
    for link, matrix in expected.items():
        pose = frames.in_root(poses)[frames.index(prefix + link)]
        np.testing.assert_allclose(pose[:3], matrix[:3, 3], atol=1e-12)
        np.testing.assert_allclose(Rotation.from_quat(pose[3:]).as_matrix(), matrix[:3, :3], atol=1e-12)


def model_of(world: World) -> MjModel:
    (engine,) = Simulation(world).engines.values()
    assert isinstance(engine, RigidBodyEngine)
    return engine.model


def faults(path: Path) -> str:
    with pytest.raises(WorldError) as error:
        load(path)
    return str(error.value)


@pytest.mark.parametrize("seed", range(5))
def test_the_shipped_arm_is_where_its_own_numbers_say(write: Callable[..., Path], seed: int) -> None:
    text = ARM.read_text()
    write(text, "arm.urdf")
    names = ("shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3")
    q = dict(zip(names, np.random.default_rng(seed).uniform(-2, 2, 6).tolist(), strict=True))
    world = load(write(f"fixed_frame: base\ninclude: [{{file: arm.urdf, prefix: arm, q: {q}}}]"))
    expected = chain(text, q)
    assert_at(lay_out(world).frames, lay_out(world).poses, "arm/", expected)
    simulation = Simulation(world)
    assert_at(simulation.frames, simulation.snapshot().poses, "arm/", expected)


def test_every_type_of_joint_is_where_transforms3d_has_it(write: Callable[..., Path]) -> None:
    q = {"turn": 0.7, "spin": 4.0, "reach": 0.3}
    write(ZOO, "zoo.urdf")
    simulation = Simulation(load(write(f"include: [{{file: zoo.urdf, q: {q}}}]")))
    assert_at(simulation.frames, simulation.snapshot().poses, "", chain(ZOO, {**q, "follower": -2 * 0.7 + 0.1}))


def test_while_it_moves_it_stays_on_its_chain(write: Callable[..., Path]) -> None:
    simulation = Simulation(load(write(ZOO, "zoo.urdf")))
    simulation.run(0.5)
    (engine,) = simulation.engines.values()
    assert isinstance(engine, RigidBodyEngine)
    q = {name: float(engine.data.joint(name).qpos[0]) for name in ("turn", "spin", "reach", "follower")}
    assert max(map(abs, q.values())) > 0.1
    assert_at(simulation.frames, simulation.snapshot().poses, "", chain(ZOO, q))


def test_limits_damping_friction_and_effort_are_the_files(write: Callable[..., Path]) -> None:
    model = model_of(load(write(ZOO, "zoo.urdf")))
    turn, spin, reach = (model.joint(name) for name in ("turn", "spin", "reach"))
    assert (turn.range.tolist(), turn.limited[0], turn.damping[0], turn.frictionloss[0]) == ([-1, 2], True, 0.3, 0.2)
    assert model.jnt_actfrcrange[turn.id].tolist() == [-30, 30]
    assert not spin.limited[0]
    assert reach.range.tolist() == [0, 0.4]
    assert model.neq == 1


def test_links_are_the_frames_of_tf_and_fixed_ones_stay(write: Callable[..., Path]) -> None:
    layout = lay_out(load(write(ZOO, "zoo.urdf")))
    assert set(layout.frames.names) == {"world", "base", "a", "b", "c", "d", "e"}
    assert layout.frames.static[layout.frames.index("d")]


def test_an_inertial_is_turned_by_its_origin(write: Callable[..., Path]) -> None:
    """R I R^T about the centre of mass, which a mass matrix holds: the moment about the joint's own axis."""
    inertial = (
        '<inertial><origin xyz="0.1 0.2 0.3" rpy="0.3 0.5 0.7"/><mass value="2"/>'
        '<inertia ixx="0.1" iyy="0.2" izz="0.25" ixy="0.01" ixz="0.02" iyz="0.03"/></inertial>'
    )
    model = model_of(load(write(small(joint='<axis xyz="0 0 1"/>').replace(INERTIAL, inertial), "m.urdf")))
    turn = Rotation.from_euler("xyz", [0.3, 0.5, 0.7]).as_matrix()
    moments = turn @ [[0.1, 0.01, 0.02], [0.01, 0.2, 0.03], [0.02, 0.03, 0.25]] @ turn.T
    assert model.dof_M0[0] == pytest.approx(moments[2, 2] + 2 * (0.1**2 + 0.2**2), rel=1e-9)


def test_a_link_without_inertial_weighs_nothing(write: Callable[..., Path]) -> None:
    visual = '<collision><geometry><sphere radius="1"/></geometry></collision>'
    assert model_of(load(write(small(visual), "m.urdf"))).body("base").mass[0] == 0.0


def test_a_planar_joint_moves_in_the_plane_across_its_axis(write: Callable[..., Path]) -> None:
    model = model_of(load(write(small(type="planar", joint='<axis xyz="0 1 0"/>'), "m.urdf")))
    slides = model.jnt_axis[:2]
    assert model.nv == 3
    np.testing.assert_allclose(slides @ [0, 1, 0], [0, 0], atol=1e-12)
    np.testing.assert_allclose(np.abs(model.jnt_axis[2]), [0, 1, 0], atol=1e-12)


def test_a_base_floats_on_demand_and_falls(write: Callable[..., Path]) -> None:
    write(small().replace('<link name="base">', '<link name="base">' + INERTIAL), "m.urdf")
    world = load(write("include: [{file: m.urdf, prefix: r, free: true, pose: {position: [1, 2, 3]}}]"))
    simulation = Simulation(world)
    simulation.run(1.0)
    pose = simulation.snapshot().poses[simulation.frames.index("r/base")]
    np.testing.assert_allclose(pose[:3], [0, 0, -9.81 / 2], atol=1e-9)
    assert simulation.frames.path("r/base") == "map/r/world/base"


# Meshes


def cube_stl() -> bytes:
    """A unit cube's twelve triangles, as binary STL has them."""
    corners = np.array(np.meshgrid([0, 1], [0, 1], [0, 1], indexing="ij")).reshape(3, -1).T
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    triangles = [corners[[a, b, c]] for q in quads for a, b, c in ((q[0], q[1], q[2]), (q[0], q[2], q[3]))]
    rows = [np.concatenate([np.zeros(3), *t]).astype("<f4").tobytes() + b"\0\0" for t in triangles]
    return b"\0" * 80 + len(rows).to_bytes(4, "little") + b"".join(rows)


def collision(reference: str, scale: str = "1 1 1") -> str:
    mesh = f'<geometry><mesh filename="{reference}" scale="{scale}"/></geometry>'
    return f"<collision>{mesh}</collision>"


def test_a_package_mesh_is_found_in_its_share_folder(
    write: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(cube_stl(), "prefix/share/parts/meshes/cube.STL")
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "prefix"))
    model = model_of(load(write(small(collision("package://parts/meshes/cube.STL", "2 1 1")), "robots/m.urdf")))
    # MuJoCo turns meshes to their principal axes, and the geom back.
    turn = Rotation.from_quat(model.geom_quat[0][[1, 2, 3, 0]])
    corners = turn.apply(model.mesh_vert) + model.geom_pos[0]
    np.testing.assert_allclose([corners.min(axis=0), corners.max(axis=0)], [[0, 0, 0], [2, 1, 1]], atol=1e-6)


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("../../cube.stl", "'../../cube.stl' is outside the world's folder"),
        ("/etc/cube.stl", "'/etc/cube.stl' is outside the world's folder"),
        ("package://nowhere/cube.stl", "no package 'nowhere' is installed"),
        ("package://sim_node/../../cube.stl", "leaves package 'sim_node'"),
        ("cub.stl", "no file 'cub.stl' beside m.urdf; did you mean cube.stl?"),
        ("cube.ply", "'cube.ply' is not a supported mesh; allowed: .stl, .obj, .dae"),
    ],
)
def test_a_mesh_that_cannot_be_had_is_reported_at_its_place(
    write: Callable[..., Path], reference: str, message: str
) -> None:
    write(cube_stl(), "cube.stl")
    found = faults(write(small(collision(reference)), "m.urdf"))
    assert found.startswith("m.urdf:2:")
    assert message in found


def test_a_mesh_that_cannot_be_read_is_reported_at_its_place(write: Callable[..., Path]) -> None:
    write(b"rubbish", "cube.stl")
    assert "m.urdf:2:" in faults(write(small(collision("cube.stl")), "m.urdf"))


def test_a_glb_is_shown_and_not_collided(write: Callable[..., Path]) -> None:
    write(b"glTF\2\0\0\0", "hull.glb")
    with pytest.warns(WorldWarning, match=r"m.urdf:2:\d+: base: a .glb mesh is shown, but has no contacts"):
        world = load(write(small(collision("hull.glb", "2 2 2")), "m.urdf"))
    ((link, geometry),) = world.models[0].shown
    assert geometry.file is not None
    assert (link, geometry.file.name, geometry.size.tolist()) == ("base", "hull.glb", [2, 2, 2])
    assert model_of(world).ngeom == 0


# Faults


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (small(type="revolutte"), "m.urdf:3:1: MuJoCo: invalid joint type in URDF joint definition"),
        (
            small(type="revolute"),
            "m.urdf:3:1: j: a revolute joint needs <limit>; use type continuous for a joint without limits",
        ),
        (small(joint='<axis xyz="0 0 0"/>'), "j.axis: an axis needs a direction"),
        (small(type="prismatic", joint='<limit lower="1" upper="-1"/>'), "j.limit: lower 1 is above upper -1"),
        (small().replace('child link="tip"', 'child link="tipp"'), "MuJoCo: URDF joint parent or child missing"),
        (
            small(more="<xacro:macro name='x'/>"),
            "m.urdf:4:1: <xacro:macro>: this is a xacro file; name it m",
        ),
        (
            small().replace(INERTIAL, ""),
            "tip: it has no mass, and nothing that it carries defines how its joint",
        ),
        ("<!DOCTYPE r [<!ENTITY a 'b'>]><robot/>", "document types and entities are not allowed"),
        ("<robott/>", "m.urdf:1:1: the root element is <robott>"),
    ],
)
def test_a_fault_is_reported(write: Callable[..., Path], text: str, line: str) -> None:
    assert line in faults(write(text, "m.urdf"))


def test_the_arms_frames_are_named_as_others_expect() -> None:
    frames = lay_out(load("arm")).frames
    assert frames.path("arm/tool0").endswith("wrist_3_link/flange/tool0")
    assert frames.parent_path("arm/CAM_WRIST").endswith("flange")
    assert Path(load("arm").source).name == "arm.yaml"


def test_origins_by_quaternions(write: Callable[..., Path]) -> None:
    """URDF 1.1: urdfdom ignores quat_xyzw before, and refuses it beside rpy."""
    text = small(joint='<origin xyz="1 2 3" quat_xyzw="0.2 -0.4 0.4 0.8"/>')
    newer = text.replace('<robot name="r">', '<robot name="r" version="1.1">')
    layout = lay_out(load(write(newer, "r.urdf")))
    pose = layout.poses[layout.frames.index("tip")]
    turned = Rotation.from_quat(pose[3:]) * Rotation.from_quat([0.2, -0.4, 0.4, 0.8]).inv()
    assert turned.magnitude() == pytest.approx(0.0, abs=1e-12)
    with pytest.warns(WorldWarning, match=r"r.urdf:\d+:\d+: origin.quat_xyzw: has no effect here"):
        load(write(text, "r.urdf"))
    for words, message in (('rpy="0 0 1"', "cannot be combined with rpy"), ("", "a rotation")):
        other = newer.replace("quat_xyzw", f"{words} quat_xyzw") if words else newer.replace("0.2 -0.4", "0.2")
        with pytest.raises(WorldError, match=f"origin.quat_xyzw: {message}"):
            load(write(other, "r.urdf"))
