"""Surfaces that move around their shapes, such as belts and tracks: friction carries along what touches them."""

from __future__ import annotations

import mujoco
import numpy as np

from sim_node.simulation.columns import Columns
from sim_node.simulation.physics.compiled import Compiled
from sim_node.simulation.physics.force_elements import force_element
from sim_node.simulation.physics.wind import WindField
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.bodies import moving_surfaces
from sim_node.world.joint_motion import driven_joints
from sim_node.world.layout import Layout
from sim_node.world.model import World
from sim_node.world.surfaces import SurfaceVelocity

_FRICTIONLESS = int(mujoco.mjtConstraint.mjCNSTR_CONTACT_FRICTIONLESS)
# Friction rows of a contact, as offsets from its first row, with the components of each along the two tangents.
_FIRST, _SECOND = np.array([1.0, 0.0]), np.array([0.0, 1.0])
_ELLIPTIC = ((1, _FIRST), (2, _SECOND))
_PYRAMIDAL = ((0, _FIRST), (1, -_FIRST), (2, _SECOND), (3, -_SECOND))


@force_element("moving_surfaces")
def open_moving_surfaces(
    world: World, layout: Layout, compiled: Compiled, data: mujoco.MjData, wind: WindField, columns: Columns
) -> MovingSurfaces | None:
    """Return the force element of a world's moving surfaces; None if there are none."""
    found = list(moving_surfaces(world))
    return MovingSurfaces(found, driven_joints(world), compiled.model, data) if found else None


class MovingSurfaces:
    """All moving surfaces of a world.

    MuJoCo's solver brings the tangential velocity of a contact to zero, within the limits of friction. Between mj_step1
    and mj_step2, the reference acceleration of the contact's rows is changed to that of the velocity relative to the
    moving surface. Up to rounding, the force is then that of the same contact seen from the surface.
    """

    def __init__(
        self,
        surfaces: list[tuple[str, int, FloatArray, SurfaceVelocity]],
        joints: dict[str, str],
        model: mujoco.MjModel,
        data: mujoco.MjData,
    ) -> None:
        self._data = data
        # With islands, MuJoCo would solve copies of the rows that are written here.
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_ISLAND
        self._rows = _ELLIPTIC if model.opt.cone == mujoco.mjtCone.mjCONE_ELLIPTIC else _PYRAMIDAL
        self._scaled = self._rows is _PYRAMIDAL
        self._of_geom = np.full(model.ngeom + 1, -1)  # the last entry is for contacts with something other than a geom
        self._bodies = np.array([model.body(name).id if name else 0 for name, *_ in surfaces])
        for row, (body, (_, index, *_)) in enumerate(zip(self._bodies.tolist(), surfaces, strict=True)):
            self._of_geom[model.body_geomadr[body] + index] = row
        self._axes = np.array([axis for _, _, axis, _ in surfaces])
        self._speeds = np.array([velocity.speed for *_, velocity in surfaces])
        driven = [(row, velocity) for row, (*_, velocity) in enumerate(surfaces) if velocity.joint]
        self._driven = np.array([row for row, _ in driven], dtype=np.int64)
        self._radii = np.array([velocity.radius for _, velocity in driven])
        self._dofs = np.array(
            [model.jnt_dofadr[model.joint(joints[velocity.joint]).id] for _, velocity in driven], dtype=np.int64
        )

    def reset(self, seed: int) -> None:
        """Do nothing: there is no state."""

    def act(self) -> None:
        """Move the surfaces in the contacts of the next timestep."""
        self.act_on(self._data)

    def act_on(self, data: mujoco.MjData) -> None:
        """Move the surfaces in other data of the same model, such as a copy that is integrated ahead."""
        contacts = data.contact
        address, touched = contacts.efc_address, self._of_geom[contacts.geom]
        some = np.flatnonzero((touched.max(axis=1) >= 0) & (address >= 0))
        first = address[some]
        has_friction = data.efc_type[first] > _FRICTIONLESS
        some, first = some[has_friction], first[has_friction]
        if not len(some):
            return
        speeds = np.array(self._speeds)
        speeds[self._driven] += self._radii * data.qvel[self._dofs]
        axes = np.zeros((len(speeds) + 1, 3))  # the last row is for geoms whose surface does not move
        matrices = data.xmat[self._bodies].reshape(-1, 3, 3)
        axes[:-1] = (matrices @ self._axes[:, :, None])[:, :, 0] * speeds[:, None]
        # The normal points from the first geom to the second: out of the one, into the other, whose velocity is
        # subtracted in the relative velocity. The component of axis x n along a tangent t is axis . (n x t).
        frames = contacts.frame[some].reshape(-1, 3, 3)
        both = axes[touched[some]].sum(axis=1)[:, None]
        # With tangents t1 and t2, n x t1 = t2 and n x t2 = -t1.
        across = (both @ frames[:, 1:].transpose(0, 2, 1))[:, 0]
        along = np.stack([-across[:, 1], across[:, 0]], axis=1)
        if self._scaled:
            along *= contacts.friction[some, :2]
        damping, reference = data.efc_KBIP[:, 1], data.efc_aref
        for row, parts in self._rows:
            at = first + row
            reference[at] -= damping[at] * (along @ parts)

    def add_efforts(self) -> None:
        """Do nothing: the forces are those of contacts."""
