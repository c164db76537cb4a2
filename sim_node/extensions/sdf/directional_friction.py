"""Friction and slip in two directions of a surface, from <mu>, <mu2>, <slip1>, <slip2> and <fdir1> of SDF.

Source: DART, dart/constraint/ContactConstraint.cpp, which gz-physics uses: the directions of a contact, and which
values apply where two such surfaces touch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sim_node.extensions.sdf.contact_rows import ContactRows
from sim_node.extensions.sdf.wheel_slip import WheelSlip
from sim_node.simulation.columns import Columns
from sim_node.simulation.physics.force_geometry import body_of, forces_of
from sim_node.simulation.physics.wind import WindField
from sim_node.spatial.geometry.arrays import FloatArray, IntArray
from sim_node.world.declared import declared, given
from sim_node.world.forces import Force
from sim_node.world.model import World
from sim_node.world.problems import Problem, WorldError
from sim_node.world.quantities import Direction, FrameName, Number, Whole
from sim_node.world.surfaces import COEFFICIENT

if TYPE_CHECKING:
    from mujoco import MjData, MjModel

    from sim_node.simulation.physics.compiled import Compiled

# Replaces a coefficient of zero, because MuJoCo's friction cones need a width in all directions.
_LEAST = 1e-5
MAX_SLIP = 1e6
_SLIP = Number(0.0, MAX_SLIP)


@declared
class DirectionalFriction(Force):
    """Friction of shapes of a body with a coefficient along a direction, and another across it.

    The direction is the projection of `direction`, which is fixed in `frame`, on the plane of the contact. If the other
    shape states coefficients, the smaller ones apply. Contact materials do not apply. Along each direction, two shapes
    slip at a speed equal to the force times the sum of their slips, until friction reaches its limit.
    """

    type, refers = "directional_friction", ("frame",)
    solved = True

    along: float = given(COEFFICIENT, "Coefficient of sliding friction along the direction", default=1.0)
    across: float = given(COEFFICIENT, "Coefficient across it", default=1.0)
    direction: FloatArray = given(Direction(), "The direction, in `frame`", default=(1.0, 0.0, 0.0))
    frame: str = given(FrameName(), "The body in which the direction is; `body` if not given", default="")
    slip_along: float = given(_SLIP, "Speed of slipping along the direction over the force", "m/(s N)", default=0.0)
    slip_across: float = given(_SLIP, "Speed of slipping across it over the force", "m/(s N)", default=0.0)
    shape: int | None = given(
        Whole(0, 1000), "Which of the shapes that touch, from 0 on; all if not given", default=None
    )


class Frictions:
    """All shapes with directional friction. They have no state.

    Between the halves of a timestep, contacts of these shapes, and their solver rows, are rotated to the directions of
    friction, and their coefficients and slips are set.
    """

    def __init__(self, world: World, compiled: Compiled, data: MjData, wind: WindField, columns: Columns) -> None:
        model, forces = compiled.model, forces_of(world, DirectionalFriction)
        self._model, self._data, self._rows = model, data, ContactRows(model, forces)
        self._of_geom = np.full(model.ngeom + 1, len(forces))  # the last row is for contacts without a geom (-1)
        for row, force in enumerate(forces):
            self._of_geom[_geoms(world, model, force)] = row
        named = [
            0 if force.frame == world.fixed_frame else body_of(model, force.frame or force.body, force.place, "frame")
            for force in forces
        ]
        self._frames, self._directions = np.array(named), np.array([force.direction for force in forces])
        # The last row is for shapes without directional friction, whose coefficients are in the MuJoCo model.
        self._coefficients = np.array([(force.along, force.across) for force in forces] + [(np.inf, np.inf)])
        wheels = {force.body for force in forces_of(world, WheelSlip)}  # their slip takes precedence
        slips = [(force.slip_along, force.slip_across) if force.body not in wheels else (0, 0) for force in forces]
        self._slips = np.array([*slips, (0, 0)], dtype=np.float64)

    def reset(self, seed: int) -> None:
        """Do nothing: there is no state."""

    def act(self) -> None:
        """Apply directional friction to the contacts of the next timestep."""
        self.act_on(self._data)

    def act_on(self, data: MjData) -> None:
        """Apply it to the contacts in other data of the model, such as a copy that is integrated ahead."""
        contacts, none = data.contact, len(self._directions)
        rows = self._of_geom[contacts.geom]
        some = self._rows.rubbing(data, rows.min(axis=1) < none)
        if not len(some):
            return
        rows, geoms = rows[some], contacts.geom[some]
        each = self._coefficients[rows]
        others = self._model.geom_friction[geoms, :1]
        stated = (rows == none) & (self._model.geom_priority[geoms] > 0)
        each[stated] = others[stated]
        friction = np.maximum(each.min(axis=1), _LEAST)
        # If both shapes have a direction, that with the smaller first coefficient applies.
        deciding = np.where((rows[:, 1] == none) | ((rows[:, 0] < none) & (each[:, 0, 0] <= each[:, 1, 0])), *rows.T)
        turned = data.xmat[self._frames].reshape(-1, 3, 3) @ self._directions[:, :, None]
        self._rows.turn(data, some, turned[deciding, :, 0])
        self._rows.write(data, some, friction, self._slips[rows].sum(axis=1))

    def add_efforts(self) -> None:
        """Do nothing: its forces are contact forces."""


def _geoms(world: World, model: MjModel, force: DirectionalFriction) -> IntArray:
    """Return the geoms to which a force applies."""
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
