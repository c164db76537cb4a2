"""Constant forces and torques on bodies, from one time to another."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from sim_node.simulation.columns import Columns
from sim_node.simulation.physics import force_kernels as kernels
from sim_node.simulation.physics.force_elements import force_element
from sim_node.simulation.physics.force_geometry import forces_of, lead, levers, pushed_bodies
from sim_node.simulation.physics.wind import WindField
from sim_node.world.forces import ConstantForce
from sim_node.world.layout import Layout
from sim_node.world.model import TimeGrid, World

if TYPE_CHECKING:
    from mujoco import MjData

    from sim_node.simulation.physics.compiled import Compiled


@force_element("constant")
def open_constant(
    world: World, layout: Layout, compiled: Compiled, data: MjData, wind: WindField, columns: Columns
) -> ConstantPush | None:
    """Return the force element of a world's constant forces."""
    forces = forces_of(world, ConstantForce)
    return ConstantPush(forces, world, compiled, data) if forces else None


class ConstantPush:
    """All constant forces of a world. It has no state: MuJoCo's time determines which act."""

    def __init__(self, forces: list[ConstantForce], world: World, compiled: Compiled, data: MjData) -> None:
        model = compiled.model
        self._data, self._timestep = data, float(model.opt.timestep)
        self._bodies = pushed_bodies(model, forces)
        table = np.zeros((len(forces), kernels.CONSTANT_COLUMNS))
        table[:, kernels.CONSTANT_FORCE : kernels.CONSTANT_FORCE + 3] = [force.force for force in forces]
        table[:, kernels.CONSTANT_TORQUE : kernels.CONSTANT_TORQUE + 3] = [force.torque for force in forces]
        points = [force.point for force in forces]
        table[:, kernels.CONSTANT_LEVER : kernels.CONSTANT_LEVER + 3] = levers(model, self._bodies, points)
        table[:, kernels.CONSTANT_TURNS] = [force.axes == "body" for force in forces]
        substeps = world.physics.substeps(world.time.step_ns)
        table[:, kernels.CONSTANT_SPAN] = [
            -math.inf if force.start_ns is None else _first_step(force.start_ns, world.time, substeps)
            for force in forces
        ]
        table[:, kernels.CONSTANT_SPAN + 1] = [
            math.inf if force.end_ns is None else _first_step(force.end_ns, world.time, substeps) for force in forces
        ]
        self._table, self._lead = table, lead(world, model)
        self._views = data.xmat, data.cvel, data.xfrc_applied

    def reset(self, seed: int) -> None:
        """Do nothing: constant forces have no state."""

    def act(self) -> None:
        """Add the forces of this timestep."""
        step = round(self._data.time / self._timestep)
        kernels.push_constant(self._bodies, self._table, step, self._lead, *self._views)


def _first_step(time_ns: int, time: TimeGrid, substeps: int) -> int:
    """Return the first timestep that begins at a time or later, counted from the start, in integers."""
    return -((time.start_ns - time_ns) * substeps // time.step_ns)
