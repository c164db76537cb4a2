"""Rotations as unit quaternions [x, y, z, w], Hamilton product, one or a batch at a time.

Every function accepts array-likes of shape (..., 4), broadcasts the leading axes as numpy does, and returns
(4,) for (4,). A quaternion rotates child coordinates into the parent: rotate(q, v) = q v q*. Unit norm is
expected and not checked, except where a function accepts any norm. Angles are in radians.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sim_node.spatial.geometry.arrays import FloatArray, as_rows

_CONJUGATE = np.array([-1.0, -1.0, -1.0, 1.0])
_MIN_NORMAL = float(np.finfo(np.float64).tiny)


def multiply(a: npt.ArrayLike, b: npt.ArrayLike) -> FloatArray:
    """Return the Hamilton product a b: first `b`, then `a`. Any norm; norms multiply."""
    a, b = as_rows(a, 4, "quaternion"), as_rows(b, 4, "quaternion")
    product = np.empty(np.broadcast(a, b).shape)
    product[..., 0], product[..., 1], product[..., 2], product[..., 3] = product_of(_components(a), _components(b))
    return product


def product_of(a: Sequence[Any], b: Sequence[Any]) -> tuple[Any, Any, Any, Any]:
    """Return the components of the Hamilton product a b from theirs: numbers, or arrays."""
    (ax, ay, az, aw), (bx, by, bz, bw) = a, b
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


def conjugate(q: npt.ArrayLike) -> FloatArray:
    """Return [-x, -y, -z, w], which is the inverse of a unit quaternion. Any norm."""
    return np.asarray(as_rows(q, 4, "quaternion") * _CONJUGATE)


def inverse(q: npt.ArrayLike) -> FloatArray:
    """Return the multiplicative inverse of a quaternion of any norm.

    Raises ValueError where the norm is zero or not finite.
    """
    q = as_rows(q, 4, "quaternion")
    return conjugate(q) / _checked_square(q, "quaternion")[..., None]


def normalise(q: npt.ArrayLike) -> FloatArray:
    """Return `q` scaled to unit norm, the sign kept.

    Raises ValueError where the norm is zero or not finite, naming the first such row.
    """
    q = as_rows(q, 4, "quaternion")
    unit: FloatArray = q / np.sqrt(_checked_square(q, "quaternion"))[..., None]
    return unit


def rotate(q: npt.ArrayLike, v: npt.ArrayLike) -> FloatArray:
    """Rotate vectors v (..., 3) from child axes into parent axes; q and v broadcast."""
    q, v = as_rows(q, 4, "quaternion"), as_rows(v, 3, "vector")
    rotated = np.empty(np.broadcast(q[..., :3], v).shape)
    rotated[..., 0], rotated[..., 1], rotated[..., 2] = rotated_of(_components(q), _components(v))
    return rotated


def rotated_of(q: Sequence[Any], v: Sequence[Any]) -> tuple[Any, Any, Any]:
    """Return the components of a rotated vector from those of a quaternion and a vector: numbers, or arrays.

    v + w t + u x t with t = 2 u x v and u the vector part: half the work of q v q*.
    """
    (x, y, z, w), (vx, vy, vz) = q, v
    tx = 2.0 * (y * vz - z * vy)
    ty = 2.0 * (z * vx - x * vz)
    tz = 2.0 * (x * vy - y * vx)
    return vx + w * tx + y * tz - z * ty, vy + w * ty + z * tx - x * tz, vz + w * tz + x * ty - y * tx


def to_matrix(q: npt.ArrayLike) -> FloatArray:
    """Return the rotation matrices (..., 3, 3); their columns are the child's axes in the parent."""
    q = as_rows(q, 4, "quaternion")
    x, y, z, w = _components(q)
    x2, y2, z2 = x + x, y + y, z + z
    matrix = np.empty((*q.shape[:-1], 3, 3))
    matrix[..., 0, 0] = 1.0 - (y * y2 + z * z2)
    matrix[..., 0, 1] = x * y2 - w * z2
    matrix[..., 0, 2] = x * z2 + w * y2
    matrix[..., 1, 0] = x * y2 + w * z2
    matrix[..., 1, 1] = 1.0 - (x * x2 + z * z2)
    matrix[..., 1, 2] = y * z2 - w * x2
    matrix[..., 2, 0] = x * z2 - w * y2
    matrix[..., 2, 1] = y * z2 + w * x2
    matrix[..., 2, 2] = 1.0 - (x * x2 + y * y2)
    return matrix


