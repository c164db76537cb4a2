"""A cuboid that a torque about its middle axis spins up: the axis flips, as Dzhanibekov saw it."""

import jax.numpy as jnp

import sim_node.extensions.elodin as el


@el.map
def motor(force: el.Force, pose: el.WorldPos) -> el.Force:
    return force + el.SpatialForce(torque=pose.angular() @ jnp.array([0.0, 0.05, 0.0]))


world = el.World()
cuboid = world.spawn(
    [
        el.Body(
            world_vel=el.SpatialMotion(angular=jnp.array([1e-3, 0.0, 0.0])),
            inertia=el.SpatialInertia(1.2, jnp.array([0.05, 0.13, 0.17])),
        ),
        world.shape(
            world.insert_asset(el.Mesh.cuboid(1.2, 0.8, 0.4)), world.insert_asset(el.Material.color(0.9, 0.4, 0.1))
        ),
    ],
    name="cuboid",
)

if __name__ == "__main__":
    world.run(el.six_dof(sys=motor), sim_time_step=1 / 240, max_ticks=4800, interactive=False)
