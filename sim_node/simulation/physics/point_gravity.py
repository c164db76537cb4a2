"""Gravity towards points, on every body that has a mass."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sim_node.simulation.columns import Columns
from sim_node.simulation.physics import force_kernels as kernels
from sim_node.simulation.physics.force_elements import force_element
from sim_node.simulation.physics.force_geometry import lead
from sim_node.simulation.physics.wind import WindField
from sim_node.world.layout import Layout
from sim_node.world.model import World

if TYPE_CHECKING:
    from mujoco import MjData

    from sim_node.simulation.physics.compiled import Compiled


@force_element("gravity")
def open_point_gravity(
    world: World, layout: Layout, compiled: Compiled, data: MjData, wind: WindField, columns: Columns
) -> Attraction | None:
    """Return the force element of a world's point gravity."""
    return Attraction(world, compiled, data) if world.gravity_fields else None


class Attraction:
    """All point gravity of a world. It has no state."""

    def __init__(self, world: World, compiled: Compiled, data: MjData) -> None:
        model = compiled.model
        moving = np.flatnonzero((model.body_weldid > 0) & (model.body_mass > 0.0))
        bodies = np.stack([moving, model.body_rootid[moving]], axis=1).astype(np.int64)
        table = np.array([[*each.center, each.mu, each.acceleration] for each in world.gravity_fields])
        views = data.xipos, data.cvel, data.subtree_com, data.xfrc_applied
        self._arguments = (bodies, np.array(model.body_mass), table, lead(world, model), *views)

    def reset(self, seed: int) -> None:
        """Do nothing: gravity has no state."""

    def act(self) -> None:
        """Add the attraction of this timestep."""
        kernels.push_gravity(*self._arguments)
