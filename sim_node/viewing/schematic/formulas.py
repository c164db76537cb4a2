"""The functions of formulas: rotations and translations of poses, and functions of numbers.

Values are arrays (n,) in the order of Elodin's components: a pose is [qx qy qz qw x y z]. Formulas are applied strictly
from left to right, each to the result of the previous one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import permutations

import numpy as np

from sim_node.spatial.frames import Frame
from sim_node.spatial.frames.conversions import axes_in_enu
from sim_node.spatial.geometry import poses, quaternions
from sim_node.spatial.geometry.arrays import FloatArray

Origin = tuple[float, float, float]
POSE_LABELS = ("q0", "q1", "q2", "q3", "x", "y", "z")
LINEAR, ANGULAR = slice(4, 7), slice(0, 4)


@dataclass(frozen=True, slots=True)
class FormulaType:
    """A function of formulas.

    Attributes:
        takes: Number of its numeric arguments.
        apply: Computes the result from a value and the arguments (takes,).
        of: Lengths of the values that it accepts; () for any.
        labels: Returns the labels of the result, given those of the value.
        words: Implementations by the word that it takes; empty if it takes numbers.
        on_earth: Returns `apply` for an origin of the fixed frame on Earth. Raises OriginRequired if it needs one.
    """

    takes: int
    apply: Callable[[FloatArray, FloatArray], FloatArray]
    of: tuple[int, ...]
    labels: Callable[[tuple[str, ...]], tuple[str, ...]]
    words: Mapping[str, Callable[[FloatArray, FloatArray], FloatArray]] = field(default_factory=dict)
    on_earth: Callable[[Origin | None], Callable[[FloatArray, FloatArray], FloatArray]] | None = None


def as_pose(transform: FloatArray) -> FloatArray:
    """Return a pose (7,) [x y z qx qy qz qw] from a value (7,) in Elodin's order, or from a position (3,).

    An all-zero quaternion means no rotation.
    """
    if len(transform) == 3:
        return np.concatenate([transform, [0.0, 0.0, 0.0, 1.0]])
    length = float(np.linalg.norm(transform[ANGULAR]))
    turned = transform[ANGULAR] / length if length > 0.0 else np.array([0.0, 0.0, 0.0, 1.0])
    return np.concatenate([transform[LINEAR], turned])


def as_transform(pose: FloatArray) -> FloatArray:
    """Convert a pose (7,) to a value (7,) in Elodin's order."""
    return np.concatenate([pose[3:], pose[:3]])


def euler(degrees: FloatArray) -> FloatArray:
    """Return the quaternion (4,) of angles (3,) about x, y and z, degrees: first x, then the rotated y and z axes."""
    turn = np.array([0.0, 0.0, 0.0, 1.0])
    for axis, angle in zip(np.eye(3), np.radians(degrees), strict=True):
        turn = quaternions.multiply(turn, quaternions.from_axis_angle(axis, angle))
    return turn


def _rotation(axes: tuple[int, ...], *, world: bool) -> Callable[[FloatArray, FloatArray], FloatArray]:
    """Return a function that rotates about axes in order. world: about the world's axes, keeping the position."""

    def rotate(value: FloatArray, degrees: FloatArray) -> FloatArray:
        pose = as_pose(value)
        turned = pose[3:]
        for axis, angle in zip(axes, np.radians(degrees), strict=True):
            turn = quaternions.from_axis_angle(np.eye(3)[axis], angle)
            turned = quaternions.multiply(turn, turned) if world else quaternions.multiply(turned, turn)
        return as_transform(poses.pose(pose[:3], turned))

    return rotate


def _translation(axes: tuple[int, ...], *, world: bool) -> Callable[[FloatArray, FloatArray], FloatArray]:
    def translate(value: FloatArray, metres: FloatArray) -> FloatArray:
        pose = as_pose(value)
        by = np.zeros(3)
        by[list(axes)] = metres
        moved = pose[:3] + (by if world else quaternions.rotate(pose[3:], by))
        return as_transform(poses.pose(moved, pose[3:]))

    return translate


def _of_pose(labels: tuple[str, ...]) -> tuple[str, ...]:
    return POSE_LABELS


def _same(labels: tuple[str, ...]) -> tuple[str, ...]:
    return labels


def _part(*, linear: bool) -> Callable[[FloatArray, FloatArray], FloatArray]:
    """Return a function that selects half of a pose (7,), whose angular part has four numbers, or of a 6-vector."""

    def part(value: FloatArray, none: FloatArray) -> FloatArray:
        start = len(value) - 3
        return value[start:] if linear else value[:start]

    return part


