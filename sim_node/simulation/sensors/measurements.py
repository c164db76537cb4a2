"""Measurements that the sensors of a run have published, and the schedule of sensors."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from sim_node.spatial.geometry.arrays import FloatArray, IntArray
from sim_node.text import did_you_mean
from sim_node.world.problems import quoted


class Measurement(NamedTuple):
    """Published measurements of one sensor.

    If the type's `shape` is (D,), its `channels` name the D numbers.

    Attributes:
        stamps_ns: Times of measurement (K,), ns of simulation time.
        values: Values (K, *shape).
    """

    stamps_ns: IntArray
    values: npt.NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Published measurements of the S sensors of a group.

    Attributes:
        kind: Name of their type, as in world files.
        names: Names of the sensors.
        stamps_ns: Times of measurement (K,), ns of simulation time.
        values: Values (K, S, *shape), a column per name.
    """

    kind: str
    names: tuple[str, ...]
    stamps_ns: IntArray
    values: npt.NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Measurements(Mapping[str, Measurement]):
    """Measurements published in the last call of `step`, however long it was: a mapping from names to Measurement.

    Every sensor has an entry, which is often empty. Two instances are equal only if they are the same object.

    Attributes:
        batches: The measurements of each group of sensors.
    """

    batches: tuple[Batch, ...] = ()

    # The equality of mappings would compare arrays.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __iter__(self) -> Iterator[str]:
        """Return the names of the sensors."""
        return (name for batch in self.batches for name in batch.names)

    def __len__(self) -> int:
        """Return the number of sensors."""
        return sum(len(batch.names) for batch in self.batches)

    def __getitem__(self, name: str) -> Measurement:
        """Return the measurements of one sensor.

        Args:
            name: The sensor's name, which is also its frame's.

        Returns:
            Stamps (K,) in ns and values (K, ...), oldest first; K is often 0.

        Raises:
            KeyError: There is no such sensor; the message names the nearest.
        """
        for batch in self.batches:
            if name in batch.names:
                return Measurement(batch.stamps_ns, batch.values[:, batch.names.index(name)])
        raise KeyError(f"no sensor {quoted(name)}{did_you_mean(name, self)}")


NO_MEASUREMENTS = Measurements()


def batch_of(kind: str, names: tuple[str, ...], pairs: Sequence[tuple[int, npt.NDArray[Any]]]) -> Batch:
    """Return a batch of one or more (stamp, values (S, ...)), in order."""
    stamps, values = zip(*pairs, strict=True)
    return Batch(kind, names, np.array(stamps), np.array(values))


class SensorSubscription:
    """The measurements of one sensor, queued until they are read."""

    def __init__(self) -> None:
        self._held: deque[tuple[int, FloatArray]] = deque()

    def record(self, out: int, values: FloatArray) -> None:
        """Add a measurement that will be published at step `out`."""
        self._held.append((out, values))

    def latest(self, step: int) -> FloatArray | None:
        """Return the latest measurement that is published by a step, or None if it was returned before."""
        latest = None
        while self._held and self._held[0][0] <= step:
            latest = self._held.popleft()[1]
        return latest

    def clear(self) -> None:
        """Drop all measurements, because the run went to another time."""
        self._held.clear()


T = TypeVar("T")


class Schedule(Generic[T]):
    """The steps at which sensors of one rate measure, and those at which they publish.

    Args:
        rate: Measurements per second of simulation time, Hz; at most one per step.
        latency: Time from measurement to publication, s.
        step_ns: Length of a step, ns.

    Attributes:
        due: The step of the next measurement, starting with step 0.
        count: Number of measurements.
        pending: Step of publication, time of measurement (ns) and values of each measurement not published yet.
    """

    def __init__(self, rate: float, latency: float, step_ns: int) -> None:
        # Exact decimals, so that 0.1 Hz is every ten seconds without drift.
        period = Fraction(10**9, step_ns) / Fraction(str(rate))
        self._period = period.numerator, period.denominator
        self._delay = math.ceil(Fraction(str(latency)) * 10**9 / step_ns)
        self.restore(0, ())

    @property
    def next_out(self) -> int:
        """The step at which the measurement of step `due` will be published."""
        return self.due + self._delay

    def record(self, time_ns: int, values: T, out: int | None = None) -> None:
        """Add the measurement of step `due`, to be published at step `out`, and advance `due`."""
        self.pending.append((self.next_out if out is None else out, time_ns, values))
        self.skip()

    def out_after(self, later: int) -> int:
        """Return the step at which the measurement of step `due` will be published if delayed by some steps.

        Measurements do not overtake each other.
        """
        return max(self.next_out + later, self.pending[-1][0] if self.pending else 0)

    def skip(self) -> None:
        """Advance `due` without a measurement."""
        self._go_to(self.count + 1)

    def out(self, step: int, is_ready: Callable[[T], bool] | None = None) -> list[tuple[int, T]]:
        """Return stamps and values that are published by `step` and were not returned before.

        is_ready: Returns whether values can be published; if not, later ones are not published either.
        """
        pending, found = self.pending, []
        while pending and pending[0][0] <= step and (is_ready is None or is_ready(pending[0][2])):
            found.append(pending.popleft()[1:])
        return found

    def restore(self, count: int, pending: Iterable[tuple[int, int, T]]) -> None:
        """Continue after a number of measurements, some of which are pending."""
        self.pending: deque[tuple[int, int, T]] = deque(pending)
        self._go_to(count)

    def begin_at(self, step: int) -> None:
        """Set the next measurement to the first one at or after a step."""
        steps, measurements = self._period
        self._go_to((step - 1) * measurements // steps + 1)

    def _go_to(self, count: int) -> None:
        steps, measurements = self._period
        self.count, self.due = count, -(-count * steps // measurements)
