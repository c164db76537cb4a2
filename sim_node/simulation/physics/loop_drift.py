"""Loops that stay closed under integrators of first order.

MuJoCo's equality constraints leave out how the constraint's direction changes within a timestep h: a loop that moves
opens by about h^2 / 2 times the acceleration along the constraint, and MuJoCo's springs, which must be slower than two
timesteps, close it only to some multiple of that. Here the reference acceleration brings the error r back to zero
within one timestep, and takes away beforehand what the next one will add, extrapolated from what the last two added:

    aref = -v / h - (r + c) / h^2,    c = 2 c' - c''

What is left is of fourth order in h. c is limited, so that a loop that cannot close does not build up a force. Of the
error of a distance that takes another value, only a share h / T is brought back within a timestep. The stages of
Runge-Kutta need none of this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sim_node.simulation.columns import Column, Columns
from sim_node.simulation.physics import loop_kernels as kernels
from sim_node.simulation.physics.force_elements import force_element
from sim_node.simulation.physics.wind import WindField
from sim_node.world.layout import Layout
from sim_node.world.model import World

if TYPE_CHECKING:
    from mujoco import MjData, MjModel

    from sim_node.simulation.physics.compiled import Compiled

DRIFT = "loop_drift"
# Rows of the types of equality constraints that this is for. Welds are not: sliders, which weigh hardly anything, hang
# on them, and slide without opening them.
_ROWS = {"CONNECT": 3, "TENDON": 1}


@force_element("loops")
def open_loops(
    world: World, layout: Layout, compiled: Compiled, data: MjData, wind: WindField, columns: Columns
) -> LoopDrift | None:
    """Return what keeps the loops of a world closed; None if there are none, or rk4 does."""
    import mujoco

    if not world.loop_closures or compiled.model.opt.integrator == mujoco.mjtIntegrator.mjINT_RK4:
        return None
    if all(held.kind == "lock" for held in world.loop_closures):
        return None
    return LoopDrift(world, compiled.model, data, columns)


class LoopDrift:
    """The reference accelerations of all loop closures. Its state is what the last timesteps added to their errors."""

    def __init__(self, world: World, model: MjModel, data: MjData, columns: Columns) -> None:
        import mujoco

        self._data, self._timestep = data, float(model.opt.timestep)
        closures = {held.name for held in world.loop_closures}
        self._first = np.full(max(model.neq, 1), -1, dtype=np.int64)
        self._share = np.ones(max(model.neq, 1))
        slow = {held.name: held.relaxation for held in world.loop_closures if held.relaxation}
        rows: list[str] = []
        for equality in range(model.neq):
            name = model.equality(equality).name
            kind = mujoco.mjtEq(model.eq_type[equality]).name.rpartition("_")[2]
            if kind in _ROWS and (name in closures or name.rpartition("#")[0] in closures):
                self._first[equality] = len(rows)
                self._share[equality] = min(self._timestep / slow.get(name, self._timestep), 1.0)
                rows += [f"{name}/{k}" for k in range(_ROWS[kind])]
        meaning = (
            "of each row of a loop closure: what the last timestep and the one before added to its error, what was "
        )
        meaning += "taken away beforehand, and the time of that; NaN at the start"
        self._drift = columns.add(Column(DRIFT, tuple(rows), (4,), unit="m, rad, s", meaning=meaning))

    def reset(self, seed: int) -> None:
        """Forget the last timesteps."""
        self._drift[:] = np.nan

    def act(self) -> None:
        """Set the reference accelerations, when MuJoCo's rows are known."""
        data = self._data
        kernels.close_loops(
            *(self._first, self._share, self._drift, self._timestep, data.time, data.ne),
            *(data.efc_id, data.efc_pos, data.efc_vel, data.efc_aref),
        )
