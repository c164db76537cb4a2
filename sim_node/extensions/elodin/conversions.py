"""Conversion between spatial vectors of worlds in Python and the poses and twists of this package, without JAX.

Worlds in Python have the angular part first: [qx qy qz qw x y z], [wx wy wz vx vy vz]; this package, the linear part.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sim_node.spatial.geometry.arrays import FloatArray


def poses_of(transforms: Any) -> Any:
    """Convert transforms (..., 7) [q p] to poses [p q]."""
    return transforms[..., [4, 5, 6, 0, 1, 2, 3]]


def transforms_of(poses: Any) -> Any:
    """Convert poses (..., 7) [p q] to transforms [q p]."""
    return poses[..., [3, 4, 5, 6, 0, 1, 2]]


def swapped(vectors: Any) -> Any:
    """Convert spatial vectors (..., 6), motions or forces, from [angular linear] to [linear angular], or back."""
    return vectors[..., [3, 4, 5, 0, 1, 2]]


def unit_poses(transforms: FloatArray) -> FloatArray:
    """Return transforms (n, 7) [q p] as poses [p q] with unit quaternions; invalid rows stay as they are."""
    poses: FloatArray = poses_of(transforms)
    with np.errstate(all="ignore"):
        unit = poses[:, 3:] / np.linalg.norm(poses[:, 3:], axis=1, keepdims=True)
    fits = np.isfinite(unit).all(axis=1)
    poses[fits, 3:] = unit[fits]
    return poses
