"""Fields of the frozen classes of the model: times, read-only arrays, and equality of contents."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from sim_node.spatial.geometry.arrays import FloatArray, IntArray
from sim_node.world.bounds import MAX_DISTANCE

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform as dataclass_transform
else:

    def dataclass_transform(**_: Any) -> Callable[[Any], Any]:
        """Return a decorator that does nothing: before Python 3.11, only type checkers know it."""
        return lambda made: made


T = TypeVar("T")
# Tolerance of the length of unit vectors, for rounding.
UNIT = 4e-15
# Tolerance of the norm of quaternions created in Python, which may be in single precision; readers normalise theirs.
NORM = 1e-6
# The largest time, and its description.
MAX_NS = 2**63 - 1
RANGE = f"{MAX_NS // 10**9} s (int64 nanoseconds, about 292 years)"


def nanoseconds(seconds: float) -> int:
    """Return the whole nanoseconds nearest to `seconds`. Raises ValueError if they are not finite or exceed int64."""
    if not math.isfinite(seconds):
        raise ValueError(f"{seconds} is not a finite number of seconds")
    return within(round(seconds * 1e9))


def within(time_ns: int) -> int:
    """Return `time_ns` itself. Raises ValueError if it exceeds int64."""
    if not -MAX_NS <= time_ns <= MAX_NS:
        raise ValueError(f"{time_ns / 1e9:g} s is out of range; allowed: up to {RANGE}")
    return time_ns


# Fields that only say where something was read from, in addition to those declared with place_of.
_PROVENANCE = {"place", "parent_place", "parameter_places", "connector_places", "places", "where", "files"}


def is_provenance(part: Field[Any]) -> bool:
    """Return whether a field only says where something was read from."""
    return part.name in _PROVENANCE or "place" in part.metadata


def same(left: object, right: object) -> bool:
    """Return whether two objects have equal contents, regardless of where they were read from."""
    return type(left) is type(right) and all(
        equal(getattr(left, part.name), getattr(right, part.name))
        for part in fields(left)  # type: ignore[arg-type]
        if not is_provenance(part)
    )


def described(part: Any) -> str:
    """Return the same as the __repr__ of a dataclass, which would be compiled for each class at each start."""
    shown = ", ".join(f"{each.name}={getattr(part, each.name)!r}" for each in fields(part) if each.repr)
    return f"{type(part).__qualname__}({shown})"


@dataclass_transform(eq_default=False, frozen_default=True, field_specifiers=(field,))
def compared(made: type[T]) -> type[T]:
    """Make a frozen dataclass whose equality ignores where objects were read from."""
    made.__eq__, made.__hash__, made.__repr__ = same, None, described  # type: ignore[assignment]
    return dataclass(frozen=True, slots=True, eq=False, repr=False)(made)


def equal(left: Any, right: Any) -> bool:
    """Return whether two values of fields are equal: numbers, texts, arrays, and lists and mappings of these."""
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(equal(value, right[key]) for key, value in left.items())
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(map(equal, left, right))
    return left == right if isinstance(left, (str, bytes)) else bool(np.array_equal(left, right))


def floats(values: npt.ArrayLike, shape: tuple[int, ...], owner: str, what: str) -> FloatArray:
    """Return a read-only float64 view of a given shape; -1 stands for any length. Raises ValueError."""
    try:
        array: FloatArray = np.asarray(values, dtype=np.float64).view()
    except (TypeError, ValueError):
        raise ValueError(f"{owner!r}: {what} must be numbers of shape {shape}, found {values!r:.60}") from None
    if array.shape != shape and (
        array.ndim != len(shape) or any(n not in (-1, m) for n, m in zip(shape, array.shape, strict=True))
    ):
        raise ValueError(f"{owner!r}: {what} has shape {array.shape}, needs {shape}")
    # A view: the caller's own array stays writable.
    array.setflags(write=False)
    return array


def directions(values: npt.ArrayLike, shape: tuple[int, ...], owner: str, what: str) -> FloatArray:
    """Return read-only unit vectors (..., 3). Vectors that are unit up to rounding stay unchanged.

    Raises ValueError for other shapes and for vectors without a direction.
    """
    given = floats(values, shape, owner, what)
    # A body has few axes, for which numpy would take ten times as long.
    if given.ndim == 2 and len(given) <= 3 and all(abs(math.hypot(*row) - 1.0) <= UNIT for row in given.tolist()):
        return given
    largest = np.abs(given).max(axis=-1, initial=0.0, keepdims=True)
    if not np.all(np.isfinite(largest) & (largest > 0.0)):
        raise ValueError(f"{owner!r}: an axis needs a direction, found {given.tolist()}")
    # Scale by a power of two, which is exact, so that squares neither overflow nor underflow.
    exponents = np.frexp(largest)[1]
    scaled = np.ldexp(given, -exponents)
    lengths = np.linalg.norm(scaled, axis=-1, keepdims=True)
    is_unit = np.abs(np.ldexp(lengths, np.clip(exponents, -2, 2)) - 1.0) <= UNIT
    unit = np.where(is_unit, given, scaled / lengths)
    return floats(unit, unit.shape, owner, what)


def whole_nanoseconds(values: npt.ArrayLike, owner: str) -> IntArray:
    """Return a read-only int64 view (K,) of one or more whole numbers. Raises ValueError."""
    given = np.asarray(values)
    if given.ndim != 1 or len(given) == 0 or given.dtype.kind not in "iu":
        found = f"{given.dtype} of shape {given.shape}"
        raise ValueError(f"{owner!r}: times_ns must be one or more whole nanoseconds, found {found}")
    times_ns: IntArray = given.astype(np.int64, copy=False).view()
    times_ns.setflags(write=False)
    return times_ns


def pose_faults(poses: FloatArray) -> Iterator[tuple[int, str]]:
    """Yield the row of each invalid pose among (N, 7), and the reason."""
    finite: npt.NDArray[np.bool_] = np.all(np.isfinite(poses), axis=1)
    with np.errstate(all="ignore"):  # overflows are reported below
        near: npt.NDArray[np.bool_] = np.all(np.abs(poses[:, :3]) <= MAX_DISTANCE, axis=1)
        norms = np.linalg.norm(poses[:, 3:], axis=1)
        unit = np.abs(norms - 1.0) <= NORM
    for row in np.flatnonzero(~(finite & near & unit)).tolist():
        if not finite[row]:
            yield row, f"{poses[row].tolist()} is not finite"
        elif not near[row]:
            yield (
                row,
                f"position {poses[row, :3].tolist()} is out of range; allowed: {-MAX_DISTANCE:g} to {MAX_DISTANCE:g} m",
            )
        else:
            yield row, f"the quaternion's norm is {norms[row]:.7g}, a rotation needs 1"
