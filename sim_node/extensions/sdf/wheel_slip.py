"""Wheels that slip under a force, as with Gazebo's WheelSlip.

Source: gz-sim, src/systems/wheel_slip; its terms are those of K. Yoshida and H. Hamano, Motion dynamics of a rover with
slip-based traction model, ICRA 2002.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sim_node.simulation.columns import Columns
from sim_node.simulation.physics.force_geometry import forces_of, pushed_bodies
from sim_node.simulation.physics.wind import WindField
from sim_node.world.bounds import MAX_FORCE
from sim_node.world.declared import declared, given
from sim_node.world.forces import Force
from sim_node.world.model import World
from sim_node.world.problems import Problem, WorldError
from sim_node.world.quantities import Number

if TYPE_CHECKING:
    from mujoco import MjData

    from sim_node.simulation.physics.compiled import Compiled


_FORCE = Number(high=MAX_FORCE, above=0.0)


@declared
class WheelSlip(Force):
    """Lets the contacts of a wheel slip: in proportion to the force along the ground, until friction is at its limit.

    The slip ratio, the speed of slipping over the speed radius |w| of the wheel's rim, is `compliance` times the force
    along the ground over `normal_force`. w is the speed of the joint of the body, a hinge.
    """

    type = "wheel_slip"
    solved = True

    compliance: float = given(Number(0.0, 1e6), "Slip ratio over the ratio of the forces", default=0.0)
    normal_force: float = given(_FORCE, "Force that presses it on the ground", "N", default=1.0)
    radius: float = given(Number(high=1e3, above=0.0), "Radius of the wheel", "m", default=1.0)


class Slips:
    """All wheels that slip. They have no state.

    A contact that slips in proportion to its force is a damper: the force is -v / s along each direction of friction,
    with s = compliance radius |w| / normal_force, m/(s N). MuJoCo's solver finds forces f = (aref - a) / R. Between the
    halves of a timestep h, the friction of each contact gets R = s / h and aref = -v / h, so that f = -(v + h a) / s
    with the velocity at the end of the timestep. That is stable for any s, and friction still limits the force.
    """

    def __init__(self, world: World, compiled: Compiled, data: MjData, wind: WindField, columns: Columns) -> None:
        import mujoco

        model, forces = compiled.model, forces_of(world, WheelSlip)
        if model.opt.cone != mujoco.mjtCone.mjCONE_ELLIPTIC:
            place = forces[0].place
            raise WorldError([Problem(place.where, place.key or "forces", "wheel_slip needs physics.cone: elliptic")])
        self._data, self._timestep = data, float(model.opt.timestep)
        # Islands have copies of the rows that are written here.
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_ISLAND
        self._frictionless = int(mujoco.mjtConstraint.mjCNSTR_CONTACT_FRICTIONLESS)
        self._of_geom = np.full(model.ngeom + 1, -1)  # the last one is that of what is no geometry
        bodies = pushed_bodies(model, forces)[:, 0]
        for row, body in enumerate(bodies.tolist()):
            first = int(model.body_geomadr[body])
            self._of_geom[first : first + int(model.body_geomnum[body])] = row
        self._dofs = np.array([int(model.jnt_dofadr[model.body_jntadr[body]]) for body in bodies])
        self._gains = np.array([force.compliance * force.radius / force.normal_force for force in forces])

    def reset(self, seed: int) -> None:
        """Do nothing: there is no state."""

    def act(self) -> None:
        """Let the wheels slip in the next timestep."""
        self.act_on(self._data)

    def act_on(self, data: MjData) -> None:
        """Let them slip in other data of the model, such as a copy that is integrated ahead."""
        contacts, step = data.contact, self._timestep
        address, wheel = contacts.efc_address, self._of_geom[contacts.geom].max(axis=1)
        slips = self._gains * np.abs(data.qvel[self._dofs])
        for contact in np.flatnonzero((wheel >= 0) & (address >= 0)):
            first, size = int(address[contact]), int(contacts.dim[contact])
            soft = slips[wheel[contact]] / step
            if data.efc_type[first] <= self._frictionless or soft <= data.efc_R[first + 1]:
                continue
            friction = contacts.friction[contact]
            rows = np.arange(first + 1, first + size)
            # MuJoCo's cones need the same R friction^2 along all directions.
            data.efc_R[rows] = soft * (friction[0] / friction[: size - 1]) ** 2
            data.efc_D[rows] = 1.0 / data.efc_R[rows]
            data.efc_aref[rows[:2]] = -data.efc_vel[rows[:2]] / step
            contacts.mu[contact] = friction[0] * np.sqrt(soft / data.efc_R[first])

    def add_efforts(self) -> None:
        """Do nothing: its forces are those of contacts."""
