"""Three bodies that pull at each other by Newton's law, on a periodic orbit, with G = 1."""

from dataclasses import dataclass
from typing import Annotated

import jax.numpy as jnp

import sim_node.extensions.elodin as el

STEP = 1 / 120
# Chenciner and Montgomery 2000: the three follow each other on a figure of eight.
PLACES = jnp.array([[0.97000436, -0.24308753, 0.0], [-0.97000436, 0.24308753, 0.0], [0.0, 0.0, 0.0]])
LAST = jnp.array([-0.93240737, -0.86473146, 0.0])
SPEEDS = [-LAST / 2, -LAST / 2, LAST]
PERIOD = 6.32591398

Gravity = Annotated[el.Edge, el.Component("gravity")]


@dataclass
class Pull(el.Archetype):
    edge: Gravity


@el.system
def gravity(edges: el.GraphQuery[Gravity], bodies: el.Query[el.WorldPos, el.Inertia]) -> el.Query[el.Force]:
    def pull(force, pose, inertia, other, others_inertia):
        away = other.linear() - pose.linear()
        strength = inertia.mass() * others_inertia.mass() / jnp.linalg.norm(away) ** 3
        return force + el.SpatialForce(linear=strength * away)

    return edges.edge_fold(bodies, bodies, el.Force, el.SpatialForce(), pull)


world = el.World()
names = ["alpha", "bravo", "charlie"]
bodies = [
    world.spawn(
        el.Body(world_pos=el.SpatialTransform(linear=place), world_vel=el.SpatialMotion(linear=speed)), name=name
    )
    for name, place, speed in zip(names, PLACES, SPEEDS, strict=True)
]
for left in bodies:
    for right in bodies:
        if left != right:
            world.spawn(Pull(el.Edge(left, right)))

if __name__ == "__main__":
    world.run(el.six_dof(sys=gravity), sim_time_step=STEP, max_ticks=round(PERIOD / STEP), interactive=False)
