"""URDF as strangers write it: meshes of all kinds, xacro, packages, inertias of no body, links without mass."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sim_node.simulation import Simulation
from sim_node.simulation.physics import RigidBodyEngine
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import World, WorldError, WorldWarning, lay_out, load

# A tetrahedron of 1 x 2 x 3 units, in centimetres, moved by its node, in a file whose up axis is Y.
COLLADA = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
  <asset><unit name="centimeter" meter="0.01"/><up_axis>Y_UP</up_axis></asset>
  <library_effects><effect id="red"><profile_COMMON><technique sid="t"><phong>
    <diffuse><color>1 0 0.5 1</color></diffuse></phong></technique></profile_COMMON></effect></library_effects>
  <library_materials><material id="m"><instance_effect url="#red"/></material></library_materials>
  <library_geometries><geometry id="g"><mesh>
    <source id="p"><float_array id="pa" count="12">0 0 0 1 0 0 0 2 0 0 0 3</float_array>
      <technique_common><accessor source="#pa" count="4" stride="3">
        <param name="X" type="float"/><param name="Y" type="float"/><param name="Z" type="float"/>
      </accessor></technique_common></source>
    <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
    <triangles count="4" material="mm"><input semantic="VERTEX" source="#v" offset="0"/>
      <p>0 2 1 0 1 3 0 3 2 1 2 3</p></triangles>
  </mesh></geometry></library_geometries>
  <library_visual_scenes><visual_scene id="s"><node id="n"><translate>10 0 0</translate>
    <instance_geometry url="#g"><bind_material><technique_common>
      <instance_material symbol="mm" target="#m"/></technique_common></bind_material></instance_geometry>
  </node></visual_scene></library_visual_scenes>
  <scene><instance_visual_scene url="#s"/></scene>
</COLLADA>
"""
CORNERS = np.array([[0.1, 0, 0], [0.11, 0, 0], [0.1, 0.02, 0], [0.1, 0, 0.03]])
_FACES = ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3))
STL_TEXT = "solid t\n{}endsolid t\n".format(
    "".join(
        "facet normal 0 0 0\n outer loop\n{} endloop\nendfacet\n".format(
            "".join("  vertex {:.3e} {:g} {:g}\n".format(*CORNERS[corner]) for corner in face)
        )
        for face in _FACES
    )
)
INERTIAL = '<inertial><mass value="2"/><inertia ixx="{}" iyy="{}" izz="{}" ixy="0" ixz="0" iyz="0"/></inertial>'
FINE = INERTIAL.format(1, 1, 1)


def robot(base: str = "", tip: str = FINE, joint: str = "", more: str = "") -> str:
    return (
        f'<robot name="r"><link name="base">{base}</link>\n<link name="tip">{tip}</link>\n<joint name="j" '
        f'type="continuous"><parent link="base"/><child link="tip"/>{joint}</joint>{more}</robot>'
    )


def mesh(tag: str, file: str) -> str:
    return f'<{tag} name="same"><geometry><mesh filename="{file}" scale="2 1 1"/></geometry></{tag}>'


def model_of(world: World) -> mujoco.MjModel:
    (engine,) = Simulation(world).engines.values()
    assert isinstance(engine, RigidBodyEngine)
    return engine.model


def corners_of(model: mujoco.MjModel, geom: int) -> FloatArray:
    """The vertices of a geom's mesh in its body, in order; MuJoCo turns meshes to their principal axes."""
    data = int(model.geom_dataid[geom])
    first = int(model.mesh_vertadr[data])
    vertices = model.mesh_vert[first : first + int(model.mesh_vertnum[data])]
    turned = Rotation.from_quat(model.geom_quat[geom][[1, 2, 3, 0]]).apply(vertices) + model.geom_pos[geom]
    return np.asarray(turned[np.lexsort(np.round(turned, 6).T)])


@pytest.mark.parametrize(("name", "text"), [("part.dae", COLLADA), ("part.STL", STL_TEXT)])
def test_collada_and_stl_of_text_are_drawn_and_make_contact(write: Callable[..., Path], name: str, text: str) -> None:
    write(text, name)
    model = model_of(load(write(robot(mesh("visual", name) + mesh("collision", name)), "m.urdf")))
    expected = CORNERS * [2, 1, 1]
    expected = expected[np.lexsort(np.round(expected, 6).T)]
    assert model.ngeom == 2
    for geom in range(2):
        np.testing.assert_allclose(corners_of(model, geom), expected, atol=1e-7)
    assert sorted(model.geom_contype.tolist()) == [0, 1]
    drawn = int(np.argmin(model.geom_contype))
    assert model.geom_group[1 - drawn] == 3  # which is not drawn
    if name == "part.dae":
        np.testing.assert_allclose(model.geom_rgba[drawn], [1, 0, 0.5, 1])


