"""MJCF models: what MuJoCo makes of the same file, frame by frame; files that do harm; faults at their places."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
import numpy.typing as npt
import pytest
from scipy.spatial.transform import Rotation

from sim_node.simulation import Simulation
from sim_node.simulation.physics import RigidBodyEngine
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.viewing.display_sinks import description_topic
from sim_node.viewing.robots import robots_of
from sim_node.world import WorldError, WorldWarning, lay_out, load

LEGGED = """\
<mujoco model="leg">
  <compiler angle="degree" boundmass="0.1"/>
  <option timestep="0.002" integrator="implicit" cone="elliptic" density="1.2" gravity="0 0.1 -9.7"/>
  <default>
    <default class="leg"><joint damping="0.4" armature="0.01"/><geom rgba="1 0 0 1"/></default>
  </default>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <body name="torso" pos="0 0 0.4" euler="10 0 20">
      <freejoint name="root"/>
      <geom type="box" size=".2 .1 .1" mass="3"/>
      <site name="imu" pos="0 0 .1" euler="0 0 30"/>
      <body name="thigh" pos="0.2 0 0" childclass="leg">
        <joint name="hip" axis="0 1 0" range="-60 60" pos="0 0 0.02"/>
        <joint name="twist" axis="1 1 0"/>
        <geom type="capsule" fromto="0 0 0 0.3 0 0" size=".03"/>
        <body name="shin" pos=".3 0 0">
          <joint name="knee" axis="0 1 0" ref="20" springref="10" stiffness="3"/>
          <geom type="capsule" fromto="0 0 0 0.3 0 0" size=".03"/>
          <body pos="0.3 0 0"><joint type="ball"/><joint type="slide" axis="1 0 0"/><geom size="0.05"/></body>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator><position name="servo" joint="hip" kp="20"/></actuator>
  <sensor><accelerometer name="acc" site="imu"/></sensor>
  <keyframe>
    <key name="home" qpos="0 0 1 1 0 0 0 .1 .2 .3 0 1 0 0 .01" ctrl="0.5"/>
  </keyframe>
</mujoco>
"""
TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


def rotation_of(quaternion: FloatArray) -> Rotation:
    """scipy's, of MuJoCo's [w x y z]."""
    return Rotation.from_quat(np.asarray(quaternion)[[1, 2, 3, 0]])


def assert_pose(pose: FloatArray, position: npt.ArrayLike, rotation: Rotation) -> None:
    np.testing.assert_allclose(pose[:3], np.asarray(position), atol=1e-12)
    assert (Rotation.from_quat(pose[3:]).inv() * rotation).magnitude() < 1e-12


def engine(simulation: Simulation) -> RigidBodyEngine:
    (found,) = simulation.engines.values()
    assert isinstance(found, RigidBodyEngine)
    return found


def faults(path: str | Path) -> str:
    with pytest.raises(WorldError) as error:
        load(path)
    return str(error.value)


def test_a_file_run_by_itself_is_raw_mujoco_to_the_bit_over_two_seconds(write: Callable[..., Path]) -> None:
    """Contacts, elliptic cones, the medium's density, springs, an actuator: nothing is lost on the way."""
    path = write(LEGGED, "leg.xml")
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 1000)
    simulation = Simulation(load(path))
    simulation.run(2.0)
    assert np.array_equal(engine(simulation).data.qpos, data.qpos)
    assert np.array_equal(engine(simulation).data.qvel, data.qvel)
    assert np.array_equal(engine(simulation).data.sensordata, data.sensordata)
    assert data.ncon > 0


