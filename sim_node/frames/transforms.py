"""Poses from one pair of conventions to another."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sim_node.frames.orientations import FramePair, convert_orientation
from sim_node.frames.positions import convert_position
from sim_node.geometry.arrays import FloatArray, as_rows


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
