"""The predefined components of worlds in Python, and Body."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from sim_node.extensions.elodin.algebra import SpatialForce, SpatialInertia, SpatialMotion, SpatialTransform
from sim_node.extensions.elodin.archetypes import Archetype
from sim_node.extensions.elodin.components import Component
from sim_node.extensions.elodin.jax_setup import jax
from sim_node.extensions.elodin.layouts import ComponentType, PrimitiveType

# Pose in the world; velocity, acceleration and force in world axes; inertia in body axes.
WorldPos = Annotated[SpatialTransform, Component("world_pos", metadata={"element_names": "q0,q1,q2,q3,x,y,z"})]
WorldVel = Annotated[SpatialMotion, Component("world_vel", metadata={"element_names": "ωx,ωy,ωz,x,y,z"})]
WorldAccel = Annotated[SpatialMotion, Component("world_accel", metadata={"element_names": "αx,αy,αz,x,y,z"})]
Force = Annotated[SpatialForce, Component("force", metadata={"element_names": "τx,τy,τz,x,y,z"})]
Inertia = Annotated[SpatialInertia, Component("inertia", metadata={"element_names": "Ix,Iy,Iz,px,py,pz,m"})]
# Components of the world itself: the number of the tick, from 1; the time between two ticks, s; an optional seed.
SimulationTick = Annotated[jax.Array, Component("tick", ComponentType.F64)]
SimulationTimeStep = Annotated[jax.Array, Component("simulation_time_step", ComponentType.F64)]
Seed = Annotated[jax.Array, Component("seed", ComponentType.U64)]
Camera = Annotated[jax.Array, Component("camera", ComponentType(PrimitiveType.U64, (1,)))]


@dataclass
class Body(Archetype):
    """A rigid body for `six_dof`.

    Attributes:
        world_pos: Pose of its centre of mass in the world.
        world_vel: Velocity in world axes.
        inertia: Mass, kg, and principal moments in body axes, kg m^2.
        force: Force at the centre of mass in world axes; `six_dof` clears it before it runs its effectors.
        world_accel: Acceleration in world axes.
    """

    world_pos: WorldPos = SpatialTransform()
    world_vel: WorldVel = SpatialMotion()
    inertia: Inertia = SpatialInertia(1.0)
    force: Force = SpatialForce()
    world_accel: WorldAccel = SpatialMotion()