def _direction(value: FloatArray, along: FloatArray) -> FloatArray:
    """Rotate a direction (3,) from a pose's own axes to the world's."""
    return quaternions.rotate(as_pose(value)[3:], along)


def _nothing(value: FloatArray, none: FloatArray) -> FloatArray:
    raise NotImplementedError("needs on_earth, or a word")


def _as_integers(low: float, high: float, value: FloatArray, none: FloatArray) -> FloatArray:
    """Return numbers without their fractions, clipped to the limits, with NaN as 0."""
    return np.clip(np.trunc(np.nan_to_num(value, nan=0.0, posinf=high, neginf=low)), low, high)


def _as_floats(value: FloatArray, none: FloatArray) -> FloatArray:
    with np.errstate(over="ignore"):
        return value.astype(np.float32).astype(float)


def _types() -> Iterator[tuple[str, Callable[[FloatArray, FloatArray], FloatArray]]]:
    """Yield the types of `cast`. Results of operators and displayed values are doubles again."""
    for bits in (8, 16, 32, 64):
        for letter, name, low, high in (
            ("u", "uint", 0.0, 2.0**bits - 1),
            ("i", "int", -(2.0 ** (bits - 1)), 2.0 ** (bits - 1) - 1),
        ):
            convert = partial(_as_integers, low, high)
            yield f"{letter}{bits}", convert
            yield f"{name}{bits}", convert
    for name in ("bool", "boolean"):
        yield name, lambda value, none: (value != 0.0).astype(float)
    for name in ("f32", "float", "float32", "real"):
        yield name, _as_floats
    for name in ("f64", "double", "float64"):
        yield name, lambda value, none: value


def _conversion(
    source: Frame, target: Frame, vector: bool, origin: Origin | None
) -> Callable[[FloatArray, FloatArray], FloatArray]:
    """Return a function that converts a position (3,), a pose (7,), or the components of a vector (3,)."""
    there = poses.relative(axes_in_enu(target, origin), axes_in_enu(source, origin))

    def convert(value: FloatArray, none: FloatArray) -> FloatArray:
        if vector:
            return quaternions.rotate(there[3:], value)
        if len(value) == 3:
            return np.asarray(poses.apply(there, value))
        return as_transform(poses.compose(there, as_pose(value)))

    return convert


def _conversions() -> Iterator[tuple[str, FormulaType]]:
    for source, target in permutations((Frame.ENU, Frame.NED, Frame.ECEF), 2):
        name = f"{source.name}_to_{target.name}".lower()
        for suffix, vector, of in (("", False, (3, 7)), ("_vector", True, (3,))):
            yield (
                name + suffix,
                FormulaType(0, _nothing, of, _same, on_earth=partial(_conversion, source, target, vector)),
            )


def _formulas() -> Iterator[tuple[str, FormulaType]]:
    for suffix, axes in {"_x": (0,), "_y": (1,), "_z": (2,), "": (0, 1, 2)}.items():
        for frame, world in {"": False, "_world": True}.items():
            count = len(axes)
            yield f"rotate{frame}{suffix}", FormulaType(count, _rotation(axes, world=world), (3, 7), _of_pose)
            yield f"translate{frame}{suffix}", FormulaType(count, _translation(axes, world=world), (3, 7), _of_pose)
    yield "linear", FormulaType(0, _part(linear=True), (6, 7), lambda labels: labels[-3:])
    yield "angular", FormulaType(0, _part(linear=False), (6, 7), lambda labels: labels[:-3])
    yield "abs", FormulaType(0, lambda value, none: np.abs(value), (), _same)
    yield "sqrt", FormulaType(0, lambda value, none: np.sqrt(np.maximum(value, 0.0)), (), _same)
    yield "sign", FormulaType(0, lambda value, none: np.sign(value), (), _same)
    yield "arccos", FormulaType(0, lambda value, none: np.arccos(np.clip(value, -1.0, 1.0)), (), _same)
    yield "atan2", FormulaType(1, lambda value, of: np.arctan2(value, of[0]), (), _same)
    yield "clip", FormulaType(2, lambda value, ends: np.maximum(ends[0], np.minimum(value, ends[1])), (), _same)
    yield "direction", FormulaType(3, _direction, (7,), lambda labels: labels[-3:])
    yield "degrees", FormulaType(0, lambda value, none: np.degrees(value), (), _same)
    yield "cast", FormulaType(1, _nothing, (), _same, dict(_types()))
    yield "norm", FormulaType(0, lambda value, none: np.array([np.linalg.norm(value)]), (), lambda labels: ("norm",))


FORMULAS: dict[str, FormulaType] = {**dict(_formulas()), **dict(_conversions())}