def test_a_visual_that_cannot_be_had_is_warned_of_and_a_collision_refused(write: Callable[..., Path]) -> None:
    write("<COLLADA/>", "empty.dae")
    with pytest.warns(WorldWarning, match=r"m.urdf:1:.*base.visual: .*no package 'nowhere'.*; it is not drawn"):
        world = load(write(robot(mesh("visual", "package://nowhere/a.stl")), "m.urdf"))
    assert model_of(world).ngeom == 0
    with pytest.warns(WorldWarning, match=r"base.visual: 'empty.dae': .*; it is not drawn"):
        load(write(robot(mesh("visual", "empty.dae")), "m.urdf"))
    with pytest.raises(WorldError, match=r"m.urdf:1:\d+: base.collision: 'empty.dae'"):
        load(write(robot(mesh("collision", "empty.dae")), "m.urdf"))


def test_entities_in_collada_are_refused(write: Callable[..., Path]) -> None:
    write('<!DOCTYPE c [<!ENTITY a "b">]><COLLADA>&a;</COLLADA>', "bomb.dae")
    with pytest.raises(WorldError, match=r"base.collision: 'bomb.dae'"):
        load(write(robot(mesh("collision", "bomb.dae")), "m.urdf"))


def test_the_axis_of_a_fixed_joint_does_not_matter(write: Callable[..., Path]) -> None:
    fixed = '<joint name="f" type="fixed"><parent link="tip"/><child link="end"/><axis xyz="0 0 0"/></joint>'
    fixed += '<link name="end"/>'
    assert "end" in lay_out(load(write(robot(more=fixed), "m.urdf"))).frames.names


# Packages


def test_packages_are_found_by_a_table_and_in_allowed_folders(write: Callable[..., Path], tmp_path: Path) -> None:
    write(STL_TEXT, "sources/parts/meshes/part.stl")
    path = write(robot(mesh("collision", "package:///parts/meshes/part.stl")), "m.urdf")
    with pytest.raises(WorldError, match=r"no package 'parts' is installed.*--allow"):
        load(path)
    by_table = load(write("include: [{file: m.urdf, packages: {parts: sources/parts}}]"))
    assert model_of(by_table).ngeom == model_of(load(path, allow=[tmp_path / "sources"])).ngeom == 1
    with pytest.raises(WorldError, match=r"include\[0\].packages.parts: no folder 'sources/part'"):
        load(write("include: [{file: m.urdf, packages: {parts: sources/part}}]"))
    with pytest.raises(WorldError, match="leaves package 'parts'"):
        load(
            write(robot(mesh("collision", "package://parts/../../m.urdf.stl")), "m.urdf"), allow=[tmp_path / "sources"]
        )


# Inertias


