"""Orientations and yaw angles from one pair of conventions to another."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sim_node.frames.axes import rotation
from sim_node.frames.conventions import Frame
from sim_node.geometry import quaternions
from sim_node.geometry.arrays import FloatArray, as_rows

FramePair = tuple[Frame, Frame]  # (world, body): an orientation maps body components to world components


def convert_orientation(
    values: npt.ArrayLike, source: FramePair, target: FramePair, origin: npt.ArrayLike | None = None
) -> FloatArray:
    """Return quaternions (..., 4) [x, y, z, w], given for the (world, body) pair `source`, for the pair `target`.

    (NED, FRD) to (ENU, FLU) is MAVROS' NED_ENU_Q * q * AIRCRAFT_BASELINK_Q, signs included: the level attitude
    that looks north comes out with w < 0. There and back gives q, not -q. ECEF as a world needs `origin`, the
    LLA of the place (its altitude does not matter). The norm is neither needed nor changed.

    Raises OriginRequired; AttitudeRequired where a world frame stands in one pair and a body frame in the same
    place of the other; ValueError for LLA, which has no axes.
    Source: mavros/src/lib/ftf_frame_conversions.cpp; REP 103, REP 105 and REP 147 for the conventions.
    """
    q = as_rows(values, 4, "orientation")
    left = rotation(source[0], target[0], origin)
    right = rotation(target[1], source[1], origin)
    return np.asarray(q @ _sandwich(left, right).T)


def yaw_enu_from_ned(yaw_ned: npt.ArrayLike) -> FloatArray:
    """Return pi/2 - yaw_ned, in [-pi, pi]: from clockwise off north to counterclockwise off east. Radians."""
    return _wrapped(np.pi / 2 - np.asarray(yaw_ned, dtype=np.float64))


def yaw_ned_from_enu(yaw_enu: npt.ArrayLike) -> FloatArray:
    """Return pi/2 - yaw_enu, in [-pi, pi]: from counterclockwise off east to clockwise off north. Radians."""
    return _wrapped(np.pi / 2 - np.asarray(yaw_enu, dtype=np.float64))


def _sandwich(left: FloatArray, right: FloatArray) -> FloatArray:
    """The matrix (4, 4) of q -> left q right, which is linear in q."""
    return np.transpose(quaternions.multiply(quaternions.multiply(left, np.eye(4)), right))


def _wrapped(angle: FloatArray) -> FloatArray:
    """Add whole turns where needed; an angle that is in [-pi, pi] already keeps its bits."""
    return np.asarray(angle - 2 * np.pi * np.rint(angle / (2 * np.pi)))
