"""Conversions of orientations, transforms, velocities, covariances and goto targets between conventions."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from sim_node.spatial.frames.axes import check_directions, reordered, reordering, rotation, rotation_matrix
from sim_node.spatial.frames.conventions import Frame
from sim_node.spatial.frames.positions import convert_position
from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray, IntArray, as_rows

FramePair = tuple[Frame, Frame]  # (world, body): an orientation rotates body components into world components


def convert_orientation(
    values: npt.ArrayLike, source: FramePair, target: FramePair, origin: npt.ArrayLike | None = None
) -> FloatArray:
    """Convert orientations from one (world, body) pair of frames to another.

    (NED, FRD) to (ENU, FLU) is MAVROS' NED_ENU_Q * q * AIRCRAFT_BASELINK_Q, signs included: the level attitude that
    faces north gets w < 0. A round trip returns q, not -q. The norm is neither checked nor changed.
    Source: mavros/src/lib/ftf_frame_conversions.cpp; REP 103, REP 105 and REP 147 for the conventions.

    Args:
        values: Quaternions (..., 4) [x, y, z, w] that rotate components in the body frame into the world frame.
        source: The (world, body) pair of `values`.
        target: The (world, body) pair of the result.
        origin: Position (latitude, longitude, altitude) in degrees and metres; needed if one of the world frames is
            ECEF and the other is not. The altitude has no effect.

    Returns:
        Quaternions (..., 4).

    Raises:
        OriginRequired: ECEF is involved and `origin` is None.
        AttitudeRequired: One pair has a world frame in a place where the other has a body frame.
        ValueError: A frame is LLA, which has no axes, or the shape is wrong.
    """
    q = as_rows(values, 4, "orientation")
    left = rotation(source[0], target[0], origin)
    right = rotation(target[1], source[1], origin)
    return np.asarray(q @ _sandwich(left, right).T)


def yaw_enu_from_ned(yaw_ned: npt.ArrayLike) -> FloatArray:
    """Convert a yaw from NED, clockwise from north, to ENU, counterclockwise from east: pi/2 - yaw_ned.

    Args:
        yaw_ned: Radians, of any shape.

    Returns:
        Radians in [-pi, pi].
    """
    return _wrapped(np.pi / 2 - np.asarray(yaw_ned, dtype=np.float64))


def yaw_ned_from_enu(yaw_enu: npt.ArrayLike) -> FloatArray:
    """Convert a yaw from ENU, counterclockwise from east, to NED, clockwise from north: pi/2 - yaw_enu.

    Args:
        yaw_enu: Radians, of any shape.

    Returns:
        Radians in [-pi, pi].
    """
    return _wrapped(np.pi / 2 - np.asarray(yaw_enu, dtype=np.float64))


def _sandwich(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the matrix (4, 4) of q -> left q right, which is linear in q."""
    return np.transpose(quaternions.multiply(quaternions.multiply(left, np.eye(4)), right))


def _wrapped(angle: FloatArray) -> FloatArray:
    """Add whole turns where needed. Angles that are already in [-pi, pi] are returned unchanged, to the bit."""
    return np.asarray(angle - 2 * np.pi * np.rint(angle / (2 * np.pi)))


def convert_transform(
    values: npt.ArrayLike, source: FramePair, target: FramePair, origin: npt.ArrayLike | None = None
) -> FloatArray:
    """Convert poses from one (parent, child) pair of frames to another.

    (NED, FRD) to (ENU, FLU) converts an autopilot's pose to ROS conventions, (FRD, FRD) to (FLU, FLU) the mounting of
    a sensor. Positions are converted by convert_position, rotations by convert_orientation.

    Args:
        values: Poses (..., 7) [x y z qx qy qz qw] of the child in the parent, m.
        source: The (parent, child) pair of `values`.
        target: The (parent, child) pair of the result.
        origin: LLA of the local frame's origin; needed between ECEF and a local frame.

    Returns:
        Poses (..., 7).

    Raises:
        OriginRequired: As in convert_position.
        AttitudeRequired: As in convert_orientation.
        InvalidCoordinates: As in convert_position.
        ValueError: A frame is LLA, or the shape is wrong.
    """
    poses = as_rows(values, 7, "pose")
    converted = np.empty(poses.shape)
    converted[..., :3] = convert_position(poses[..., :3], source[0], target[0], origin)
    converted[..., 3:] = convert_orientation(poses[..., 3:], source, target, origin)
    return converted


