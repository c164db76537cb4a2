"""Columns: the state of a run as named arrays with a declared layout, a row for each entity."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from sim_node.text import did_you_mean

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
class _Group:
    """Columns that are made when they are read, and put back together."""

    names: tuple[str, ...]
    get: Callable[[], Sequence[Array]]
    put: Callable[[Sequence[Array]], None] | None


@dataclass(slots=True)
class _Entry:
    """A column at work: its array or its group, and who claimed which of its rows at which place of the claim."""

    column: Column
    owner: str
    array: Array | None
    group: _Group | None = None
    claims: dict[int, tuple[_Claim, int]] = field(default_factory=dict)

    def now(self) -> Array:
        if self.array is not None:
            return self.array
        assert self.group is not None
        return self.group.get()[self.group.names.index(self.column.name)]


@dataclass(slots=True, eq=False)
class _Claim:
    owner: str
    instants: Callable[[Rows], AtInstants] | None


@dataclass(slots=True)
class _Table:
    """What all views of the columns of a run share."""

    entries: dict[str, _Entry] = field(default_factory=dict)
    needed: dict[str, str] = field(default_factory=dict)


class Columns(Mapping[str, Array]):
    """The columns of a run by name, as live arrays.

    Engines, force elements and sensors declare columns when they are opened. They give their own memory, or have it
    allocated. Reading a column gives the array itself: no copy, and it changes as the run goes on. Columns that are
    computed when they are read, such as `pose`, say so where they are declared.

    owner: who declares and claims through this object, for error messages; see `owned_by`.
    """

    def __init__(self, owner: str = "the simulation", table: _Table | None = None) -> None:
        self._owner = owner
        self._table = _Table() if table is None else table
        self._added: list[str] = []

    def owned_by(self, owner: str) -> Columns:
        """Return the same columns, for another owner to declare and claim."""
        return Columns(owner, self._table)

    def add(self, column: Column, array: Array | None = None) -> Array:
        """Declare a column and return its array: the given one, not copied, or a new one of zeros.

        Raises:
            ValueError: The name is taken (the message names both owners), or the array has another shape or type.
        """
        if array is None:
            if column.entities is None:
                raise ValueError(f"column {column.name!r}: rows that come and go need an array, or `compute`")
            array = np.zeros((len(column.entities), *column.shape), column.dtype)
        if misfit := column.misfit(array):
            raise ValueError(f"column {column.name!r}: {misfit}")
        self._enter(_Entry(column, self._owner, array))
        return array

    def compute(
        self,
        columns: Column | Sequence[Column],
        get: Callable[[], Sequence[Array]],
        put: Callable[[Sequence[Array]], None] | None = None,
    ) -> None:
        """Declare columns whose arrays are made when they are read.

        Args:
            columns: One or more.
            get: Returns their arrays, in their order.
            put: Takes them when a State is restored. Columns of state need it.

        Raises:
            ValueError: A name is taken.
        """
        columns = (columns,) if isinstance(columns, Column) else tuple(columns)
        if len({column.state for column in columns}) > 1:
            raise ValueError(f"column {columns[0].name!r}: of columns computed together, either all are state or none")
        if put is None and columns[0].state:
            raise ValueError(f"column {columns[0].name!r}: what a State keeps needs `put`")
        group = _Group(tuple(column.name for column in columns), get, put)
        for column in columns:
            self._enter(_Entry(column, self._owner, None, group))

    def claim(self, name: str, entities: Sequence[str], instants: Callable[[Rows], AtInstants] | None = None) -> Rows:
        """Claim rows of a shared column and return their indices: this owner writes them and nobody else does.

        Args:
            name: Of the column.
            entities: Whose rows.
            instants: For rows that are functions of time: takes places in `entities` and returns a function that
                gives these rows at any instants.

        Raises:
            KeyError: There is no such column, or no such entity in it; the message names the nearest.
            ValueError: A row is claimed already, or the column is not shared; the message names both owners.
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
        claim = _Claim(self._owner, instants)
        entry.claims.update((row, (claim, place)) for place, row in enumerate(rows.tolist()))
        return rows

    def need(self, *names: str) -> None:
        """Declare that this owner reads columns of others. `check_needs` refuses a run that lacks one.

        Read them with `columns[name]` in `reset` or later, when all engines have been opened.
        """
        for name in names:
            self._table.needed.setdefault(name, self._owner)

    def check_needs(self) -> None:
        """Raise ValueError for the first column that an owner reads and nobody declares."""
        for name, owner in self._table.needed.items():
            if name not in self:
                raise ValueError(f"{owner} reads column {name!r}, which this run lacks{did_you_mean(name, self)}")

    def column(self, name: str) -> Column:
        """Return the layout of a column. Raises KeyError, which names the nearest."""
        return self._entry(name).column

    def rows(self, name: str, entities: Sequence[str]) -> Rows:
        """Return the rows of entities in a column. Raises KeyError, which names the nearest."""
        known = {entity: row for row, entity in enumerate(self.column(name).entities or ())}
        for entity in entities:
            if entity not in known:
                raise KeyError(f"column {name!r} has no row {entity!r}{did_you_mean(entity, known)}")
        return np.array([known[entity] for entity in entities], dtype=np.int64)

    def owner(self, name: str, row: int) -> str:
        """Return who claimed a row of a shared column; empty if nobody did."""
        claim = self._entry(name).claims.get(row)
        return claim[0].owner if claim else ""

    def timed(self, name: str, rows: Sequence[int]) -> bool:
        """Whether these rows are functions of time: claimed with `instants`."""
        claims = self._entry(name).claims
        return all(row in claims and claims[row][0].instants is not None for row in rows)

    def instants(self, name: str, rows: Sequence[int]) -> AtInstants:
        """Return a function that gives rows (K, R, ...) at K instants (ns). All of them must be `timed`."""
        entry = self._entry(name)
        found: dict[_Claim, list[tuple[int, int]]] = {}
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

    @property
    def added(self) -> tuple[str, ...]:
        """The names of the columns that were declared through this very object."""
        return tuple(self._added)

    def memory(self, names: Iterable[str]) -> Memory:
        """Return the state among some columns, to be taken and put back often."""
        return Memory([entry for name in names if (entry := self._entry(name)).column.state])

    def kept(self) -> dict[str, Array]:
        """Return a copy of every column of state, by name."""
        return {name: np.array(array) for name, array in _arrays(self._states()).items()}

    def misfits(self, arrays: Mapping[str, Array], entities: Mapping[str, tuple[str, ...] | None]) -> list[str]:
        """Say what keeps arrays, kept from a run with such entities, from being put into this one."""
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

    def put(self, arrays: Mapping[str, Array]) -> None:
        """Put every column of state back to what `kept` gave. Check `misfits` before."""
        for entry in self._states():
            if entry.array is not None:
                entry.array[...] = arrays[entry.column.name]
        for group in dict.fromkeys(entry.group for entry in self._states() if entry.group is not None):
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

    def _enter(self, entry: _Entry) -> None:
        name = entry.column.name
        if name in self._table.entries:
            raise ValueError(f"column {name!r}: both {self._table.entries[name].owner} and {entry.owner}")
        self._table.entries[name] = entry
        self._added.append(name)

    def _entry(self, name: str) -> _Entry:
        found = self._table.entries.get(name)
        if found is None:
            raise KeyError(f"no column {name!r}{did_you_mean(name, self)}")
        return found

    def _states(self) -> Iterable[_Entry]:
        return (entry for entry in self._table.entries.values() if entry.column.state)


class Memory:
    """Some columns of state as bytes, for those who look ahead and go back many times in a run."""

    def __init__(self, entries: list[_Entry]) -> None:
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


def _arrays(entries: Iterable[_Entry]) -> dict[str, Array]:
    """The arrays of entries by name; each group is made once."""
    found: dict[str, Array] = {}
    for entry in entries:
        name = entry.column.name
        if entry.array is not None:
            found[name] = entry.array
        elif name not in found and entry.group is not None:
            found.update(zip(entry.group.names, entry.group.get(), strict=True))
    return found