def from_matrix(m: npt.ArrayLike, tolerance: float = 1e-6) -> FloatArray:
    """Return the unit quaternions, w >= 0, of rotation matrices m (..., 3, 3).

    Of the four rows of 4 q q^T, all linear in `m`, the one with the largest diagonal is normalised, so no
    trace or sign of `m` loses accuracy. Markley, Unit quaternion from rotation matrix, JGCD 31(2), 2008.

    Raises ValueError where an entry of m m^T differs from the identity's by more than `tolerance`, or m is a
    reflection. The default takes matrices that went through float32 or seven printed digits.
    """
    m = np.asarray(m, dtype=np.float64)
    if m.shape[-2:] != (3, 3):
        raise ValueError(f"rotation matrix: shape is {m.shape}, needs (..., 3, 3)")
    _check_rotation(m, tolerance)
    m00, m01, m02 = m[..., 0, 0], m[..., 0, 1], m[..., 0, 2]
    m10, m11, m12 = m[..., 1, 0], m[..., 1, 1], m[..., 1, 2]
    m20, m21, m22 = m[..., 2, 0], m[..., 2, 1], m[..., 2, 2]
    outer = np.empty((*m.shape[:-2], 4, 4))
    outer[..., 0, 0] = 1.0 + m00 - m11 - m22
    outer[..., 1, 1] = 1.0 - m00 + m11 - m22
    outer[..., 2, 2] = 1.0 - m00 - m11 + m22
    outer[..., 3, 3] = 1.0 + m00 + m11 + m22
    outer[..., 0, 1] = outer[..., 1, 0] = m01 + m10
    outer[..., 0, 2] = outer[..., 2, 0] = m02 + m20
    outer[..., 1, 2] = outer[..., 2, 1] = m12 + m21
    outer[..., 0, 3] = outer[..., 3, 0] = m21 - m12
    outer[..., 1, 3] = outer[..., 3, 1] = m02 - m20
    outer[..., 2, 3] = outer[..., 3, 2] = m10 - m01
    largest = np.argmax(np.diagonal(outer, axis1=-2, axis2=-1), axis=-1)
    q = np.take_along_axis(outer, largest[..., None, None], axis=-2)[..., 0, :]
    q /= np.sqrt(_dot(q, q))[..., None]
    return _upper(q)


def from_axis_angle(axis: npt.ArrayLike, angle: npt.ArrayLike) -> FloatArray:
    """Return the rotation by `angle` (...) about `axis` (..., 3) of any length, right-handed.

    Raises ValueError where the axis has zero or no finite length.
    """
    axis = as_rows(axis, 3, "axis")
    half = 0.5 * np.asarray(angle, dtype=np.float64)
    scale = np.sin(half) / np.sqrt(_checked_square(axis, "axis"))
    q = np.empty((*np.broadcast(scale, axis[..., 0]).shape, 4))
    q[..., :3] = axis * scale[..., None]
    q[..., 3] = np.cos(half)
    return q


def from_rpy(roll: float, pitch: float, yaw: float) -> tuple[float, float, float, float]:
    """Return the components x, y, z, w of Rz(yaw) Ry(pitch) Rx(roll), about fixed X, Y, Z (REP 103): one, in floats."""
    sr, cr = math.sin(0.5 * roll), math.cos(0.5 * roll)
    sp, cp = math.sin(0.5 * pitch), math.cos(0.5 * pitch)
    sy, cy = math.sin(0.5 * yaw), math.cos(0.5 * yaw)
    return (
        cp * (sr * cy) - sp * (cr * sy),
        cp * (sr * sy) + sp * (cr * cy),
        cp * (cr * sy) - sp * (sr * cy),
        cp * (cr * cy) + sp * (sr * sy),
    )


