"""A controller in JAX balances the shipped cart with a pole, which MuJoCo simulates with its sensors."""

from dataclasses import dataclass
from typing import Annotated

import jax
import jax.numpy as jnp

import sim_node.extensions.elodin as el

# Of position and speed of the cart, angle and rate of the pole: N/m, N s/m, N/rad, N s/rad.
GAINS = jnp.array([2.0, 4.0, 60.0, 12.0])
Motor = Annotated[jax.Array, el.Component("motor", el.ComponentType.F64)]


@dataclass
class Driven(el.Archetype):
    motor: Motor


@el.system
def balance(
    position: el.Query[el.JointPosition], speed: el.Query[el.JointVelocity], motor: el.Query[el.JointEffort, Motor]
) -> el.Query[el.JointEffort]:
    state = jnp.array([position[0], speed[0], position[1], speed[1]])
    return motor.map(el.JointEffort, lambda effort, limit: jnp.clip(GAINS @ state, -limit, limit))


world = el.World.from_file("cart_pole")
world.insert(world.entity("cart"), Driven(20.0))

if __name__ == "__main__":
    world.run(balance, interactive=False)
