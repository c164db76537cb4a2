"""Numbers and rotations in world files."""

from __future__ import annotations

import decimal
import math

import numpy as np
import numpy.typing as npt

from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray, as_rows
from sim_node.world.bounds import MAX_STAMP_NS

NON_FINITE = {".nan", ".inf", "-.inf", "+.inf", "nan", "inf", "-inf", "+inf", "infinity", "-infinity", "+infinity"}
_NANOSECOND = decimal.Decimal("1e-9")
_ENOUGH = decimal.Context(prec=40)  # independent of the caller's precision


def as_number(text: str) -> float:
    """Return the double nearest to a decimal number: infinite if it is too large, NaN if the text is not a number."""
    if not text.isascii() or "_" in text:  # float() accepts both, YAML neither
        return math.nan
    try:
        return float(text)
    except ValueError:
        return math.nan


def as_nanoseconds(text: str) -> int | None:
    """Return decimal seconds as the nearest whole nanosecond, without conversion to a float.

    Return None if they are not a finite number, or out of the range of stamps.
    """
    whole, _, fraction = text.partition(".")
    if len(whole) <= 10 and len(fraction) <= 9 and text.isascii() and (whole + fraction).isdecimal():
        nanoseconds = int(whole + fraction.ljust(9, "0"))
        return nanoseconds if nanoseconds <= MAX_STAMP_NS else None
    seconds = as_number(text)
    if not abs(seconds) * 1e9 <= MAX_STAMP_NS:
        return None
    if abs(seconds) < 1e-12:  # avoid Decimals with huge exponents
        return 0
    rounded = decimal.Decimal(text).quantize(_NANOSECOND, decimal.ROUND_HALF_EVEN, _ENOUGH)
    nanoseconds = int(rounded.scaleb(9, _ENOUGH))
    return nanoseconds if abs(nanoseconds) <= MAX_STAMP_NS else None


# transforms3d is imported in the functions: few files contain such angles, and the import takes 15 ms.

# Roll, pitch and yaw about the fixed x, y and z axes of the parent: REP 103, URDF's rpy, x_xy's euler.
RPY = "sxyz"
_XYZW = [1, 2, 3, 0]  # of transforms3d's [w, x, y, z]


def from_euler(angles: npt.ArrayLike, axes: str = RPY) -> FloatArray:
    """Return the quaternions (..., 4) of angles (..., 3) in radians.

    `axes` is s for the fixed axes of the parent or r for the rotating axes of the child, then the axis of each angle.
    Raises ValueError for an infinite angle.
    """
    angles = as_rows(angles, 3, "angles")
    _check_finite(angles)
    rows = angles.reshape(-1, 3).tolist()
    if axes == RPY:
        return np.array([quaternions.from_rpy(*row) for row in rows]).reshape(*angles.shape[:-1], 4)
    from transforms3d.euler import euler2quat

    wxyz = np.array([euler2quat(*row, axes) for row in rows]).reshape(-1, 4)
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
