"""Changes of worlds as pure functions: what they add, what they remove, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sim_node import World, WorldError, load, loads
from sim_node.assembly import assemble
from sim_node.simulation.changes import attached, detached, placed, with_include, with_part, with_world
from sim_node.simulation.removal import without
from sim_node.world import Body, Drag
from sim_node.world.checks import entries_of
from sim_node.world.layout import lay_out
from sim_node.world.model import Sensor, StaticFrame
from sim_node.world.scene import Ground

YARD = """
world: yard
fixed_frame: map
bodies:
  - {name: cart, joint: px, geometry: [{box: [1, 1, 1], mass: 2}]}
  - {name: cart/arm, parent: cart, joint: {type: hinge, axis: [0, 1, 0]}, geometry: [{box: [1, 0.1, 0.1], mass: 1}]}
  - name: follower
    joint: {type: hinge, axis: [0, 1, 0], mimic: {joint: cart/arm}}
    pose: {position: [0, 5, 0]}
    geometry: [{box: [1, 0.1, 0.1], mass: 1}]
  - {name: crate, joint: free, pose: {position: [0, 0, 3]}, geometry: [{box: [1, 1, 1], mass: 3}]}
  - {name: shelf, pose: {position: [4, 0, 1]}, geometry: [{box: [1, 1, 1], mass: 3}]}
frames:
  - {name: cart/arm/tip, parent: cart/arm, pose: {position: [1, 0, 0]}}
sensors:
  - {name: cart/arm/IMU, parent: cart/arm/tip, type: imu}
forces:
  - {type: drag, body: cart/arm, linear: [1, 1, 1]}
  - {type: drag, body: crate, linear: [1, 1, 1]}
actuators:
  - {joint: cart/arm, stiffness: 10, damping: 1, force: 10}
  - {joint: cart, type: effort}
joint_commands:
  - {name: cart, joints: [cart, cart/arm]}
