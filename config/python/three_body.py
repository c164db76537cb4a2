"""Three equal masses on the figure-eight orbit: sim_node run three_body.py, or python three_body.py.

Chenciner and Montgomery, A remarkable periodic solution of the three-body problem in the case of equal masses,
Annals of Mathematics 152(3), 2000; G = m = 1, and the period is 6.32591398 s.
"""

from dataclasses import dataclass
from typing import Annotated

import jax.numpy as jnp

import sim_node.ecs as el

STEP = 1 / 120
POSITION = jnp.array([0.97000436, -0.24308753, 0.0])
VELOCITY = jnp.array([-0.93240737, -0.86473146, 0.0])

Attraction = Annotated[el.Edge, el.Component("attraction")]


@dataclass
class Attracts(el.Archetype):
    edge: Attraction


@el.system
def gravity(pairs: el.GraphQuery[Attraction], bodies: el.Query[el.WorldPos, el.Inertia]) -> el.Query[el.Force]:
    def pull(
        force: el.Force, pose: el.WorldPos, inertia: el.Inertia, other: el.WorldPos, mass: el.Inertia
    ) -> el.SpatialForce:
        to = other.linear() - pose.linear()
        return el.SpatialForce(linear=force.force() + inertia.mass() * mass.mass() * to / jnp.linalg.norm(to) ** 3)

    return pairs.edge_fold(bodies, bodies, el.Force, el.SpatialForce(), pull)


world = el.World()
bodies = [
    world.spawn(
        el.Body(world_pos=el.SpatialTransform(linear=position), world_vel=el.SpatialMotion(linear=velocity)),
        name=name,
    )
    for name, position, velocity in (
        ("a", POSITION, -0.5 * VELOCITY),
        ("b", -POSITION, -0.5 * VELOCITY),
        ("c", 0.0 * POSITION, VELOCITY),
    )
]
for one in bodies:
    for other in bodies:
        if one != other:
            world.spawn(Attracts(el.Edge(one, other)))
world.run(el.six_dof(sys=gravity), sim_time_step=STEP, run_time_step=STEP)
