"""Contact materials against springs, dampers and Coulomb's law."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sim_node.simulation import Simulation
from sim_node.world import (
    Body,
    ContactMaterial,
    Geometry,
    Ground,
    Physics,
    Surface,
    TimeGrid,
    World,
    WorldError,
    lay_out,
    loads,
)
from sim_node.world.writers.yaml import to_yaml

G = 9.81
INTEGRATORS = ("rk4", "implicitfast")


def ground(material: str = "floor") -> Ground:
    return Ground(surface=Surface(contact_material=material))


def body(name: str, shape: str, size: list[float], at: tuple[float, float, float], **others: Any) -> Body:
    surface = Surface(contact_material=others.pop("material", "steel"), **others.pop("surface", {}))
    geometry = (Geometry(shape, np.array(size), others.pop("mass", 2.0), surface=surface),)
    return Body(name, "map", "free", geometry=geometry, q=np.array([*at, 0.0, 0.0, 0.0, 1.0]), **others)


def world(*bodies: Body, materials: tuple[ContactMaterial, ...], integrator: str = "implicitfast") -> World:
    time = TimeGrid(step_ns=1_000_000)
    physics = Physics(integrator=integrator)
    return World("w", ground=ground(), bodies=bodies, contact_materials=materials, physics=physics, time=time)


def height(run: Simulation, name: str) -> float:
    return float(run.bodies[name].pose[2])


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("stiffness", [2e3, 1e6])
def test_a_ball_sinks_in_by_its_weight_over_the_stiffness(stiffness: float, integrator: str) -> None:
    steel = ContactMaterial(("steel", "floor"), stiffness=stiffness)
    run = Simulation(world(body("ball", "sphere", [0.1], (0, 0, 0.1)), materials=(steel,), integrator=integrator))
    run.run(1.0)
    assert 0.1 - height(run, "ball") == pytest.approx(2.0 * G / stiffness, rel=1e-3)


def test_a_box_stands_on_four_springs() -> None:
    steel = ContactMaterial(("floor", "steel"), stiffness=5e3)
    run = Simulation(world(body("box", "box", [0.2, 0.2, 0.2], (0, 0, 0.1)), materials=(steel,)))
    run.run(1.5)
    assert 0.1 - height(run, "box") == pytest.approx(2.0 * G / (4 * 5e3), rel=1e-3)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_ball_oscillates_on_its_spring(integrator: str) -> None:
    """z = z0 - g/w^2 (1 - cos w t) from touch at rest, w = sqrt(K / m), and e^(-B t / 2m) with a damper."""
    stiffness, damping, mass, time = 2e3, 8.0, 2.0, 0.37
    steel = ContactMaterial(("steel", "floor"), stiffness=stiffness, damping=damping)
    run = Simulation(world(body("ball", "sphere", [0.1], (0, 0, 0.1)), materials=(steel,), integrator=integrator))
    run.run(time)
    decay = damping / (2.0 * mass)
    rate = math.sqrt(stiffness / mass - decay**2)
    swing = math.exp(-decay * time) * (math.cos(rate * time) + decay / rate * math.sin(rate * time))
    sag = mass * G / stiffness
    assert height(run, "ball") == pytest.approx(0.1 - sag * (1.0 - swing), abs=2e-2 * sag)


@pytest.mark.parametrize("stiffness", [None, 4e4, 1e12])
@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_ball_bounces_to_its_restitution(stiffness: float | None, integrator: str) -> None:
    bouncy = ContactMaterial(("steel", "floor"), restitution=0.7, contact_time=0.04, stiffness=stiffness)
    ball = body("ball", "sphere", [0.1], (0, 0, 0.3), qd=np.array([0.0, 0.0, -3.0, 0.0, 0.0, 0.0]))
    run = Simulation(world(ball, materials=(bouncy,), integrator=integrator))
    speed = math.sqrt(9.0 + 2.0 * G * 0.2)  # where it touches
    fastest = max(_speeds(run, 130))
    assert fastest / speed == pytest.approx(0.7, abs=0.04)


def _speeds(run: Simulation, steps: int) -> list[float]:
    speeds = []
    for _ in range(steps):
        run.step()
        speeds.append(float(run.bodies["ball"].twist[2]))
    return speeds


def test_each_pair_of_materials_has_its_own_friction() -> None:
    """On a slope of 20 degrees: what is below its tangent slides by g (sin - mu cos), what is above stays."""
    slope = math.radians(20.0)
    materials = (
        ContactMaterial(("ice", "floor"), sliding=0.1),
        ContactMaterial(("rubber", "floor"), sliding=0.9),
    )
    bodies = [
        body(name, "box", [0.2, 0.2, 0.1], (0.0, side, 0.05), material=name)
        for side, name in enumerate(("ice", "rubber"))
    ]
    made = world(*bodies, materials=materials)
    gravity = np.array([G * math.sin(slope), 0.0, -G * math.cos(slope)])
    run = Simulation(replace(made, physics=replace(made.physics, gravity=gravity)))
    run.run(1.0)
    acceleration = G * (math.sin(slope) - 0.1 * math.cos(slope))
    assert run.bodies["ice"].pose[0] == pytest.approx(0.5 * acceleration, rel=0.03)
    assert abs(run.bodies["rubber"].pose[0]) < 1e-3


def test_materials_override_surfaces_and_respect_layers() -> None:
    soft = ContactMaterial(("steel", "floor"), stiffness=1e3)
    ghost = body("ghost", "sphere", [0.1], (1, 0, 0.1), surface={"layer": "ghost", "touches": ()})
    ball = body("ball", "sphere", [0.1], (0, 0, 0.1), surface={"sliding": 0.3, "restitution": 0.9})
    run = Simulation(world(ball, ghost, materials=(soft,)))
    run.run(1.0)
    assert 0.1 - height(run, "ball") == pytest.approx(2.0 * G / 1e3, rel=1e-3)
    assert height(run, "ghost") == pytest.approx(0.1 - 0.5 * G, abs=1e-2)


def test_bodies_on_one_joint_and_parts_of_one_body_make_no_contact() -> None:
    """As MuJoCo has it for all shapes; a pair of MuJoCo's would override that."""
    steel = ContactMaterial(("steel", "steel"), stiffness=1e5)
    upper = body("upper", "box", [0.2, 0.2, 0.2], (0, 0, 1.0))
    surface = Surface(contact_material="steel")
    shape = (Geometry("box", np.array([0.2, 0.2, 0.2]), 1.0, surface=surface),)
    hanging = Body("hanging", "upper", "hinge", axes=np.array([[0.0, 1.0, 0.0]]), geometry=shape)
    fixed = Body("fixed", "upper", geometry=shape)
    made = World("w", bodies=(upper, hanging, fixed), contact_materials=(steel,), physics=Physics(gravity=np.zeros(3)))
    run = Simulation(made)
    run.run(0.1)
    assert run.bodies["upper"].pose[2] == pytest.approx(1.0, abs=1e-12)