def test_frames_are_where_mujoco_has_bodies_sites_and_anchors(write: Callable[..., Path]) -> None:
    path = write(LEGGED, "leg.xml")
    simulation = Simulation(load(path))
    simulation.run(0.3)
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    data.qpos[:] = engine(simulation).data.qpos
    mujoco.mj_kinematics(model, data)
    poses = simulation.frames.in_root(simulation.snapshot().poses)
    for name in ("torso", "thigh", "shin"):
        at = poses[simulation.frames.index(name)]
        assert_pose(at, data.body(name).xpos, rotation_of(data.body(name).xquat))
    assert_pose(poses[simulation.frames.index("body4")], data.xpos[4], rotation_of(data.xquat[4]))
    assert_pose(
        poses[simulation.frames.index("imu")],
        data.site("imu").xpos,
        Rotation.from_matrix(data.site("imu").xmat.reshape(3, 3)),
    )
    # Anchors, and axes as the frames' z: MuJoCo's are those before the joints after them have turned.
    for name in ("twist", "knee"):
        frame = poses[simulation.frames.index(name)]
        np.testing.assert_allclose(frame[:3], data.joint(name).xanchor, atol=1e-12)
        axis = Rotation.from_quat(frame[3:]).apply([0, 0, 1])
        np.testing.assert_allclose(axis, data.joint(name).xaxis, atol=1e-12)


def test_a_mass_with_which_mujoco_would_not_end_is_refused(write: Callable[..., Path]) -> None:
    """Compiling this model with a mass of 1e16 kg takes for ever: MuJoCo looks for the length range of the muscle."""
    text = """<mujoco><option integrator="implicit"/><worldbody><body><freejoint/>
 <geom size=".1" mass="{}"/><body pos=".2 0 0"><joint name="hip" axis="0 1 0" range="-60 60"/><geom size=".1"/></body>
</body></worldbody><actuator><muscle joint="hip"/></actuator></mujoco>"""
    assert load(write(text.format("1e3"), "leg.xml")).models[0].actuators == ("actuator0",)
    with pytest.raises(
        WorldError, match=r"leg.xml:2:\d+: geom.mass: '1e16' is out of range; allowed: up to 1000000000000$"
    ):
        load(write(text.format("1e16"), "leg.xml"))


@pytest.mark.parametrize("seconds", ["nan", "1e300"])
def test_a_timestep_that_is_no_time_is_refused(write: Callable[..., Path], seconds: str) -> None:
    """MuJoCo compiles such models."""
    text = f'<mujoco>\n <option gravity="0 0 0" timestep="{seconds}"/>\n <worldbody/>\n</mujoco>'
    message = f"2:26: option.timestep: '{seconds}' is out of range; allowed: up to 2147483647"
    with pytest.raises(WorldError, match=f"leg.xml:{message}"):
        load(write(text, "leg.xml"))
    write(text, "part.xml")
    with pytest.raises(WorldError, match=f"part.xml:{message}"):
        load(write('<mujoco><include file="part.xml"/></mujoco>', "leg.xml"))


def test_the_layout_begins_where_the_run_does(write: Callable[..., Path]) -> None:
    write(LEGGED, "leg.xml")
    world = load(
        write("include: [{file: leg.xml, prefix: a, keyframe: home, pose: {position: [1, 2, 3], rpy: [1, 2, 3]}}]")
    )
    np.testing.assert_allclose(lay_out(world).poses, Simulation(world).snapshot().poses, atol=1e-14)


def test_a_keyframe_is_mujocos(write: Callable[..., Path]) -> None:
    path = write(LEGGED, "leg.xml")
    model = mujoco.MjModel.from_xml_path(str(path))
    world = load(write("time: {step: 0.002}\ninclude: [{file: leg.xml, prefix: a, keyframe: home, q: {hip: 0.4}}]"))
    data = engine(Simulation(world)).data
    expected = np.array(model.key("home").qpos)
    expected[7] = 0.4
    np.testing.assert_allclose(data.qpos, expected, atol=1e-15)
    assert data.ctrl.tolist() == [0.5]


def test_copies_under_prefixes_move_alike_and_apart(write: Callable[..., Path]) -> None:
    """Gravity is plumb for both: turned about it and set aside, the second does what the first does."""
    write(LEGGED.replace('<geom type="plane" size="5 5 .1"/>', ""), "leg.xml")
    world = load(
        write(
            """\
            time: {step: 0.002}
            include:
              - {file: leg.xml, prefix: a}
              - {file: leg.xml, prefix: b/c, pose: {position: [30, 0, 0], rpy_deg: [0, 0, 90]}}
            """
        )
    )
    simulation = Simulation(world)
    simulation.run(0.5)
    poses, frames = simulation.snapshot().poses, simulation.frames
    for name in ("torso", "thigh", "shin", "imu", "hip"):
        np.testing.assert_allclose(poses[frames.index(f"b/c/{name}")], poses[frames.index(f"a/{name}")], atol=1e-9)
    assert frames.path("b/c/torso") == "map/b/c/world/torso"
    assert_pose(
        frames.in_root(poses)[frames.index("b/c/world")], [30, 0, 0], Rotation.from_euler("z", 90, degrees=True)
    )


