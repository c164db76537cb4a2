"""A model rocket: thrust by a curve, propellant that burns away, drag in a wind, and an apogee."""

from dataclasses import dataclass
from typing import Annotated

import jax
import jax.numpy as jnp

import sim_node.extensions.elodin as el

STEP = 1 / 240
# An F-class motor: time (s) and thrust (N).
CURVE = jnp.array([[0.0, 0.0], [0.05, 36.0], [0.2, 49.0], [1.0, 42.0], [1.5, 40.0], [1.6, 12.0], [1.7, 0.0]])
IMPULSE = float(jnp.trapezoid(CURVE[:, 1], CURVE[:, 0]))
# kg; of the rocket without propellant, and of the propellant.
DRY, PROPELLANT = 0.55, 0.035
# 1/2 rho C A, kg/m.
DRAG = 0.5 * 1.225 * 0.6 * 0.0026

Motor = Annotated[
    jax.Array,
    el.Component(
        "motor", el.ComponentType(el.PrimitiveType.F64, (2,)), metadata={"element_names": "thrust,propellant"}
    ),
]
Wind = Annotated[
    jax.Array,
    el.Component("wind", el.ComponentType(el.PrimitiveType.F64, (3,)), metadata={"element_names": "x,y,z"}),
]


@dataclass
class Rocket(el.Archetype):
    motor: Motor
    wind: Wind


@el.system
def burn(tick: el.Query[el.SimulationTick], motors: el.Query[Motor]) -> el.Query[Motor]:
    time = (tick[0] - 1) * STEP
    thrust = jnp.interp(time, CURVE[:, 0], CURVE[:, 1])
    return motors.map(Motor, lambda motor: jnp.array([thrust, motor[1] - PROPELLANT * thrust / IMPULSE * STEP]))


@el.map
def weigh(inertia: el.Inertia, motor: Motor) -> el.Inertia:
    return el.SpatialInertia(DRY + motor[1], inertia.inertia_diag())


@el.map
def push(force: el.Force, pose: el.WorldPos, motor: Motor) -> el.Force:
    return force + el.SpatialForce(linear=pose.angular() @ jnp.array([0.0, 0.0, motor[0]]))


@el.map
def fall(force: el.Force, inertia: el.Inertia) -> el.Force:
    return force + el.SpatialForce(linear=inertia.mass() * jnp.array([0.0, 0.0, -9.80665]))


@el.map
def drag(force: el.Force, velocity: el.WorldVel, wind: Wind) -> el.Force:
    relative = wind - velocity.linear()
    return force + el.SpatialForce(linear=DRAG * jnp.linalg.norm(relative) * relative)


@el.map
def stand(pose: el.WorldPos, velocity: el.WorldVel) -> tuple[el.WorldPos, el.WorldVel]:
    """Keep the rocket on its pad until it lifts off."""
    below = pose.linear()[2] < 0
    position = jnp.where(below, pose.linear().at[2].set(0.0), pose.linear())
    speed = jnp.where(below, 0.0, velocity.linear())
    return el.SpatialTransform(angular=pose.angular(), linear=position), el.SpatialMotion(velocity.angular(), speed)


world = el.World()
world.spawn(
    [
        el.Body(inertia=el.SpatialInertia(DRY + PROPELLANT, jnp.array([0.03, 0.03, 0.0004]))),
        Rocket(motor=jnp.array([0.0, PROPELLANT]), wind=jnp.array([3.0, 0.0, 0.0])),
    ],
    name="rocket",
)
system = burn | weigh | el.six_dof(sys=push | fall | drag) | stand

if __name__ == "__main__":
    world.run(system, sim_time_step=STEP, max_ticks=2400, interactive=False)
