"""Conversions of orientations, transforms, velocities, covariances and goto targets between conventions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sim_node.frames.axes import check_directions, reordered, reordering, rotation, rotation_matrix
from sim_node.frames.conventions import Frame
from sim_node.frames.positions import convert_position
from sim_node.geometry import quaternions
from sim_node.geometry.arrays import FloatArray, IntArray, as_rows

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


def convert_transform(
    values: npt.ArrayLike, source: FramePair, target: FramePair, origin: npt.ArrayLike | None = None
) -> FloatArray:
    """Return poses (..., 7) [x y z qx qy qz qw], given for the pair `source`, for the pair `target`.

    A pair is (parent, child): (NED, FRD) to (ENU, FLU) turns an autopilot's pose into the house's, (FRD, FRD) to
    (FLU, FLU) a sensor's mounting. The position goes through convert_position, the rotation through
    convert_orientation; what they raise, this raises.
    """
    poses = as_rows(values, 7, "pose")
    converted = np.empty(poses.shape)
    converted[..., :3] = convert_position(poses[..., :3], source[0], target[0], origin)
    converted[..., 3:] = convert_orientation(poses[..., 3:], source, target, origin)
    return converted


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


_SIZES = (3, 6, 9)


def convert_covariance(
    values: npt.ArrayLike,
    source: Frame | tuple[Frame, ...],
    target: Frame | tuple[Frame, ...],
    origin: npt.ArrayLike | None = None,
) -> FloatArray:
    """Return T C T^T for covariances C (..., 3, 3), (..., 6, 6) or (..., 9, 9), T turning each block of three.

    The blocks are position, orientation (rotations about the fixed axes, as geometry_msgs has it) and whatever
    the sender adds, all in the same frame as in MAVROS, or each in its own: source=(NED, FRD),
    target=(ENU, FLU) for a 6x6 whose attitude errors are about body axes.

    An unknown entry (NaN) makes unknown exactly the entries that it takes part in, so between ENU and NED or FLU
    and FRD, which swap and negate exactly, NaN moves with its entry. A rotation from or to ECEF takes infinite
    entries for unknown too.

    Raises ValueError for another shape, the row-major 9, 36 or 81 numbers of ROS messages among them, and for LLA
    (NavSatFix gives metres in ENU at the fix); OriginRequired; AttitudeRequired.
    """
    covariance = np.asarray(values, dtype=np.float64)
    size = covariance.shape[-1] if covariance.ndim else 0
    if covariance.ndim < 2 or covariance.shape[-2] != size or size not in _SIZES:
        side = next((n for n in _SIZES if size == n * n), None)
        hint = f"; row-major numbers want reshape(..., {side}, {side}) first" if side else ""
        raise ValueError(f"covariance: shape is {covariance.shape}, needs (..., n, n) with n 3, 6 or 9{hint}")
    pairs = list(zip(_per_block(source, size), _per_block(target, size), strict=True))
    for there, here in pairs:
        check_directions(there, here)
    orders = [order for there, here in pairs if (order := reordering(there, here))]
    if len(orders) == len(pairs):
        return _reordered(covariance, orders)
    return _rotated(covariance, [rotation_matrix(there, here, origin) for there, here in pairs])


def _per_block(frames: Frame | tuple[Frame, ...], size: int) -> tuple[Frame, ...]:
    if isinstance(frames, Frame):
        return (frames,) * (size // 3)
    if len(frames) != size // 3:
        raise ValueError(
            f"covariance: {len(frames)} frames for {size // 3} blocks of a {size}x{size}; give one, or one per block"
        )
    return frames


def _reordered(covariance: FloatArray, orders: list[tuple[IntArray, FloatArray]]) -> FloatArray:
    index = np.concatenate([3 * block + order for block, (order, _) in enumerate(orders)])
    sign = np.concatenate([signs for _, signs in orders])
    return np.asarray(covariance[..., index[:, None], index] * np.outer(sign, sign))


def _rotated(covariance: FloatArray, matrices: list[FloatArray]) -> FloatArray:
    turn = np.zeros(covariance.shape[-2:])
    for block, matrix in enumerate(matrices):
        turn[3 * block : 3 * block + 3, 3 * block : 3 * block + 3] = matrix
    unknown = ~np.isfinite(covariance)
    touches = (turn != 0.0).astype(np.float64)
    converted = turn @ np.where(unknown, 0.0, covariance) @ turn.T
    converted[touches @ unknown @ touches.T > 0.0] = np.nan
    return np.asarray(converted)


_AT_THE_ORIGIN = (0.0, 0.0, 0.0)


def goto_to_ned(target_enu: npt.ArrayLike, home_ned: npt.ArrayLike = _AT_THE_ORIGIN) -> FloatArray:
    """Return the setpoint (..., 3) in the autopilot's local NED for a target in ENU metres relative to home.

    home_ned: home in that same local frame, the x, y, z of MAVLink's HOME_POSITION. It is not (0, 0, 0) as a
    rule: local NED starts where the estimator did, home is where the vehicle armed or what the pilot set.
    """
    return np.asarray(as_rows(home_ned, 3, "home") + convert_position(target_enu, Frame.ENU, Frame.NED))


def goto_from_ned(position_ned: npt.ArrayLike, home_ned: npt.ArrayLike = _AT_THE_ORIGIN) -> FloatArray:
    """Return a position (..., 3) in the autopilot's local NED as ENU metres relative to home; see goto_to_ned."""
    return convert_position(as_rows(position_ned, 3, "position") - as_rows(home_ned, 3, "home"), Frame.NED, Frame.ENU)
