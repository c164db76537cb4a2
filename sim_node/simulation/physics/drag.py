"""Aerodynamic drag of bodies, linear and quadratic in their velocity relative to the wind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sim_node.simulation.columns import Column, Columns
from sim_node.simulation.physics import force_kernels as kernels
from sim_node.simulation.physics.force_elements import force_element
from sim_node.simulation.physics.force_geometry import forces_of, lead, levers, pushed_bodies
from sim_node.simulation.physics.wind import WindField
from sim_node.world.forces import Drag
from sim_node.world.layout import Layout
from sim_node.world.model import World

if TYPE_CHECKING:
    from mujoco import MjData

    from sim_node.simulation.physics.compiled import Compiled


@force_element("drag")
def open_drag(
    world: World, layout: Layout, compiled: Compiled, data: MjData, wind: WindField, columns: Columns
) -> AirDrag | None:
    """Return the force element of a world's drag."""
    forces = forces_of(world, Drag)
    return AirDrag(forces, world, compiled, data, wind, columns) if forces else None


class AirDrag:
    """All drag of a world. Its state is the velocities of the last timestep (F, 6), to extrapolate from."""

    def __init__(
        self,
        forces: list[Drag],
        world: World,
        compiled: Compiled,
        data: MjData,
        wind: WindField,
        columns: Columns,
    ) -> None:
        model = compiled.model
        bodies = pushed_bodies(model, forces)
        table = np.zeros((len(forces), kernels.DRAG_COLUMNS))
        for column, key in (
            (kernels.DRAG_LINEAR, "linear"),
            (kernels.DRAG_QUADRATIC, "quadratic"),
            (kernels.DRAG_ANGULAR_LINEAR, "angular_linear"),
            (kernels.DRAG_ANGULAR_QUADRATIC, "angular_quadratic"),
        ):
            table[:, column : column + 3] = [getattr(force, key) for force in forces]
        centres = [force.center for force in forces]
        table[:, kernels.DRAG_LEVER : kernels.DRAG_LEVER + 3] = levers(model, bodies, centres)
        meaning = "velocity of what drags through the air at the last timestep, along the body's axes; NaN at the start"
        before = Column(
            "drag/velocity", tuple(force.body for force in forces), (6,), unit="m/s, rad/s", meaning=meaning
        )
        self._before = columns.add(before)
        ahead = lead(world, model)
        views = data.xmat, data.xipos, data.cvel, data.subtree_com, data.xfrc_applied
        self._arguments = (bodies, table, wind.air, ahead, ahead / model.opt.timestep, self._before, *views)

    def reset(self, seed: int) -> None:
        """Forget the last timestep."""
        self._before[:] = np.nan

    def act(self) -> None:
        """Add the drag of this timestep."""
        kernels.push_drag(*self._arguments)
