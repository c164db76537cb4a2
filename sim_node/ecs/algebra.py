"""Quaternions and spatial vectors of worlds in Python, as JAX pytrees.

Quaternions are Hamilton's, scalar last. Spatial vectors have their angular part first: a transform is
[qx qy qz qw x y z], a motion [wx wy wz vx vy vz], a force [tx ty tz fx fy fz]. For the
rest of this package they are converted by `conversions`.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from sim_node.ecs import rows
from sim_node.ecs.components import ComponentType, PrimitiveType
from sim_node.ecs.jax_setup import jax, jnp

S = TypeVar("S", bound="Spatial")
V = TypeVar("V", bound="_Vector")


def multiply(p: Any, q: Any) -> Any:
    """Return the Hamilton product of quaternions (4,)."""
    return jnp.stack(rows.multiply(tuple(p), tuple(q)))


def rotate(q: Any, v: Any) -> Any:
    """Return a vector (3,) rotated by a quaternion (4,) of any length: q v q^-1."""
    return jnp.stack(rows.rotate(tuple(q), tuple(v)))


def _vector(value: Any, length: int, what: str) -> Any:
    """Return a vector of a length, traced or not. Raises ValueError, TypeError."""
    if isinstance(value, jax.core.Tracer):
        array = value
    else:
        array = value if isinstance(value, jax.Array) else np.asarray(value, dtype=float)
    if array.shape != (length,):
        raise ValueError(f"{what}: {length} numbers are needed; found the shape {array.shape}")
    return array


def _join(first: Any, second: Any) -> Any:
    both = (first, second)
    if any(isinstance(part, jax.Array) for part in both):
        return jnp.concatenate(both)
    return np.concatenate(both)


class _Vector:
    """One array with names for its parts."""

    component_type: ComponentType
    arr: Any

    @classmethod
    def from_array(cls: type[V], array: Any) -> V:
        """Return an object of an array.

        Args:
            array: The numbers, in the order of the class. They may be traced, and are not checked.

        Returns:
            The object.
        """
        made = cls.__new__(cls)
        made.arr = array
        return made

    def asarray(self) -> Any:
        """Return the array."""
        return self.arr

    def tree_flatten(self) -> tuple[tuple[Any, ...], None]:
        """Return the leaf for JAX."""
        return (self.arr,), None

    @classmethod
    def tree_unflatten(cls: type[V], aux: None, leaves: tuple[Any, ...]) -> V:
        """Return the object of a leaf, for JAX.

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
class Quaternion(_Vector):
    """A quaternion [x y z w].

    Args:
        arr: The four numbers; they are not normalised.

    Raises:
        ValueError: There are not four.
    """

    component_type = ComponentType.Quaternion

    def __init__(self, arr: Any) -> None:
        self.arr = _vector(arr, 4, "Quaternion")

    @staticmethod
    def identity() -> Quaternion:
        """Return the quaternion of no rotation."""
        return Quaternion.from_array(np.array([0.0, 0.0, 0.0, 1.0]))

    @staticmethod
    def from_axis_angle(axis: Any, angle: Any) -> Quaternion:
        """Return a rotation about an axis.

        Args:
            axis: The axis (3,), of any length but zero.
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
        """Return a rotation by roll, pitch and yaw about fixed axes x, y and z in this order (REP 103).

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
        """Return the inverse: the conjugate over the squared length."""
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
        if isinstance(other, SpatialTransform):
            return SpatialTransform.from_array(
                jnp.concatenate([multiply(q, other.arr[:4]), rotate(q, jnp.asarray(other.arr[4:]))])
            )
        if isinstance(other, (SpatialMotion, SpatialForce)):
            parts = rotate(q, jnp.asarray(other.arr[:3])), rotate(q, jnp.asarray(other.arr[3:]))
            return type(other).from_array(jnp.concatenate(parts))
        if isinstance(other, (Quaternion, SpatialInertia)):
            raise TypeError(f"Quaternion @ {type(other).__name__}: rotate vectors, transforms, motions or forces")
        return rotate(q, jnp.asarray(other, float))


