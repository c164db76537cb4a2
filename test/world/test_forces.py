# ruff: noqa: E501  a message of a table stands on its line
"""The `forces` of world files: what they say, and what is told where they say it wrongly."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sim_node.world import World, WorldError, lay_out
from sim_node.world.forces import Buoyancy, ConstantForce, Drag, Gusts, Wind

BALL = "bodies: [{name: ball, joint: free, geometry: [{sphere: 0.1, mass: 1}]}]\n"


def test_every_key_of_every_force(read: Callable[..., World]) -> None:
    world = read("""\
        bodies: [{name: ball, joint: free, geometry: [{sphere: 0.1, mass: 1}]}]
        forces:
          - type: constant
            body: ball
            force: [1, 2, 3]
            torque: [4, 5, 6]
            point: [0, 0, 0.1]
            axes: body
            from: 1.5
            until: 2.000000001
          - {type: drag, body: ball, linear: 0.5, quadratic: [1, 2, 3], angular_linear: 4, angular_quadratic: [0, 0, 5],
             center: [0.1, 0, 0]}
          - {type: buoyancy, body: ball, volume: 0.2, height: 0.5, density: 1025, surface: -1, center: [0, 0, 1],
             shape: sphere}
          - type: wind
            velocity: [3, 4, 0]
            exponent: 0.2
            reference_height: 6
            gusts: {intensity: [2, 1, 0.5], scale_length: 50, speed: 12}
        """)
    assert world.forces == (
        ConstantForce(
            "ball",
            np.array([1, 2, 3]),
            np.array([4, 5, 6]),
            np.array([0, 0, 0.1]),
            "body",
            1_500_000_000,
            2_000_000_001,
        ),
        Drag(
            "ball",
            np.array([0.5] * 3),
            np.array([1, 2, 3]),
            np.array([4] * 3),
            np.array([0, 0, 5]),
            np.array([0.1, 0, 0]),
        ),
        Buoyancy("ball", 0.2, 0.5, 1025, -1, np.array([0, 0, 1]), "sphere"),
    )
    assert world.wind == Wind(np.array([3, 4, 0]), 0.2, 6, Gusts(np.array([2, 1, 0.5]), np.array([50] * 3), 12))
    lay_out(world)


def test_what_is_left_out_has_defaults(read: Callable[..., World]) -> None:
    world = read(
        BALL
        + """\
forces:
  - {type: constant, body: ball, torque: [0, 0, 1]}
  - {type: buoyancy, body: ball, volume: 1, height: 1}
  - {type: wind, velocity: [3, 4, 0], gusts: {intensity: 1, scale_length: 10}}
