"""A Column: the meaning of an array's rows and numbers, and the owners of the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Rows = npt.NDArray[np.int64]
# Returns rows (K, R, ...) of a column at K instants in ns, for rows that are functions of time.
AtInstants = Callable[[npt.NDArray[np.int64]], Array]


@dataclass(frozen=True, slots=True)
class Column:
    """The layout of an array: what its rows belong to, and what its numbers mean.

    Attributes:
        name: Unique in a run, such as `qpos` or `conveyor/travel`.
        entities: What each row belongs to, or None if the number of rows changes, as in a queue.
        shape: The shape of a row; () for one number per row.
        dtype: The type of the numbers.
        unit: Their unit; empty if they have none.
        meaning: A description in one line.
        state: Whether the future of the run depends on it. A State contains these columns.
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
        """Compare an array with this layout.

        Args:
            array: The array.

        Returns:
            Why the array does not have this layout; empty if it has.
        """
        wanted = (-1 if self.entities is None else len(self.entities), *self.shape)
        fits = array.ndim == len(wanted) and all(n in (-1, m) for n, m in zip(wanted, array.shape, strict=True))
        if fits and array.dtype == np.dtype(self.dtype):
            return ""
        shape = str(wanted).replace("-1", "any")
        return f"found {array.dtype} of shape {array.shape}, needs {np.dtype(self.dtype)} of shape {shape}"


@dataclass(slots=True, eq=False)
class ColumnGroup:
    """Columns that are computed and restored together."""

    names: tuple[str, ...]
    get: Callable[[], Sequence[Array]]
    put: Callable[[Sequence[Array]], None] | None


@dataclass(slots=True)
class ColumnEntry:
    """A column of a run: its array or its group, and for each claimed row the claim and its index there."""

    column: Column
    owner: str
    array: Array | None
    group: ColumnGroup | None = None
    claims: dict[int, tuple[Claim, int]] = field(default_factory=dict)

    def now(self) -> Array:
        """Return the array, computing it if necessary."""
        if self.array is not None:
            return self.array
        assert self.group is not None
        return self.group.get()[self.group.names.index(self.column.name)]


@dataclass(slots=True, eq=False)
class Claim:
    """The owner of claimed rows, and a function that evaluates them at any instants if they are functions of time."""

    owner: str
    instants: Callable[[Rows], AtInstants] | None


@dataclass(slots=True)
class ColumnTable:
    """The data that all views of a run's columns share."""

    entries: dict[str, ColumnEntry] = field(default_factory=dict)
    needed: dict[str, str] = field(default_factory=dict)


class Checkpoint:
    """Copies of some columns of state as bytes, for engines that look ahead and go back many times in a run.

    Columns make one by `checkpoint`.

    Args:
        entries: The columns.

    Raises:
        ValueError: An array is not contiguous.
    """

    def __init__(self, entries: list[ColumnEntry]) -> None:
        arrays = [entry.array for entry in entries if entry.array is not None and entry.array.size]
        if not all(array.flags.c_contiguous for array in arrays):
            raise ValueError("columns in a checkpoint must be contiguous")
        # Checkpoint views are copied several times as fast as small arrays.
        self._views = [memoryview(array.data).cast("B") for array in arrays]
        self._groups = list(dict.fromkeys(entry.group for entry in entries if entry.group is not None))

    def save(self) -> list[bytes]:
        """Copy all of it.

        Returns:
            The bytes of each array, to compare or to restore.
        """
        saved = [bytes(view) for view in self._views]
        for group in self._groups:
            saved += [array.tobytes() for array in group.get()]
        return saved

    def restore(self, saved: Sequence[bytes]) -> None:
        """Restore a copy.

        Args:
            saved: A result of `save`.
        """
        rest = iter(saved)
        for view in self._views:
            view[:] = next(rest)
        for group in self._groups:
            if group.put is not None:
                group.put([np.frombuffer(next(rest), a.dtype).reshape(a.shape) for a in group.get()])


def arrays_of(entries: Iterable[ColumnEntry]) -> dict[str, Array]:
    """Return the arrays of entries by name. Each group is computed once."""
    found: dict[str, Array] = {}
    for entry in entries:
        name = entry.column.name
        if entry.array is not None:
            found[name] = entry.array
        elif name not in found and entry.group is not None:
            found.update(zip(entry.group.names, entry.group.get(), strict=True))
    return found