def test_the_worlds_physics_counts_and_a_file_that_differs_is_warned_of(write: Callable[..., Path]) -> None:
    write(LEGGED, "leg.xml")
    with pytest.warns(
        WorldWarning, match=r"w.yaml:1:11: include\[0\]: the world's physics overrides.* timestep 0.002 \(here 0.001\)"
    ):
        world = load(write("include: [{file: leg.xml, prefix: a}]"))
    assert engine(Simulation(world)).model.opt.gravity.tolist() == [0.0, 0.0, -9.81]


def test_a_base_is_fixed_and_let_loose(write: Callable[..., Path]) -> None:
    write(LEGGED, "leg.xml")
    fixed = load(write("include: [{file: leg.xml, prefix: a, free: false}]"))
    assert engine(Simulation(fixed)).model.nv == 7
    assert lay_out(fixed).frames.static[lay_out(fixed).frames.index("a/torso")]
    write('<mujoco><worldbody><body name="b"><geom size="0.1"/></body></worldbody></mujoco>', "ball.xml")
    loose = Simulation(load(write("include: [{file: ball.xml, prefix: a, free: true, q: {b: [0, 0, 5, 0, 0, 0, 1]}}]")))
    loose.run(1.0)
    height = loose.snapshot().poses[loose.frames.index("a/b"), 2]
    assert height == pytest.approx(5 - 9.81 / 2, abs=1e-9)


def test_bodies_and_sensors_of_the_world_ride_on_links(write: Callable[..., Path]) -> None:
    """A lump on the shin weighs on it: the centre of mass of all that hangs there is MuJoCo's own sum."""
    write(LEGGED, "leg.xml")
    world = load(
        write(
            """\
            include: [{file: leg.xml, prefix: a}]
            bodies: [{name: lump, parent: a/shin, pose: {position: [0, 0, 0.1]}, geometry: [{sphere: 0.1, mass: 2}]}]
            sensors: [{name: a/CAM, parent: a/imu, pose: {position: [0.1, 0, 0]}}]
            """
        )
    )
    simulation = Simulation(world)
    assert simulation.frames.path("a/CAM") == "map/a/torso/imu/CAM"
    model = engine(simulation).model
    assert model.body("lump").parentid == model.body("a/shin").id
    assert model.body("a/shin").subtreemass[0] == pytest.approx(
        model.body("a/shin").mass[0] + 2 + model.body("a/body4").mass[0]
    )


def test_a_world_goes_back_to_a_state_with_a_model_in_it(write: Callable[..., Path]) -> None:
    simulation = Simulation(load(write(LEGGED, "leg.xml")))
    simulation.run(0.2)
    state = simulation.state
    simulation.run(0.3)
    expected = simulation.snapshot().poses
    simulation.restore(state)
    simulation.run(0.3)
    assert np.array_equal(simulation.snapshot().poses, expected)


# Files


def test_meshes_textures_and_includes_are_found_beside_the_file(write: Callable[..., Path]) -> None:
    write(TETRAHEDRON, "assets/part.obj")
    write('<mujoco><asset><mesh file="part.obj"/></asset></mujoco>', "more/assets.xml")
    write(
        """\
        <mujoco>
          <compiler meshdir="assets"/>
          <include file="more/assets.xml"/>
          <worldbody><body name="b"><freejoint/><geom type="mesh" mesh="part"/></body></worldbody>
        </mujoco>
        """,
        "m.xml",
    )
    simulation = Simulation(load("m.xml"))
    # A tetrahedron with unit legs: a sixth of a cubic metre of water.
    assert engine(simulation).model.body("b").mass[0] == pytest.approx(1000 / 6)


