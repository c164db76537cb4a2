"""A Column: what the rows of an array are, and what its numbers mean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Rows = npt.NDArray[np.int64]
# Gives rows (K, R, ...) of a column at K instants in ns, for rows that are functions of time.
AtInstants = Callable[[npt.NDArray[np.int64]], Array]


@dataclass(frozen=True, slots=True)
class Column:
    """The layout of an array: what its rows are, and what its numbers mean.

    Attributes:
        name: Unique in a run, such as `qpos` or `conveyor/travel`.
        entities: What each row belongs to, or None where the number of rows changes, as in a queue.
        shape: The shape of a row; () is one number per row.
        dtype: The type of the numbers.
        unit: Their unit; empty if they have none.
        meaning: One line for people.
        state: Whether the future of the run depends on it. A State keeps these columns.
        shared: Whether several owners each claim some of its rows, as engines do with `pose`.
    """

    name: str
    entities: tuple[str, ...] | None
    shape: tuple[int, ...] = ()
    dtype: npt.DTypeLike = np.float64
    unit: str = ""
    meaning: str = ""
    state: bool = True
    shared: bool = False

    def misfit(self, array: Array) -> str:
        """Say why an array is not of this layout; empty if it is."""
        wanted = (-1 if self.entities is None else len(self.entities), *self.shape)
        fits = array.ndim == len(wanted) and all(n in (-1, m) for n, m in zip(wanted, array.shape, strict=True))
        if fits and array.dtype == np.dtype(self.dtype):
            return ""
        shape = str(wanted).replace("-1", "any")
        return f"found {array.dtype} of shape {array.shape}, needs {np.dtype(self.dtype)} of shape {shape}"
