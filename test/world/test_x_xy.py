# ruff: noqa: E501  a message of a table stands on its line
"""x_xy XML: every element and attribute, the conventions of the format, its faults at their places, and the way back."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from sim_node.formats.x_xy import IMPERFECTION
from sim_node.formats.x_xy_writer import to_x_xy
from sim_node.simulation import Simulation
from sim_node.simulation.physics import RigidBodyEngine
from sim_node.world import (
    Body,
    Drag,
    Geometry,
    Inertial,
    Physics,
    StaticFrame,
    TimeGrid,
    Wind,
    World,
    WorldError,
    WorldWarning,
    lay_out,
    load,
)
from sim_node.world.joints import JOINTS
from sim_node.world.load import randomised
from sim_node.world.locate import shipped_worlds
from sim_node.world.surfaces import Surface

# Those that the format's documentation lists.
JOINT_TYPES = "free cor free_2d frozen spherical px py pz rx ry rz saddle p3d rr rr_imp rsaddle"

DRAWN = JOINT_TYPES.split()[-3:]

# The example of the format's documentation.
INV_PENDULUM = """\
<x_xy model="inv_pendulum">
    <options gravity="0 0 9.81" dt="0.01"/>
    <defaults>
        <geom color="white"/>
    </defaults>
    <worldbody>
        <body name="cart" joint="px" damping="0.01">
            <geom type="box" mass="1" dim="0.4 0.1 0.1"/>
            <body name="pendulum" joint="ry" euler="0 -90 0" damping="0.01">
                <geom type="box" mass="0.5" pos="0.5 0 0" dim="1 0.1 0.1"/>
            </body>
        </body>
    </worldbody>
</x_xy>
"""


@pytest.fixture
def model(write: Callable[..., Path]) -> Callable[..., World]:
    """The world of a text, of which a worldbody's inside is enough."""

    def model(inside: str, *, options: str = "", defaults: str = "") -> World:
        text = inside if inside.startswith("<") and "<x_xy" in inside else _around(inside, options, defaults)
        return load(write(text, "m.xml"))

    return model


def _around(inside: str, options: str = "", defaults: str = "") -> str:
    return f'<x_xy model="m">{options}{defaults}<worldbody>{inside}</worldbody></x_xy>'


@pytest.fixture
def reported(write: Callable[..., Path]) -> Callable[..., list[str]]:
    def reported(text: str) -> list[str]:
        with pytest.raises(WorldError) as error:
            lay_out(load(write(text, "m.xml")))
        return error.value.lines()

    return reported


def test_the_example_of_the_documentation(model: Callable[..., World]) -> None:
    world = model(INV_PENDULUM)
    assert (world.name, world.fixed_frame, world.time) == ("inv_pendulum", "world", TimeGrid(0, 10_000_000))
    assert world.physics == Physics(
        10_000_000, "euler", np.array([0, 0, -9.81]), contact=False, armature=1e-6, place=world.physics.place
    )
    cart, pendulum = world.bodies
    assert (cart.name, cart.parent, cart.joint, np.asarray(cart.damping).tolist()) == ("cart", "world", "px", [0.01])
    assert (pendulum.parent, pendulum.joint) == ("cart", "ry")
    (box,) = pendulum.geometry
    assert box == Geometry(
        "box", np.array([1, 0.1, 0.1]), 0.5, np.array([0.5, 0, 0, 0, 0, 0, 1]), np.array([1, 1, 1, 1])
    )
    frames = lay_out(world).frames
    assert frames.path("pendulum") == "world/cart/pendulum/joint/pendulum"


def test_what_a_file_leaves_out_is_what_the_toolbox_takes(model: Callable[..., World]) -> None:
    world = model('<x_xy model="n"><worldbody/></x_xy>')
    assert (world.name, world.time.step_ns) == ("n", 10_000_000)
    assert world.physics.gravity.tolist() == [0, 0, -9.81]


def test_the_name_may_be_called_name(model: Callable[..., World]) -> None:
    assert model('<x_xy name="example_model"><worldbody/></x_xy>').name == "example_model"