def test_a_model_in_a_model_brings_its_files(write: Callable[..., Path]) -> None:
    write(TETRAHEDRON, "inner/part.obj")
    write(
        '<mujoco><asset><mesh name="p" file="inner/part.obj"/></asset><worldbody><body name="b">'
        '<geom type="mesh" mesh="p"/></body></worldbody></mujoco>',
        "inner.xml",
    )
    write(
        '<mujoco><asset><model name="inner" file="inner.xml"/></asset><worldbody><body name="top"><freejoint/>'
        '<geom size="0.1"/><attach model="inner" body="b" prefix="x_"/></body></worldbody></mujoco>',
        "m.xml",
    )
    assert "x_b" in lay_out(load("m.xml")).frames.names


@pytest.mark.parametrize(
    ("asset", "message"),
    [
        ('<mesh file="../secret.stl"/>', "'../secret.stl' is outside the world's folder"),
        ('<mesh file="/etc/passwd"/>', "'/etc/passwd' is outside the world's folder"),
        ('<texture type="2d" file="../a.png"/>', "'../a.png' is outside the world's folder"),
        ('<texture type="cube" fileup="../a.png"/>', "'../a.png' is outside the world's folder"),
        ('<hfield size="1 1 1 1" file="/etc/hostname"/>', "'/etc/hostname' is outside the world's folder"),
        ('<skin file="../a.skn"/>', "'../a.skn' is outside the world's folder"),
        ('<model name="a" file="../a.xml"/>', "'../a.xml' is outside the world's folder"),
        ('<mesh file="missing.stl"/>', "no file 'missing.stl' beside m.xml"),
    ],
)
def test_what_lies_outside_is_refused_at_its_place(
    write: Callable[..., Path], tmp_path: Path, asset: str, message: str
) -> None:
    (tmp_path.parent / "secret.stl").write_bytes(b"")
    write(f"<mujoco>\n<asset>\n{asset}</asset></mujoco>", "m.xml")
    found = faults("m.xml")
    assert found.startswith("m.xml:3:")
    assert message in found


def test_a_meshdir_does_not_lead_out(write: Callable[..., Path]) -> None:
    write('<mujoco><compiler meshdir="/etc"/>\n<asset><mesh file="passwd"/></asset></mujoco>', "m.xml")
    assert "m.xml:2:14: mesh.file: '/etc/passwd' is outside the world's folder" in faults("m.xml")


def test_an_include_does_not_lead_out_nor_in_circles(write: Callable[..., Path]) -> None:
    write('<mujoco>\n<include file="../../x.xml"/></mujoco>', "m.xml")
    assert "m.xml:2:10: include.file: '../../x.xml' is outside" in faults("m.xml")
    write('<mujoco>\n<include file="m.xml"/></mujoco>', "m.xml")
    assert "m.xml:2:10: include.file: m.xml is already included" in faults("m.xml")


CABLE = '<plugin plugin="mujoco.elasticity.cable">{}</plugin>'


@pytest.mark.parametrize(
    ("extension", "plugin"),
    [(CABLE.format(""), CABLE.format('<config key="twist" value="1"/>')),
     (CABLE.format('<instance name="i"/>'), '<plugin instance="i"/>')],
    ids=["lost by MuJoCo", "ends the process"],
)  # fmt: skip
def test_replicated_plugins_are_refused(write: Callable[..., Path], extension: str, plugin: str) -> None:
    """Of MuJoCo 3.17: "Invalid model: body_plugin out of bounds", and a segmentation fault of MjModel.from_xml_path."""
    body = f'<body><freejoint/><geom size="0.1"/>{plugin}</body>'
    text = f"""<mujoco><extension>{extension}</extension><worldbody>
<replicate count="2" offset="0 1 0"><replicate count="2" offset="1 0 0">
{body}</replicate></replicate></worldbody></mujoco>"""
    with pytest.raises(WorldError) as refused:
        load(write(text, "cable.xml"))
    place = f"{write(text, 'cable.xml')}:3:{body.index(plugin) + 1}"
    assert str(refused.value).startswith(f"{place}: replicate.plugin: MuJoCo cannot replicate a plug-in; ")
    assert len(refused.value.problems) == 1


