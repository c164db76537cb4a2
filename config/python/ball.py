"""A ball that falls in the wind and bounces: sim_node run ball.py, or python ball.py."""

from dataclasses import dataclass
from typing import Annotated

import jax
import jax.numpy as jnp

import sim_node.extensions.elodin as el

STEP = 1 / 120
GRAVITY = jnp.array([0.0, 0.0, -9.81])
RADIUS, MASS = 0.2, 2.0
# Density of air (kg/m^3), drag coefficient of a sphere, cross-section (m^2).
DRAG = 0.5 * 1.225 * 0.47 * jnp.pi * RADIUS**2
RESTITUTION = 0.85

Wind = Annotated[
    jax.Array,
    el.Component("wind", el.ComponentType(el.PrimitiveType.F64, (3,)), metadata={"element_names": "x,y,z"}),
]


@dataclass
class Air(el.Archetype):
    wind: Wind


@el.map
def gravity(force: el.Force, inertia: el.Inertia) -> el.Force:
    return force + el.SpatialForce(linear=inertia.mass() * GRAVITY)


@el.map
def drag(wind: Wind, velocity: el.WorldVel, force: el.Force) -> el.Force:
    air = wind - velocity.linear()
    return force + el.SpatialForce(linear=DRAG * jnp.linalg.norm(air) * air)


@el.map
def bounce(pose: el.WorldPos, velocity: el.WorldVel) -> el.WorldVel:
    v = velocity.linear()
    hits = (pose.linear()[2] <= RADIUS) & (v[2] < 0.0)
    mirrored = v * jnp.array([1.0, 1.0, -RESTITUTION])
    return el.SpatialMotion(linear=jnp.where(hits, mirrored, v), angular=velocity.angular())


world = el.World()
world.spawn(
    [
        el.Body(
            world_pos=el.SpatialTransform(linear=jnp.array([0.0, 0.0, 6.0])),
            inertia=el.SpatialInertia(MASS, 0.4 * MASS * RADIUS**2 * jnp.ones(3)),
        ),
        Air(wind=jnp.array([3.0, 1.0, 0.0])),
    ],
    name="ball",
)
world.run(bounce | el.six_dof(sys=gravity | drag), sim_time_step=STEP, run_time_step=STEP)
