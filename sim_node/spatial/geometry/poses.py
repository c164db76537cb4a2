"""Rigid transforms as poses [x y z qx qy qz qw] that map child coordinates into the parent.

Every function accepts array-likes of shape (..., 7) and broadcasts the leading axes as numpy does. Lengths are
in metres. Quaternions are unit and not checked.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray, as_rows

IDENTITY: FloatArray = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
IDENTITY.flags.writeable = False


def pose(position: npt.ArrayLike, quaternion: npt.ArrayLike) -> FloatArray:
    """Return poses (..., 7) with the child's origin at position (..., 3) and its axes turned by quaternion (..., 4)."""
    position, quaternion = as_rows(position, 3, "position"), as_rows(quaternion, 4, "quaternion")
    p = np.empty((*np.broadcast(position[..., 0], quaternion[..., 0]).shape, 7))
    p[..., :3] = position
    p[..., 3:] = quaternion
    return p


def position(p: npt.ArrayLike) -> FloatArray:
    """Return the position (..., 3), a view of `p` if that is a float64 array."""
    return as_rows(p, 7, "pose")[..., :3]


def orientation(p: npt.ArrayLike) -> FloatArray:
    """Return the quaternion (..., 4), a view of `p` if that is a float64 array."""
    return as_rows(p, 7, "pose")[..., 3:]


def compose(a: npt.ArrayLike, b: npt.ArrayLike) -> FloatArray:
    """Return a b: the pose in a's parent of an object with pose `b` in a's child frame."""
    a, b = as_rows(a, 7, "pose"), as_rows(b, 7, "pose")
    if a.ndim == b.ndim == 1:  # numbers take a tenth of the time of small arrays
        (x, y, z, *turn), (*there, qx, qy, qz, qw) = a.tolist(), b.tolist()
        dx, dy, dz = quaternions.rotated_of(turn, there)
        return np.array([x + dx, y + dy, z + dz, *quaternions.product_of(turn, (qx, qy, qz, qw))])
    p = np.empty(np.broadcast(a, b).shape)
    np.add(a[..., :3], quaternions.rotate(a[..., 3:], b[..., :3]), out=p[..., :3])
    p[..., 3:] = quaternions.multiply(a[..., 3:], b[..., 3:])
    return p


def invert(p: npt.ArrayLike) -> FloatArray:
    """Return the pose of the parent in the child."""
    p = as_rows(p, 7, "pose")
    inverse = np.empty(p.shape)
    inverse[..., 3:] = quaternions.conjugate(p[..., 3:])
    np.negative(quaternions.rotate(inverse[..., 3:], p[..., :3]), out=inverse[..., :3])
    return inverse


def apply(p: npt.ArrayLike, points: npt.ArrayLike) -> FloatArray:
    """Transform points (..., 3) from the child into the parent. One pose transforms a whole cloud."""
    p = as_rows(p, 7, "pose")
    return p[..., :3] + quaternions.rotate(p[..., 3:], points)


def relative(a: npt.ArrayLike, b: npt.ArrayLike) -> FloatArray:
    """Return invert(a) b: the pose of `b` in `a`, both given in one parent.

    Positions are subtracted before they are rotated, so that no precision is lost far from the origin.
    """
    a, b = as_rows(a, 7, "pose"), as_rows(b, 7, "pose")
    back = quaternions.conjugate(a[..., 3:])
    p = np.empty(np.broadcast(a, b).shape)
    p[..., :3] = quaternions.rotate(back, b[..., :3] - a[..., :3])
    p[..., 3:] = quaternions.multiply(back, b[..., 3:])
    return p


def to_homogeneous(p: npt.ArrayLike, scale: npt.ArrayLike | None = None) -> FloatArray:
    """Return the matrices (..., 4, 4) that act on column vectors [x, y, z, 1].

    scale: one factor, or (..., 3) factors along the child's axes, applied before the pose (T R S).
    """
    p = as_rows(p, 7, "pose")
    rotation = quaternions.to_matrix(p[..., 3:])
    if scale is not None:
        rotation = rotation * _factors(scale)[..., None, :]
    matrix = np.zeros((*rotation.shape[:-2], 4, 4))
    matrix[..., :3, :3] = rotation
    matrix[..., :3, 3] = p[..., :3]
    matrix[..., 3, 3] = 1.0
    return matrix


