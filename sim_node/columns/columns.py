"""The columns of a run by name, as live arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from sim_node.columns.column import Array, AtInstants, Claim, Column, Entry, Group, Memory, Rows, Table, arrays_of
from sim_node.text import did_you_mean


class Columns(Mapping[str, Array]):
    """The columns of a run by name, as live arrays.

    Engines, force elements and sensors declare columns when they are opened. They give their own memory, or have it
    allocated. Reading a column gives the array itself: no copy, and it changes as the run goes on. Columns that are
    computed when they are read, such as `pose`, say so where they are declared.

    owner: who declares and claims through this object, for error messages; see `owned_by`.
    """

    def __init__(self, owner: str = "the simulation", table: Table | None = None) -> None:
        self._owner = owner
        self._table = Table() if table is None else table
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
        self._enter(Entry(column, self._owner, array))
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
        group = Group(tuple(column.name for column in columns), get, put)
        for column in columns:
            self._enter(Entry(column, self._owner, None, group))

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
        claim = Claim(self._owner, instants)
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

    @property
    def added(self) -> tuple[str, ...]:
        """The names of the columns that were declared through this very object."""
        return tuple(self._added)

    def memory(self, names: Iterable[str]) -> Memory:
        """Return the state among some columns, to be taken and put back often."""
        return Memory([entry for name in names if (entry := self._entry(name)).column.state])

    def kept(self) -> dict[str, Array]:
        """Return a copy of every column of state, by name."""
        return {name: np.array(array) for name, array in arrays_of(self._states()).items()}

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

    def _enter(self, entry: Entry) -> None:
        name = entry.column.name
        if name in self._table.entries:
            raise ValueError(f"column {name!r}: both {self._table.entries[name].owner} and {entry.owner}")
        self._table.entries[name] = entry
        self._added.append(name)

    def _entry(self, name: str) -> Entry:
        found = self._table.entries.get(name)
        if found is None:
            raise KeyError(f"no column {name!r}{did_you_mean(name, self)}")
        return found

    def _states(self) -> Iterable[Entry]:
        return (entry for entry in self._table.entries.values() if entry.column.state)
