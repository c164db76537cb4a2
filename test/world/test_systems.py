# ruff: noqa: E501  a message of a table stands on its line
"""Systems in world files, key by key, and every fault at its place."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sim_node.assembly import assemble
from sim_node.world import (
    Attachment,
    ContactGeometry,
    Geometry,
    Mate,
    MateConnector,
    RedirectedMateConnector,
    RigidBody,
    System,
    World,
    load,
)
from sim_node.world.mates import connector_poses

EVERYTHING = """\
world: plant
frames:
  - {name: base}
  - {name: eye, mate: {hinge: base/arm/top, angle: 0.5, connector: {position: [0, 0, 1]}}}
systems:
  - name: base/arm
    connectors: {top: {position: [0, 0, 1]}, on: {main_axis: [1, 0, 0], normal: [0, 1, 0], body: link}}
    geometry: [{box: [1, 1, 1], mass: 3}]
    bodies:
      - name: link
        pose: {position: [1, 2, 3]}
        geometry: [{sphere: 0.1, density: 2700}]
        connectors: {a: {}}
        mass: 2
        center: [0, 0, 0.1]
        inertia: [1, 2, 2.5]
        velocity: [1, 0, 0]
        spin: [0, 0, 2]
      - {name: foot, static: true}
    systems:
      - {name: inner, pose: {position: [0, 0, 1]}}
    mates:
      - {name: turn, cylindrical: [top, link/a], angle: 0.3, near: [0, 1], speed: [0.1, 0.2], damping: 0.5}
      - {lock: [on, link/a], enabled: false, snap: false}