def test_every_attribute(model: Callable[..., World]) -> None:
    world = model(
        """<geom type="cylinder" mass="0" dim="0.1 2"/>
        <body name="a" joint="spherical" pos="1 2 3" euler="10 20 30" damping="1 2 3" armature="4 5 6"
              spring_stiff="7 7 7" spring_zero="0.8 0 0.6 0" pos_min="0 0 0" pos_max="1 1 1">
            <geom type="capsule" mass="2" dim="0.1 1" color="0.1 0.2 0.3" edge_color="black"/>
            <geom type="sphere" mass="1" dim="0.5" color="red"/>
            <geom type="xyz"/>
            <omc name="S_1" pos_marker="2" pos="0 0.1 0"/>
        </body>"""
    )
    ground, body = world.bodies
    assert (ground.name, ground.parent, ground.joint) == ("worldbody", "world", "frozen")
    assert (
        np.asarray(body.damping).tolist(),
        np.asarray(body.armature).tolist(),
        np.asarray(body.spring_stiff).tolist(),
    ) == (
        [1, 2, 3],
        [4, 5, 6],
        [7, 7, 7],
    )
    np.testing.assert_allclose(np.asarray(body.spring_zero), [0, -0.6, 0, 0.8], atol=1e-15)
    assert np.asarray(body.position_range).tolist() == [[0, 0, 0], [1, 1, 1]]
    assert body.marker is not None
    assert (body.marker.name, body.marker.number, body.marker.position) == ("S_1", 2, (0.0, 0.1, 0.0))
    capsule, sphere, arrows = body.geometry
    assert (np.asarray(capsule.colour).tolist(), capsule.edge_colour) == ([0.1, 0.2, 0.3, 1], "black")
    assert (np.asarray(sphere.colour).tolist(), arrows.size.tolist(), arrows.mass) == ([1, 0, 0, 1], [1], 0)
    assert body.pose[:3].tolist() == [1, 2, 3], "drawn only when asked"


# Conventions


def test_euler_angles_turn_about_the_fixed_axes_in_degrees(model: Callable[..., World]) -> None:
    (body,) = model('<body name="a" joint="frozen" euler="10 20 30"/>').bodies
    expected = Rotation.from_euler("xyz", [10, 20, 30], degrees=True)
    assert (expected.inv() * Rotation.from_quat(body.pose[3:])).magnitude() < 1e-15


def test_a_quaternion_is_passive_and_begins_with_w(model: Callable[..., World]) -> None:
    """(cos 45, sin 45, 0, 0) turns by -90 degrees about x: the body's y axis points down."""
    (body,) = model('<body name="a" joint="frozen" quat="0.70710678118 0.70710678118 0 0"/>').bodies
    np.testing.assert_allclose(Rotation.from_quat(body.pose[3:]).apply([0, 1, 0]), [0, 0, -1], atol=1e-10)


@pytest.mark.parametrize("shape", ["cylinder", "capsule"])
def test_cylinders_lie_along_x(model: Callable[..., World], shape: str) -> None:
    """The moment about x is the small one: it takes the energy of 1/2 m r^2 w^2 / 2 for a cylinder."""
    energies = []
    for axis in "xyz":
        world = model(f'<body name="a" joint="r{axis}"><geom type="{shape}" mass="1" dim="0.1 2"/></body>')
        (body,) = world.bodies
        spinning = replace(
            world, bodies=(replace(body, qd=np.array([1.0])),), physics=replace(world.physics, armature=0.0)
        )
        (engine,) = Simulation(spinning).engines.values()
        assert isinstance(engine, RigidBodyEngine)
        energies.append(engine.energy())
    assert energies[0] < energies[1] == pytest.approx(energies[2], rel=1e-12)
    if shape == "cylinder":
        assert energies[0] == pytest.approx(0.25 * 0.1**2, rel=1e-12)
        assert energies[1] == pytest.approx((3 * 0.1**2 + 2**2) / 24, rel=1e-12)


