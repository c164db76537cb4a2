"""Adaptive connectors: where they end up, what they hold in motion, and how files give them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from sim_node.assembly import assemble, assembly_of
from sim_node.simulation import Simulation
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import World, WorldError, loads
from sim_node.world.writers.yaml import to_yaml

# A ball that is placed beside its pivot: a pendulum, whose axis is the world's Y.
PENDULUM = """
world: w
physics: {integrator: rk4, timestep: 0.001}
time: {step: 0.01}
systems:
  - name: s
    connectors: {pivot: {position: [0.3, 0, 2], main_axis: [0, 1, 0]}}
    bodies:
      - {name: bob, pose: {position: [-0.1, 0, 1.7]}, geometry: [{sphere: 0.1}], connectors: {eye: {adaptive: true}}}
    mates: [{name: pin, hinge: [pivot, bob/eye]}]
"""


def test_a_body_swings_about_where_its_connector_adapted_to() -> None:
    """A compound pendulum keeps m g z + 1/2 (I + m L^2) w^2, and L from its pivot."""
    run = Simulation(loads(PENDULUM))
    arm, pivot = math.hypot(0.4, 0.3), np.array([0.3, 0.0, 2.0])
    inertia = 0.4 * 0.1**2 + arm**2  # per kg
    for _ in range(50):
        run.step(1)
        bob = run.bodies["s/bob"]
        assert np.linalg.norm(bob.pose[:3] - pivot) == pytest.approx(arm, abs=1e-9)
        assert 0.5 * inertia * bob.twist[4] ** 2 == pytest.approx(9.81 * (1.7 - bob.pose[2]), abs=1e-6)
    assert run.bodies["s/bob"].pose[2] < 1.6


def posed(values: list[float]) -> FloatArray:
    return np.array([*values[:3], *Rotation.from_rotvec(values[3:]).as_quat()])


POSES = st.lists(st.floats(-2.0, 2.0), min_size=6, max_size=6).map(posed)


def matrix(pose: FloatArray) -> FloatArray:
    found = np.eye(4)
    found[:3, :3], found[:3, 3] = Rotation.from_quat(pose[3:]).as_matrix(), pose[:3]
    return found


@settings(deadline=None, max_examples=30)
@given(body=POSES, angle=st.floats(-3.0, 3.0), second=st.booleans())
def test_the_connectors_are_at_the_mates_initial_value(body: FloatArray, angle: float, second: bool) -> None:
    text = PENDULUM.replace(
        "{position: [-0.1, 0, 1.7]}", f"{{position: {body[:3].tolist()}, quaternion: {body[3:].tolist()}}}"
    )
    ends = "[pivot, bob/eye]" if second else "[bob/eye, pivot]"
    world = loads(text.replace("[pivot, bob/eye]", f"{ends}, angle: {angle}"))
    table = assembly_of(world).table
    connector = dict(zip(table.connector_names, table.connectors, strict=True))
    pivot = matrix(connector["s/pivot"])
    assert pivot[:3, 3] == pytest.approx([0.3, 0, 2])
    turned = np.eye(4)
    turned[:3, :3] = Rotation.from_euler("z", angle if second else -angle).as_matrix()
    assert matrix(body) @ matrix(connector["s/bob/eye"]) == pytest.approx(pivot @ turned, abs=1e-12)


def test_it_closes_a_loop_that_takes_the_freedom_of_the_others() -> None:
    """A door on a hinge, and a ball joint beside its axis: nothing moves. Without the ball joint, the door does."""
    text = """
world: w
systems:
  - name: s
    connectors: {frame: {position: [0, 0, 1]}, wall: {position: [0.3, 0.4, 1.5]}}
    bodies:
      - name: door
        geometry: [{box: [1, 0.1, 1], pose: {position: [0.5, 0, 0]}}]
        connectors: {edge: {}, stay: {adaptive: true}}
    mates:
      - {name: stays, ball: [door/stay, wall]}
      - {name: hangs, hinge: [frame, door/edge], angle: 0.7}
"""
    assembly = assembly_of(loads(text))
    assert assembly.degrees_of_freedom == 0
    assert not assembly.conflicts
    found = assembly.table.connectors[assembly.table.connector_names.index("s/door/stay")]
    wall = Rotation.from_euler("z", -0.7).apply(np.array([0.3, 0.4, 1.5]) - [0, 0, 1])
    assert found[:3] == pytest.approx(wall, abs=1e-12)
    free = assembly_of(loads(text.replace("      - {name: stays, ball: [door/stay, wall]}\n", "")))
    assert free.degrees_of_freedom == 1


def test_a_body_that_nothing_else_places_is_still_reported() -> None:
    assembly = assembly_of(loads(PENDULUM.replace("pose: {position: [-0.1, 0, 1.7]}, ", "")))
    assert [assembly.table.names[row] for row in assembly.undefined] == ["s/bob"]


ROPE = """
world: w
physics: {integrator: INTEGRATOR, timestep: 0.002, gravity: [0, 0, 0]}
time: {step: 0.02}
systems:
  - name: s
    connectors: {top: {position: [0, 0, 2]}}
    bodies: [{name: load, pose: {position: [0, 0.3, 1.6]}, geometry: [{sphere: 0.1}], connectors: {eye: {}}}]
    mates: [{name: rope, distance: [top, load/eye], length: 0.5, target: 1.5}]
"""


@pytest.mark.parametrize("integrator", ["rk4", "implicitfast", "euler"])
def test_a_distance_takes_its_target_exponentially(integrator: str) -> None:
    """d = 1.5 - 1.0 exp(-t / T) along the rope's first direction, T = 1/30 s; timesteps of 2 ms are 6 % of T."""
    run = Simulation(loads(ROPE.replace("INTEGRATOR", integrator)))
    top = np.array([0, 0, 2.0])
    for tick in range(1, 30):
        run.step(1)
        rope = run.bodies["s/load"].pose[:3] - top
        assert np.linalg.norm(rope) == pytest.approx(1.5 - math.exp(-0.02 * tick * 30.0), abs=0.03)
        assert rope / np.linalg.norm(rope) == pytest.approx([0, 0.6, -0.8], abs=1e-6)
    run.step(50)
    rope = run.bodies["s/load"].pose[:3] - top
    assert np.linalg.norm(rope) == pytest.approx(1.5, abs=1e-6)


def test_a_world_is_written_with_both() -> None:
    for text in (PENDULUM, ROPE.replace("INTEGRATOR", "rk4")):
        world = loads(text)
        assert loads(to_yaml(world)) == world
    assert isinstance(assemble(loads(PENDULUM)), World)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("hinge: [top, load/eye], target: 1", "target: a hinge mate has no target; an actuator can move it"),
        ("distance: [top, load/eye], target: -1", "target: -1 is out of range"),
        ("distance: [top, load/eye], distance: 1", "distance"),
        ("hinge: [top, load/eye], length: 1", "length: a hinge mate has no length; it has angle"),
    ],
)
def test_what_a_mate_cannot_take_is_refused(line: str, message: str) -> None:
    text = ROPE.replace("INTEGRATOR", "rk4").replace("distance: [top, load/eye], length: 0.5, target: 1.5", line)
    with pytest.raises(WorldError, match=message):
        loads(text)
