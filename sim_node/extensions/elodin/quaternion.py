"""Quaternions of worlds in Python, as JAX pytrees: Hamilton convention, scalar last."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from sim_node.extensions.elodin import rows
from sim_node.extensions.elodin.jax_setup import jax, jnp
from sim_node.extensions.elodin.layouts import ComponentType

V = TypeVar("V", bound="NamedParts")


def multiply(p: Any, q: Any) -> Any:
    """Return the Hamilton product of quaternions (4,)."""
    return jnp.stack(rows.multiply(tuple(p), tuple(q)))


def rotate(q: Any, v: Any) -> Any:
    """Return a vector (3,) rotated by a quaternion (4,) of any length: q v q^-1."""
    return jnp.stack(rows.rotate(tuple(q), tuple(v)))


def vector_of(value: Any, length: int, what: str) -> Any:
    """Return a vector of a length, traced or not. Raises ValueError, TypeError."""
    if isinstance(value, jax.core.Tracer):
        array = value
    else:
        array = value if isinstance(value, jax.Array) else np.asarray(value, dtype=float)
    if array.shape != (length,):
        raise ValueError(f"{what}: {length} numbers are needed; found the shape {array.shape}")
    return array


def joined(first: Any, second: Any) -> Any:
    """Concatenate two vectors, with NumPy unless one of them is a JAX array."""
    both = (first, second)
    if any(isinstance(part, jax.Array) for part in both):
        return jnp.concatenate(both)
    return np.concatenate(both)


class NamedParts:
    """An array with names for its parts."""

    component_type: ComponentType
    arr: Any

    @classmethod
    def from_array(cls: type[V], arr: Any) -> V:
        """Return an object from an array.

        Args:
            arr: The elements, in the order of the class. They may be traced, and are not checked.

        Returns:
            The object.
        """
        made = cls.__new__(cls)
        made.arr = arr
        return made

    def asarray(self) -> Any:
        """Return the array."""
        return self.arr

    def rotated(self, q: Any) -> Any:
        """Rotate by a quaternion (4,), for `Quaternion @ this`. Raises TypeError if this cannot be rotated."""
        raise TypeError(f"Quaternion @ {type(self).__name__}: rotate vectors, transforms, motions or forces")

    def tree_flatten(self) -> tuple[tuple[Any, ...], None]:
        """Return the leaf for JAX."""
        return (self.arr,), None

    @classmethod
    def tree_unflatten(cls: type[V], aux: None, leaves: tuple[Any, ...]) -> V:
        """Return the object from a leaf, for JAX.

        Args:
            aux: None: there is no static data.
            leaves: The leaf that `tree_flatten` returned.

        Returns:
            The object.
        """
        return cls.from_array(leaves[0])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.arr})"


@jax.tree_util.register_pytree_node_class
class Quaternion(NamedParts):
    """A quaternion [x y z w].

    Args:
        arr: The four numbers; they are not normalised.

    Raises:
        ValueError: There are not four.
    """

    component_type = ComponentType.Quaternion

    def __init__(self, arr: Any) -> None:
        self.arr = vector_of(arr, 4, "Quaternion")

    @staticmethod
    def identity() -> Quaternion:
        """Return the identity quaternion."""
        return Quaternion.from_array(np.array([0.0, 0.0, 0.0, 1.0]))

    @staticmethod
    def from_axis_angle(axis: Any, angle: Any) -> Quaternion:
        """Return a rotation about an axis.

        Args:
            axis: The axis (3,), of any nonzero length.
            angle: The angle, rad; positive by the right-hand rule.

        Returns:
            The unit quaternion.
        """
        axis = jnp.asarray(axis, float)
        half = jnp.asarray(angle, float) / 2
        half = half.reshape(())
        return Quaternion.from_array(
            jnp.concatenate([axis / jnp.linalg.norm(axis) * jnp.sin(half), jnp.cos(half)[None]])
        )

    @staticmethod
    def from_euler(angles: Any) -> Quaternion:
        """Return a rotation by roll, pitch and yaw about the fixed axes x, y and z, in this order (REP 103).

        Args:
            angles: Roll, pitch and yaw (3,), rad.

        Returns:
            The unit quaternion.
        """
        x, y, z = (
            Quaternion.from_axis_angle(axis, angle)
            for axis, angle in zip(np.eye(3), jnp.asarray(angles, float), strict=True)
        )
        return z * y * x

    def vector(self) -> Any:
        """Return the numbers [x y z w]."""
        return jnp.asarray(self.arr)

    def inverse(self) -> Quaternion:
        """Return the inverse: the conjugate divided by the squared norm."""
        q = jnp.asarray(self.arr)
        return Quaternion.from_array(q * np.array([-1.0, -1.0, -1.0, 1.0]) / jnp.dot(q, q))

    def normalize(self) -> Quaternion:
        """Return the unit quaternion."""
        return Quaternion.from_array(self.arr / jnp.linalg.norm(self.arr))

    def integrate_body(self, body_delta: Any) -> Quaternion:
        """Return this rotated by a small rotation in body axes, to first order: normalize(q + q * [delta / 2, 0]).

        Args:
            body_delta: Angular velocity in body axes times time (3,), rad.

        Returns:
            The rotated unit quaternion.
        """
        half = jnp.concatenate([jnp.asarray(body_delta, float) / 2, np.zeros(1)])
        return Quaternion.from_array(self.arr + multiply(self.arr, half)).normalize()

    def __add__(self, other: Quaternion) -> Quaternion:
        if not isinstance(other, Quaternion):
            return NotImplemented
        return Quaternion.from_array(jnp.asarray(self.arr) + other.arr)

    def __mul__(self, other: Quaternion) -> Quaternion:
        if not isinstance(other, Quaternion):
            return NotImplemented
        return Quaternion.from_array(multiply(self.arr, other.arr))

    def __matmul__(self, other: Any) -> Any:
        q = jnp.asarray(self.arr)
        return other.rotated(q) if isinstance(other, NamedParts) else rotate(q, jnp.asarray(other, float))
