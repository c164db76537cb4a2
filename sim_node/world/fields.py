"""Fields of the frozen classes of the model: instants, read-only arrays, and equality in what they say."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

from sim_node.geometry.arrays import FloatArray, IntArray

# The last instant there is, and what it is in words.
LAST_NS = 2**63 - 1
RANGE = f"{LAST_NS // 10**9} s (int64 nanoseconds, about 292 years)"


def nanoseconds(seconds: float) -> int:
    """The whole nanoseconds nearest to `seconds`. Raises ValueError for what is not finite, or beyond int64."""
    if not math.isfinite(seconds):
        raise ValueError(f"{seconds} is no finite number of seconds")
    return within(round(seconds * 1e9))


def within(time_ns: int) -> int:
    """`time_ns` itself. Raises ValueError where int64 does not hold it."""
    if not -LAST_NS <= time_ns <= LAST_NS:
        raise ValueError(f"{time_ns / 1e9:g} s is out of range; allowed: up to {RANGE}")
    return time_ns


# What says where a thing was read from, and no more.
PROVENANCE = {"place", "parent_place", "parameter_places", "connector_places", "places", "files"}


def same(left: object, right: object) -> bool:
    """Equal in all that they say; where they were read from is no part of it."""
    return type(left) is type(right) and all(
        equal(getattr(left, part.name), getattr(right, part.name))
        for part in fields(left)  # type: ignore[arg-type]
        if part.name not in PROVENANCE
    )


def equal(left: Any, right: Any) -> bool:
    """Whether two values of fields are equal: numbers, texts, arrays, lists and mappings of them."""
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(equal(value, right[key]) for key, value in left.items())
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(map(equal, left, right))
    return left == right if isinstance(left, (str, bytes)) else bool(np.array_equal(left, right))


def floats(values: npt.ArrayLike, shape: tuple[int, ...], owner: str, what: str) -> FloatArray:
    """A read-only view as float64 of that shape, -1 for any length. Raises ValueError, naming owner and shapes."""
    try:
        array: FloatArray = np.asarray(values, dtype=np.float64).view()
    except (TypeError, ValueError):
        raise ValueError(f"{owner!r}: {what} must be numbers of shape {shape}, found {values!r:.60}") from None
    if array.ndim != len(shape) or any(n not in (-1, m) for n, m in zip(shape, array.shape, strict=True)):
        raise ValueError(f"{owner!r}: {what} has shape {array.shape}, needs {shape}")
    # A view: the caller's own array stays as writable as it was.
    array.setflags(write=False)
    return array


def directions(values: npt.ArrayLike, shape: tuple[int, ...], owner: str, what: str) -> FloatArray:
    """Read-only unit vectors (..., 3); those that are, to the rounding of doubles, stay as they are given.

    Raises ValueError for other shapes and for vectors without a direction.
    """
    given = floats(values, shape, owner, what)
    lengths = np.linalg.norm(given, axis=-1, keepdims=True)
    if not np.all(np.isfinite(lengths) & (lengths > 0.0)):
        raise ValueError(f"{owner!r}: an axis needs a direction, found {given.tolist()}")
    unit = np.where(np.abs(lengths - 1.0) <= 4e-15, given, given / lengths)
    return floats(unit, unit.shape, owner, what)


def whole_nanoseconds(values: npt.ArrayLike, owner: str) -> IntArray:
    """A read-only view (K,) as int64 of one or more whole numbers. Raises ValueError."""
    given = np.asarray(values)
    if given.ndim != 1 or len(given) == 0 or given.dtype.kind not in "iu":
        found = f"{given.dtype} of shape {given.shape}"
        raise ValueError(f"{owner!r}: times_ns must be one or more whole nanoseconds, found {found}")
    times_ns: IntArray = given.astype(np.int64, copy=False).view()
    times_ns.setflags(write=False)
    return times_ns