def test_what_a_free_joint_lists_is_rotation_first(model: Callable[..., World]) -> None:
    (body,) = model(
        '<body name="a" joint="free" damping="1 2 3 4 5 6" spring_stiff="7 7 7 8 8 8" spring_zero="0.6 0.8 0 0 1 2 3">'
        '<geom type="sphere" mass="1" dim="1"/></body>'
    ).bodies
    assert np.asarray(body.damping).tolist() == [4, 5, 6, 1, 2, 3]
    np.testing.assert_allclose(np.asarray(body.spring_zero), [1, 2, 3, -0.8, 0, 0, 0.6], atol=1e-15)


def test_what_free_2d_lists_is_rotation_first(model: Callable[..., World]) -> None:
    (body,) = model(
        '<body name="a" joint="free_2d" damping="1 2 3"><geom type="sphere" mass="1" dim="1"/></body>'
    ).bodies
    assert np.asarray(body.damping).tolist() == [2, 3, 1]


def test_bodies_fall_down_where_gravity_is_positive(model: Callable[..., World]) -> None:
    world = model('<body name="a" joint="pz"><geom type="sphere" mass="1" dim="1"/></body>')
    simulation = Simulation(world)
    simulation.run(1.0)
    # Semi-implicit Euler at 0.01 s: g t (t + dt) / 2, and a millionth more mass than weight.
    assert simulation.snapshot().poses[1, 2] == pytest.approx(-9.81 / 2 * 1.01 / (1 + 1e-6), rel=1e-12)


def test_gravity_that_points_up_is_warned_of(write: Callable[..., Path]) -> None:
    text = _around("", '<options gravity="0 0 -9.81"/>')
    with pytest.warns(WorldWarning, match=r"m.xml:1:26: options.gravity: points up: .*0 0 9.81; .*physics.gravity"):
        world = load(write(text, "m.xml"))
    assert world.physics.gravity.tolist() == [0, 0, 9.81]


def test_a_damped_pendulum_steps_as_the_toolbox_does(model: Callable[..., World]) -> None:
    """Semi-implicit Euler, damping implicit, 1e-6 on the mass matrix; the recursion written out."""
    world = model(
        '<body name="a" joint="ry" damping="0.05" armature="0.01"><geom type="sphere" mass="1.5" dim="0.1" pos="0.4 0 0"/></body>',
        options='<options dt="0.001"/>',
    )
    simulation = Simulation(world)
    simulation.run(2.0)
    q = qd = 0.0
    inertia = 0.4 * 1.5 * 0.1**2 + 1.5 * 0.4**2 + 0.01 + 1e-6
    for _ in range(2000):
        torque = 1.5 * 9.81 * 0.4 * np.cos(q) - 0.05 * qd
        qd += 0.001 * torque / (inertia + 0.001 * 0.05)
        q += 0.001 * qd
    quaternion = simulation.snapshot().poses[1, 3:]
    assert 2 * np.arctan2(quaternion[1], quaternion[3]) == pytest.approx(q, abs=1e-9)


def test_defaults_stand_where_an_element_says_nothing(model: Callable[..., World]) -> None:
    world = model(
        '<body name="a" joint="rx"><geom type="sphere" dim="1"/></body>'
        '<body name="b" joint="ry" damping="2" quat="1 0 0 0"><geom type="sphere" dim="1" mass="3" color="blue"/></body>',
        defaults='<defaults><geom mass="0.5" color="red"/><body damping="1" euler="0 0 90"/></defaults>',
    )
    a, b = world.bodies
    assert (np.asarray(a.damping).tolist(), np.asarray(b.damping).tolist()) == ([1], [2])
    assert (a.geometry[0].mass, b.geometry[0].mass) == (0.5, 3)
    assert (np.asarray(a.geometry[0].colour).tolist(), np.asarray(b.geometry[0].colour).tolist()) == (
        [1, 0, 0, 1],
        [0, 0, 1, 1],
    )
    np.testing.assert_allclose(a.pose[3:], [0, 0, np.sqrt(0.5), np.sqrt(0.5)], atol=1e-15)
    assert b.pose[3:].tolist() == [0, 0, 0, 1], "its own rotation, though the default is written otherwise"