"""
    )
    torque, lift = world.forces
    assert torque == ConstantForce("ball", torque=np.array([0, 0, 1]))
    assert lift == Buoyancy("ball", 1, 1)
    assert isinstance(lift, Buoyancy)
    assert (lift.density, lift.surface, lift.shape) == (1000.0, 0.0, "box")
    assert world.wind is not None
    assert world.wind.gusts is not None
    assert world.wind.gusts.speed == 5.0, "gusts are carried by the mean wind"
    assert (world.wind.exponent, world.wind.reference_height) == (0.0, 10.0)
    assert read(BALL).forces == ()
    assert read(BALL).wind is None


def test_forces_of_an_included_world_go_with_its_bodies_and_its_wind_does_not(
    write: Callable[..., Path], read: Callable[..., World]
) -> None:
    write(BALL + "forces: [{type: drag, body: ball, linear: 1}, {type: wind, velocity: [1, 0, 0]}]", "part.yaml")
    world = read("include: [{file: part.yaml, prefix: a}, {file: part.yaml, prefix: b}]")
    assert [force.body for force in world.forces] == ["a/ball", "b/ball"]
    assert world.wind is None
    lay_out(world)


FAULTS = [
    ("forces: 1", "w.yaml:1:9: forces: a list is needed, found '1'"),
    ("forces: [drag]", "w.yaml:1:10: forces[0]: a mapping with a type is needed (constant, drag, buoyancy, wind, gravity, lift_drag, stability_derivatives, hydrodynamics, thruster, bladder, waypoints, directional_friction, wheel_slip), found 'drag'"),
    ("forces: [{body: a}]", "w.yaml:1:10: forces[0]: a mapping with a type is needed (constant, drag, buoyancy, wind, gravity, lift_drag, stability_derivatives, hydrodynamics, thruster, bladder, waypoints, directional_friction, wheel_slip), found a mapping"),
    ("forces: [{type: wnd}]", "w.yaml:1:17: forces[0].type: found 'wnd'; allowed: constant, drag, buoyancy, wind, gravity, lift_drag, stability_derivatives, hydrodynamics, thruster, bladder, waypoints, directional_friction, wheel_slip; did you mean wind?"),
    ("forces: [{type: drag, body: a}]", "w.yaml:1:10: forces[0]: a coefficient is needed: linear, quadratic,"),
    ("forces: [{type: drag, linear: 1}]", "w.yaml:1:10: forces[0]: body is missing"),
    ("forces: [{type: drag, body: a, linear: -1}]", "w.yaml:1:40: forces[0].linear: -1 is out of range; allowed: 0 to 1e+12"),
    ("forces: [{type: drag, body: a, linear: [1, 2]}]", "w.yaml:1:40: forces[0].linear: a number or a list of 3 is needed, found a list of 2"),
    ("forces: [{type: drag, body: a, linear: [1, x, 3]}]", "w.yaml:1:44: forces[0].linear[1]: a number is needed, found 'x'"),
    ("forces: [{type: drag, body: a, liner: 1, linear: 1}]", "w.yaml:1:32: forces[0].liner: unknown key; did you mean linear?"),
    ("forces: [{type: constant, body: a}]", "w.yaml:1:10: forces[0]: a force or a torque is needed"),
    ("forces: [{type: constant, body: a, force: 3}]", "w.yaml:1:43: forces[0].force: a list of 3 numbers is needed, found '3'"),
    ("forces: [{type: constant, body: a, force: [1, 2, 3], axes: bdy}]", "w.yaml:1:60: forces[0].axes: found 'bdy'; allowed: fixed, body; did you mean body?"),
    ("forces: [{type: constant, body: a, force: [1, 2, 3], from: 2, until: 1}]", "w.yaml:1:70: forces[0].until: 1 s is not after from, 2 s"),
    ("forces: [{type: buoyancy, body: a, height: 1}]", "w.yaml:1:10: forces[0]: volume is missing"),
    ("forces: [{type: buoyancy, body: a, volume: 1, height: 0}]", "w.yaml:1:55: forces[0].height: 0 is out of range; allowed: above 0, up to"),
    ("forces: [{type: wind}, {type: wind}]", "w.yaml:1:24: forces[1]: a second wind, the first is at w.yaml:1:10"),
    ("forces: [{type: wind, gusts: {intensity: 1, scale_length: 10}}]", "w.yaml:1:30: forces[0].gusts: without a mean wind, give the speed at which the vehicle meets the gusts"),
    ("forces: [{type: wind, velocity: [1, 0, 0], gusts: {intensity: 1}}]", "w.yaml:1:51: forces[0].gusts: scale_length is missing"),
    ("forces: [{type: wind, velocity: [1, 0, 2000]}]", "w.yaml:1:40: forces[0].velocity[2]: 2000 is out of range; allowed: -1000 to 1000"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line"), FAULTS, ids=[text[:70] for text, _ in FAULTS])
def test_a_fault_is_reported_at_its_place(faults: Callable[..., list[str]], text: str, line: str) -> None:
    assert faults(text)[0].startswith(line)
    assert len(faults(text)) == 1


def test_a_body_that_is_not_there_is_reported_where_it_is_named(read: Callable[..., World]) -> None:
    world = read(BALL + "forces: [{type: drag, body: bal, linear: 1}]")
    with pytest.raises(WorldError) as error:
        lay_out(world)
    assert error.value.lines() == ["w.yaml:2:29: forces[0].body: no body 'bal'; did you mean ball?"]


def test_a_fault_that_only_the_layout_shows_is_reported_at_the_force() -> None:
    world = World("w", forces=(Drag("ball", np.full(3, np.inf)),))
    with pytest.raises(WorldError) as error:
        lay_out(world)
    assert error.value.lines()[0] == "forces: no body 'ball'"
    assert error.value.lines()[1].startswith("forces: ball.linear: [inf, inf, inf] is out of range")