def to_axis_angle(q: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return (axis (..., 3) unit, angle (...) in [0, pi]). The identity turns by 0 about [1, 0, 0]."""
    vector = log(q)
    # log is the angle times the axis; a subnormal square would spoil the axis' length, so scale first.
    largest = np.max(np.abs(vector), axis=-1)
    turns = largest > 0.0
    direction = np.where(turns[..., None], vector / np.where(turns, largest, 1.0)[..., None], [1.0, 0.0, 0.0])
    length = np.sqrt(_dot(direction, direction))
    return direction / length[..., None], np.asarray(largest * length)


def to_rpy(q: npt.ArrayLike) -> FloatArray:
    """Return roll, pitch, yaw (..., 3) about fixed X, Y, Z (REP 103): q is Rz(yaw) Ry(pitch) Rx(roll).

    Roll and yaw lie in [-pi, pi], pitch in [-pi/2, pi/2]. At a pitch of +-pi/2 (within about 1e-12) only
    yaw -+ roll is defined: roll is then 0 and yaw holds the whole turn. The half-angle form keeps full
    accuracy right up to there, where the usual arcsine loses half the digits.
    Bernardes & Viollet, Quaternion to Euler angles conversion, PLOS ONE 17(11), 2022.
    """
    x, y, z, w = _components(as_rows(q, 4, "quaternion"))
    # w-y, x+z and w+y, z-x are the cosine and sine of half yaw+roll and yaw-roll, times a function of pitch.
    sum_length, difference_length = np.hypot(w - y, z + x), np.hypot(w + y, z - x)
    half_sum, half_difference = np.arctan2(z + x, w - y), np.arctan2(z - x, w + y)
    half_sum, half_difference = (
        np.where(sum_length < 1e-12, half_difference, half_sum),
        np.where(difference_length < 1e-12, half_sum, half_difference),
    )
    rpy = np.empty((*np.shape(x), 3))
    rpy[..., 0] = wrapped(half_sum - half_difference)
    rpy[..., 1] = 2.0 * np.arctan2(difference_length, sum_length) - 0.5 * np.pi
    rpy[..., 2] = wrapped(half_sum + half_difference)
    return rpy


def log(q: npt.ArrayLike) -> FloatArray:
    """Return the rotation vector (..., 3), axis times angle, of the shortest arc: length in [0, pi].

    q and -q give the same vector, except at exactly pi, where either of two opposite ones is right.
    """
    q = _upper(as_rows(q, 4, "quaternion"))
    sine = np.sqrt(_dot(q[..., :3], q[..., :3]))
    turns = sine > 0.0
    scale = np.where(turns, 2.0 * np.arctan2(sine, q[..., 3]) / np.where(turns, sine, 1.0), 2.0)
    return np.asarray(q[..., :3] * scale[..., None])


def exp(v: npt.ArrayLike) -> FloatArray:
    """Return the unit quaternion of a rotation vector v (..., 3) of any length, the inverse of log."""
    v = as_rows(v, 3, "rotation vector")
    angle = np.sqrt(_dot(v, v))
    turns = angle > 0.0
    half = 0.5 * angle
    q = np.empty((*v.shape[:-1], 4))
    q[..., :3] = v * np.where(turns, np.sin(half) / np.where(turns, angle, 1.0), 0.5)[..., None]
    q[..., 3] = np.cos(half)
    return q


def angle_between(a: npt.ArrayLike, b: npt.ArrayLike) -> FloatArray:
    """Return the angle (...) in [0, pi] of the rotation from `a` to `b`, to full relative accuracy.

    Chords instead of the arccosine of a.b, which loses all angles below 1e-8.
    Kahan, How futile are mindless assessments of roundoff, 2006, section 12.
    """
    a, b = as_rows(a, 4, "quaternion"), as_rows(b, 4, "quaternion")
    difference, total = a - b, a + b
    chords = np.sqrt(_dot(difference, difference)), np.sqrt(_dot(total, total))
    return np.asarray(4.0 * np.arctan2(np.minimum(*chords), np.maximum(*chords)))


def aligned(q: npt.ArrayLike, reference: npt.ArrayLike) -> FloatArray:
    """Return q or -q, the same rotation, whichever lies in the hemisphere of `reference`."""
    q, reference = as_rows(q, 4, "quaternion"), as_rows(reference, 4, "quaternion")
    turned: FloatArray = q * np.where(_dot(q, reference) < 0.0, -1.0, 1.0)[..., None]
    return turned


def continuous(qs: npt.ArrayLike) -> FloatArray:
    """Return qs (K, ..., 4) with signs such that neighbours along axis 0 have dot products >= 0.

    The first row keeps its sign.
    """
    signed = np.array(as_rows(qs, 4, "quaternions"))
    flips = np.where(_dot(signed[1:], signed[:-1]) < 0.0, -1.0, 1.0)
    signed[1:] *= np.cumprod(flips, axis=0)[..., None]
    return signed


def _components(rows: FloatArray) -> Any:
    """Return the columns of (..., n); for a single row, as Python floats, which are much faster than 0-d arrays."""
    return rows.tolist() if rows.ndim == 1 else [rows[..., i] for i in range(rows.shape[-1])]


def _dot(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("...i,...i->...", a, b))


def _upper(q: FloatArray) -> FloatArray:
    return np.where(q[..., 3:] < 0.0, -q, q)


def wrapped(angle: FloatArray) -> FloatArray:
    """Return angles wrapped to [-pi, pi], rad."""
    return np.asarray(angle - 2.0 * np.pi * np.rint(angle / (2.0 * np.pi)))


def _checked_square(rows: FloatArray, what: str) -> FloatArray:
    square = _dot(rows, rows)
    if rows.ndim == 1 and _MIN_NORMAL <= square < np.inf:  # of one, many times faster than arrays of truth values
        return square
    usable = (square >= _MIN_NORMAL) & (square < np.inf)
    if not usable.all():
        first = tuple(np.argwhere(~usable)[0].tolist())
        where = f"{what}{list(first)}" if first else what
        raise ValueError(f"{where}: {rows[first].tolist()} has no direction, needs a finite norm above zero")
    return square


def _check_rotation(m: FloatArray, tolerance: float) -> None:
    error = np.abs(m @ np.swapaxes(m, -1, -2) - np.eye(3)).max(axis=(-2, -1))
    with np.errstate(invalid="ignore"):  # NaN is reported below
        right = (error <= tolerance) & (np.linalg.det(m) > 0.0)
    if not right.all():
        first = tuple(np.argwhere(~right)[0].tolist())
        where = f"rotation matrix{list(first)}" if first else "rotation matrix"
        found = "a reflection" if error[first] <= tolerance else f"off orthonormal by {error[first]:.3g}"
        raise ValueError(f"{where}: is {found}, needs orthonormal axes, right-handed, within {tolerance:g}")