class Spatial(_Vector):
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
            self.arr = _vector(arr, 7, "SpatialTransform")
            return
        angular = angular.arr if isinstance(angular, Quaternion) else angular
        q = np.array([0.0, 0.0, 0.0, 1.0]) if angular is None else _vector(angular, 4, "SpatialTransform: angular")
        self.arr = _join(q, np.zeros(3) if linear is None else _vector(linear, 3, "SpatialTransform: linear"))

    def linear(self) -> Any:
        """Return the position (3,), m."""
        return jnp.asarray(self.arr)[4:]

    def angular(self) -> Quaternion:
        """Return the orientation."""
        return Quaternion.from_array(jnp.asarray(self.arr)[:4])

    def __add__(self, other: Any) -> SpatialTransform:
        """Add a transform element by element, or move by a motion: rotated to first order in world axes."""
        arr = jnp.asarray(self.arr)
        if isinstance(other, SpatialTransform):
            return SpatialTransform.from_array(arr + other.arr)
        if not isinstance(other, SpatialMotion):
            return NotImplemented
        turn = jnp.concatenate([jnp.asarray(other.arr)[:3] / 2, np.zeros(1)])
        q = arr[:4] + multiply(turn, arr[:4])
        return SpatialTransform.from_array(jnp.concatenate([q / jnp.linalg.norm(q), arr[4:] + other.arr[3:]]))


@jax.tree_util.register_pytree_node_class
class SpatialMotion(Spatial):
    """A velocity or an acceleration [wx wy wz vx vy vz].

    Args:
        angular: The angular part (3,), rad/s; zero by default.
        linear: The linear part (3,), m/s; zero by default.

    Raises:
        ValueError: A shape is wrong.
    """

    component_type = ComponentType.SpatialMotionF64

    def __init__(self, angular: Any = None, linear: Any = None) -> None:
        w = np.zeros(3) if angular is None else _vector(angular, 3, "SpatialMotion: angular")
        self.arr = _join(w, np.zeros(3) if linear is None else _vector(linear, 3, "SpatialMotion: linear"))

    def linear(self) -> Any:
        """Return the linear part (3,), m/s."""
        return jnp.asarray(self.arr)[3:]

    def angular(self) -> Any:
        """Return the angular part (3,), rad/s."""
        return jnp.asarray(self.arr)[:3]


@jax.tree_util.register_pytree_node_class
class SpatialForce(Spatial):
    """A force at the centre of mass [tx ty tz fx fy fz].

    Args:
        arr: The six numbers; or
        torque: The torque (3,), N m; zero by default.
        force: The force (3,), N; zero by default.
        linear: Another name of `force`.

    Raises:
        ValueError: Both are given, or a shape is wrong.
    """

    component_type = ComponentType.SpatialMotionF64

    def __init__(self, arr: Any = None, torque: Any = None, force: Any = None, *, linear: Any = None) -> None:
        _only_one("SpatialForce", force, linear)
        force = linear if force is None else force
        _only_one("SpatialForce", arr, torque, force)
        if arr is not None:
            self.arr = _vector(arr, 6, "SpatialForce")
            return
        t = np.zeros(3) if torque is None else _vector(torque, 3, "SpatialForce: torque")
        self.arr = _join(t, np.zeros(3) if force is None else _vector(force, 3, "SpatialForce: force"))

    def force(self) -> Any:
        """Return the force (3,), N."""
        return jnp.asarray(self.arr)[3:]

    def torque(self) -> Any:
        """Return the torque (3,), N m."""
        return jnp.asarray(self.arr)[:3]

    linear, angular = force, torque


@jax.tree_util.register_pytree_node_class
class SpatialInertia(Spatial):
    """An inertia [Ix Iy Iz px py pz m] in body axes, which are the principal ones; p is not used and zero.

    Args:
        mass: The mass, kg.
        inertia: The principal moments (3,), kg m^2; by default each is the number of the mass.

    Raises:
        ValueError: A shape is wrong.
    """

    component_type = ComponentType(PrimitiveType.F64, (7,))

    def __init__(self, mass: Any, inertia: Any = None) -> None:
        m = jnp.asarray(mass, float).reshape(1) if isinstance(mass, jax.Array) else np.array(mass, float).reshape(1)
        moments = _join(_join(m, m), m) if inertia is None else _vector(inertia, 3, "SpatialInertia: inertia")
        self.arr = _join(moments, _join(np.zeros(3), m))

    def mass(self) -> Any:
        """Return the mass, kg."""
        return jnp.asarray(self.arr)[6]

    def inertia_diag(self) -> Any:
        """Return the principal moments (3,), kg m^2."""
        return jnp.asarray(self.arr)[:3]


def skew(vector: Any) -> Any:
    """Return the matrix of the cross product with a vector: skew(a) @ b is a x b.

    Args:
        vector: The vector (3,).

    Returns:
        The matrix (3, 3).
    """
    x, y, z = jnp.asarray(vector, float)
    zero = jnp.zeros_like(x)
    return jnp.stack([jnp.stack([zero, -z, y]), jnp.stack([z, zero, -x]), jnp.stack([-y, x, zero])])
