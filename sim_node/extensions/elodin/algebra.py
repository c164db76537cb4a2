"""Spatial vectors of worlds in Python, as JAX pytrees.

The angular part comes first: a transform is [qx qy qz qw x y z], a motion [wx wy wz vx vy vz], and a force
[tx ty tz fx fy fz]. The module `conversions` converts them to the conventions of the rest of this package.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from sim_node.extensions.elodin.jax_setup import jax, jnp
from sim_node.extensions.elodin.layouts import ComponentType, PrimitiveType
from sim_node.extensions.elodin.quaternion import NamedParts, Quaternion, joined, multiply, rotate, vector_of

S = TypeVar("S", bound="Spatial")


class Spatial(NamedParts):
    """A spatial vector: an angular part, then a linear one (Featherstone 2008, chapter 2)."""

    def __add__(self: S, other: Any) -> S:
        if type(other) is not type(self):
            return NotImplemented
        return type(self).from_array(jnp.asarray(self.arr) + other.arr)


def _only_one(name: str, arr: Any, *parts: Any) -> None:
    if arr is not None and any(part is not None for part in parts):
        raise ValueError(f"{name}: give either arr or its parts, not both")


@jax.tree_util.register_pytree_node_class
class SpatialTransform(Spatial):
    """A pose [qx qy qz qw x y z] of a body in the world.

    Args:
        arr: The seven numbers; or
        angular: The orientation, a Quaternion or its four numbers; the identity by default.
        linear: The position (3,), m; zero by default.

    Raises:
        ValueError: Both are given, or a shape is wrong.
    """

    component_type = ComponentType.SpatialPosF64

    def __init__(self, arr: Any = None, angular: Any = None, linear: Any = None) -> None:
        _only_one("SpatialTransform", arr, angular, linear)
        if arr is not None:
            self.arr = vector_of(arr, 7, "SpatialTransform")
            return
        angular = angular.arr if isinstance(angular, Quaternion) else angular
        q = np.array([0.0, 0.0, 0.0, 1.0]) if angular is None else vector_of(angular, 4, "SpatialTransform: angular")
        self.arr = joined(q, np.zeros(3) if linear is None else vector_of(linear, 3, "SpatialTransform: linear"))

    def linear(self) -> Any:
        """Return the position (3,), m."""
        return jnp.asarray(self.arr)[4:]

    def angular(self) -> Quaternion:
        """Return the orientation."""
        return Quaternion.from_array(jnp.asarray(self.arr)[:4])

    def __add__(self, other: Any) -> SpatialTransform:
        """Add a transform element by element, or apply a motion, whose rotation is in world axes and to first order."""
        arr = jnp.asarray(self.arr)
        if isinstance(other, SpatialTransform):
            return SpatialTransform.from_array(arr + other.arr)
        if not isinstance(other, SpatialMotion):
            return NotImplemented
        turn = jnp.concatenate([jnp.asarray(other.arr)[:3] / 2, np.zeros(1)])
        q = arr[:4] + multiply(turn, arr[:4])
        return SpatialTransform.from_array(jnp.concatenate([q / jnp.linalg.norm(q), arr[4:] + other.arr[3:]]))

    def rotated(self, q: Any) -> Any:
        """Rotate the pose about the origin, as `Quaternion @ pose` does.

        Args:
            q: The quaternion (4,).

        Returns:
            A new one.
        """
        turned = multiply(q, self.arr[:4]), rotate(q, jnp.asarray(self.arr[4:]))
        return SpatialTransform.from_array(jnp.concatenate(turned))


class SpatialVector(Spatial):
    """A spatial vector: an angular part, then a linear one."""

    component_type = ComponentType.SpatialMotionF64

    def linear(self) -> Any:
        """Return the linear part (3,): a velocity, m/s, or a force, N."""
        return jnp.asarray(self.arr)[3:]

    def angular(self) -> Any:
        """Return the angular part (3,): an angular velocity, rad/s, or a torque, N m."""
        return jnp.asarray(self.arr)[:3]

    def rotated(self, q: Any) -> Any:
        """Rotate both parts, as `Quaternion @ this` does.

        Args:
            q: The quaternion (4,).

        Returns:
            A new one.
        """
        parts = rotate(q, jnp.asarray(self.arr[:3])), rotate(q, jnp.asarray(self.arr[3:]))
        return type(self).from_array(jnp.concatenate(parts))


@jax.tree_util.register_pytree_node_class
class SpatialMotion(SpatialVector):
    """A velocity or an acceleration [wx wy wz vx vy vz].

    Args:
        angular: The angular part (3,), rad/s; zero by default.
        linear: The linear part (3,), m/s; zero by default.

    Raises:
        ValueError: A shape is wrong.
    """

    def __init__(self, angular: Any = None, linear: Any = None) -> None:
        w = np.zeros(3) if angular is None else vector_of(angular, 3, "SpatialMotion: angular")
        self.arr = joined(w, np.zeros(3) if linear is None else vector_of(linear, 3, "SpatialMotion: linear"))


@jax.tree_util.register_pytree_node_class
class SpatialForce(SpatialVector):
    """A force at the centre of mass [tx ty tz fx fy fz].

    Args:
        arr: The six numbers; or
        torque: The torque (3,), N m; zero by default.
        force: The force (3,), N; zero by default.
        linear: Another name of `force`.

    Raises:
        ValueError: Both are given, or a shape is wrong.
    """

    def __init__(self, arr: Any = None, torque: Any = None, force: Any = None, *, linear: Any = None) -> None:
        _only_one("SpatialForce", force, linear)
        force = linear if force is None else force
        _only_one("SpatialForce", arr, torque, force)
        if arr is not None:
            self.arr = vector_of(arr, 6, "SpatialForce")
            return
        t = np.zeros(3) if torque is None else vector_of(torque, 3, "SpatialForce: torque")
        self.arr = joined(t, np.zeros(3) if force is None else vector_of(force, 3, "SpatialForce: force"))

    force, torque = SpatialVector.linear, SpatialVector.angular


@jax.tree_util.register_pytree_node_class
class SpatialInertia(Spatial):
    """An inertia [Ix Iy Iz px py pz m] in body axes, which are the principal axes; p is unused and zero.

    Args:
        mass: The mass, kg.
        inertia: The principal moments (3,), kg m^2; by default, each is numerically equal to the mass.

    Raises:
        ValueError: A shape is wrong.
    """

    component_type = ComponentType(PrimitiveType.F64, (7,))

    def __init__(self, mass: Any, inertia: Any = None) -> None:
        m = jnp.asarray(mass, float).reshape(1) if isinstance(mass, jax.Array) else np.array(mass, float).reshape(1)
        moments = joined(joined(m, m), m) if inertia is None else vector_of(inertia, 3, "SpatialInertia: inertia")
        self.arr = joined(moments, joined(np.zeros(3), m))

    def mass(self) -> Any:
        """Return the mass, kg."""
        return jnp.asarray(self.arr)[6]

    def inertia_diag(self) -> Any:
        """Return the principal moments (3,), kg m^2."""
        return jnp.asarray(self.arr)[:3]


def skew(arr: Any) -> Any:
    """Return the matrix of the cross product with a vector: skew(a) @ b is a x b.

    Args:
        arr: The vector (3,).

    Returns:
        The matrix (3, 3).
    """
    x, y, z = jnp.asarray(arr, float)
    zero = jnp.zeros_like(x)
    return jnp.stack([jnp.stack([zero, -z, y]), jnp.stack([z, zero, -x]), jnp.stack([-y, x, zero])])