def test_an_inertia_of_no_body_is_balanced_as_mujoco_does(write: Callable[..., Path]) -> None:
    path = write(robot(tip=INERTIAL.format(1, 1, 4)), "m.urdf")
    with pytest.warns(WorldWarning, match=r"m.urdf:2:.*the inertia of tip is that of no body.*\(balance_inertia\)"):
        model = model_of(load(path))
    extension = '<mujoco><compiler balanceinertia="true"/></mujoco>'
    raw = mujoco.MjModel.from_xml_string(robot(tip=INERTIAL.format(1, 1, 4), more=extension))
    np.testing.assert_allclose(model.body("tip").inertia, raw.body("tip").inertia, rtol=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load(write("physics: {}\ninclude: [{file: m.urdf, balance_inertia: true}]"))
    with pytest.raises(WorldError, match="that of no body"):
        load(write("include: [{file: m.urdf, balance_inertia: false}]"))
    # What the file itself says counts where the include says nothing.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load(write(robot(tip=INERTIAL.format(1, 1, 4), more=extension), "m.urdf"))
    with pytest.raises(WorldError, match="that of no body"):
        load(write(robot(tip=INERTIAL.format(1, 1, 4), more=extension.replace("true", "false")), "m.urdf"))


def test_a_link_without_mass_between_two_joints_is_a_joint_of_two_axes(write: Callable[..., Path]) -> None:
    """A universal joint: a hinge about x, a link without mass, a hinge about y. MuJoCo has both on one body."""
    inertial = INERTIAL.format(0.1, 0.2, 0.15).replace("<mass", '<origin xyz="0.1 0 -0.3"/><mass')
    hinge = '<joint name="k" type="continuous"><parent link="tip"/><child link="end"/><axis xyz="0 1 0"/></joint>'
    text = robot(tip="", joint='<axis xyz="1 0 0"/>', more=f'<link name="end">{inertial}</link>{hinge}')
    write(text, "m.urdf")
    run = Simulation(load(write("physics: {integrator: rk4}\ninclude: [{file: m.urdf, q: {j: 0.4}, qd: {k: 0.5}}]")))
    run.run(0.5)
    raw = mujoco.MjModel.from_xml_string(
        '<mujoco><option timestep="0.001" integrator="RK4"/><worldbody><body><joint axis="1 0 0"/><joint axis="0 1 0"/>'
        '<inertial pos="0.1 0 -0.3" mass="2" diaginertia=".1 .2 .15"/></body></worldbody></mujoco>'
    )
    data = mujoco.MjData(raw)
    data.qpos[:], data.qvel[:] = [0.4, 0.0], [0.0, 0.5]
    for _ in range(500):
        mujoco.mj_step(raw, data)
    found = [run.joints[name].position[0] for name in ("j", "k")]
    np.testing.assert_allclose(found, data.qpos, atol=1e-9)


# xacro

XACRO = """<robot name="made" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:arg name="length" default="0.5"/>
  <xacro:include filename="macros.xacro"/>
  <link name="base"/>
  <xacro:rod name="rod" length="$(arg length)"/>
</robot>
"""
MACROS = """<robot xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:macro name="rod" params="name length">
    <link name="${name}"/>
    <joint name="${name}_joint" type="fixed"><parent link="base"/><child link="${name}"/>
      <origin xyz="0 0 ${2 * float(length)}"/></joint>
  </xacro:macro>
</robot>
"""


def test_xacro_is_expanded_with_its_arguments(write: Callable[..., Path]) -> None:
    pytest.importorskip("xacro", reason="xacro is not installed")
    write(MACROS, "macros.xacro")
    path = write(XACRO, "made.urdf.xacro")
    world = load(path)
    assert lay_out(world).poses[lay_out(world).frames.index("rod")][2] == 1.0
    assert {file.name for file in world.files} == {"made.urdf.xacro", "macros.xacro"}
    longer = load(write("include: [{file: made.urdf.xacro, prefix: a, arguments: {length: 1.5}}]"))
    assert lay_out(longer).poses[lay_out(longer).frames.index("a/rod")][2] == 3.0


def test_xacro_reports_its_faults_and_does_not_lead_out(write: Callable[..., Path], tmp_path: Path) -> None:
    pytest.importorskip("xacro", reason="xacro is not installed")
    (tmp_path / "outside.xacro").write_text(MACROS)
    with pytest.raises(WorldError, match=r"made.urdf.xacro: it includes '.*outside.xacro', outside the world's folder"):
        load(write(XACRO.replace("macros.xacro", "../outside.xacro"), "inner/made.urdf.xacro"))
    with pytest.raises(WorldError, match=r"made.urdf.xacro: xacro: .*macros.xacro"):
        load(write(XACRO, "made.urdf.xacro"))


# Initial states


def test_q_and_qd_of_an_include_are_those_of_any_format(write: Callable[..., Path]) -> None:
    write(robot(), "m.urdf")
    body = '<body name="s" joint="saddle"><geom type="box" mass="1" dim="1 1 1"/></body>'
    write(f'<x_xy model="c"><worldbody>{body}</worldbody></x_xy>', "c.xml")
    write("bodies: [{name: b, joint: {type: rx, limits: [-1, 1]}, geometry: [{sphere: 1, mass: 1}]}]", "y.yaml")
    bodies = "bodies: [{name: b, geometry: [{sphere: 1}], connectors: {p: {}}}]"
    mates = "mates: [{name: h, hinge: [p, b/p]}]"
    write(f"systems: [{{name: s, connectors: {{p: {{}}}}, {bodies}, {mates}}}]", "s.yaml")
    text = """physics: {contact: false, gravity: [0, 0, 0]}
include:
  - {file: m.urdf, prefix: m, q: {j: 0.1}, qd: {j: 1}}
  - {file: c.xml, prefix: c, q: {s: [0.2, 0.3]}, qd: {s: [2, 0]}}
  - {file: y.yaml, prefix: y, q: {b: 0.4}, qd: {b: 3}}
  - {file: s.yaml, prefix: z, q: {s/h: 0.5}, qd: {s/h: 4}}
"""
    joints = Simulation(load(write(text))).joints
    expected: dict[str, tuple[Any, Any]] = {
        "m/j": (0.1, 1.0),
        "c/s": ([0.2, 0.3], [2, 0]),
        "y/b": (0.4, 3.0),
        "z/s/b": (0.5, 4.0),
    }
    for name, (q, qd) in expected.items():
        np.testing.assert_allclose(joints[name].position, q, atol=1e-12)
        np.testing.assert_allclose(joints[name].velocity, qd, atol=1e-12)
    with pytest.raises(WorldError, match=r"include\[0\].qd.c: unknown key.*known: b"):
        load(write("include: [{file: y.yaml, qd: {c: 1}}]"))
    with pytest.warns(WorldWarning, match="2 is beyond the joint's limits, -1 to 1"), pytest.raises(WorldError):
        Simulation(load(write("include: [{file: y.yaml, q: {b: 2}}]")))


def test_a_mimic_of_a_joint_that_is_not_there_is_warned_of(write: Callable[..., Path]) -> None:
    path = write(robot(joint='<mimic joint="jj"/>'), "m.urdf")
    with pytest.warns(WorldWarning, match=r"m.urdf:3:\d+: j.mimic: no joint 'jj'; it follows none"):
        Simulation(load(path))
