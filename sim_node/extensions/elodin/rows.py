"""Vectors and quaternions as tuples of arrays, one per coordinate: a scalar for one body, or (n,) for many.

XLA vectorises such arrays, which it does not do for the rows of an array (n, 3).
"""

from __future__ import annotations

from typing import Any

from sim_node.extensions.elodin.jax_setup import jax, jnp

Vector = tuple[Any, Any, Any]
# [x y z w], Hamilton convention.
Quat = tuple[Any, Any, Any, Any]


def cross(a: Vector, b: Vector) -> Vector:
    """Return the cross product."""
    ax, ay, az = a
    bx, by, bz = b
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


def multiply(p: Quat, q: Quat) -> Quat:
    """Return the Hamilton product."""
    px, py, pz, pw = p
    qx, qy, qz, qw = q
    return (
        pw * qx + px * qw + py * qz - pz * qy,
        pw * qy - px * qz + py * qw + pz * qx,
        pw * qz + px * qy - py * qx + pz * qw,
        pw * qw - px * qx - py * qy - pz * qz,
    )


def rotate(q: Quat, v: Vector) -> Vector:
    """Return a vector rotated by a quaternion of any norm: q v q^-1."""
    x, y, z, w = q
    scale = 2.0 / (x * x + y * y + z * z + w * w)
    tx, ty, tz = cross((x, y, z), v)
    tx, ty, tz = scale * tx, scale * ty, scale * tz
    cx, cy, cz = cross((x, y, z), (tx, ty, tz))
    return v[0] + w * tx + cx, v[1] + w * ty + cy, v[2] + w * tz + cz


def conjugate(q: Quat) -> Quat:
    """Return the conjugate: the opposite rotation, with the same norm."""
    return -q[0], -q[1], -q[2], q[3]


def normalized(q: Quat) -> Quat:
    """Return the unit quaternion."""
    x, y, z, w = q
    length = jnp.sqrt(x * x + y * y + z * z + w * w)
    return x / length, y / length, z / length, w / length


def exponential(u: Vector) -> Quat:
    """Return the unit quaternion of a rotation vector, rad. The function and its gradients are smooth at zero."""
    x, y, z = u
    square = x * x + y * y + z * z
    small = square < 1e-8
    angle = jnp.sqrt(jnp.where(small, 1.0, square))
    # sin(a / 2) / a and cos(a / 2), by their series near zero.
    s = jnp.where(small, 0.5 - square / 48.0, jnp.sin(angle / 2) / angle)
    return s * x, s * y, s * z, jnp.where(small, 1.0 - square / 8.0, jnp.cos(angle / 2))


def columns(array: Any) -> tuple[Any, ...]:
    """Return the coordinates of an array (..., k) as k arrays."""
    return tuple(jax.lax.index_in_dim(array, at, -1, keepdims=False) for at in range(array.shape[-1]))


def plus(a: tuple[Any, ...], scale: Any, b: tuple[Any, ...]) -> Any:
    """Return a + scale b."""
    return tuple(x + scale * y for x, y in zip(a, b, strict=True))


def together(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Stack coordinates as the rows of one array, which XLA computes in one loop.

    Otherwise it computes each coordinate in its own loop, and repeats common subexpressions in all of them.
    """
    array = jax.lax.optimization_barrier(jnp.stack(values))
    return tuple(jax.lax.index_in_dim(array, at, 0, keepdims=False) for at in range(len(values)))
