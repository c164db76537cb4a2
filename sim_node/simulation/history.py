"""History: columns of a run over time, in growing arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from sim_node.simulation.co_simulators import CoSimulator
from sim_node.simulation.columns import Array, Columns
from sim_node.simulation.state_transfer import rows_of
from sim_node.spatial.geometry.arrays import FloatArray, IntArray
from sim_node.text import did_you_mean

_FIRST = 256


class History:
    """Columns of a run at regular instants, recorded while the run steps. Create one with `Simulation.history`.

    Its rows are those of the instant at which it started. After a change of the world, they are found by name; removed
    rows are NaN, or 0 in columns without NaN.

    A reset or a restore discards what was recorded from that instant on. `stop` ends the recording. Steps without an
    instant have no cost.

    Args:
        columns: The columns of the run.
        names: Names of the columns to record.
        rate: Instants per simulated second (Hz).
        start_ns: Simulation time at the start of the run.

    Raises:
        ValueError: A column has no fixed rows.
    """

    def __init__(self, columns: Columns, names: Sequence[str], rate: Fraction, start_ns: int) -> None:
        for name in names:
            if columns.column(name).entities is None:
                raise ValueError(f"column {name!r} cannot be recorded: its number of rows changes")
        self.rate = rate
        self._columns, self._start_ns = columns, start_ns
        self._count, self._times_ns = 0, np.empty(_FIRST, np.int64)
        self._remove: Callable[[CoSimulator], None] | None = None
        self._kept: Mapping[str, Array] = {name: _room(_FIRST, columns[name]) for name in names}
        self._entities = {name: columns.column(name).entities or () for name in names}
        # For columns whose rows have changed: the recorded rows that still exist, and their present indices.
        self._places: dict[str, tuple[IntArray, IntArray]] = {}

    @property
    def times_ns(self) -> IntArray:
        """Simulation time (T,) of each instant, ns."""
        return self._times_ns[: self._count]

    @property
    def times(self) -> FloatArray:
        """Simulation time (T,) of each instant, s."""
        return np.asarray(self.times_ns * 1e-9)

    def __getitem__(self, column: str) -> Array:
        """Return a column at all instants: a view (T, rows, ...), valid until the history grows.

        Raises:
            KeyError: The history has no such column; the message names the nearest.
        """
        if column not in self._kept:
            raise KeyError(f"no column {column!r} in this history{did_you_mean(column, self._kept)}")
        return self._kept[column][: self._count]

    def __len__(self) -> int:
        return self._count

    def begin(self, remove: Callable[[CoSimulator], None]) -> None:
        """Start recording; called by the run.

        Args:
            remove: Detaches the history from the run.
        """
        self._remove = remove

    def stop(self) -> None:
        """Stop recording. What was recorded stays."""
        if self._remove is not None:
            self._remove(self)

    def send(self, step: int, time_ns: int) -> None:
        """Record the current instant; called by the run.

        Args:
            step: Steps since the start of the run.
            time_ns: Time since the start of the run.
        """
        time_ns += self._start_ns
        at = self._count
        if at and self._times_ns[at - 1] >= time_ns:
            at = int(np.searchsorted(self._times_ns[:at], time_ns))
        if at == len(self._times_ns):
            self._times_ns = _longer(self._times_ns)
            self._kept = {name: _longer(kept) for name, kept in self._kept.items()}
        self._times_ns[at] = time_ns
        for name, kept in self._kept.items():
            if name not in self._places:
                kept[at] = self._columns[name]
                continue
            rows, places = self._places[name]
            kept[at] = np.nan if kept.dtype.kind == "f" else 0
            if len(rows):
                kept[at, rows] = self._columns[name][places]
        self._count = at + 1

    def receive(self) -> None:
        """Do nothing: there is no answer."""

    def adapt(self, columns: Columns) -> bool:
        """Find the recorded rows again after a change of the world; called by the run."""
        self._columns, self._places = columns, {}
        for name, recorded in self._entities.items():
            known = rows_of(columns.column(name).entities or ()) if name in columns else {}
            same = name in columns and columns.column(name).shape == self._kept[name].shape[2:]
            left = [(row, known[key]) for key, row in rows_of(recorded).items() if same and key in known]
            if not same or columns.column(name).entities != recorded:
                pairs = np.array(left, dtype=np.int64).reshape(-1, 2)
                self._places[name] = pairs[:, 0], pairs[:, 1]
        return True

    def interrupt(self) -> None:
        """Do nothing: nothing waits."""

    def close(self) -> None:
        """Do nothing: what was recorded stays."""


def _room(instants: int, row: Array) -> Array:
    return np.empty((instants, *row.shape), row.dtype)


def _longer(array: Array) -> Array:
    longer = _room(2 * len(array), array[0])
    longer[: len(array)] = array
    return longer