def from_homogeneous(m: npt.ArrayLike) -> FloatArray:
    """Return the poses (..., 7) of rigid matrices m (..., 4, 4), quaternions with w >= 0.

    Raises ValueError unless the last row is [0, 0, 0, 1] and the rest is a rotation (not scaled, sheared or mirrored)
    within 1e-6.
    """
    m = np.asarray(m, dtype=np.float64)
    if m.shape[-2:] != (4, 4):
        raise ValueError(f"homogeneous matrix: shape is {m.shape}, needs (..., 4, 4)")
    rigid = np.all(np.abs(m[..., 3, :] - [0.0, 0.0, 0.0, 1.0]) <= 1e-6, axis=-1)
    if not rigid.all():
        found = m[..., 3, :][~rigid][0].tolist()
        raise ValueError(f"homogeneous matrix: last row is {found}, needs [0, 0, 0, 1]")
    return pose(m[..., :3, 3], quaternions.from_matrix(m[..., :3, :3]))


def to_gpu(p: npt.ArrayLike, scale: npt.ArrayLike | None = None) -> npt.NDArray[np.float32]:
    """Return to_homogeneous(p, scale) as float32 (..., 16), column after column.

    This is mat4x4<f32> of WGSL (W3C WGSL, Internal Layout of Values) and of OpenGL and glTF.
    """
    matrix = to_homogeneous(p, scale)
    columns = np.empty((*matrix.shape[:-2], 4, 4), dtype=np.float32)
    columns[...] = np.swapaxes(matrix, -1, -2)
    return columns.reshape(*matrix.shape[:-2], 16)


def from_gpu(a: npt.ArrayLike) -> FloatArray:
    """Return the poses (..., 7) of column-major rigid matrices a (..., 16), to float32 accuracy.

    Raises ValueError as from_homogeneous does.
    """
    a = as_rows(a, 16, "column-major matrix")
    return from_homogeneous(np.swapaxes(a.reshape(*a.shape[:-1], 4, 4), -1, -2))


def log(p: npt.ArrayLike) -> FloatArray:
    """Return the twist (..., 6) [v, w], along and about the child's axes, that reaches `p` in unit time.

    Shortest arc: |w| in [0, pi]. Barfoot, State Estimation for Robotics, 2017, section 7.1.
    """
    p = as_rows(p, 7, "pose")
    w = quaternions.log(p[..., 3:])
    angle = np.sqrt(np.einsum("...i,...i->...", w, w))
    small = angle < 1e-2
    safe = np.where(small, 1.0, angle)
    half = 0.5 * safe
    # (1 - a/2 cot(a/2)) / a^2; the first term that the series leaves out is 3e-17 of the position.
    factor = np.where(small, 1.0 / 12.0 + angle**2 / 720.0, (1.0 - half / np.tan(half)) / safe**2)
    twist = np.empty((*p.shape[:-1], 6))
    across = np.cross(w, p[..., :3])
    twist[..., :3] = p[..., :3] - 0.5 * across + factor[..., None] * np.cross(w, across)
    twist[..., 3:] = w
    return twist


def exp(xi: npt.ArrayLike) -> FloatArray:
    """Return the pose (..., 7) after unit time at the constant twist xi (..., 6) [v, w] in child axes.

    The inverse of log. Barfoot, State Estimation for Robotics, 2017, section 7.1; the same motion is a screw
    in Murray, Li & Sastry, A Mathematical Introduction to Robotic Manipulation, 1994, section 2.3.
    """
    xi = as_rows(xi, 6, "twist")
    v, w = xi[..., :3], xi[..., 3:]
    angle = np.sqrt(np.einsum("...i,...i->...", w, w))
    small = angle < 1e-2
    safe = np.where(small, 1.0, angle)
    # (1 - cos a) / a^2 and (a - sin a) / a^3; what the series leave out is below 1e-15 of the path.
    first = np.where(small, 0.5 - angle**2 / 24.0 + angle**4 / 720.0, 2.0 * (np.sin(0.5 * safe) / safe) ** 2)
    second = np.where(small, 1.0 / 6.0 - angle**2 / 120.0 + angle**4 / 5040.0, (safe - np.sin(safe)) / safe**3)
    across = np.cross(w, v)
    return pose(
        v + first[..., None] * across + second[..., None] * np.cross(w, across),
        quaternions.exp(w),
    )


def _factors(scale: npt.ArrayLike) -> FloatArray:
    factors = np.asarray(scale, dtype=np.float64)
    return np.broadcast_to(factors, (3,)) if factors.ndim == 0 else as_rows(factors, 3, "scale")
