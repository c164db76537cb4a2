"""What the frozen classes of the model share: checked, read-only arrays, and equality in what they say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

from sim_node.geometry.arrays import FloatArray, IntArray

_PROVENANCE = {"place", "parent_place", "parameter_places", "connector_places", "places"}


def same(left: object, right: object) -> bool:
    """Equal in all that they say; where they were read from is no part of it."""
    return type(left) is type(right) and all(
        _equal(getattr(left, part.name), getattr(right, part.name))
        for part in fields(left)  # type: ignore[arg-type]
        if part.name not in _PROVENANCE
    )


def _equal(left: Any, right: Any) -> bool:
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(_equal(value, right[key]) for key, value in left.items())
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


def whole_nanoseconds(values: npt.ArrayLike, owner: str) -> IntArray:
    """A read-only view (K,) as int64 of one or more whole numbers. Raises ValueError."""
    given = np.asarray(values)
    if given.ndim != 1 or len(given) == 0 or given.dtype.kind not in "iu":
        found = f"{given.dtype} of shape {given.shape}"
        raise ValueError(f"{owner!r}: times_ns must be one or more whole nanoseconds, found {found}")
    times_ns: IntArray = given.astype(np.int64, copy=False).view()
    times_ns.setflags(write=False)
    return times_ns