def test_ranges_are_drawn_when_asked(model: Callable[..., World]) -> None:
    world = model('<body name="a" joint="frozen" pos="9 9 9" pos_min="0 1 2" pos_max="1 1 4"/>')
    places = np.array([randomised(world, seed).bodies[0].pose[:3] for seed in range(200)])
    assert (places >= [0, 1, 2]).all()
    assert (places <= [1, 1, 4]).all()
    np.testing.assert_allclose(places.mean(axis=0), [0.5, 1, 3], atol=0.15)
    assert randomised(world, 7).bodies == randomised(world, 7).bodies
    assert world.bodies[0].pose[:3].tolist() == [9, 9, 9]


def test_a_model_is_included_under_other_physics(write: Callable[..., Path]) -> None:
    write(INV_PENDULUM, "pendulum.xml")
    world = load(
        write(
            "include: [{file: pendulum.xml, prefix: left, pose: {position: [0, 1, 0]}}]\nphysics: {gravity: [0, 0, -1]}\n"
        )
    )
    assert lay_out(world).frames.path("left/pendulum") == "map/left/world/cart/pendulum/joint/pendulum"
    assert world.physics.gravity.tolist() == [0, 0, -1]
    Simulation(world).run(0.1)


# Faults

BODY = '<body name="a" joint="rx">{}</body>'
FAULTS = [
    ("<x_xy>", "m.xml:1:7: not XML: no element found"),
    ("<mujoc/>", "m.xml:1:1: the root element is <mujoc>; XML worlds need one of <x_xy>, <mujoco>, <robot>, <sdf>; did you mean mujoco?"),
    ("<x_xy name='n'/>", "m.xml:1:1: x_xy: worldbody is missing"),
    ('<x_xy model="a"\n name="b"><worldbody/></x_xy>', "m.xml:2:2: x_xy.name: cannot be combined with model, which has the same meaning"),
    ("<x_xy><worldbody/></x_xy>", "m.xml:1:1: x_xy: model is missing"),
    ('<x_xy name="n"><worldbdy/><worldbody/></x_xy>', "m.xml:1:16: x_xy: unknown element <worldbdy>; did you mean worldbody? (known: options, defaults, worldbody)"),
    ('<x_xy name="n"><worldbody/><worldbody/></x_xy>', "m.xml:1:28: x_xy: a second <worldbody>"),
    ("<x_xy name='n'>\n<worldbody>hello</worldbody></x_xy>", "m.xml:2:12: text between elements: 'hello'"),
    (_around("", '<options dt="0"/>'), "m.xml:1:26: options.dt: 0 s is out of range"),
    (_around("", '<options gravity="9.81"/>'), "m.xml:1:26: options.gravity: 3 numbers are needed, found 1"),
    (_around('<body joint="rx"/>'), "m.xml:1:28: body: name is missing"),
    (_around('<body name="a"/>'), "m.xml:1:28: a: joint is missing"),
    (_around('<body name="a" joint="rxx"/>'), "m.xml:1:43: a.joint: found 'rxx'; allowed: frozen, free, free_2d, spherical, px,"),
    (_around('<body name="a" joint="hinge"/>'), "m.xml:1:43: a.joint: found 'hinge'; allowed:"),
    (_around('<body name="a" joint="frozen" pos="1 2"/>'), "m.xml:1:58: a.pos: 3 numbers are needed, found 2"),
    (_around('<body name="a" joint="frozen" pos="1 2 x"/>'), "m.xml:1:58: a.pos: a number is needed, found 'x'"),
    (_around('<body name="a" joint="frozen" pos="1 2 inf"/>'), "m.xml:1:58: a.pos: inf is out of range"),
    (_around('<body name="a" joint="frozen" quat="1 1 0 0"/>'), "m.xml:1:58: a.quat: norm is 1.414, a rotation needs 1"),
    (_around('<body name="a" joint="frozen" quat="1 0 0 0" euler="0 0 0"/>'), "m.xml:1:58: a.quat: cannot be combined with euler"),
    (_around('<body name="a" joint="frozen" pos_min="0 0 0"/>'), "m.xml:1:58: a.pos_min: equals pos; use pos for a fixed position"),
    (_around('<body name="a" joint="frozen" pos_max="0 0 -1"/>'), "m.xml:1:58: a.pos_max: is below pos"),
    (_around('<body name="a" joint="frozen" pos_min="0 0 0" pos_max="0 0 0"/>'), "m.xml:1:74: a.pos_max: equals pos_min"),
    (_around('<body name="a" joint="frozen" pos_min="0 0 0" pos_max="0 0 -1"/>'), "m.xml:1:74: a.pos_max: is below pos_min"),
    (_around('<body name="a" joint="frozen" dampng="1"/>'), "m.xml:1:58: body.dampng: unknown attribute; did you mean damping?"),
    (_around('<body name="a" joint="rx" damping="1 2"><geom type="sphere" dim="1" mass="1"/></body>'), "m.xml:1:54: a.damping: 1 number is needed, found 2"),
    (_around('<body name="a" joint="saddle" damping="1"><geom type="sphere" dim="1" mass="1"/></body>'), "m.xml:1:58: a.damping: 2 numbers are needed, found 1"),
    (_around('<body name="a" joint="rx" damping="-1"><geom type="sphere" dim="1" mass="1"/></body>'), "m.xml:1:54: a.damping: -1 is out of range; allowed: 0 to"),
    (_around(BODY.format('<geom type="box" mass="1" size="1 1 1" dim="1 1 1"/>')), "m.xml:1:80: geom.size: unknown attribute; its name in x_xy is dim (known: type, mass, dim,"),
    (_around(BODY.format('<geom type="box" mass="1"/>')), "m.xml:1:54: a.geom: dim is missing"),
    (_around(BODY.format('<geom type="sphere" dim="1"/>')), "m.xml:1:54: a.geom: mass is missing"),
    (_around(BODY.format('<geom type="cube" dim="1" mass="1"/>')), "m.xml:1:60: a.geom.type: found 'cube'; allowed: box, sphere, cylinder, capsule, xyz"),
    (_around(BODY.format('<geom type="box" dim="1" mass="1"/>')), "m.xml:1:71: a.geom.dim: 3 numbers are needed, found 1"),
    (_around(BODY.format('<geom type="sphere" dim="0" mass="1"/>')), "m.xml:1:74: a.geom.dim: a size must be above zero"),
    (_around(BODY.format('<geom type="sphere" dim="1" mass="1" color="2 0 0"/>')), "m.xml:1:91: a.geom.color: 2 0 0 is out of range; allowed: 0 to 1"),
    (_around(BODY.format('<geom type="sphere" dim="1" mass="1"/><omc name="S"/>')), "m.xml:1:92: a.omc: pos_marker is missing"),
    (_around(BODY.format("")), "m.xml:1:34: a.name: mass: a moving body needs a mass"),
    (_around('<body name="a" joint="frozen"/><body name="a" joint="frozen"/>'), "m.xml:1:65: a.name: a second frame 'a', the first is at m.xml:1:34"),
    (_around('<body name="a b" joint="frozen"/>'), "m.xml:1:34: a b.name: the name 'a b' may have no white space"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line"), FAULTS, ids=[line for _, line in FAULTS])
def test_a_fault_is_reported_at_its_place(reported: Callable[..., list[str]], text: str, line: str) -> None:
    lines = reported(text)
    assert lines[0].startswith(line)
    assert len(lines) == 1


BOMBS = {
    "billion laughs": '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>\n<x_xy model="&b;"><worldbody/></x_xy>',
    "external entity": '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/hostname">]>\n<x_xy model="&a;"><worldbody/></x_xy>',
    "external document type": '<!DOCTYPE x SYSTEM "http://127.0.0.1/x.dtd">\n<x_xy><worldbody/></x_xy>',
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_entities_and_document_types_are_refused(reported: Callable[..., list[str]], bomb: str) -> None:
    (line,) = reported(BOMBS[bomb])
    assert line.startswith("m.xml:1:")
    assert "document types and entities are not allowed" in line


def test_deep_nesting_is_refused(reported: Callable[..., list[str]]) -> None:
    depth = 5000
    bodies = "".join(f'<body name="b{i}" joint="frozen">' for i in range(depth)) + "</body>" * depth
    (line,) = reported(_around(bodies))
    assert "nested deeper than 200 levels" in line


def test_a_hundred_links_in_a_row_are_read(model: Callable[..., World]) -> None:
    bodies = "".join(
        f'<body name="b{i}" joint="rx" pos="0 1 0"><geom type="sphere" dim="0.1" mass="1"/>' for i in range(100)
    )
    world = model(bodies + "</body>" * 100)
    assert len(world.bodies) == 100
    Simulation(world).run(0.1)


def test_a_colour_of_an_unknown_name_is_left_out_with_a_warning(write: Callable[..., Path]) -> None:
    text = _around('<geom type="sphere" dim="1" mass="0" color="oragne"/>')
    with pytest.warns(
        WorldWarning, match=r"m.xml:1:65: worldbody.geom.color: unknown colour 'oragne'; did you mean orange\?"
    ):
        assert load(write(text, "m.xml")).bodies[0].geometry[0].colour is None


# The way back


def test_a_written_model_reads_back_as_it_was(write: Callable[..., Path]) -> None:
    """Every joint type, shape and attribute of the shipped model, to the bit but for turned cylinders."""
    world = load("all_joints")
    assert {body.joint for body in world.bodies} == set(JOINT_TYPES.split())
    again = load(write(to_x_xy(world), "all_joints.xml"))
    assert again.name == world.name
    assert again.time == world.time
    np.testing.assert_array_equal(again.physics.gravity, world.physics.gravity)
    for body, there in zip(again.bodies, world.bodies, strict=True):
        for shape, before in zip(body.geometry, there.geometry, strict=True):
            np.testing.assert_allclose(shape.pose, before.pose, atol=1e-15)
        assert replace(body, geometry=()) == replace(there, geometry=())
        same = [replace(shape, pose=before.pose) for shape, before in zip(body.geometry, there.geometry, strict=True)]
        assert same == list(there.geometry)


def test_a_world_in_yaml_is_written_where_x_xy_has_words_for_it(write: Callable[..., Path]) -> None:
    world = load("cart_pole")
    bodies = tuple(replace(body, q=None) for body in world.bodies)
    sayable = replace(world, frames=(), sensors=(), bodies=bodies, physics=replace(world.physics, integrator="euler"))
    again = load(write(to_x_xy(sayable), "m.xml"))
    assert [(b.name, b.joint, b.parent) for b in again.bodies] == [(b.name, b.joint, b.parent) for b in bodies]


def test_what_x_xy_has_no_words_for_is_named() -> None:
    axis = Body(
        "b",
        "map",
        "hinge",
        axes=np.array([[0, 0, 1]]),
        inertial=Inertial(1, np.eye(3)),
        q=np.array([1]),
        limits=np.array([-2, 2]),
        friction_loss=np.array([1]),
        geometry=(Geometry("plane", np.array([]), surface=Surface(sliding=0.5), only="collision"),),
    )
    world = World(
        "w",
        frames=(StaticFrame("f", "map", np.array([0, 0, 0, 0, 0, 0, 1])),),
        bodies=(axis,),
        forces=(Drag("b", np.array([1, 1, 1])),),
        wind=Wind(np.array([1, 0, 0])),
    )
    with pytest.raises(ValueError, match="c: kinematic"):
        to_x_xy(World("w", physics=Physics(contact=False), bodies=(Body("c", "map", "free", kinematic=True),)))
    with pytest.raises(
        ValueError,
        match=r"the frames, of which there are 1; the forces, of which there are 1; the wind; contacts .*; "
        r"b: inertial; b: q; b: limits; b: friction_loss; b: surface of a shape; "
        r"b: only of a shape; b: a plane",
    ):
        to_x_xy(world)


def test_the_shipped_model_is_found_by_its_name() -> None:
    assert shipped_worlds()["all_joints"].suffix == ".xml"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert lay_out(load("all_joints")).frames.path("ry") == "world/px/joint/px/ry/joint/ry"


# What files of others have


def test_size_is_read_as_dim_with_a_warning(model: Callable[..., World]) -> None:
    with pytest.warns(WorldWarning, match=r"geom.size: its name in x_xy is dim, as which it is read"):
        world = model('<body name="a" joint="rx"><geom type="box" mass="1" size="1 2 3"/></body>')
    assert world.bodies[0].geometry[0].size.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("given", "least", "most"),
    [('pos_min="-1 1 2"', [-1, 1, 2], [0, 1, 2]), ('pos_max="0 3 2"', [0, 1, 2], [0, 3, 2])],
)
def test_one_end_of_a_range_is_pos(
    model: Callable[..., World], given: str, least: list[float], most: list[float]
) -> None:
    world = model(f'<body name="a" joint="frozen" pos="0 1 2" {given}/>')
    np.testing.assert_array_equal(world.bodies[0].position_range, [least, most])
    assert world.bodies[0].pose[:3].tolist() == [0, 1, 2]


def test_random_axes_are_others_for_each_seed_and_the_same_for_one(model: Callable[..., World]) -> None:
    bodies = "".join(
        f'<body name="{joint}" joint="{joint}"><geom type="sphere" mass="1" dim="1" pos="1 0 0"/></body>'
        for joint in ("rr", "rr_imp", "rsaddle", "rx")
    )
    world = model(bodies)
    drawn = [randomised(world, seed) for seed in (1, 2, 1)]
    assert drawn[0] == drawn[2]
    for one, other, plain in zip(drawn[0].bodies, drawn[1].bodies, world.bodies, strict=True):
        if one.name == "rx":
            assert one == other == plain
            continue
        np.testing.assert_allclose(np.linalg.norm(one.axes, axis=1), 1.0, atol=1e-12)
        assert np.abs(one.axes - other.axes).max() > 0.01 < np.abs(one.axes - plain.axes).max()
    assert abs(float(drawn[0].bodies[1].axes[0] @ drawn[0].bodies[1].axes[1])) < 1e-12


def test_the_second_rotation_of_rr_imp_stays_small(model: Callable[..., World]) -> None:
    """Within 7.5 degrees, as the toolbox draws it, but for what a stop gives way; a spring takes its place."""
    body = '<body name="a" joint="rr_imp" {}><geom type="sphere" mass="1" dim="0.1" pos="0.3 0.4 0.5"/></body>'
    simulation = Simulation(model(body.format("")))
    angles = []
    for _ in range(100):
        simulation.run(0.01)
        angles.append(simulation.joints["a"].position.tolist())
    most = np.abs(angles).max(axis=0)
    assert most[0] > 0.5
    assert 0.1 < most[1] < np.radians(7.5) + 0.1
    assert model(body.format('spring_stiff="0 5"')).bodies[0].limits is None


def test_bodies_without_mass_are_composed(model: Callable[..., World]) -> None:
    """A hinge about x, a body with arrows alone, a hinge about y: the saddle joint of two axes on one body."""
    geom = '<geom type="box" mass="2" dim="0.2 0.3 0.4" pos="0.1 0 -0.3"/>'
    arrows = '<geom type="xyz" dim="0.1"/>'
    composed = model(f'<body name="a" joint="ry" damping="0.1">{arrows}<body name="b" joint="rz">{geom}</body></body>')
    saddle = model(f'<body name="s" joint="saddle" damping="0.1 0">{geom}</body>')
    runs = Simulation(composed), Simulation(saddle)
    for run in runs:
        run.run(0.5)
    found = [runs[0].joints[name].position[0] for name in ("a", "b")]
    np.testing.assert_allclose(found, runs[1].joints["s"].position, atol=1e-9)


@pytest.mark.parametrize("joint", ["rx", "px"])
def test_a_body_without_mass_that_nothing_moves_as_it_should_is_refused(
    model: Callable[..., World], joint: str
) -> None:
    """Two hinges about one axis, or slides along one, with no mass between them; armature is no mass of the parts."""
    geom = '<geom type="sphere" mass="2" dim="0.2"/>'
    twice = f'<body name="a" joint="{joint}"><body name="b" joint="{joint}">{geom}</body></body>'
    world = replace(model(twice), physics=Physics(contact=False))
    with pytest.raises(WorldError, match=r"a.name: it has no mass, and nothing that it carries defines"):
        Simulation(world)


_AXIS = st.tuples(*[st.floats(-1.0, 1.0)] * 3).filter(lambda axis: np.linalg.norm(axis) > 0.1)


@given(
    joint=st.sampled_from(["hinge", "slide", "rr", "rr_imp", "rsaddle", "cylindrical"]),
    axes=st.tuples(_AXIS, _AXIS).filter(lambda pair: np.linalg.norm(np.cross(*pair)) > 0.1),
    drawn=st.booleans(),
    at=_AXIS,
)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_axes_are_written_on_turned_bodies(
    write: Callable[..., Path], joint: str, axes: tuple[Any, Any], drawn: bool, at: tuple[float, float, float]
) -> None:
    """What is read again moves as the world did: its springs swing about the same axes, where MuJoCo has them."""
    one, other = (np.array(axis) / np.linalg.norm(axis) for axis in axes)
    if joint == "rr_imp":
        other = np.cross(one, other) / np.linalg.norm(np.cross(one, other))
    type_ = JOINTS[joint]
    body = Body(
        "a",
        "world",
        joint,
        np.array([*at, 0.5, 0.5, 0.5, 0.5]),
        np.array([one, other][: type_.open_axes]),
        (Geometry("box", np.array([0.2, 0.3, 0.4]), 2.0, np.array([0.1, 0, -0.3, 0, 0, 0, 1])),),
        damping=np.array([0.3, 0.2][: type_.qd_size]),
        spring_stiff=np.array([5.0, 4.0][: type_.qd_size]),
        spring_zero=np.array([0.5, -0.4][: type_.q_size]),
        anchor=np.array(at[::-1]),
        draws_axes=drawn and type_.draw is not None,
    )
    physics = Physics(1_000_000, "euler", np.array([0, 0, -9.81]), contact=False, armature=1e-6)
    world = World("m", "world", time=TimeGrid(step_ns=1_000_000), physics=physics, bodies=(body,))
    again = load(write(to_x_xy(world), "again.xml"))
    runs = Simulation(world), Simulation(again)
    for run in runs:
        run.run(0.3)
    there, found = (run.frames.lookup(run.snapshot().poses, "world", "a") for run in runs)
    np.testing.assert_allclose(found, there, atol=1e-8)
    assert np.abs(there - body.pose).max() > 1e-3


def test_drawn_axes_keep_their_joint_when_they_are_written(write: Callable[..., Path]) -> None:
    """Axes of another seed are those that reading draws, turned; their small rotation keeps its limits."""
    bodies = "".join(f'<body name="{name}" joint="{joint}"/>' for name, joint in zip("abc", DRAWN, strict=True))
    world = load(write(_around(bodies), "m.xml"))
    assert load(write(to_x_xy(world), "again.xml")).bodies == world.bodies
    other = randomised(world, 3)
    text = to_x_xy(other)
    assert text.count('"rr') == 2
    assert text.count('"rx"') == 2  # one for each axis of rsaddle, whose angle is another
    again = load(write(text, "again.xml"))
    limits = {body.joint: body.limits for body in again.bodies}
    np.testing.assert_array_equal(limits["rr_imp"], world.bodies[1].limits)


def test_limits_of_an_axis_that_files_do_not_draw_are_named() -> None:
    skew = np.array([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0]])
    limits = np.array([[-np.inf, np.inf], [-IMPERFECTION, IMPERFECTION]])
    body = Body("b", "map", "rr_imp", axes=skew, limits=limits, draws_axes=True)
    with pytest.raises(ValueError, match="x_xy cannot express b: limits"):
        to_x_xy(World("w", physics=Physics(contact=False), bodies=(body,)))


def test_attributes_without_effect_are_reported(write: Callable[..., Path]) -> None:
    text = _around('\n<geom type="xyz" mass="2"/>', defaults='<defaults><body damping="1"/></defaults>')
    with pytest.warns(WorldWarning) as caught:
        load(write(text, "m.xml"))
    assert [str(each.message) for each in caught] == [
        "m.xml:1:33: body.damping: has no effect here",
        "m.xml:2:18: geom.mass: has no effect here",
    ]
