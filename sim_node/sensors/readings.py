"""Readings: what the sensors of a run told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sim_node.geometry.arrays import FloatArray, IntArray
from sim_node.world.problems import did_you_mean, quoted


class Reading(NamedTuple):
    """What one sensor told: stamps_ns (K,) of when it measured, values (K, D) as its type's `channels` name them."""

    stamps_ns: IntArray
    values: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """What sensors of one type, rate and latency told: stamps_ns (K,), values (K, S, D), a column per name."""

    kind: str
    names: tuple[str, ...]
    stamps_ns: IntArray
    values: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Readings:
    """All sensors' readings that came out in the last step of a run, however long that was; often none of some."""

    batches: tuple[Batch, ...] = ()

    def __iter__(self) -> Iterator[str]:
        """The names of the sensors."""
        return (name for batch in self.batches for name in batch.names)

    def __getitem__(self, name: str) -> Reading:
        """What one sensor told. Raises KeyError, which names the nearest."""
        for batch in self.batches:
            if name in batch.names:
                return Reading(batch.stamps_ns, batch.values[:, batch.names.index(name)])
        raise KeyError(f"no sensor {quoted(name)}{did_you_mean(name, self)}")


NO_READINGS = Readings()


def batch_of(kind: str, names: tuple[str, ...], width: int, told: list[tuple[int, FloatArray]]) -> Batch:
    """A batch from (stamp, values (S, D)) in order."""
    stamps_ns = np.array([stamp for stamp, _ in told], dtype=np.int64)
    values = np.array([values for _, values in told]) if told else np.empty((0, len(names), width))
    return Batch(kind, names, stamps_ns, values)
