"""The array types of all packages."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


def as_rows(values: npt.ArrayLike, width: int, what: str) -> FloatArray:
    """Return `values` as float64 (..., width), without copying if they already are.

    Raises ValueError with `what` and both shapes if the last axis has another length.
    """
    rows = np.asarray(values, dtype=np.float64)
    if rows.ndim == 0 or rows.shape[-1] != width:
        raise ValueError(f"{what}: shape is {rows.shape}, needs (..., {width})")
    return rows
