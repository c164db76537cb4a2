"""Shapes whose contacts take the smaller coefficient: Coulomb's law, bounces, and what MuJoCo has of each contact."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim_node.simulation import Simulation
from sim_node.simulation.physics.rigid_bodies import RigidBodyEngine
from sim_node.world import Body, Geometry, Physics, TimeGrid, World, WorldWarning, load, loads
from sim_node.world.surfaces import Surface

G = 9.81


def smaller(sliding: float | None = None, **more: Any) -> Surface:
    return Surface(sliding=sliding, combine="smaller", **more)


def free(name: str, shape: Geometry, *position: float, speed: float = 0.0) -> Body:
    qd = np.array([speed, 0.0, 0.0, 0.0, 0.0, 0.0])
    return Body(name, "map", "free", geometry=(shape,), q=np.array([*position, 0.0, 0.0, 0.0, 1.0]), qd=qd)


def fixed(name: str, shape: Geometry) -> Body:
    return Body(name, "map", geometry=(shape,))


def plane(surface: Surface | None) -> Geometry:
    return Geometry("plane", np.array([]), surface=surface)


def world(*bodies: Body, **more: Any) -> World:
    return World("w", time=TimeGrid(0, 1_000_000), bodies=bodies, physics=Physics(integrator="implicitfast"), **more)


def engine_of(simulation: Simulation) -> RigidBodyEngine:
    (engine,) = simulation.engines.values()
    assert isinstance(engine, RigidBodyEngine)
    return engine


def coefficients(ground: Surface | None, *boxes: Surface | None) -> list[float]:
    """Of boxes that slide on a plane: Coulomb's law over 0.4 s, in which forces along and across it have impulses."""
    size = np.array([0.4, 0.4, 0.02])
    bodies = [
        free(f"b{at}", Geometry("box", size, 2.0, surface=surface), 0.0, float(at), 0.01, speed=10.0)
        for at, surface in enumerate(boxes)
    ]
    simulation = Simulation(world(fixed("ground", plane(ground)), *bodies))
    simulation.run(0.1)
    before = [simulation.bodies[body.name].twist[:3] for body in bodies]
    simulation.run(0.4)
    after = [simulation.bodies[body.name].twist[:3] for body in bodies]
    return [float((v[0] - w[0]) / (0.4 * G + w[2] - v[2])) for v, w in zip(before, after, strict=True)]


S, L = smaller, Surface


@pytest.mark.parametrize(
    ("ground", "boxes", "expected"),
    [
        (S(0.4), (S(0.2), S(0.4), S(0.9), S(), None), (0.2, 0.4, 0.4, 0.4, 0.4)),
        (S(), (S(0.2), S(1.5), S(), S(1.0)), (0.2, 1.0, 1.0, 1.0)),
        (S(0.0), (S(0.5), S()), (0.0, 0.0)),
        # Without friction, a surface leaves it to the other shape.
        (None, (S(0.2), S(1.5), L(0.5)), (0.2, 1.5, 0.5)),
        # One of two shapes is enough; among themselves, others take the larger one.
        (L(0.4), (S(0.2), S(0.9), S(), L(0.2), L(0.9), None), (0.2, 0.4, 0.4, 0.4, 0.9, 0.4)),
        (S(0.4), (L(0.2), L(0.9), S(0.3), S(0.7)), (0.2, 0.4, 0.3, 0.4)),
        (S(0.4, torsional=0.01), (S(0.2), S(0.9, rolling=0.001)), (0.2, 0.4)),
    ],
)
def test_boxes_slide_by_the_smaller_coefficient(
    ground: Surface | None, boxes: tuple[Surface | None, ...], expected: tuple[float, ...]
) -> None:
    assert coefficients(ground, *boxes) == pytest.approx(expected, rel=2e-3, abs=1e-4)


COEFFICIENTS = st.sampled_from([0.1, 0.4, 0.7, 1.0, 2.0])
SURFACES = st.none() | st.builds(
    Surface,
    st.none() | COEFFICIENTS,
    st.none() | st.sampled_from([0.001, 0.02]),
    st.none() | st.sampled_from([0.00001, 0.002]),
    st.none() | st.sampled_from([0.7, 0.8]),
    combine=st.sampled_from(["larger", "smaller"]),
)
Contact = tuple[tuple[float, ...], int, bool]


def contacts_of(surfaces: list[Surface | None]) -> dict[tuple[int, int], Contact]:
    """Return friction, dimensions and whether it bounces, of the contact of each two of spheres in one place."""
    bodies = [
        free(f"b{at}", Geometry("sphere", np.array([0.1]), 1.0, surface=surface), 0.001 * at, 0.0, 0.0)
        for at, surface in enumerate(surfaces)
    ]
    engine = engine_of(Simulation(world(*bodies)))
    mujoco.mj_forward(engine.model, engine.data)
    body = [engine.model.body(f"b{at}").id for at in range(len(surfaces))]
    found = {}
    for contact in engine.data.contact:
        first, second = sorted(body.index(engine.model.geom_bodyid[geom]) for geom in contact.geom)
        assert (first, second) not in found
        friction = tuple(contact.friction[[0, 2, 3]].tolist())
        found[first, second] = friction, int(contact.dim), bool(contact.solref[0] < 0.0)
    return found


