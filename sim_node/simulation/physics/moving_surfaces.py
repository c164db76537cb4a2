"""Surfaces that run around their shapes, as belts and tracks do: what touches them is taken along by friction."""

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

# Rows of a contact after its first, and what each has of the two directions of friction.
_ELLIPTIC = ((1, (1.0, 0.0)), (2, (0.0, 1.0)))
_PYRAMIDAL = ((0, (1.0, 0.0)), (1, (-1.0, 0.0)), (2, (0.0, 1.0)), (3, (0.0, -1.0)))


@force_element("moving_surfaces")
def open_moving_surfaces(
    world: World, layout: Layout, compiled: Compiled, data: mujoco.MjData, wind: WindField, columns: Columns
) -> MovingSurfaces | None:
    """Return what moves the surfaces of a world; None if none moves."""
    found = list(moving_surfaces(world))
    return MovingSurfaces(found, driven_joints(world), compiled.model, data) if found else None


class MovingSurfaces:
    """All moving surfaces of a world.

    MuJoCo's solver brings the velocity of a contact to zero along the directions of friction, as far as friction can.
    Between the halves of a timestep, the reference acceleration of the contact's rows is made that of the velocity
    relative to the surface. The force is then that of the same contact seen from the surface, to rounding.
    """

    def __init__(
        self,
        surfaces: list[tuple[str, int, FloatArray, SurfaceVelocity]],
        joints: dict[str, str],
        model: mujoco.MjModel,
        data: mujoco.MjData,
    ) -> None:
        self._data = data
        # Islands have copies of the rows that are written here.
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_ISLAND
        self._rows = _ELLIPTIC if model.opt.cone == mujoco.mjtCone.mjCONE_ELLIPTIC else _PYRAMIDAL
        self._scaled = self._rows is _PYRAMIDAL
        self._of_geom = np.full(model.ngeom + 1, -1)  # the last one is that of what is no geometry
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
        """Move them in other data of the model, such as a copy that is integrated ahead."""
        contacts = data.contact
        touched = self._of_geom[contacts.geom]
        some = np.flatnonzero((touched >= 0).any(axis=1) & (contacts.efc_address >= 0) & (contacts.dim > 1))
        if not len(some):
            return
        speeds = np.array(self._speeds)
        speeds[self._driven] += self._radii * data.qvel[self._dofs]
        matrices = data.xmat[self._bodies].reshape(-1, 3, 3)
        axes = np.einsum("kij,kj->ki", matrices, self._axes) * speeds[:, None]
        frames = contacts.frame[some].reshape(-1, 3, 3)
        # The normal leads from the first geometry to the second: out of the one, into the other, whose velocity is
        # taken off the relative one.
        moved = np.zeros((len(some), 3))
        for which in (0, 1):
            rows = touched[some, which]
            moved -= np.where(rows[:, None] >= 0, np.cross(axes[rows], frames[:, 0]), 0.0)
        along = np.einsum("kij,kj->ki", frames[:, 1:], moved)
        if self._scaled:
            along *= contacts.friction[some, :2]
        first = contacts.efc_address[some]
        for row, parts in self._rows:
            at = first + row
            data.efc_aref[at] -= data.efc_KBIP[at, 1] * (along @ np.array(parts))

    def add_efforts(self) -> None:
        """Do nothing: its forces are those of contacts."""
