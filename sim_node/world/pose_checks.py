"""Which poses are none: not finite, too far out, or with a quaternion that is no rotation."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from sim_node.geometry.arrays import FloatArray
from sim_node.world.model import MAX_DISTANCE

BoolArray = npt.NDArray[np.bool_]

# The readers give unit quaternions to rounding; what is built in Python may come from single precision.
UNIT = 1e-6


def pose_faults(poses: FloatArray) -> Iterator[tuple[int, str]]:
    """The row of each pose (N, 7) that is none, and why."""
    finite: BoolArray = np.all(np.isfinite(poses), axis=1)
    with np.errstate(all="ignore"):  # what overflows is told
        near: BoolArray = np.all(np.abs(poses[:, :3]) <= MAX_DISTANCE, axis=1)
        norms = np.linalg.norm(poses[:, 3:], axis=1)
        unit = np.abs(norms - 1.0) <= UNIT
    for row in np.flatnonzero(~(finite & near & unit)).tolist():
        if not finite[row]:
            yield row, f"{poses[row].tolist()} is not finite"
        elif not near[row]:
            yield (
                row,
                f"position {poses[row, :3].tolist()} is out of range; allowed: {-MAX_DISTANCE:g} to {MAX_DISTANCE:g} m",
            )
        else:
            yield row, f"the quaternion's norm is {norms[row]:.7g}, a rotation needs 1"