# Takes seconds: make test has the rule for pairs of surfaces.
@pytest.mark.nightly
@settings(deadline=None)
@given(st.lists(SURFACES, min_size=2, max_size=6))
def test_mujoco_has_what_the_rule_says_of_any_surfaces(surfaces: list[Surface | None]) -> None:
    found = contacts_of(surfaces)
    others = contacts_of([None if each and each.combine == "smaller" else each for each in surfaces])
    usual = (1.0, 0.005, 0.0001)
    stated = any(each is not None and each.decides for each in surfaces)
    for first, second in combinations(range(len(surfaces)), 2):
        both = surfaces[first], surfaces[second]
        some = [each for each in both if each is not None and (each.decides or each.combine == "smaller")]
        if all(each.combine == "larger" for each in some):
            assert found[first, second] == others[first, second]
            continue
        if not stated:
            assert found[first, second] == (usual, 3, False)
            continue
        sliding = [1.0 if each.sliding is None else each.sliding for each in some]
        twisting = [0.005 if each.torsional is None else each.torsional for each in some]
        rolling = [0.0001 if each.rolling is None else each.rolling for each in some]
        size = max(6 if each.rolling is not None else 4 if each.torsional is not None else 3 for each in some)
        bounce = all(each.restitution is not None for each in some)
        assert found[first, second] == ((min(sliding), max(twisting), max(rolling)), size, bounce)


def bounce_of(ball: Surface, ground: Surface) -> float:
    """The share of its speed that a ball keeps when it falls on a plane."""
    shape = Geometry("sphere", np.array([0.1]), 1.0, surface=ball)
    simulation = Simulation(world(fixed("ground", plane(ground)), free("ball", shape, 0.0, 0.0, 1.1)))
    speeds = []
    for _ in range(700):
        simulation.run(0.001)
        speeds.append(simulation.bodies["ball"].twist[2])
    return float(max(speeds) / -min(speeds))


@pytest.mark.parametrize(("one", "other"), [((0.3, 0.9), (0.6, 0.9)), ((0.5, 0.95), (0.5, 0.8))])
def test_a_bounce_has_the_product_of_the_restitutions(one: tuple[float, float], other: tuple[float, float]) -> None:
    for ball, ground in ((one, other), (other, one)):
        surfaces = [smaller(sliding, restitution=each) for sliding, each in (ball, ground)]
        # A bounce may differ by 0.03: BOUNCE_TOLERANCE.
        assert bounce_of(surfaces[0], surfaces[1]) == pytest.approx(one[1] * other[1], abs=0.03)


@pytest.mark.parametrize(("ball", "ground"), [(0.3, 0.6), (0.6, 0.3), (0.5, 0.5)])
def test_nothing_bounces_on_what_has_no_restitution(ball: float, ground: float) -> None:
    assert bounce_of(smaller(ball, restitution=0.9), smaller(ground)) == bounce_of(smaller(ball), smaller(ground))


def test_geoms_of_models_take_precedence_by_their_priority(tmp_path: Any) -> None:
    """As without shapes that take the smaller coefficient: above 1, they win; below, they lose; 1 is as of a shape."""
    for priority, expected in ((2, 0.9), (0, 0.2), (1, 0.2)):
        (tmp_path / "m.xml").write_text(
            '<mujoco><worldbody><body name="m"><freejoint/><geom type="sphere" size="0.1" mass="1" friction="0.9" '
            f'priority="{priority}"/></body></worldbody></mujoco>'
        )
        path = tmp_path / "w.yaml"
        path.write_text(
            "world: w\ninclude: [{file: m.xml}]\nground: {friction: 0.4}\nbodies:\n"
            "- {name: a, joint: free, geometry: [{sphere: 0.1, mass: 1, friction: 0.2, combine: smaller}]}\n"
            "- {name: b, joint: {type: free, q: [9, 0, 0, 0, 0, 0, 1]}, geometry: [{sphere: 0.1, mass: 1, "
            "friction: 0.7, combine: smaller}]}\n"
        )
        engine = engine_of(Simulation(load(path)))
        mujoco.mj_forward(engine.model, engine.data)
        model, bodies = engine.model, (engine.model.body("a").id, engine.model.body("m").id)
        (friction,) = (
            float(contact.friction[0])
            for contact in engine.data.contact
            if {int(model.geom_bodyid[geom]) for geom in contact.geom} == set(bodies)
        )
        assert friction == expected


def test_contact_materials_override_it_and_layers_keep_apart() -> None:
    text = (
        "world: w\nground: {friction: 0.6, restitution: 0.8, contact_material: ice}\n"
        "contact_materials: [{between: [ice, steel], friction: 0.05}]\nbodies:\n"
        "- {name: a, joint: {type: free, q: [0, 0, 0.1, 0, 0, 0, 1]}, geometry: [{sphere: 0.1, mass: 1, friction: 0.3, "
        "restitution: 0.8, combine: smaller, contact_material: steel}]}\n"
        "- {name: b, joint: {type: free, q: [1, 0, 0.1, 0, 0, 0, 1]}, geometry: [{sphere: 0.1, mass: 1, friction: 0.3, "
        "restitution: 0.8, combine: smaller, layer: above, touches: [above]}]}\n"
    )
    engine = engine_of(Simulation(loads(text)))
    mujoco.mj_forward(engine.model, engine.data)
    assert [float(contact.friction[0]) for contact in engine.data.contact] == [0.05]


# Takes seconds: make test has the rule for pairs of surfaces.
@pytest.mark.nightly
def test_more_pairs_than_are_made_are_said() -> None:
    balls = [
        free(
            f"b{at}",
            Geometry("sphere", np.array([0.1]), 1.0, surface=smaller(0.5, restitution=0.8)),
            float(at),
            0.0,
            0.0,
        )
        for at in range(202)
    ]
    with pytest.warns(WorldWarning, match="more than 20000 contacts of shapes with `combine: smaller`"):
        engine = engine_of(Simulation(world(*balls)))
    assert engine.model.npair == 20_000
