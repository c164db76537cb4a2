"""Contact rows of MuJoCo's constraint solver, changed between mj_step1 and mj_step2: direction, friction and slip."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mujoco
import numpy as np

from sim_node.spatial.geometry.arrays import FloatArray, IntArray
from sim_node.world.forces import Force
from sim_node.world.problems import Problem, WorldError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mujoco import MjData, MjModel

# Index of the first row of rolling friction, after those of the normal, the two tangents and torsion.
ROLLING = 4
# Directions with a smaller sine of the angle to the normal have no component along the surface.
_UPRIGHT = 1e-6


class ContactRows:
    """The contact rows of a model, which forces of one type rotate and write.

    Raises:
        WorldError: The friction cones are not elliptic.
    """

    def __init__(self, model: MjModel, forces: Sequence[Force]) -> None:
        if model.opt.cone != mujoco.mjtCone.mjCONE_ELLIPTIC:
            place = forces[0].place
            message = f"{forces[0].type} needs physics.cone: elliptic"
            raise WorldError([Problem(place.where, place.key or "forces", message)])
        # Islands would have copies of the rows that are written here.
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_ISLAND
        self._model, self._timestep = model, float(model.opt.timestep)
        self._sparse = bool(mujoco.mj_isSparse(model))
        self._frictionless = int(mujoco.mjtConstraint.mjCNSTR_CONTACT_FRICTIONLESS)

    def rubbing(self, data: MjData, meant: FloatArray | IntArray) -> IntArray:
        """Return the contacts with friction among those selected by a mask (ncon,)."""
        address = data.contact.efc_address
        some = np.flatnonzero(meant & (address >= 0))
        return np.asarray(some[data.efc_type[address[some]] > self._frictionless])

    def turn(self, data: MjData, some: IntArray, directions: FloatArray) -> None:
        """Rotate the tangents of contacts to directions (C, 3) in the world. MuJoCo derives its own from the normal."""
        contacts = data.contact
        first, frames = contacts.efc_address[some], contacts.frame[some].reshape(-1, 3, 3)
        cosine, sine = _turns(frames, directions).T
        contacts.frame[some, 3:6] = cosine[:, None] * frames[:, 1] + sine[:, None] * frames[:, 2]
        contacts.frame[some, 6:] = cosine[:, None] * frames[:, 2] - sine[:, None] * frames[:, 1]
        self._turn_rows(data, first + 1, cosine, sine)
        rolls = contacts.dim[some] > ROLLING
        self._turn_rows(data, first[rolls] + ROLLING, cosine[rolls], sine[rolls])

    def write(self, data: MjData, some: IntArray, friction: FloatArray, slips: FloatArray) -> None:
        """Set the coefficients of friction (C, 2) of contacts along their directions, and slips (C, 2), m/(s N).

        Shapes that slip in proportion to their force act as a damper, which their n contacts share: each has the force
        -v / s with s = n slip. MuJoCo's solver computes forces f = (aref - a) / R. With R = s / h and aref = -v / h,
        this is f = -(v + h a) / s, with the velocity at the end of the timestep h, which is stable for any s.

        Its cones need the same R friction^2 in all directions. Where this does not hold, the cone gets coefficients
        with the required ratio, scaled so that its limit is that of the actual coefficients in the direction of the
        force, which is predicted from the accelerations of the last timestep.
        """
        contacts, softness = data.contact, data.efc_R
        first = contacts.efc_address[some]
        rows = first[:, None] + (1, 2)
        scale = softness[first + 1] * friction[:, 0] ** 2
        _, pair, count = np.unique(contacts.geom[some], axis=0, return_inverse=True, return_counts=True)
        usual, soft = scale[:, None] / friction**2, slips * count[pair.reshape(-1), None] / self._timestep
        slipping = np.flatnonzero((soft > usual).any(axis=1))
        softness[rows] = usual
        if len(slipping):
            at, limits = rows[slipping], friction[slipping]
            softer = soft[slipping] > usual[slipping]
            data.efc_aref[at] = np.where(softer, -data.efc_vel[at] / self._timestep, data.efc_aref[at])
            softness[at] = np.where(softer, soft[slipping], usual[slipping])
            ahead = np.empty(data.nefc)
            mujoco.mj_mulJacVec(self._model, data, ahead, data.qacc_warmstart)
            forces = (ahead - data.efc_aref)[at] / softness[at]
            forces[~forces.any(axis=1)] = 1.0
            scale[slipping] = (forces**2 * softness[at]).sum(axis=1) / ((forces / limits) ** 2).sum(axis=1)
        contacts.friction[some, :2] = np.sqrt(scale[:, None] / softness[rows])
        contacts.mu[some] = np.sqrt(scale / softness[first])
        sizes, every = contacts.dim[some], contacts.friction[some]
        for row in range(3, int(sizes.max(initial=0))):
            there = sizes > row
            softness[first[there] + row] = scale[there] / every[there, row - 1] ** 2
        for row in range(1, int(sizes.max(initial=0))):
            at = first[sizes > row] + row
            data.efc_D[at] = 1.0 / softness[at]

    def _turn_rows(self, data: MjData, rows: IntArray, cosine: FloatArray, sine: FloatArray) -> None:
        """Rotate rows of first directions with the rows of second directions that follow them, in the same columns."""
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


def _turn(values: FloatArray, first: IntArray, second: IntArray, cosine: FloatArray, sine: FloatArray) -> None:
    one, other = values[first], values[second]
    values[first], values[second] = cosine * one + sine * other, cosine * other - sine * one


def _turns(frames: FloatArray, directions: FloatArray) -> FloatArray:
    """Return cosine and sine (C, 2) of the angles about the normals from contact frames (C, 3, 3) to directions (C, 3).

    A direction along the normal is replaced by the world's x, or else y, as in DART.
    """
    found = np.einsum("cij,cj->ci", frames[:, 1:], directions)
    for instead in (0, 1):
        flat = np.linalg.norm(found, axis=1) < _UPRIGHT
        found[flat] = frames[flat, 1:, instead]
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True))