"""


def test_every_key(read: Callable[..., World]) -> None:
    world = read(EVERYTHING)
    (system,) = world.systems
    link = RigidBody(
        "link",
        np.array([1, 2, 3, 0, 0, 0, 1]),
        (ContactGeometry("geometry_0", Geometry("sphere", np.array([0.1]), 2700.0 * (4.0 / 3.0 * math.pi * 0.1**3))),),
        (MateConnector("a"),),
        mass=2.0,
        centre=np.array([0, 0, 0.1]),
        inertia=np.diag([1, 2, 2.5]),
        speed=np.array([1, 0, 0, 0, 0, 2]),
    )
    turn = Mate("turn", "cylindrical", ("top", "link/a"), (None, 0.3), (0.0, 1.0), (0.1, 0.2), 0.5)
    off = Mate("mates[1]", "lock", ("on", "link/a"), enabled=False, snap=False)
    assert system == System(
        "base/arm",
        systems=(System("inner", np.array([0, 0, 1, 0, 0, 0, 1])),),
        bodies=(link, RigidBody("foot", static=True)),
        geometries=(ContactGeometry("geometry_0", Geometry("box", np.array([1, 1, 1]), 3.0)),),
        connectors=(
            MateConnector("top", np.array([0, 0, 1])),
            RedirectedMateConnector("on", main_axis=np.array([1, 0, 0]), normal=np.array([0, 1, 0]), body="link"),
        ),
        mates=(turn, off),
        parent="base",
    )
    assert world.attachments == (
        Attachment(
            "eye",
            MateConnector("connector", np.array([0, 0, 1])),
            Mate("mate", "hinge", ("base/arm/top", "eye/connector"), (0.5,)),
        ),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("systems: [{}]", "1:11: systems[0]: name is missing"),
        (
            "systems: [{name: a, pode: 1}]",
            "1:21: systems[0].pode: unknown key; did you mean pose? (known: name, pose, systems, bodies, geometry, connectors, mates, parent, tolerance)",
        ),
        (
            "systems: [{name: a, bodies: [{name: b/c}]}]",
            "1:30: systems[0].bodies[0]: the name 'b/c' has a slash, which is not allowed in a system",
        ),
        (
            "systems: [{name: a, bodies: [{name: b}, {name: b}]}]",
            "1:41: systems[0].bodies[1]: a second 'b' in one system, the first is at w.yaml:1:30",
        ),
        (
            "systems: [{name: a, bodies: [{name: b}, {name: c}], mates: [{name: m, lock: [b, c]}, {name: m, lock: [b, c]}]}]",
            "1:86: systems[0].mates[1]: a second 'm' in one system, the first is at w.yaml:1:61",
        ),
        (
            "systems: [{name: a, connectors: {c: {main_axis: [0, 0, 0]}}}]",
            "1:49: systems[0].connectors.c.main_axis: main_axis [0.0, 0.0, 0.0] has no direction",
        ),
        (
            "systems: [{name: a, connectors: {c: {normal: [0, 0, 2]}}}]",
            "1:46: systems[0].connectors.c.normal: normal [0.0, 0.0, 2.0] is parallel to main_axis [0.0, 0.0, 1.0]; give a direction across it, or none",
        ),
        (
            "systems: [{name: a, connectors: [c]}]",
            "1:33: systems[0].connectors: a mapping by name is needed, found a list of 1",
        ),
        (
            "systems: [{name: a, mates: [{hinge: [b, c], displacement: 1}]}]",
            "1:59: systems[0].mates[0].displacement: a hinge mate has no displacement; it has angle",
        ),
        (
            "systems: [{name: a, mates: [{hinge: [b]}]}]",
            "1:37: systems[0].mates[0].hinge: two connectors are needed, found a list of 1",
        ),
        (
            "systems: [{name: a, mates: [{angle: 1}]}]",
            "1:29: systems[0].mates[0]: one mate is needed (lock, hinge, prismatic, cylindrical, ball, planar, distance), found none",
        ),
        (
            "systems: [{name: a, bodies: [{name: b, geometry: [{sphere: 1, mass: 1, density: 2}]}]}]",
            "1:81: systems[0].bodies[0].geometry[0].density: cannot be combined with mass; give one of them",
        ),
        (
            "frames: [{name: f, pose: {}, mate: {lock: a}}]",
            "1:36: frames[0].mate: cannot be combined with pose; give one of them",
        ),
        ("systems: [{name: a}, {name: a}]", "1:22: systems[1]: a second frame 'a', the first is at w.yaml:1:11"),
        ("systems: [{name: a, parent: b}]", "1:29: systems[0].parent: 'b' is not a frame of this world"),
    ],
)
def test_faults_are_reported_where_they_are(faults: Callable[..., list[str]], text: str, message: str) -> None:
    assert faults(text) == [f"w.yaml:{message}"]


def test_an_included_system_goes_under_the_prefix(write: Callable[..., Path]) -> None:
    write(EVERYTHING, "part.yaml")
    world = load(write("include: [{file: part.yaml, prefix: left}]\n"))
    assert [system.name for system in world.systems] == ["left/base/arm"]
    assert world.systems[0].parent == "left/base"
    (attachment,) = world.attachments
    assert (attachment.frame, attachment.mate.connectors) == ("left/eye", ("left/base/arm/top", "left/eye/connector"))
    text = EVERYTHING.replace("      - {name: turn", "      # - {name: turn")
    write(text, "part.yaml")
    frames = {frame.name: frame for frame in assemble(load("w.yaml")).frames}
    np.testing.assert_allclose(frames["left/eye"].pose[:3], 0, atol=1e-15)


@pytest.mark.parametrize("length", [5e-324, 1e-200, 1e200])
def test_axes_of_any_length_are_directions(length: float) -> None:
    main_axis, normal = np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0])
    unit = MateConnector("unit", main_axis=main_axis, normal=normal)
    other = MateConnector("other", main_axis=length * main_axis, normal=length * normal)
    expected, found = connector_poses([unit, other])
    # From x to z and from z to y: a third of a turn about [1, 1, 1], backwards.
    np.testing.assert_allclose(np.abs(expected[3:]), 0.5, atol=1e-15)
    np.testing.assert_array_equal(found, expected)