"""
MJCF = """
<mujoco model="robot"><worldbody><body name="base" pos="0 0 1"><freejoint/><geom size=".1"/>
<body name="leg"><joint name="hip" axis="0 1 0"/><geom size=".1" pos="0 0 -.3"/></body></body></worldbody></mujoco>
"""
URDF = """
<robot name="lamp"><link name="foot"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
iyz="0"/></inertial></link></robot>
"""


@pytest.fixture(scope="module")
def yard() -> World:
    return loads(YARD)


def frames(world: World) -> set[str]:
    return {entry.name for entry in entries_of(world)}


def test_parts_of_any_kind_are_added(yard: World) -> None:
    ball = Body("ball", "", "free", geometry=yard.bodies[3].geometry)
    world = with_part(yard, ball, StaticFrame("ball/mark", "", np.eye(7)[6]), Drag("ball", np.ones(3)), Ground())
    assert world.bodies == (*yard.bodies, world.bodies[-1])
    # The default parents: the fixed frame, and the frame whose name contains its own.
    assert {entry.name: entry.parent for entry in entries_of(world)}["ball/mark"] == "ball"
    assert world.bodies[-1].parent == "map"
    assert len(world.forces) == 3
    assert lay_out(world).frames.index("ball/mark") > lay_out(world).frames.index("ball")
    with pytest.raises(WorldError, match="has a ground already"):
        with_part(world, Ground())
    with pytest.raises(TypeError, match="not a part of a world"):
        with_part(yard, "crate")


def test_a_part_has_a_new_name_and_a_parent_that_exists(yard: World) -> None:
    with pytest.raises(WorldError, match="a second frame 'crate'"):
        with_part(yard, StaticFrame("crate", "map", np.eye(7)[6]))
    with pytest.raises(WorldError, match="'krate' is not a frame of this world; did you mean crate"):
        with_part(yard, StaticFrame("mark", "krate", np.eye(7)[6]))


def test_files_of_every_format_are_included_under_a_prefix(yard: World, tmp_path: Path) -> None:
    for name, text in (("robot.xml", MJCF), ("lamp.urdf", URDF), ("yard.yaml", YARD)):
        tmp_path.joinpath(name).write_text(text)
    world = with_include(yard, tmp_path / "robot.xml", "r1", (1, 2, 3), parent="cart/arm/tip", start={"free": False})
    assert {"r1/base", "r1/leg"} <= frames(world) - frames(yard)
    world = with_include(world, tmp_path / "robot.xml", "r2", (1, 2, 3, 0, 0, 0, 1), start={"q": {"hip": 0.5}})
    layout = lay_out(world)
    assert layout.frames.lookup(layout.poses, "map", "r2/base")[:3] == pytest.approx([1, 2, 4])
    world = with_include(world, tmp_path / "lamp.urdf", "lamp", start={"free": True})
    assert any(model.floats() and model.prefix == "lamp" for model in world.models)
    world = with_include(world, tmp_path / "yard.yaml", "other", (0, 9, 0))
    assert len(world.bodies) == 2 * len(yard.bodies)
    assert tmp_path / "lamp.urdf" in world.files
    # Everything of an include is in its namespace: it is removed by its prefix.
    for prefix in ("r1", "r2", "lamp", "other"):
        world = without(world, prefix)
    assert frames(world) == frames(yard)
    assert dict(world.parts) == dict(yard.parts)


@pytest.mark.parametrize(
    ("file", "arguments", "message"),
    [
        ("no_such_world", {}, "no_such_world"),
        ("robot.py", {}, "would run as a program"),
        ("robot.xml", {"prefix": "a b"}, "may have no white space"),
        ("robot.xml", {"pose": (0, 0)}, r"7 numbers .* are needed, found shape \(2,\)"),
        ("yard.yaml", {"pose": (0, 0, 1)}, "a pose needs a prefix"),
        ("robot.xml", {"prefix": "r", "parent": "cartt"}, "'cartt' is not a frame of this world; did you mean cart"),
        ("robot.xml", {"prefix": "r", "start": {"q": {"knee": 1}}}, "unknown key"),
        ("robot.xml", {"prefix": "cart", "start": {"free": "perhaps"}}, "perhaps"),
    ],
)
def test_what_cannot_be_included_is_refused(
    yard: World, tmp_path: Path, file: str, arguments: dict[str, object], message: str
) -> None:
    tmp_path.joinpath("robot.xml").write_text(MJCF)
    tmp_path.joinpath("yard.yaml").write_text(YARD)
    tmp_path.joinpath("robot.py").write_text("raise SystemExit(1)")
    path = tmp_path / file if "." in file else file
    with pytest.raises(WorldError, match=message):
        with_include(yard, path, **arguments)  # type: ignore[arg-type]


def test_what_hangs_on_a_removed_body_goes_with_it(yard: World) -> None:
    world = without(yard, "cart/arm")
    assert frames(yard) - frames(world) == {"cart/arm", "cart/arm/tip", "cart/arm/IMU"}
    assert [force.body for force in world.forces] == ["crate"]
    assert [actuator.joint for actuator in world.actuators] == ["cart"]
    assert [group.joints for group in world.joint_commands] == [("cart",)]
    # What followed its joint is free to move; the rest is the same objects.
    assert [body.mimic for body in world.bodies] == [None, None, None, None]
    assert world.bodies[0] is yard.bodies[0]
    assert without(world, "cart").joint_commands == ()
    assert frames(without(yard, "cart")) == {"map", "follower", "follower/joint", "crate", "crate/joint", "shelf"}


def test_vehicles_and_loop_closures_are_removed_by_their_names() -> None:
    quadrotor = load("quadrotor")
    world = without(quadrotor, quadrotor.vehicles[0].name)
    assert (world.vehicles, world.sensors) == ((), ())
    assert "drone/base_link" not in frames(world)
    bar = assemble(load("four_bar"))
    (closure,) = bar.loop_closures
    assert without(bar, closure.name).bodies == bar.bodies
    assert without(bar, "linkage/rocker").loop_closures == ()


def test_models_are_removed_as_a_whole(yard: World) -> None:
    world = with_world(yard, loads(MJCF, ".xml"), "robot", (0, 0, 1))
    with pytest.raises(WorldError, match="robot/leg: is a part of the model 'robot', which is removed as a whole"):
        without(world, "robot/leg")
    assert without(world, "robot").models == ()


@pytest.mark.parametrize(
    ("name", "message"),
    [("map", "is the fixed frame"), ("cart/amr", "nothing of this name; did you mean cart/arm"), ("", "nothing of")],
)
def test_what_cannot_be_removed_is_refused(yard: World, name: str, message: str) -> None:
    with pytest.raises(WorldError, match=message):
        without(yard, name)


def test_bodies_are_attached_where_they_are_and_detached_again(yard: World) -> None:
    held = attached(yard, "crate", "cart/arm/tip")
    layout = lay_out(held)
    assert layout.frames.lookup(layout.poses, "map", "crate")[:3] == pytest.approx([0, 0, 3])
    assert held.bodies[3].joint == "frozen"
    assert held.bodies[3].geometry is yard.bodies[3].geometry
    beside = attached(held, "crate", "shelf", (0, 0, 1))
    layout = lay_out(beside)
    assert layout.frames.lookup(layout.poses, "map", "crate")[:3] == pytest.approx([4, 0, 2])
    free = detached(beside, "crate")
    assert free.bodies[3].joint == "free"
    assert free.bodies[3].start()[:3] == pytest.approx([4, 0, 2])
    moved = placed(yard, "shelf", (1, 2, 3))
    assert moved.bodies[4].pose.tolist() == [1, 2, 3, 0, 0, 0, 1]
    assert placed(yard, "cart/arm/IMU", (1, 2, 3)).of(Sensor)[0].pose.tolist() == [1, 2, 3, 0, 0, 0, 1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda w: attached(w, "crte", "cart"), "no body of this name; did you mean crate"),
        (lambda w: attached(w, "crate", "crte"), "no frame of this name; did you mean crate"),
        (lambda w: attached(w, "cart/arm", "crate"), "is on a hinge joint"),
        (lambda w: attached(w, "crate", "crate"), "which hangs on it"),
        (lambda w: detached(w, "crate"), "is on a free joint"),
        (lambda w: detached(w, "cart/arm/tip"), "no body of this name"),
        (lambda w: placed(w, "cart", (0, 0, 0)), "is not placed freely"),
        (lambda w: placed(w, "shlf", (0, 0, 0)), "no frame of this name; did you mean shelf"),
        (lambda w: placed(w, "shelf", "here"), "7 numbers are needed, found 'here'"),
    ],
)
def test_what_cannot_be_attached_or_placed_is_refused(
    yard: World, change: Callable[[World], World], message: str
) -> None:
    with pytest.raises(WorldError, match=message):
        change(yard)


def test_links_of_models_and_bodies_without_mass_are_refused(yard: World) -> None:
    world = with_world(yard, loads(MJCF, ".xml"), "robot", (0, 0, 1))
    with pytest.raises(WorldError, match="is a link of a model"):
        attached(world, "robot/base", "cart")
    sign = with_part(world, Body("sign", "map"))
    with pytest.raises(WorldError, match="has no mass"):
        detached(sign, "sign")
    assert attached(world, "crate", "robot/leg").bodies[3].parent == "robot/leg"
