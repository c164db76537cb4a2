"""A Column: the rows of an array, the meaning of its numbers, and who claimed them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
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


@dataclass(slots=True, eq=False)
class Group:
    """Columns that are made when they are read, and put back together."""

    names: tuple[str, ...]
    get: Callable[[], Sequence[Array]]
    put: Callable[[Sequence[Array]], None] | None


@dataclass(slots=True)
class Entry:
    """A column at work: its array or its group, and who claimed which of its rows at which place of the claim."""

    column: Column
    owner: str
    array: Array | None
    group: Group | None = None
    claims: dict[int, tuple[Claim, int]] = field(default_factory=dict)

    def now(self) -> Array:
        """The array, made now where it is a computed one."""
        if self.array is not None:
            return self.array
        assert self.group is not None
        return self.group.get()[self.group.names.index(self.column.name)]


@dataclass(slots=True, eq=False)
class Claim:
    """Who claimed rows, and what gives them at any instants if they are functions of time."""

    owner: str
    instants: Callable[[Rows], AtInstants] | None


@dataclass(slots=True)
class Table:
    """What all views of the columns of a run share."""

    entries: dict[str, Entry] = field(default_factory=dict)
    needed: dict[str, str] = field(default_factory=dict)


class Memory:
    """Some columns of state as bytes, for those who look ahead and go back many times in a run."""

    def __init__(self, entries: list[Entry]) -> None:
        arrays = [entry.array for entry in entries if entry.array is not None and entry.array.size]
        if not all(array.flags.c_contiguous for array in arrays):
            raise ValueError("what is taken and put back often must be contiguous")
        # Memory views are copied several times as fast as small arrays.
        self._views = [memoryview(array.data).cast("B") for array in arrays]
        self._groups = list(dict.fromkeys(entry.group for entry in entries if entry.group is not None))

    def take(self) -> list[bytes]:
        """Return all of it, to compare or to put back."""
        taken = [bytes(view) for view in self._views]
        for group in self._groups:
            taken += [array.tobytes() for array in group.get()]
        return taken

    def put(self, taken: Sequence[bytes]) -> None:
        """Put back what `take` returned."""
        rest = iter(taken)
        for view in self._views:
            view[:] = next(rest)
        for group in self._groups:
            if group.put is not None:
                group.put([np.frombuffer(next(rest), a.dtype).reshape(a.shape) for a in group.get()])


def arrays_of(entries: Iterable[Entry]) -> dict[str, Array]:
    """The arrays of entries by name; each group is made once."""
    found: dict[str, Array] = {}
    for entry in entries:
        name = entry.column.name
        if entry.array is not None:
            found[name] = entry.array
        elif name not in found and entry.group is not None:
            found.update(zip(entry.group.names, entry.group.get(), strict=True))
    return found
