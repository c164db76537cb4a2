"""Velocities, and every other vector without a place: accelerations, angular rates, forces, fields."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sim_node.frames.axes import check_directions, reordered, reordering, rotation_matrix
from sim_node.frames.conventions import Frame
from sim_node.geometry.arrays import FloatArray, as_rows


def convert_velocity(
    values: npt.ArrayLike, source: Frame, target: Frame, origin: npt.ArrayLike | None = None
) -> FloatArray:
    """Return vectors (..., 3), given by their components in `source`, by their components in `target`.

    Lengths stay as they are, so any unit will do. ENU to NED and FLU to FRD swap and negate: exact, and NaN stays
    in its own component. ECEF against ENU or NED needs `origin`, the LLA of the local frame (its altitude does
    not matter).

    Raises OriginRequired; AttitudeRequired between a world and a body frame; ValueError for LLA.
    """
    vectors = as_rows(values, 3, "velocity")
    check_directions(source, target)
    if source is target:
        return np.array(vectors)
    if reordering(source, target):
        return reordered(vectors, source, target)
    return np.asarray(vectors @ rotation_matrix(source, target, origin).T)