def test_entity_bombs_are_refused(write: Callable[..., Path]) -> None:
    write('<!DOCTYPE b [<!ENTITY a "aaaa"><!ENTITY c "&a;&a;">]>\n<mujoco model="&c;"/>', "m.xml")
    assert "document types and entities are not allowed" in faults("m.xml")


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("<bodi/>", "m.xml:3:1: MuJoCo: Schema violation: unrecognized element; Element 'bodi'"),
        ('<geom size="a"/>', "m.xml:3:1: MuJoCo: bad format in attribute 'size'; Element 'geom'"),
        ('<body name="a"><joint/></body>', "m.xml:3:1: MuJoCo: mass and inertia of moving bodies must be larger"),
        ('<geom type="mesh" mesh="nope"/>', "m.xml:3:1: MuJoCo: mesh 'nope' not found"),
        (
            '<replicate count="1000000000"><geom size="1"/></replicate>',
            "m.xml:3:12: replicate.count: '1000000000' is out",
        ),
    ],
)
def test_a_fault_is_reported_at_its_place(write: Callable[..., Path], body: str, line: str) -> None:
    write(f"<mujoco>\n<worldbody>\n{body}</worldbody></mujoco>", "m.xml")
    assert line in faults("m.xml")


def test_a_fault_in_an_included_file_is_reported_there(write: Callable[..., Path]) -> None:
    write('<mujoco>\n\n<worldbody><geom size="x"/></worldbody></mujoco>', "part.xml")
    write('<mujoco>\n<include file="part.xml"/></mujoco>', "m.xml")
    assert faults("m.xml").startswith("part.xml:3:12: MuJoCo: bad format")


@pytest.mark.parametrize(
    ("entry", "line"),
    [
        ("{file: leg.xml, q: {hipp: 1}}", "include[0].q.hipp: unknown key; did you mean hip?"),
        ("{file: leg.xml, q: {hip: [1]}}", "include[0].q.hip: a number is needed for a hinge joint, found a list of 1"),
        ("{file: leg.xml, keyframe: hme}", "include[0].keyframe: found 'hme'; allowed: home; did you mean home?"),
        ("{file: other.yaml, free: true}", "include[0].free: applies only to MJCF and URDF models"),
        ("{file: leg.xml, parent: torsoo}", "include[0].parent: 'torsoo' is not a frame of this world"),
    ],
)
def test_a_fault_of_an_include_is_reported(write: Callable[..., Path], entry: str, line: str) -> None:
    write(LEGGED, "leg.xml")
    write("world: other", "other.yaml")
    assert line in faults(write(f"include: [{entry}]"))
    assert "w.yaml:1:" in faults(write(f"include: [{entry}]"))


def test_a_mount_on_an_unknown_link_names_the_nearest(write: Callable[..., Path]) -> None:
    write(LEGGED, "leg.xml")
    found = faults(write("include: [{file: leg.xml, prefix: a}]\nsensors: [{name: CAM, parent: a/shim}]"))
    assert "sensors[0].parent: 'a/shim' is not a frame of this world; did you mean a/shin?" in found


def test_a_floating_model_does_not_hang_on_what_moves(write: Callable[..., Path]) -> None:
    write(LEGGED, "leg.xml")
    found = write("include: [{file: leg.xml, prefix: a}, {file: leg.xml, prefix: b, parent: a/shin}]")
    with pytest.warns(WorldWarning), pytest.raises(WorldError, match="free model must be the fixed frame"):
        lay_out(load(found))


# As raw MuJoCo has it


def test_white_space_in_names_is_replaced_where_they_are_referred_to_too(write: Callable[..., Path]) -> None:
    text = (
        '<mujoco><worldbody><body name="the arm"><joint name="the hinge"/><geom size=".1"/><site name="a_b"/>\n'
        '<site name="a b"/></body></worldbody><actuator><motor name="m" joint="the hinge"/></actuator></mujoco>'
    )
    with pytest.warns(WorldWarning, match=r"m.xml:2:\d+: site.name: the name 'a b' has white space.*it is a_b_ here"):
        world = load(write(text, "m.xml"))
    model = engine(Simulation(world)).model
    assert {"the_arm", "the_hinge", "a_b", "a_b_"} <= set(lay_out(world).frames.names)
    assert model.actuator("m").trnid[0] == model.joint("the_hinge").id