def axes_in_enu(frame: Frame, origin: npt.ArrayLike | None = None) -> FloatArray:
    """Return the pose (7,) of a frame itself in ENU: its origin, m, and the rotation of components into ENU.

    Args:
        frame: ENU, NED or ECEF.
        origin: LLA of the local frame's origin; needed for ECEF.

    Raises:
        OriginRequired: As in convert_position.
        InvalidCoordinates: As in convert_position.
    """
    return convert_transform((0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0), (frame, Frame.FLU), (Frame.ENU, Frame.FLU), origin)


def convert_velocity(
    values: npt.ArrayLike, source: Frame, target: Frame, origin: npt.ArrayLike | None = None
) -> FloatArray:
    """Convert the components of vectors from the axes of one frame to those of another.

    Lengths do not change, so the vectors may have any unit. ENU to NED and FLU to FRD swap and negate: they are exact,
    and NaN stays in its own component.

    Args:
        values: Vectors (..., 3) along the axes of `source`.
        source: The frame of `values`.
        target: The frame of the result.
        origin: LLA of the local frame's origin; needed between ECEF and ENU or NED. The altitude has no effect.

    Returns:
        Vectors (..., 3) along the axes of `target`.

    Raises:
        OriginRequired: ECEF is involved and `origin` is None.
        AttitudeRequired: One frame is a world frame, the other a body frame.
        ValueError: A frame is LLA, or the shape is wrong.
    """
    vectors = as_rows(values, 3, "velocity")
    check_directions(source, target)
    if source is target:
        return np.array(vectors)
    if reordering(source, target):
        return reordered(vectors, source, target)
    return np.asarray(vectors @ rotation_matrix(source, target, origin).T)


_SIZES = (3, 6, 9)


def convert_covariance(
    values: npt.ArrayLike,
    source: Frame | tuple[Frame, ...],
    target: Frame | tuple[Frame, ...],
    origin: npt.ArrayLike | None = None,
) -> FloatArray:
    """Convert covariances C to T C T^T, where T rotates each block of three components.

    The blocks are position, orientation (rotations about the fixed axes, as in geometry_msgs) and, for 9x9, a third of
    the sender's choice. An unknown entry (NaN) makes exactly those entries unknown that depend on it; between ENU and
    NED, and FLU and FRD, NaN moves with its entry. Rotations from or to ECEF treat infinite entries as unknown, too.

    Args:
        values: Covariances (..., 3, 3), (..., 6, 6) or (..., 9, 9).
        source: The frame of `values`: one for all blocks, as in MAVROS, or one for each, as in (NED, FRD) for a 6x6
            matrix whose attitude errors are about body axes.
        target: The frame of the result, in the same form.
        origin: LLA of the local frame's origin; needed between ECEF and ENU or NED.

    Returns:
        Covariances of the same shape.

    Raises:
        ValueError: The shape is wrong, as for the 9, 36 or 81 row-major numbers of ROS messages, or a frame is LLA
            (NavSatFix has metres in ENU at the fix).
        OriginRequired: ECEF is involved and `origin` is None.
        AttitudeRequired: A block has a world frame in one argument and a body frame in the other.
    """
    covariance = np.asarray(values, dtype=np.float64)
    size = covariance.shape[-1] if covariance.ndim else 0
    if covariance.ndim < 2 or covariance.shape[-2] != size or size not in _SIZES:
        side = next((n for n in _SIZES if size == n * n), None)
        hint = f"; reshape row-major numbers to (..., {side}, {side}) first" if side else ""
        raise ValueError(f"covariance: shape is {covariance.shape}, needs (..., n, n) with n 3, 6 or 9{hint}")
    pairs = tuple(zip(per_block(source, size), per_block(target, size), strict=True))
    found = _entries_of(pairs)
    if found is not None:
        places, signs = found
        return np.asarray(covariance[places] * signs)
    return rotated_covariance(covariance, [rotation_matrix(there, here, origin) for there, here in pairs])


