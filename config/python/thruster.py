"""A thruster with fuel on the shipped quadrotor: it pushes the drone off its course until the fuel is gone."""

from dataclasses import dataclass
from typing import Annotated

import jax
import jax.numpy as jnp

import sim_node.extensions.elodin as el

# N, kg/s.
THRUST, FLOW = 1.5, 0.02
Fuel = Annotated[jax.Array, el.Component("fuel", el.ComponentType.F64, metadata={"element_names": "kg"})]


@dataclass
class Thruster(el.Archetype):
    fuel: Fuel


@el.map
def burn(fuel: Fuel, step: el.SimulationTimeStep) -> Fuel:
    return jnp.maximum(fuel - FLOW * step, 0.0)


@el.map
def push(force: el.Force, pose: el.WorldPos, fuel: Fuel) -> el.Force:
    forward = pose.angular() @ jnp.array([THRUST, 0.0, 0.0])
    return force + el.SpatialForce(force=jnp.where(fuel > 0.0, forward, 0.0))


world = el.World.from_file("quadrotor")
world.insert(world.entity("drone/base_link"), Thruster(0.1))

if __name__ == "__main__":
    world.run(push | burn, interactive=False)
