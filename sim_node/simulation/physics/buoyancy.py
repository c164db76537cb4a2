"""Buoyancy of bodies in a fluid at rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sim_node.simulation.columns import Columns
from sim_node.simulation.physics import force_kernels as kernels
from sim_node.simulation.physics.force_elements import force_element
from sim_node.simulation.physics.force_geometry import forces_of, lead, levers, pushed_bodies
from sim_node.simulation.physics.wind import WindField
from sim_node.world.forces import Buoyancy
from sim_node.world.layout import Layout
from sim_node.world.model import World

if TYPE_CHECKING:
    from mujoco import MjData

    from sim_node.simulation.physics.compiled import Compiled


@force_element("buoyancy")
def open_buoyancy(
    world: World, layout: Layout, compiled: Compiled, data: MjData, wind: WindField, columns: Columns
) -> Lift | None:
    """Return the force element of a world's floating bodies."""
    forces = forces_of(world, Buoyancy)
    return Lift(forces, world, compiled, data) if forces else None


class Lift:
    """All buoyancy of a world: Archimedes' force against gravity. It has no state."""

    def __init__(self, forces: list[Buoyancy], world: World, compiled: Compiled, data: MjData) -> None:
        model = compiled.model
        bodies = pushed_bodies(model, forces)
        table = np.zeros((len(forces), kernels.BUOYANCY_COLUMNS))
        masses = np.array([force.density * force.volume for force in forces])
        table[:, kernels.BUOYANCY_LIFT : kernels.BUOYANCY_LIFT + 3] = masses[:, None] * -world.physics.gravity
        centres = [force.center for force in forces]
        table[:, kernels.BUOYANCY_LEVER : kernels.BUOYANCY_LEVER + 3] = levers(model, bodies, centres)
        table[:, kernels.BUOYANCY_SURFACE] = [force.surface for force in forces]
        table[:, kernels.BUOYANCY_HEIGHT] = [force.height for force in forces]
        table[:, kernels.BUOYANCY_ROUND] = [force.shape == "sphere" for force in forces]
        views = data.xmat, data.xipos, data.cvel, data.subtree_com, data.xfrc_applied
        self._arguments = (bodies, table, lead(world, model), *views)

    def reset(self, seed: int) -> None:
        """Do nothing: buoyancy has no state."""

    def act(self) -> None:
        """Add the lift of this timestep."""
        kernels.push_buoyancy(*self._arguments)
