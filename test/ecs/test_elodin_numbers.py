"""Worlds with Elodin's numerics give the numbers of Elodin 0.16.2 itself.

`test/data/ecs/elodin_0_16_2.json` has what its Exec computed for the worlds below: `World.build(system, step,
backend="jax-cpu")`, `run(ticks)`, the last row of `history`. The systems there are these, letter for letter.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from nightly import rows

from sim_node.extensions.elodin.algebra import SpatialForce, SpatialInertia, SpatialMotion, SpatialTransform
from sim_node.extensions.elodin.archetypes import Archetype
from sim_node.extensions.elodin.components import Component, Edge
from sim_node.extensions.elodin.dynamics import six_dof
from sim_node.extensions.elodin.elodin_numerics import ElodinNumerics
from sim_node.extensions.elodin.entities import Entities
from sim_node.extensions.elodin.graphs import GraphQuery
from sim_node.extensions.elodin.layouts import ComponentType
from sim_node.extensions.elodin.live import Live
from sim_node.extensions.elodin.numerics import Integrator
from sim_node.extensions.elodin.program import compiled
from sim_node.extensions.elodin.quaternion import Quaternion
from sim_node.extensions.elodin.queries import Query
from sim_node.extensions.elodin.standard import Body, Force, Inertia, WorldPos, WorldVel
from sim_node.extensions.elodin.systems import System, map, system

REFERENCE: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "data" / "ecs" / "elodin_0_16_2.json").read_text(encoding="utf-8")
)
Count = Annotated[jax.Array, Component("count", ComponentType.F64)]
Fuel = Annotated[jax.Array, Component("fuel", ComponentType.F64)]
Pull = Annotated[Edge, Component("pull", ComponentType.Edge)]


@dataclass
class Counter(Archetype):
    count: Count
    fuel: Fuel


@dataclass
class Pulls(Archetype):
    pull: Pull


@map
def gravity(f: Force, i: Inertia) -> Force:
    return f + SpatialForce(linear=i.mass() * jnp.array([0.0, 0.0, -9.81]))


@map
def twist(f: Force, p: WorldPos, v: WorldVel) -> Force:
    torque = p.angular() @ jnp.array([0.3, -0.2, 0.1]) - 0.05 * v.angular()
    return f + SpatialForce(torque=torque, linear=-0.4 * v.linear() + p.angular() @ jnp.array([0.0, 0.0, 2.0]))


@map
def burn(c: Count, fuel: Fuel, i: Inertia) -> tuple[Count, Fuel, Inertia]:
    left = fuel - 0.01
    return c + 1.0, left, SpatialInertia(1.0 + left, i.inertia_diag())


@map
def damp(v: WorldVel) -> WorldVel:
    return SpatialMotion(angular=0.99 * v.angular(), linear=0.98 * v.linear())


@system
def pull(graph: GraphQuery[Pull], q: Query[WorldPos, Inertia]) -> Query[Force]:
    def one(force: Force, a: WorldPos, ai: Inertia, b: WorldPos, bi: Inertia) -> Force:
        r = b.linear() - a.linear()
        return force + SpatialForce(linear=ai.mass() * bi.mass() * r / jnp.linalg.norm(r) ** 3)

    return graph.edge_fold(q, q, Force, SpatialForce(), one)


BODIES: list[tuple[Any, ...]] = [
    ([1.0, 2.0, 3.0], 0.7, [0.0, 0.0, 1.0], [1.0, -2.0, 0.5], [1.0, 0.0, 2.0], 2.0, [0.5, 1.0, 1.5]),
    ([0.0, 1.0, 0.0], 0.2, [4.0, 0.0, 0.0], [0.0, 0.3, 0.0], [0.0, 1.0, 0.0], 1.0, [1.0, 0.2, 0.3]),
    ([0.0, 0.0, 1.0], -1.2, [0.0, -5.0, 2.0], [0.1, 0.0, 0.0], [0.0, 0.0, 0.0], 3.0, [2.0, 0.7, 0.9]),
]
RK4, SEMI_IMPLICIT = Integrator.Rk4, Integrator.SemiImplicit
SYSTEMS: dict[str, Callable[[], System]] = {
    "rk4": lambda: six_dof(sys=gravity | twist, integrator=RK4),
    "semi_implicit": lambda: six_dof(sys=gravity | twist, integrator=SEMI_IMPLICIT),
    "rk4 time_step": lambda: six_dof(1 / 700, gravity | twist, RK4),
    "semi_implicit time_step": lambda: six_dof(1 / 700, gravity | twist, SEMI_IMPLICIT),
    "rk4 carried": lambda: six_dof(sys=gravity | burn | twist, integrator=RK4),
    "semi_implicit carried": lambda: six_dof(sys=gravity | burn | twist, integrator=SEMI_IMPLICIT),
    "rk4 velocity written": lambda: six_dof(sys=gravity | damp | twist, integrator=RK4),
    "semi_implicit velocity written": lambda: six_dof(sys=gravity | damp | twist, integrator=SEMI_IMPLICIT),
    "rk4 edges": lambda: six_dof(sys=pull | twist, integrator=RK4),
}


def world(fuel: bool, edges: bool) -> Entities:
    entities = Entities()
    for axis, angle, position, turning, velocity, mass, moments in BODIES:
        body = Body(
            world_pos=SpatialTransform(
                angular=Quaternion.from_axis_angle(np.array(axis), angle), linear=np.array(position)
            ),
            world_vel=SpatialMotion(angular=np.array(turning), linear=np.array(velocity)),
            inertia=SpatialInertia(mass, np.array(moments)),
        )
        entities.spawn([body, Counter(np.array(0.0), np.array(1.0))] if fuel else body)
    if edges:
        for left, right in ((1, 2), (1, 3), (2, 1), (3, 2)):
            entities.spawn(Pulls(Edge(left, right)))
    return entities


@pytest.mark.parametrize("name", rows(SYSTEMS, ("rk4", "semi_implicit carried")))
def test_a_run_equals_elodins(name: str) -> None:
    """Both integrators, a time step of its own, components carried from stage to stage, a velocity that effectors
    write, folded edges."""
    theirs = REFERENCE[name]
    entities = world("count" in theirs["values"], "edges" in name)
    live = Live(compiled(entities, SYSTEMS[name](), theirs["step"], ElodinNumerics()))
    live.advance(theirs["ticks"])
    for component, expected in theirs["values"].items():
        found = live.get(component).reshape(3, -1)
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-11, err_msg=component)


def test_the_three_body_tutorial() -> None:
    """Elodin's example of that name: after 1200 ticks a.x is 0.266645264159 by its own run."""
    big_g = 6.6743e-11

    @system
    def attract(graph: GraphQuery[Pull], query: Query[WorldPos, Inertia]) -> Query[Force]:
        def one(force: Force, a: WorldPos, ai: Inertia, b: WorldPos, bi: Inertia) -> Force:
            r = a.linear() - b.linear()
            norm = jnp.linalg.norm(r)
            return Force(linear=force.force() - big_g * bi.mass() * ai.mass() * r / (norm * norm * norm))

        return graph.edge_fold(query, query, Force, Force(), one)

    entities = Entities()
    for x, v in ((0.8920281421, 0.9957939373), (-0.6628498947, -1.6191613336), (-0.2291782474, 0.6233673964)):
        linear, speed = np.array([x, 0.0, 0.0]), np.array([0.0, v, 0.0])
        inertia = SpatialInertia(1.0 / big_g)
        entities.spawn(Body(SpatialTransform(linear=linear), SpatialMotion(linear=speed), inertia))
    for left, right in ((1, 2), (2, 1), (1, 3), (2, 3), (3, 1), (3, 2)):
        entities.spawn(Pulls(Edge(left, right)))
    live = Live(compiled(entities, six_dof(sys=attract), 1 / 120, ElodinNumerics()))
    live.advance(1200)
    assert live.get("world_pos")[0, 4] == pytest.approx(0.266645264159, abs=1e-11)


def test_the_time_step_is_rounded_as_elodin_rounds_it() -> None:
    """To the nearest nanosecond: 1/120 s down, 1/240 s up."""
    numerics = ElodinNumerics()
    assert {text: numerics.step(float(text)) for text in REFERENCE["steps"]} == REFERENCE["steps"]
