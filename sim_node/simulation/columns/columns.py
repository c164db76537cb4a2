"""Columns: live arrays of a run by name, with a description of their rows and numbers, and owners of the rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from sim_node.text import did_you_mean

Array = npt.NDArray[Any]
Rows = npt.NDArray[np.int64]
# Returns rows (K, R, ...) of a column at K instants, ns, for rows that are functions of time.
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
    """A column of a run: its array or its group, and for each claimed row, the claim and the index in it."""

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
    _room: Array = field(default_factory=lambda: np.zeros(0, np.uint8))

    def allocate(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
        """Return zeros. Small arrays are allocated contiguously, so that a checkpoint copies them together."""
        size = math.prod(shape) * np.dtype(dtype).itemsize
        if not 0 < size <= _ROOM:
            return np.zeros(shape, dtype)
        aligned = -(-size // _WORD) * _WORD
        if aligned > len(self._room):
            self._room = np.zeros(_ROOM, np.uint8)
        own, self._room = self._room[:size], self._room[aligned:]
        return own.view(dtype).reshape(shape)


# Size in bytes of the blocks that small arrays share, and their alignment.
_ROOM, _WORD = 4096, 8


class Checkpoint:
    """Copies of some state columns as bytes, for engines that often simulate ahead and go back.

    Create one with `Columns.checkpoint`.

    Args:
        entries: The columns.

    Raises:
        ValueError: An array is not contiguous.
    """

    def __init__(self, entries: list[ColumnEntry]) -> None:
        arrays = [entry.array for entry in entries if entry.array is not None and entry.array.size]
        if not all(array.flags.c_contiguous for array in arrays):
            raise ValueError("columns in a checkpoint must be contiguous")
        # Memoryviews are copied several times as fast as small arrays.
        self._views = [_memory(stretch) for stretch in _stretches(arrays)]
        self._groups = list(dict.fromkeys(entry.group for entry in entries if entry.group is not None))

    def save(self) -> list[bytes]:
        """Copy all columns.

        Returns:
            The bytes of the arrays, to compare or to restore.
        """
        saved = [view.tobytes() for view in self._views]  # bytes(view) takes three times as long
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


def _stretches(arrays: Iterable[Array]) -> list[list[Array]]:
    """Group arrays that were allocated contiguously."""
    stretches: list[list[Array]] = []
    for array in arrays:
        before = stretches[-1][-1] if stretches else None
        room = array.base
        if before is not None and before.base is room and isinstance(room, np.ndarray) and room.dtype == np.uint8:
            gap = array.ctypes.data - before.ctypes.data - before.nbytes
            if 0 <= gap < _WORD:
                stretches[-1].append(array)
                continue
        stretches.append([array])
    return stretches


def _memory(stretch: Sequence[Array]) -> memoryview:
    """Return the memory of contiguous arrays as bytes."""
    first, last = stretch[0], stretch[-1]
    if first is last:
        return memoryview(first.data).cast("B")
    assert isinstance(first.base, np.ndarray)
    at, end = (address - first.base.ctypes.data for address in (first.ctypes.data, last.ctypes.data + last.nbytes))
    return memoryview(first.base.data)[at:end]


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


class Columns(Mapping[str, Array]):
    """The columns of a run by name, as live arrays.

    Engines, force elements and sensors declare columns when they are opened. They provide their own memory, or have it
    allocated. Reading a column returns the array itself: it is not copied, and it changes as the run proceeds. Columns
    such as `pose` are computed when they are read; they are declared by `compute`.

    Args:
        owner: Name of the owner that declares and claims through this object, for error messages; see `owned_by`.
        table: The data to share with other views of the same columns; None for new columns.

    Attributes:
        added: The names of the columns that were declared through this object.
    """

    def __init__(self, owner: str = "the simulation", table: ColumnTable | None = None) -> None:
        self._owner = owner
        self._table = ColumnTable() if table is None else table
        self.added: list[str] = []

    def owned_by(self, owner: str) -> Columns:
        """Return a view of the same columns for another owner.

        Args:
            owner: Name of the owner that declares and claims through the view.

        Returns:
            The view.
        """
        return Columns(owner, self._table)

    def add(self, column: Column, array: Array | None = None) -> Array:
        """Declare a column.

        Args:
            column: Its layout.
            array: Its memory, which is not copied; None to allocate zeros.

        Returns:
            The array.

        Raises:
            ValueError: The name is in use (the message names both owners), or the array has another shape or type.
        """
        if array is None:
            if column.entities is None:
                raise ValueError(f"column {column.name!r}: a changing number of rows needs an array, or `compute`")
            array = self._table.allocate((len(column.entities), *column.shape), column.dtype)
        if misfit := column.misfit(array):
            raise ValueError(f"column {column.name!r}: {misfit}")
        self._enter(ColumnEntry(column, self._owner, array))
        return array

    def compute(
        self,
        columns: Column | Sequence[Column],
        get: Callable[[], Sequence[Array]],
        put: Callable[[Sequence[Array]], None] | None = None,
    ) -> None:
        """Declare columns whose arrays are computed when they are read.

        Args:
            columns: One or more.
            get: Returns their arrays, in their order.
            put: Receives the arrays when a State is restored. Required for columns of state.

        Raises:
            ValueError: A name is in use, or only some of the columns are state.
        """
        columns = (columns,) if isinstance(columns, Column) else tuple(columns)
        if len({column.state for column in columns}) > 1:
            raise ValueError(f"column {columns[0].name!r}: state cannot be computed together with other columns")
        if put is None and columns[0].state:
            raise ValueError(f"column {columns[0].name!r}: a column of state needs `put`")
        group = ColumnGroup(tuple(column.name for column in columns), get, put)
        for column in columns:
            self._enter(ColumnEntry(column, self._owner, None, group))

    def claim(self, name: str, entities: Sequence[str], instants: Callable[[Rows], AtInstants] | None = None) -> Rows:
        """Claim rows of a shared column: only this owner writes them.

        Args:
            name: The column.
            entities: The entities whose rows to claim.
            instants: For rows that are functions of time: maps indices into `entities` to a function that evaluates
                these rows at any instants.

        Returns:
            The indices of the rows (R,).

        Raises:
            KeyError: The column, or an entity in it, does not exist; the message names the nearest.
            ValueError: A row is already claimed, or the column is not shared; the message names both owners.
        """
        entry = self._entry(name)
        rows = self.rows(name, entities)
        if not entry.column.shared:
            raise ValueError(f"column {name!r}: both {entry.owner} and {self._owner}; its rows are not shared")
        each = zip(entities, rows.tolist(), strict=True)
        taken = [(entity, entry.claims[row][0].owner) for entity, row in each if row in entry.claims]
        if taken:
            other = taken[0][1]
            theirs = ", ".join(repr(entity) for entity, owner in taken if owner == other)
            raise ValueError(f"column {name!r}, rows {theirs}: both {other} and {self._owner}")
        claim = Claim(self._owner, instants)
        entry.claims.update((row, (claim, place)) for place, row in enumerate(rows.tolist()))
        return rows

    def need(self, *names: str) -> None:
        """Declare that this owner reads columns of others. `check_needs` fails if one is missing.

        Read them with `columns[name]` in `reset` or later, when all engines have been opened.

        Args:
            names: The columns.
        """
        for name in names:
            self._table.needed.setdefault(name, self._owner)

    def check_needs(self) -> None:
        """Check that every needed column is declared.

        Raises:
            ValueError: A column is missing; the message names the first one and its reader.
        """
        for name, owner in self._table.needed.items():
            if name not in self:
                raise ValueError(f"{owner} reads column {name!r}, which this run lacks{did_you_mean(name, self)}")

    def column(self, name: str) -> Column:
        """Return the layout of a column.

        Args:
            name: The column.

        Returns:
            The layout.

        Raises:
            KeyError: The column does not exist; the message names the nearest.
        """
        return self._entry(name).column

    def rows(self, name: str, entities: Sequence[str]) -> Rows:
        """Return the rows of entities in a column.

        Args:
            name: The column.
            entities: The entities.

        Returns:
            The indices of the rows (R,).

        Raises:
            KeyError: The column, or an entity in it, does not exist; the message names the nearest.
        """
        known = {entity: row for row, entity in enumerate(self.column(name).entities or ())}
        for entity in entities:
            if entity not in known:
                raise KeyError(f"column {name!r} has no row {entity!r}{did_you_mean(entity, known)}")
        return np.array([known[entity] for entity in entities], dtype=np.int64)

    def owner(self, name: str, row: int) -> str:
        """Return the owner of a claimed row of a shared column.

        Args:
            name: The column.
            row: The index of the row.

        Returns:
            The owner; empty if nobody claimed the row.
        """
        claim = self._entry(name).claims.get(row)
        return claim[0].owner if claim else ""

    def timed(self, name: str, rows: Sequence[int]) -> bool:
        """Return whether rows are functions of time: claimed with `instants`.

        Args:
            name: The column.
            rows: The indices of the rows.

        Returns:
            Whether all of them are.
        """
        claims = self._entry(name).claims
        return all(row in claims and claims[row][0].instants is not None for row in rows)

    def instants(self, name: str, rows: Sequence[int]) -> AtInstants:
        """Return a function that evaluates rows at instants.

        Args:
            name: The column.
            rows: The indices of R rows, all of them `timed`.

        Returns:
            A function of K instants in ns that returns an array (K, R, ...).
        """
        entry = self._entry(name)
        found: dict[Claim, list[tuple[int, int]]] = {}
        for out, row in enumerate(rows):
            claim, place = entry.claims[row]
            found.setdefault(claim, []).append((out, place))
        parts = [
            ([out for out, _ in places], claim.instants(np.array([place for _, place in places], dtype=np.int64)))
            for claim, places in found.items()
            if claim.instants is not None
        ]
        if len(parts) == 1:
            return parts[0][1]

        def at(times_ns: npt.NDArray[np.int64]) -> Array:
            together = np.empty((len(times_ns), len(rows), *entry.column.shape), entry.column.dtype)
            for places, some in parts:
                together[:, places] = some(times_ns)
            return together

        return at

    def checkpoint(self, names: Iterable[str]) -> Checkpoint:
        """Make a checkpoint of columns, to save and restore often.

        Args:
            names: The columns; those that are not state are left out.

        Returns:
            The checkpoint.

        Raises:
            KeyError: A column does not exist.
        """
        return Checkpoint([entry for name in names if (entry := self._entry(name)).column.state])

    def memory(self, name: str) -> memoryview | None:
        """Return the memory of a column as bytes, which are copied several times as fast as a small array.

        Args:
            name: The column.

        Returns:
            Its live memory; None if the column is computed, or is not contiguous.

        Raises:
            KeyError: The column does not exist.
        """
        array = self._entry(name).array
        if array is None or not array.size or not array.flags.c_contiguous:
            return None
        return memoryview(array.data).cast("B")

    def state(self, without: Container[str] = ()) -> dict[str, Array]:
        """Copy every column of state.

        Args:
            without: Columns to leave out. They are not computed.

        Returns:
            The arrays by name.
        """
        entries = (entry for entry in self._states() if entry.column.name not in without)
        return {name: np.array(array) for name, array in arrays_of(entries).items()}

    def misfits(self, arrays: Mapping[str, Array], entities: Mapping[str, tuple[str, ...] | None]) -> list[str]:
        """Compare the arrays of a State with this run.

        Args:
            arrays: Arrays by name, as `state` returns them.
            entities: The entities of their rows by name.

        Returns:
            A message for each reason why they cannot be restored; empty if they can.
        """
        mine = {entry.column.name: entry.column for entry in self._states()}
        found = [f"{name!r} is missing" for name in mine if name not in arrays]
        found += [f"{name!r} is not of this world{did_you_mean(name, mine)}" for name in arrays if name not in mine]
        for name, column in mine.items():
            if name in arrays:
                theirs, own = entities.get(name), column.entities
                if misfit := column.misfit(arrays[name]):
                    found.append(f"{name!r}: {misfit}")
                elif theirs != own:
                    odd = [each for each in theirs or () if each not in (own or ())]
                    found.append(f"{name!r} has rows of {', '.join(map(repr, odd[:3] or ['others']))}")
        return found

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Restore columns of state. Check `misfits` first.

        Args:
            arrays: Arrays by name, as `state` returns them.
        """
        entries = [entry for entry in self._states() if entry.column.name in arrays]
        for entry in entries:
            if entry.array is not None:
                entry.array[...] = arrays[entry.column.name]
        for group in dict.fromkeys(entry.group for entry in entries if entry.group is not None):
            if group.put is not None:
                group.put([arrays[name] for name in group.names])

    def __getitem__(self, name: str) -> Array:
        return self._entry(name).now()

    def __iter__(self) -> Iterator[str]:
        return iter(self._table.entries)

    def __len__(self) -> int:
        return len(self._table.entries)

    def __contains__(self, name: object) -> bool:
        return name in self._table.entries  # without computing it

    def _enter(self, entry: ColumnEntry) -> None:
        name = entry.column.name
        if name in self._table.entries:
            raise ValueError(f"column {name!r}: both {self._table.entries[name].owner} and {entry.owner}")
        self._table.entries[name] = entry
        self.added.append(name)

    def _entry(self, name: str) -> ColumnEntry:
        found = self._table.entries.get(name)
        if found is None:
            raise KeyError(f"no column {name!r}{did_you_mean(name, self)}")
        return found

    def _states(self) -> Iterable[ColumnEntry]:
        return (entry for entry in self._table.entries.values() if entry.column.state)
