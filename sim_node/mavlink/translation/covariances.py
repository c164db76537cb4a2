"""Covariances as ROS has them: zeros for unknown entries, -1 at the head of the block of what is not known itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sim_node.spatial.frames import Flu
from sim_node.spatial.geometry.arrays import FloatArray

UNKNOWN = (0.0,) * 36
_NOT_KNOWN = -1.0
_NOTHING = (0.0, 0.0, 0.0)
# The first entries of the blocks of velocity and rates on the diagonal of a 6 x 6.
_VELOCITY, _RATES = 0, 21


def known(covariance: FloatArray) -> FloatArray:
    """Return a covariance with zeros for entries that are not finite."""
    return np.nan_to_num(covariance, nan=0.0, posinf=0.0, neginf=0.0)


def symmetric(upper: Sequence[float], size: int) -> FloatArray:
    """Return the matrix of MAVLink's row-major upper triangle, with NaN for entries that are not finite."""
    matrix = np.full((size, size), np.nan)
    matrix[np.triu_indices(size)] = np.where(np.isfinite(upper), upper, np.nan)
    return np.where(np.isnan(matrix), matrix.T, matrix)


def twist(velocity: Flu | None, rates: Flu | None, covariance: Sequence[float] = UNKNOWN) -> tuple[float, ...]:
    """Return the numbers of a TwistWithCovariance, of which nothing, a part or all may be known.

    Args:
        velocity: In m/s.
        rates: In rad/s.
        covariance: 36 entries, row-major.

    Returns:
        The six numbers of the twist, and the covariance.
    """
    if velocity is not None and rates is not None:
        return (*velocity, *rates, *covariance)
    entries = list(covariance)
    if velocity is None:
        entries[_VELOCITY] = _NOT_KNOWN
    if rates is None:
        entries[_RATES] = _NOT_KNOWN
    return (*(velocity or _NOTHING), *(rates or _NOTHING), *entries)
