"""Measurements: what the sensors of a run published."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sim_node.geometry.arrays import IntArray
from sim_node.text import did_you_mean
from sim_node.world.problems import quoted


class Measurement(NamedTuple):
    """What one sensor published: stamps_ns (K,) of when it measured, values (K, ...).

    Each is of its type's `shape`; where that is (D,), `channels` name the numbers.
    """

    stamps_ns: IntArray
    values: npt.NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """What sensors of one type, rate and latency published: stamps_ns (K,), values (K, S, ...), a column per name."""

    kind: str
    names: tuple[str, ...]
    stamps_ns: IntArray
    values: npt.NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Measurements:
    """All sensors' readings that came out in the last step of a run, however long that was; often none of some."""

    batches: tuple[Batch, ...] = ()

    def __iter__(self) -> Iterator[str]:
        """The names of the sensors."""
        return (name for batch in self.batches for name in batch.names)

    def __getitem__(self, name: str) -> Measurement:
        """What one sensor published. Raises KeyError, which names the nearest."""
        for batch in self.batches:
            if name in batch.names:
                return Measurement(batch.stamps_ns, batch.values[:, batch.names.index(name)])
        raise KeyError(f"no sensor {quoted(name)}{did_you_mean(name, self)}")


NO_MEASUREMENTS = Measurements()


def batch_of(kind: str, names: tuple[str, ...], pairs: Sequence[tuple[int, npt.NDArray[Any]]]) -> Batch:
    """A batch from one or more (stamp, values (S, ...)) in order."""
    return Batch(kind, names, np.array([stamp for stamp, _ in pairs]), np.array([values for _, values in pairs]))


def no_batch(kind: str, names: tuple[str, ...], shape: tuple[int, ...]) -> Batch:
    """A batch of no readings, each of which would be of that shape."""
    return Batch(kind, names, np.empty(0, dtype=np.int64), np.empty((0, len(names), *shape)))
