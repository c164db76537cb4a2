"""Friction that differs between two directions of a surface, as <mu>, <mu2> and <fdir1> of SDF give it.

Source: DART, dart/constraint/ContactConstraint.cpp, which gz-physics uses: the directions of a contact, and what counts
where two such surfaces touch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sim_node.simulation.columns import Columns
from sim_node.simulation.physics.force_geometry import body_of, forces_of
from sim_node.simulation.physics.wind import WindField
from sim_node.spatial.geometry.arrays import FloatArray, IntArray
from sim_node.world.declared import declared, given
from sim_node.world.forces import Force
from sim_node.world.model import World
from sim_node.world.problems import Problem, WorldError
from sim_node.world.quantities import Direction, FrameName, Whole
from sim_node.world.surfaces import COEFFICIENT

if TYPE_CHECKING:
    from mujoco import MjData, MjModel

    from sim_node.simulation.physics.compiled import Compiled

# Of MuJoCo, where a coefficient is zero: its cones have a width in all directions.
_LEAST = 1e-5
# The first row of rolling friction, after those of the normal, of two directions and of torsion.
ROLLING = 4
# A direction whose part along the surface is shorter (sine) is one that has none.
_UPRIGHT = 1e-6


@declared
class DirectionalFriction(Force):
    """Friction of shapes of a body with a coefficient along a direction, and another across it.

    The direction is that of the contact's plane that is nearest to `direction`, which turns with `frame`. Of the other
    shape, smaller coefficients count instead, if it states any. Contact materials do not apply to it.
    """

    type, refers = "directional_friction", ("frame",)
    solved = True

    along: float = given(COEFFICIENT, "Coefficient of sliding friction along the direction", default=1.0)
    across: float = given(COEFFICIENT, "Coefficient across it", default=1.0)
    direction: FloatArray = given(Direction(), "The direction, in `frame`", default=(1.0, 0.0, 0.0))
    frame: str = given(FrameName(), "The body in which the direction is; `body` if not given", default="")
    shape: int | None = given(
        Whole(0, 1000), "Which of the shapes that touch, from 0 on; all if not given", default=None
    )


class Frictions:
    """All shapes with such friction. They have no state.

    MuJoCo chooses the directions of a contact by its normal alone. Between the halves of a timestep, those of these
    contacts are turned about it, with the rows of the solver, and get their coefficients. MuJoCo's cones need the same
    R friction^2 along all directions, R being the softness of a row.
    """

    def __init__(self, world: World, compiled: Compiled, data: MjData, wind: WindField, columns: Columns) -> None:
        import mujoco

        model, forces = compiled.model, forces_of(world, DirectionalFriction)
        if model.opt.cone != mujoco.mjtCone.mjCONE_ELLIPTIC:
            place = forces[0].place
            message = f"{DirectionalFriction.type} needs physics.cone: elliptic"
            raise WorldError([Problem(place.where, place.key or "forces", message)])
        self._model, self._data = model, data
        # Islands have copies of the rows that are written here.
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_ISLAND
        self._sparse = bool(mujoco.mj_isSparse(model))
        self._frictionless = int(mujoco.mjtConstraint.mjCNSTR_CONTACT_FRICTIONLESS)
        self._of_geom = np.full(model.ngeom + 1, len(forces))  # the last one is that of what is no geometry
        for row, force in enumerate(forces):
            self._of_geom[_geoms(world, model, force)] = row
        named = [
            0 if force.frame == world.fixed_frame else body_of(model, force.frame or force.body, force.place, "frame")
            for force in forces
        ]
        self._frames, self._directions = np.array(named), np.array([force.direction for force in forces])
        # The last row is that of shapes without such friction: MuJoCo has their coefficients.
        self._coefficients = np.array([(force.along, force.across) for force in forces] + [(np.inf, np.inf)])

    def reset(self, seed: int) -> None:
        """Do nothing: there is no state."""

    def act(self) -> None:
        """Turn the contacts of the next timestep."""
        self.act_on(self._data)

    def act_on(self, data: MjData) -> None:
        """Turn those in other data of the model, such as a copy that is integrated ahead."""
        contacts, none = data.contact, len(self._directions)
        address, rows = contacts.efc_address, self._of_geom[contacts.geom]
        some = np.flatnonzero((rows.min(axis=1) < none) & (address >= 0))
        some = some[data.efc_type[address[some]] > self._frictionless]
        if not len(some):
            return
        rows, first, geoms = rows[some], address[some], contacts.geom[some]
        each = self._coefficients[rows]
        others = self._model.geom_friction[geoms, :1]
        stated = (rows == none) & (self._model.geom_priority[geoms] > 0)
        each[stated] = others[stated]
        friction = np.maximum(each.min(axis=1), _LEAST)
        # Of two directions, that of the smaller first coefficient counts.
        deciding = np.where((rows[:, 1] == none) | ((rows[:, 0] < none) & (each[:, 0, 0] <= each[:, 1, 0])), *rows.T)
        turned = data.xmat[self._frames].reshape(-1, 3, 3) @ self._directions[:, :, None]
        frames = contacts.frame[some].reshape(-1, 3, 3)
        cosine, sine = _turns(frames, turned[deciding, :, 0]).T
        contacts.frame[some, 3:6] = cosine[:, None] * frames[:, 1] + sine[:, None] * frames[:, 2]
        contacts.frame[some, 6:] = cosine[:, None] * frames[:, 2] - sine[:, None] * frames[:, 1]
        contacts.friction[some, :2] = friction
        self._turn_rows(data, first + 1, cosine, sine)
        sizes, softness, along = contacts.dim[some], data.efc_R, friction[:, 0]
        rolls = sizes > ROLLING
        self._turn_rows(data, first[rolls] + ROLLING, cosine[rolls], sine[rolls])
        of_first, every = softness[first + 1], contacts.friction[some]
        contacts.mu[some] = along * np.sqrt(of_first / softness[first])
        for row in range(2, int(sizes.max())):
            there = sizes > row
            at = first[there] + row
            softness[at] = of_first[there] * (along[there] / every[there, row - 1]) ** 2
            data.efc_D[at] = 1.0 / softness[at]

    def _turn_rows(self, data: MjData, rows: IntArray, cosine: FloatArray, sine: FloatArray) -> None:
        """Turn rows of first directions with those of second ones after them, which have the same columns."""
        if self._sparse:
            sizes, starts, others = (
                of[at]
                for of, at in ((data.efc_J_rownnz, rows), (data.efc_J_rowadr, rows), (data.efc_J_rowadr, rows + 1))
            )
        else:
            sizes = np.full(len(rows), self._model.nv)
            starts, others = rows * self._model.nv, (rows + 1) * self._model.nv
        of = np.repeat(np.arange(len(rows)), sizes)
        column = np.arange(len(of)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        _turn(data.efc_J, starts[of] + column, others[of] + column, cosine[of], sine[of])
        for values in (data.efc_vel, data.efc_aref):
            _turn(values, rows, rows + 1, cosine, sine)

    def add_efforts(self) -> None:
        """Do nothing: its forces are those of contacts."""


def _turn(values: FloatArray, first: IntArray, second: IntArray, cosine: FloatArray, sine: FloatArray) -> None:
    one, other = values[first], values[second]
    values[first], values[second] = cosine * one + sine * other, cosine * other - sine * one


def _geoms(world: World, model: MjModel, force: DirectionalFriction) -> IntArray:
    """Return the geometries that it is of."""
    start = int(model.body_geomadr[body_of(model, force.body, force.place, "body")])
    shapes = next(body.shapes for body in world.bodies if body.name == force.body)
    solid = [shape for shape in shapes if not shape.is_shown_only]
    touching = start + np.array([at for at, shape in enumerate(solid) if shape.only != "visual"], dtype=np.int64)
    if force.shape is None:
        return touching
    if force.shape >= len(touching):
        message = f"{force.shape} is not one of the {len(touching)} shapes of {force.body} that touch"
        raise WorldError([Problem(force.place.where, f"{force.place.key.removesuffix('.body')}.shape", message)])
    return touching[force.shape : force.shape + 1]


def _turns(frames: FloatArray, directions: FloatArray) -> FloatArray:
    """Return cosine and sine (C, 2) of the angles about normals from frames of contacts (C, 3, 3) to directions (C, 3).

    A direction along the normal is the world's x instead, or y, as in DART.
    """
    found = np.einsum("cij,cj->ci", frames[:, 1:], directions)
    for instead in (0, 1):
        flat = np.linalg.norm(found, axis=1) < _UPRIGHT
        found[flat] = frames[flat, 1:, instead]
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True))
