"""The force `lift_drag` of world files. `wings`, which says what it is and applies it, is imported with the first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim_node.simulation.columns import Columns
from sim_node.simulation.physics.force_elements import ForceElement, force_element
from sim_node.simulation.physics.wind import WindField
from sim_node.world.forces import declared_force
from sim_node.world.layout import Layout
from sim_node.world.model import World

if TYPE_CHECKING:
    from mujoco import MjData

    from sim_node.extensions.sdf.wings import LiftDrag
    from sim_node.simulation.physics.compiled import Compiled

TYPE = "lift_drag"


def _kind() -> type[LiftDrag]:
    from sim_node.extensions.sdf.wings import LiftDrag

    return LiftDrag


declared_force(TYPE, _kind)


@force_element(TYPE)
def open_lift_drag(
    world: World, layout: Layout, compiled: Compiled, data: MjData, wind: WindField, columns: Columns
) -> ForceElement | None:
    """Return the force element of a world's surfaces."""
    if not any(force.type == TYPE for force in world.forces):
        return None
    from sim_node.extensions.sdf.wings import Wings

    return Wings(world, compiled, data, wind)