def per_block(frames: Frame | tuple[Frame, ...], size: int) -> tuple[Frame, ...]:
    """Return the frame of each block of a covariance of `size` rows. Raises ValueError for another number of frames."""
    if isinstance(frames, Frame):
        return (frames,) * (size // 3)
    if len(frames) != size // 3:
        raise ValueError(
            f"covariance: {len(frames)} frames for {size // 3} blocks of a {size}x{size}; give one, or one per block"
        )
    return frames


@lru_cache(maxsize=64)
def _entries_of(pairs: tuple[tuple[Frame, Frame], ...]) -> tuple[tuple[Any, IntArray, IntArray], FloatArray] | None:
    """Return the source index and the sign of each entry if all blocks are only reordered; None for other rotations."""
    for there, here in pairs:
        check_directions(there, here)
    orders = [order for there, here in pairs if (order := reordering(there, here))]
    if len(orders) < len(pairs):
        return None
    index = np.concatenate([3 * block + order for block, (order, _) in enumerate(orders)])
    sign = np.concatenate([signs for _, signs in orders])
    return (..., index[:, None], index), np.outer(sign, sign)


def rotated_covariance(covariance: FloatArray, matrices: list[FloatArray]) -> FloatArray:
    """Return T C T^T, where T rotates each block by its matrix (3, 3).

    Entries that depend on unknown ones are NaN.
    """
    turn = np.zeros(covariance.shape[-2:])
    for block, matrix in enumerate(matrices):
        turn[3 * block : 3 * block + 3, 3 * block : 3 * block + 3] = matrix
    unknown = ~np.isfinite(covariance)
    if not unknown.any():
        return np.asarray(turn @ covariance @ turn.T)
    touches = (turn != 0.0).astype(np.float64)
    converted = turn @ np.where(unknown, 0.0, covariance) @ turn.T
    converted[touches @ unknown @ touches.T > 0.0] = np.nan
    return np.asarray(converted)


_AT_THE_ORIGIN = (0.0, 0.0, 0.0)


def goto_to_ned(target_enu: npt.ArrayLike, home_ned: npt.ArrayLike = _AT_THE_ORIGIN) -> FloatArray:
    """Convert a goto target from ENU relative to home to the autopilot's local NED.

    Args:
        target_enu: Targets (..., 3) in ENU, m, relative to home.
        home_ned: Home (3,) in local NED, m: x, y and z of MAVLink's HOME_POSITION. It is often not (0, 0, 0): local NED
            starts where the estimator started, home is where the vehicle was armed or where the pilot set it.

    Returns:
        Setpoints (..., 3) in local NED, m.

    Raises:
        ValueError: The shape is wrong.
    """
    return np.asarray(as_rows(home_ned, 3, "home") + convert_position(target_enu, Frame.ENU, Frame.NED))


def goto_from_ned(position_ned: npt.ArrayLike, home_ned: npt.ArrayLike = _AT_THE_ORIGIN) -> FloatArray:
    """Convert a position from the autopilot's local NED to ENU relative to home.

    Args:
        position_ned: Positions (..., 3) in local NED, m.
        home_ned: Home (3,) in local NED, m; see goto_to_ned.

    Returns:
        Positions (..., 3) in ENU, m, relative to home.

    Raises:
        ValueError: The shape is wrong.
    """
    return convert_position(as_rows(position_ned, 3, "position") - as_rows(home_ned, 3, "home"), Frame.NED, Frame.ENU)