TEXT = """\
world: w
ground: {contact_material: floor}
contact_materials:
  - {between: [rubber, floor], friction: {sliding: 0.9, rolling: 0.001}, restitution: 0.3, stiffness: 40000.0}
  - {between: [rubber, rubber], stiffness: 1000.0, damping: 4.0}
bodies:
  - {name: ball, joint: free, geometry: [{sphere: 0.1, mass: 1, contact_material: rubber}]}
"""


def test_world_files_have_them() -> None:
    read = loads(TEXT)
    rubber, self_contact = read.contact_materials
    assert rubber == ContactMaterial(("rubber", "floor"), 0.9, None, 0.001, 0.3, stiffness=4e4)
    assert self_contact == ContactMaterial(("rubber", "rubber"), stiffness=1e3, damping=4.0)
    assert loads(to_yaml(read)).contact_materials == read.contact_materials
    assert loads(to_yaml(read)).bodies[0].geometry[0].surface == Surface(contact_material="rubber")


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("rubber, floor]", "ruber, floor]", "4:15: contact_materials[0].between: no shape is of 'ruber'; did you mean"),
        ("[rubber, floor]", "[rubber]", "4:15: contact_materials[0].between: two materials are needed, found a list"),
        ("[rubber, rubber]", "[floor, rubber]", "a second contact material of 'floor' and 'rubber'; the first is at"),
        ("stiffness: 1000.0", "stiffness: -1", "5:44: contact_materials[1].stiffness: -1 is out of range"),
        ("stiffness: 1000.0, ", "", "5:42: contact_materials[1].damping: has no effect without stiffness"),
        ("restitution: 0.3,", "restitution: 0.3, damping: 2,", "cannot be combined with restitution"),
        ("restitution: 0.3,", "contact_time: 0.3,", "contact_time: has an effect only with a restitution"),
    ],
)
def test_faults_name_the_place(before: str, after: str, message: str) -> None:
    with pytest.raises(WorldError) as error:
        lay_out(loads(TEXT.replace(before, after)))
    assert message in str(error.value).replace('"', "'")


def test_too_many_pairs_are_refused() -> None:
    steel = ContactMaterial(("steel", "steel"), stiffness=1e5)
    bodies = [body(f"b{k}", "sphere", [0.1], (k, 0, 1.0)) for k in range(210)]
    with pytest.raises(WorldError, match="it pairs 21945 shapes with each other"):
        Simulation(World("w", bodies=tuple(bodies), contact_materials=(steel,)))
