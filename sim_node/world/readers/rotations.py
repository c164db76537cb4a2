"""Rotations as files write them, Euler angles or an axis and an angle, as quaternions [x, y, z, w] by transforms3d."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sim_node.geometry.arrays import FloatArray, as_rows

# transforms3d is imported in the functions: many files give no angles, and it costs 15 ms.

# Roll, pitch and yaw about the fixed x, y and z axes of the parent: REP 103, URDF's rpy, x_xy's euler.
RPY = "sxyz"
_XYZW = [1, 2, 3, 0]  # of transforms3d's [w, x, y, z]


def from_euler(angles: npt.ArrayLike, axes: str = RPY) -> FloatArray:
    """Return the quaternions (..., 4) of angles (..., 3) in radians.

    `axes` is s for the fixed axes of the parent or r for the rotating axes of the child, then the axis of each angle.
    Raises ValueError for an infinite angle.
    """
    from transforms3d.euler import euler2quat

    angles = as_rows(angles, 3, "angles")
    _check_finite(angles)
    wxyz = np.array([euler2quat(*row, axes) for row in angles.reshape(-1, 3).tolist()]).reshape(-1, 4)
    return wxyz[:, _XYZW].reshape(*angles.shape[:-1], 4)


def to_euler(q: npt.ArrayLike, axes: str = RPY) -> tuple[float, float, float]:
    """Return the three angles in radians of one unit quaternion (4,); `axes` as for from_euler."""
    from transforms3d.euler import quat2euler

    x, y, z, w = np.asarray(q, dtype=np.float64).tolist()
    first, second, third = quat2euler((w, x, y, z), axes)
    return float(first), float(second), float(third)


def from_axis_angle(axis: npt.ArrayLike, angle: float) -> FloatArray:
    """Return the quaternion (4,) of a right-handed turn by `angle` about `axis` (3,), which must not be zero.

    Raises ValueError for an infinite angle.
    """
    from transforms3d.quaternions import axangle2quat

    _check_finite(np.array([angle]))
    return np.asarray(axangle2quat(axis, angle)[_XYZW], dtype=np.float64)


def _check_finite(angles: FloatArray) -> None:
    # Python's own message for the sine of infinity differs from version to version.
    if not np.isfinite(angles).all():
        raise ValueError(f"angles must be finite, found {', '.join(f'{angle:g}' for angle in angles.flat)}")
