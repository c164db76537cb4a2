"""A Kalman filter as components: it estimates height and climb of a falling ball from noisy heights."""

from dataclasses import dataclass
from typing import Annotated

import jax
import jax.numpy as jnp

import sim_node.extensions.elodin as el

STEP, GRAVITY, NOISE = 1 / 100, 9.81, 0.5
MODEL = jnp.array([[1.0, STEP], [0.0, 1.0]])
INPUT = jnp.array([-GRAVITY * STEP**2 / 2, -GRAVITY * STEP])


def component(name: str, *shape: int) -> el.Component:
    return el.Component(name, el.ComponentType(el.PrimitiveType.F64, shape))


Height = Annotated[jax.Array, component("measured_height")]
Estimate = Annotated[jax.Array, component("estimate", 2)]
Covariance = Annotated[jax.Array, component("covariance", 2, 2)]


@dataclass
class KalmanFilter(el.Archetype):
    measured_height: Height
    estimate: Estimate
    covariance: Covariance


@dataclass
class Globals(el.Archetype):
    seed: el.Seed


@el.map
def fall(force: el.Force, inertia: el.Inertia) -> el.Force:
    return force + el.SpatialForce(linear=inertia.mass() * jnp.array([0.0, 0.0, -GRAVITY]))


@el.system
def measure(
    seed: el.Query[el.Seed], tick: el.Query[el.SimulationTick], balls: el.Query[el.WorldPos, Height]
) -> el.Query[Height]:
    key = jax.random.fold_in(jax.random.key(seed[0]), tick[0].astype(int))
    error = NOISE * jax.random.normal(key)
    return balls.map(Height, lambda pose, _: pose.linear()[2] + error)


@el.map
def update(height: Height, estimate: Estimate, covariance: Covariance) -> tuple[Estimate, Covariance]:
    predicted = MODEL @ estimate + INPUT
    spread = MODEL @ covariance @ MODEL.T
    gain = spread[:, 0] / (spread[0, 0] + NOISE**2)
    corrected = predicted + gain * (height - predicted[0])
    return corrected, spread - jnp.outer(gain, spread[0])


world = el.World()
world.spawn(Globals(seed=jnp.array(7, dtype=jnp.uint64)), name="settings")
ball = world.spawn(el.Body(world_pos=el.SpatialTransform(linear=jnp.array([0.0, 0.0, 100.0]))), name="ball")
world.insert(ball, KalmanFilter(100.0, jnp.array([90.0, 5.0]), 100.0 * jnp.eye(2)))
system = el.six_dof(sys=fall) | measure | update

if __name__ == "__main__":
    world.run(system, sim_time_step=STEP, max_ticks=400, interactive=False)
