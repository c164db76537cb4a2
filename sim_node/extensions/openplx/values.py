"""Values of expressions: numbers, vectors, rotations and transforms, immutable and with operators."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from sim_node.spatial.geometry import poses, quaternions
from sim_node.spatial.geometry.arrays import FloatArray

Real = float
MAX_INT = 2**63 - 1


class Undefined:
    """The value of an unassigned name. `of` is its description."""

    def __init__(self, of: str) -> None:
        self.of = of


class Opaque:
    """A value of an unknown type. The results of all operations with it are opaque, too."""


OPAQUE = Opaque()


@dataclass(frozen=True, slots=True)
class BoundMethod:
    """A method that is referenced but not called."""

    name: str
    call: Callable[..., Any]


class _Componentwise:
    """Component-wise sums, and products with a Real."""

    __slots__ = ()

    def _with(self, operation: Callable[[Any, Any], Any], other: Any) -> Any:
        if type(other) is not type(self):
            return NotImplemented
        return type(self)(*map(operation, components(self), components(other)))

    def __add__(self, other: Any) -> Any:
        return self._with(lambda a, b: a + b, other)

    def __sub__(self, other: Any) -> Any:
        return self._with(lambda a, b: a - b, other)


class _Scaled(_Componentwise):
    __slots__ = ()

    def __neg__(self) -> Any:
        return type(self)(*(-part for part in components(self)))

    def __rmul__(self, factor: Any) -> Any:
        return self._times(factor)

    def __truediv__(self, divisor: Any) -> Any:
        return type(self)(*(part / divisor for part in components(self))) if is_real(divisor) else NotImplemented

    def _times(self, factor: Any) -> Any:
        return type(self)(*(part * factor for part in components(self))) if is_real(factor) else NotImplemented


class _Vector(_Scaled):
    __slots__ = ()

    def __mul__(self, other: Any) -> Any:
        """Return the dot product of two vectors, or the product with a Real."""
        return self.dot(other) if type(other) is type(self) else self._times(other)

    def dot(self, other: Any) -> Real:
        """Return the dot product."""
        return math.fsum(a * b for a, b in zip(components(self), components(other), strict=True))

    def length(self) -> Real:
        """Return the Euclidean norm."""
        return math.hypot(*components(self))

    def normal(self) -> Any:
        """Return the unit vector in this direction. Raises ValueError for zero."""
        length = self.length()
        if not 0.0 < length < math.inf:
            raise ValueError("a vector without a direction has no normal")
        return type(self)(*(part / length for part in components(self)))


@dataclass(frozen=True, slots=True)
class Vec2(_Vector):
    """Two Reals."""

    x: Real = 0.0
    y: Real = 0.0


@dataclass(frozen=True, slots=True)
class Vec3(_Vector):
    """Three Reals."""

    x: Real = 0.0
    y: Real = 0.0
    z: Real = 0.0

    def cross(self, other: Vec3) -> Vec3:
        """Return the cross product."""
        return Vec3(
            self.y * other.z - self.z * other.y,
            self.z * other.x - self.x * other.z,
            self.x * other.y - self.y * other.x,
        )


@dataclass(frozen=True, slots=True)
class Quat(_Scaled):
    """A quaternion (Hamilton) of any norm."""

    x: Real = 0.0
    y: Real = 0.0
    z: Real = 0.0
    w: Real = 1.0

    def __mul__(self, other: Any) -> Any:
        """Return the product with a quaternion, whose right factor rotates first, or with a Real."""
        if not isinstance(other, Quat):
            return self._times(other)
        return Quat(*quaternions.multiply(components(self), components(other)).tolist())

    def __truediv__(self, other: Any) -> Any:
        """Return the product with the inverse of a quaternion, or the quotient by a Real."""
        return self * other.inverse() if isinstance(other, Quat) else _Scaled.__truediv__(self, other)

    def conj(self) -> Quat:
        """Return the conjugate."""
        return Quat(-self.x, -self.y, -self.z, self.w)

    def norm(self) -> Real:
        """Return the norm."""
        return math.hypot(*components(self))

    def inverse(self) -> Quat:
        """Return the multiplicative inverse. Raises ValueError for zero."""
        self.normal()
        return Quat(*quaternions.inverse(components(self)).tolist())

    def normal(self) -> Quat:
        """Return the unit quaternion. Raises ValueError for zero."""
        norm = self.norm()
        if not 0.0 < norm < math.inf:
            raise ValueError(f"a quaternion of norm {norm:g} is not a rotation")
        return Quat(*(part / norm for part in components(self)))

    def rotate(self, vector: Vec3) -> Vec3:
        """Return a vector rotated by the normalised quaternion. Raises ValueError for zero."""
        return Vec3(*quaternions.rotate(components(self.normal()), components(vector)).tolist())


class _Matrix(_Componentwise):
    __slots__ = ()

    def array(self) -> FloatArray:
        """The rows."""
        parts = components(self)
        size = math.isqrt(len(parts))
        return np.array(parts).reshape(size, size)

    def __mul__(self, other: Any) -> Any:
        if type(other) is type(self):
            return type(self)(*(self.array() @ other.array()).ravel().tolist())
        if isinstance(other, Vec3) and isinstance(self, Matrix3x3):
            return Vec3(*(self.array() @ components(other)).tolist())
        return NotImplemented


@dataclass(frozen=True, slots=True)
class Matrix3x3(_Matrix):
    """A matrix, row by row; by default the identity."""

    e00: Real = 1.0
    e01: Real = 0.0
    e02: Real = 0.0
    e10: Real = 0.0
    e11: Real = 1.0
    e12: Real = 0.0
    e20: Real = 0.0
    e21: Real = 0.0
    e22: Real = 1.0


@dataclass(frozen=True, slots=True)
class Matrix4x4(_Matrix):
    """A matrix, row by row; by default the identity."""

    e00: Real = 1.0
    e01: Real = 0.0
    e02: Real = 0.0
    e03: Real = 0.0
    e10: Real = 0.0
    e11: Real = 1.0
    e12: Real = 0.0
    e13: Real = 0.0
    e20: Real = 0.0
    e21: Real = 0.0
    e22: Real = 1.0
    e23: Real = 0.0
    e30: Real = 0.0
    e31: Real = 0.0
    e32: Real = 0.0
    e33: Real = 1.0


@dataclass(frozen=True, slots=True)
class AffineTransform:
    """A rotation followed by a translation, from child to parent coordinates."""

    position: Vec3 = Vec3()
    rotation: Quat = Quat()

    def pose(self) -> FloatArray:
        """Return the pose (7,). Raises ValueError for a rotation of norm zero."""
        return poses.pose(components(self.position), components(self.rotation.normal()))

    @classmethod
    def of(cls, pose: FloatArray) -> AffineTransform:
        """Return the transform of a pose (7,)."""
        return cls(Vec3(*pose[:3].tolist()), Quat(*pose[3:].tolist()))

    def __mul__(self, other: Any) -> Any:
        if not isinstance(other, AffineTransform):
            return NotImplemented
        return AffineTransform.of(poses.compose(self.pose(), other.pose()))

    def inverse(self) -> AffineTransform:
        """Return the inverse: the transform from parent to child coordinates."""
        return AffineTransform.of(poses.invert(self.pose()))


@dataclass(frozen=True, slots=True)
class Line:
    """A line from one point to another."""

    start: Vec3 = Vec3()
    end: Vec3 = Vec3()

    def length(self) -> Real:
        """Return the distance between its ends."""
        return (self.end - self.start).length()  # type: ignore[no-any-return]


# Models of the Math bundle that are represented as values.
VALUES: dict[str, type] = {
    f"Math.{kind.__name__}": kind for kind in (Vec2, Vec3, Quat, Matrix3x3, Matrix4x4, AffineTransform, Line)
}
PRIMITIVES = ("Real", "Int", "Bool", "String", "Blob")


def is_real(value: object) -> bool:
    """Return whether a value is a Real or an Int."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def components(value: Any) -> tuple[Any, ...]:
    """Return the members of a value in order."""
    return tuple(getattr(value, name) for name in members(type(value)))


def members(kind: type) -> tuple[str, ...]:
    """Return the names of the members of a type of value."""
    return _MEMBERS.get(kind, ())


_MEMBERS = {kind: tuple(part.name for part in fields(kind)) for kind in VALUES.values()}


def with_member(value: Any, name: str, member: Any) -> Any:
    """Return a copy of the value with one member replaced."""
    return replace(value, **{name: member})


def with_article(name: str) -> str:
    """Return a name with its article: `a Rod`, `an Arm`."""
    return f"an {name}" if name[:1] in "AEIOU" else f"a {name}"


def kind_of(value: object) -> str:
    """Return the name of the type of a value, for messages."""
    if isinstance(value, bool):
        return "a Bool"
    if isinstance(value, (int, float)):
        return "an Int" if isinstance(value, int) else "a Real"
    if isinstance(value, str):
        return "a String"
    if isinstance(value, list):
        return "an array"
    if isinstance(value, tuple):
        return f"{{}} of {len(value)}"
    if isinstance(value, BoundMethod):
        return f"the method {value.name} without ()"
    if type(value) in _MEMBERS:
        return f"a Math.{type(value).__name__}"
    return with_article(getattr(value, "kind", type(value).__name__))
