"""A History: columns of a run over time, in arrays that grow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from sim_node.columns import Array, Columns
from sim_node.geometry.arrays import FloatArray, IntArray
from sim_node.simulation.co_simulators import CoSimulator
from sim_node.text import did_you_mean

_FIRST = 256


class History:
    """Columns of a run at regular instants; made by `Simulation.history`, which fills it while the run steps.

    It follows the run: a reset or a restore drops what was recorded from that instant on. `stop` ends the recording.
    As a peer of the run it costs nothing in steps at which it does not record.

    rate: instants per simulated second (Hz).
    """

    def __init__(self, columns: Columns, names: Sequence[str], rate: Fraction, start_ns: int) -> None:
        for name in names:
            if columns.column(name).entities is None:
                raise ValueError(f"column {name!r} has no history: its rows come and go")
        self.rate = rate
        self._columns, self._start_ns = columns, start_ns
        self._count, self._times_ns = 0, np.empty(_FIRST, np.int64)
        self._remove: Callable[[CoSimulator], None] | None = None
        self._kept: Mapping[str, Array] = {name: _room(_FIRST, columns[name]) for name in names}

    @property
    def times_ns(self) -> IntArray:
        """The simulation time (T,) of each instant, ns."""
        return self._times_ns[: self._count]

    @property
    def times(self) -> FloatArray:
        """The simulation time (T,) of each instant, s."""
        return np.asarray(self.times_ns * 1e-9)

    def __getitem__(self, column: str) -> Array:
        """Return a column at all instants (T, rows, ...). Raises KeyError, which names the nearest.

        It is a view, valid until the history grows.
        """
        if column not in self._kept:
            raise KeyError(f"no column {column!r} in this history{did_you_mean(column, self._kept)}")
        return self._kept[column][: self._count]

    def __len__(self) -> int:
        return self._count

    def begin(self, remove: Callable[[CoSimulator], None]) -> None:
        """The run tells it of instants from now on; remove: has the run forget it."""
        self._remove = remove

    def stop(self) -> None:
        """Record no more; what was recorded stays."""
        if self._remove is not None:
            self._remove(self)

    def send(self, step: int, time_ns: int) -> None:
        """Record the present instant; called by the run."""
        time_ns += self._start_ns
        at = self._count
        if at and self._times_ns[at - 1] >= time_ns:
            at = int(np.searchsorted(self._times_ns[:at], time_ns))
        if at == len(self._times_ns):
            self._times_ns = _longer(self._times_ns)
            self._kept = {name: _longer(kept) for name, kept in self._kept.items()}
        self._times_ns[at] = time_ns
        for name, kept in self._kept.items():
            kept[at] = self._columns[name]
        self._count = at + 1

    def receive(self) -> None:
        """Nothing is answered."""

    def interrupt(self) -> None:
        """Nothing is waited for."""

    def close(self) -> None:
        """What was recorded stays."""


def _room(instants: int, row: Array) -> Array:
    return np.empty((instants, *row.shape), row.dtype)


def _longer(array: Array) -> Array:
    longer = _room(2 * len(array), array[0])
    longer[: len(array)] = array
    return longer