def test_a_total_mass_is_that_of_mujoco_as_a_part_too(write: Callable[..., Path]) -> None:
    text = (
        '<mujoco><compiler settotalmass="14"/><worldbody><body name="a"><freejoint/><geom size=".1" mass="3"/><body '
        'name="b"><joint/><geom size=".2"/></body><body name="c"><joint/><inertial pos="0 0 0" mass="2" '
        'diaginertia="1 2 3"/></body></body></worldbody></mujoco>'
    )
    path = write(text, "m.xml")
    world = load(path)
    raw, model = mujoco.MjModel.from_xml_path(str(path)), engine(Simulation(world)).model
    np.testing.assert_allclose(model.body_mass, raw.body_mass, rtol=1e-12)
    np.testing.assert_allclose(model.body_inertia, raw.body_inertia, rtol=1e-12)


SETTINGS = (
    '<mujoco><option cone="elliptic" impratio="5" o_margin="0.01"><flag {flags}/></option>'
    '<worldbody><body name="b"><freejoint/><geom size=".1"/></body></worldbody></mujoco>'
)


def test_contact_settings_of_an_included_model_count(write: Callable[..., Path]) -> None:
    write(SETTINGS.format(flags='filterparent="disable" override="enable"'), "m.xml")
    with pytest.warns(WorldWarning, match="the whole world takes over from the model: cone elliptic, impratio 5"):
        world = load(write("include: [{file: m.xml, prefix: a}]"))
    option = engine(Simulation(world)).model.opt
    assert (option.cone, option.impratio, option.o_margin) == (mujoco.mjtCone.mjCONE_ELLIPTIC, 5.0, 0.01)
    assert option.disableflags & mujoco.mjtDisableBit.mjDSBL_FILTERPARENT
    assert option.enableflags & mujoco.mjtEnableBit.mjENBL_OVERRIDE


@pytest.mark.parametrize(
    ("flags", "physics", "fault"),
    [
        ("", "cone: pyramidal", "the model's cone elliptic contradicts the cone pyramidal of this world"),
        (
            'warmstart="disable"',
            "flags: {warmstart: true}",
            "the model's flag warmstart disable contradicts the flag warmstart enable of this world",
        ),
        ('gravity="disable"', "", "the model's flag gravity disable would count for the whole world"),
    ],
)
def test_settings_that_cannot_be_honoured_are_refused(
    write: Callable[..., Path], flags: str, physics: str, fault: str
) -> None:
    write(SETTINGS.format(flags=flags), "m.xml")
    found = write(f"physics: {{{physics}}}\ninclude: [{{file: m.xml, prefix: a}}]")
    with pytest.raises(WorldError, match=fault):
        lay_out(load(found))


def test_a_model_without_contact_leaves_contact_to_others(write: Callable[..., Path]) -> None:
    write(
        SETTINGS.replace('cone="elliptic" impratio="5" o_margin="0.01"', "").format(flags='contact="disable"'), "m.xml"
    )
    ball = "{geometry: [{sphere: 0.1, mass: 1}], joint: free, pose: {position: [1, 0, 0.1]}, name: ball}"
    world = load(write(f"ground: {{}}\nbodies: [{ball}]\ninclude: [{{file: m.xml, pose: {{position: [0, 0, 0.1]}}}}]"))
    run = Simulation(world)
    run.run(1.0)
    # In their parents, which are 0.1 m above the ground.
    height = dict(zip(run.frames.names, run.snapshot().poses[:, 2].tolist(), strict=True))
    assert height["b"] == pytest.approx(0.1 - 9.81 / 2 - 0.1, abs=0.2)
    assert height["ball"] == pytest.approx(0.0, abs=1e-3)


def test_a_model_whose_name_has_empty_parts_is_published(write: Callable[..., Path]) -> None:
    """ROS allows no empty parts between slashes: REP 144, and rcl's rules for names of topics."""
    body = '<worldbody><body name="a"><joint name="j"/><geom size="0.1"/></body></worldbody>'
    world = load(write(f'<mujoco model="https://x">{body}</mujoco>', "m.xml"))
    topics = [description_topic(robot).name for robot in robots_of(world, lay_out(world).frames, "")]
    assert len(topics) == 1
    assert all(re.fullmatch(r"/?[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*", topic) for topic in topics), topics
