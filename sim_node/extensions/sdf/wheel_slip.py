"""Wheels that slip under load, as with Gazebo's WheelSlip.

Source: gz-sim, src/systems/wheel_slip; its terms are those of K. Yoshida and H. Hamano, Motion dynamics of a rover with
slip-based traction model, ICRA 2002.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sim_node.extensions.sdf.contact_rows import ContactRows
from sim_node.simulation.columns import Columns
from sim_node.simulation.physics.force_geometry import forces_of, pushed_bodies
from sim_node.simulation.physics.wind import WindField
from sim_node.world.bounds import MAX_FORCE
from sim_node.world.declared import declared, given
from sim_node.world.forces import Force
from sim_node.world.model import World
from sim_node.world.quantities import Number

if TYPE_CHECKING:
    from mujoco import MjData

    from sim_node.simulation.physics.compiled import Compiled


_FORCE = Number(high=MAX_FORCE, above=0.0)


@declared
class WheelSlip(Force):
    """Lets the contacts of a wheel slip: in proportion to the force along the ground, until friction is at its limit.

    The slip ratio, which is the slip speed over the rim speed radius |w| of the wheel, is `compliance` times the force
    along the ground over `normal_force`. w is the speed of the hinge of the body. `lateral` is the compliance along the
    axis of the hinge.
    """

    type = "wheel_slip"
    solved = True

    compliance: float = given(Number(0.0, 1e6), "Slip ratio over the ratio of the forces", default=0.0)
    normal_force: float = given(_FORCE, "Force that presses it on the ground", "N", default=1.0)
    radius: float = given(Number(high=1e3, above=0.0), "Radius of the wheel", "m", default=1.0)
    lateral: float | None = given(Number(0.0, 1e6), "Compliance to the side, if it is another one", default=None)


class Slips:
    """All wheels that slip. They have no state.

    In each timestep, their contacts are rotated to the hinge axis, and get the slips compliance radius |w| /
    normal_force, m/(s N), in lateral direction (along the hinge) and in longitudinal direction.
    """

    def __init__(self, world: World, compiled: Compiled, data: MjData, wind: WindField, columns: Columns) -> None:
        model, forces = compiled.model, forces_of(world, WheelSlip)
        self._data, self._rows = data, ContactRows(model, forces)
        self._of_geom = np.full(model.ngeom + 1, -1)  # the last row is for contacts without a geom (-1)
        bodies = pushed_bodies(model, forces)[:, 0]
        for row, body in enumerate(bodies.tolist()):
            first = int(model.body_geomadr[body])
            self._of_geom[first : first + int(model.body_geomnum[body])] = row
        joints = model.body_jntadr[bodies]
        self._dofs, self._joints = model.jnt_dofadr[joints], joints
        lateral = [force.compliance if force.lateral is None else force.lateral for force in forces]
        of_force = np.array([force.radius / force.normal_force for force in forces])
        self._gains = np.array([lateral, [force.compliance for force in forces]]).T * of_force[:, None]

    def reset(self, seed: int) -> None:
        """Do nothing: there is no state."""

    def act(self) -> None:
        """Apply the slip of the wheels to the next timestep."""
        self.act_on(self._data)

    def act_on(self, data: MjData) -> None:
        """Apply the slip to other data of the model, such as a copy that is integrated ahead."""
        wheel = self._of_geom[data.contact.geom].max(axis=1)
        some = self._rows.rubbing(data, wheel >= 0)
        if len(some):
            slips = self._gains * np.abs(data.qvel[self._dofs])[:, None]
            self._rows.turn(data, some, data.xaxis[self._joints[wheel[some]]])
            self._rows.write(data, some, data.contact.friction[some, :2].copy(), slips[wheel[some]])

    def add_efforts(self) -> None:
        """Do nothing: its forces are contact forces."""
