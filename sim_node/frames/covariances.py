"""Covariances from one frame to another."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sim_node.frames.axes import check_directions, reordering, rotation_matrix
from sim_node.frames.conventions import Frame
from sim_node.geometry.arrays import FloatArray, IntArray

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
