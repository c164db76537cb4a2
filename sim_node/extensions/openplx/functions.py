"""The functions and methods of the Math bundle. To add one, register it with the types of its arguments."""

from __future__ import annotations

import itertools
import math
import re
import statistics
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sim_node.extensions.openplx.values import (
    AffineTransform,
    Line,
    Matrix3x3,
    Matrix4x4,
    Quat,
    Vec2,
    Vec3,
    components,
)
from sim_node.spatial.geometry import quaternions
from sim_node.world.mates import MateConnector
from sim_node.world.readers import numbers


class Function(NamedTuple):
    """A function and the types of its arguments: float for a Real, [float] for an array of Reals, or a value class."""

    call: Callable[..., Any]
    takes: tuple[Any, ...]


FUNCTIONS: dict[str, Function] = {}
METHODS: dict[type, dict[str, Function]] = {}


def function(name: str, *takes: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a static function under its full name."""

    def register(call: Callable[..., Any]) -> Callable[..., Any]:
        FUNCTIONS[name] = Function(call, takes)
        return call

    return register


def method(of: type, name: str, *takes: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a method of a type of value."""

    def register(call: Callable[..., Any]) -> Callable[..., Any]:
        METHODS.setdefault(of, {})[name] = Function(call, (of, *takes))
        return call

    return register


def new_spelling(name: str) -> str:
    """Return a name in snake case: angle_axis for angleAxis. Names in capitals, such as X_AXIS, are kept."""
    return name if name.isupper() else re.sub(r"(?<=[a-z0-9])[A-Z]", lambda found: "_" + found[0].lower(), name)


def _angle_axis(angle: float, axis: Vec3) -> Quat:
    return Quat(*numbers.from_axis_angle(components(axis.normal()), angle).tolist())


def _from_to(start: Vec3, end: Vec3) -> Quat:
    """Return the shortest rotation between two directions; opposite ones rotate about `orthogonal_unit_vector`."""
    a, b = start.normal(), end.normal()
    axis, cosine = a.cross(b), a.dot(b)
    # For nearly opposite vectors, 1 + cosine is inaccurate, but the length of the cross product is not.
    if cosine < -0.9:
        sine = axis.length()
        about = axis if sine > 1e-12 else orthogonal_unit_vector(a)
        return _angle_axis(math.atan2(sine, cosine), about)
    return Quat(axis.x, axis.y, axis.z, 1.0 + cosine).normal()


def orthogonal_unit_vector(vector: Vec3) -> Vec3:
    """Return a unit vector orthogonal to a vector: the default normal of a connector with that main axis."""
    return _turned_x(MateConnector("", main_axis=np.array(components(vector.normal()))))


def _turned_x(connector: MateConnector) -> Vec3:
    return Vec3(*quaternions.rotate(connector.pose[3:], (1.0, 0.0, 0.0)).tolist())


def _from_axes(z: Vec3, x: Vec3, position: Vec3) -> AffineTransform:
    connector = MateConnector("", *(np.array(components(vector)) for vector in (position, z, x)))  # type: ignore[arg-type]
    return AffineTransform.of(connector.pose)


def _euler(axes: str) -> Callable[[float, float, float], Quat]:
    def quaternion(alpha: float, beta: float, gamma: float) -> Quat:
        return Quat(*numbers.from_euler((alpha, beta, gamma), axes).tolist())

    return quaternion


def _to_euler(axes: str) -> Callable[[Quat], Vec3]:
    def angles(rotation: Quat) -> Vec3:
        return Vec3(*numbers.to_euler(components(rotation.normal()), axes))

    return angles


def _matrix(kind: type, rows: tuple[Any, ...]) -> Any:
    size = 3 if kind is Matrix3x3 else 4
    if any(len(row) != size for row in rows):
        raise ValueError(f"arrays of {size} are needed, found {', '.join(str(len(row)) for row in rows)}")
    return kind(*(float(part) for row in rows for part in row))


def _of_some(reduce: Callable[[list[float]], float]) -> Callable[[list[float]], float]:
    def of_some(values: list[float]) -> float:
        if not values:
            raise ValueError("an array without values has none")
        return reduce(values)

    return of_some


def _from_vec3_quat(position: Vec3, rotation: Quat) -> Matrix4x4:
    turn = quaternions.to_matrix(components(rotation.normal()))
    rows = [[*row, part] for row, part in zip(turn.tolist(), components(position), strict=True)]
    return Matrix4x4(*itertools.chain(*rows, (0.0, 0.0, 0.0, 1.0)))


def _where_defined(of: Callable[..., float]) -> Callable[..., float]:
    def defined(*values: float) -> float:
        try:
            return of(*values)
        except (ValueError, OverflowError):  # their messages differ between Python versions
            raise ValueError(f"has no value for {', '.join(f'{value:g}' for value in values)}") from None

    return defined


def _whole(round_: Callable[[float], int]) -> Callable[[float], int]:
    def whole(value: float) -> int:
        if not math.isfinite(value):
            raise ValueError(f"{value:g} has no whole number near it")
        return round_(value)

    return whole


def _half_up(value: float) -> int:
    return int(math.copysign(math.floor(abs(value) + 0.5), value))


R = float
for _name, _axis in (("X", Vec3(x=1.0)), ("Y", Vec3(y=1.0)), ("Z", Vec3(z=1.0))):
    function(f"Math.Vec3.{_name}_AXIS")(lambda axis=_axis: axis)
for _name, _plane in (("X", Vec2(x=1.0)), ("Y", Vec2(y=1.0))):
    function(f"Math.Vec2.{_name}_AXIS")(lambda axis=_plane: axis)
function("Math.Vec3.from_xyz", R, R, R)(Vec3)
function("Math.Vec3.angle_between_vectors", Vec3, Vec3, Vec3)(
    lambda a, b, about: math.atan2(about.normal().dot(a.cross(b)), a.dot(b))
)
function("Math.Vec2.from_xy", R, R)(Vec2)
for _vector in (Vec2, Vec3):
    method(_vector, "length")(_vector.length)
    method(_vector, "normal")(_vector.normal)
    method(_vector, "dot", _vector)(_vector.dot)
method(Vec3, "cross", Vec3)(Vec3.cross)
method(Vec3, "get_orthogonal_unit_vector")(orthogonal_unit_vector)

function("Math.Quat.angle_axis", R, Vec3)(_angle_axis)
function("Math.Quat.from_to", Vec3, Vec3)(_from_to)
function("Math.Quat.normal", Quat)(Quat.normal)
function("Math.Quat.from_xyzw", R, R, R, R)(Quat)
method(Quat, "rotate", Vec3)(Quat.rotate)
method(Quat, "conj")(Quat.conj)
method(Quat, "inverse")(Quat.inverse)
method(Quat, "normal")(Quat.normal)
for _order in ("".join(axes) for axes in itertools.product("xyz", repeat=3) if axes[0] != axes[1] != axes[2]):
    for _suffix in "sr":
        function(f"Math.Quat.from_euler_angles_{_order}{_suffix}", R, R, R)(_euler(_suffix + _order))
        method(Quat, f"to_euler_angles_{_order}{_suffix}")(_to_euler(_suffix + _order))
FUNCTIONS["Math.Quat.from_euler_angles"] = FUNCTIONS["Math.Quat.from_euler_angles_xyzs"]
METHODS[Quat]["to_euler_angles"] = METHODS[Quat]["to_euler_angles_xyzs"]

function("Math.AffineTransform.create")(AffineTransform)
function("Math.AffineTransform.from", Vec3, Quat)(AffineTransform)
function("Math.AffineTransform.from_axes", Vec3, Vec3, Vec3)(_from_axes)
function("Math.AffineTransform.inverse_of", Vec3, Quat)(lambda p, r: AffineTransform(p, r).inverse())
method(AffineTransform, "inverse")(AffineTransform.inverse)
method(AffineTransform, "transform_vec3_point", Vec3)(lambda t, v: t.rotation.rotate(v) + t.position)
method(AffineTransform, "transform_vec3_vector", Vec3)(lambda t, v: t.rotation.rotate(v))

function("Math.Matrix3x3.from_row_major", *[R] * 9)(Matrix3x3)
function("Math.Matrix3x3.diag", R, R, R)(lambda x, y, z: Matrix3x3(e00=x, e11=y, e22=z))
function("Math.Matrix4x4.from_row_major", *[R] * 16)(Matrix4x4)
for _kind, _size in ((Matrix3x3, 3), (Matrix4x4, 4)):
    _named = f"Math.{_kind.__name__}"
    function(f"{_named}.from_rows", *[[R]] * _size)(lambda *rows, kind=_kind: _matrix(kind, rows))
    function(f"{_named}.from_columns", *[[R]] * _size)(
        lambda *columns, kind=_kind: _matrix(kind, _matrix(kind, columns).array().T)
    )
function("Math.Matrix4x4.from_vec3_quat", Vec3, Quat)(_from_vec3_quat)
method(Matrix4x4, "transpose")(lambda m: Matrix4x4(*m.array().T.ravel().tolist()))
method(Matrix4x4, "copy")(lambda m: m)
method(Matrix4x4, "get_affine_translation")(lambda m: Vec3(m.e03, m.e13, m.e23))
method(Matrix4x4, "get_affine_rotation")(lambda m: Quat(*quaternions.from_matrix(m.array()[:3, :3]).tolist()))
function("Math.Line.from_points", Vec3, Vec3)(Line)
method(Line, "length")(Line.length)

for _name in ("sin", "cos", "tan", "sqrt"):
    function(f"Math.Functions.{_name}", R)(_where_defined(getattr(math, _name)))
for _name in ("asin", "acos", "atan"):
    function(f"Math.Functions.arc{_name[1:]}", R)(_where_defined(getattr(math, _name)))
function("Math.Functions.arctan2", R, R)(math.atan2)
function("Math.Functions.pow", R, R)(_where_defined(math.pow))
function("Math.Functions.mean", [R])(_of_some(statistics.fmean))
function("Math.Functions.median", [R])(_of_some(statistics.median))
function("Math.Functions.harmonic_mean", [R])(_of_some(statistics.harmonic_mean))
function("Math.Functions.min", [R])(_of_some(min))
function("Math.Functions.max", [R])(_of_some(max))
function("Math.Functions.sum", [R])(math.fsum)
function("Math.Functions.equals_approx", R, R)(lambda a, b: math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9))
function("Math.Functions.inf")(lambda: math.inf)
function("Math.Functions.neg_inf")(lambda: -math.inf)
function("Math.Functions.rad_to_deg", R)(math.degrees)
function("Math.Functions.deg_to_rad", R)(math.radians)
function("Math.Functions.round", R)(_whole(_half_up))
function("Math.Functions.floor", R)(_whole(math.floor))
function("Math.Functions.ceil", R)(_whole(math.ceil))
function("Physics3D.Bodies.Inertia.symmetric_tensor", Vec3, R, R, R)(
    lambda d, xy, xz, yz: Matrix3x3(d.x, xy, xz, xy, d.y, yz, xz, yz, d.z)
)
