"""Job: what a worker needs to run cases of a sweep; Cases and Outcomes: what goes to it and comes back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sim_node.extensions.sweep.in_place import InPlace
from sim_node.extensions.sweep.measures import Value
from sim_node.extensions.sweep.payload import Payload
from sim_node.world.declared import declared, given
from sim_node.world.quantities import Flag, ListOf, Text

# How a case ended.
OK, DIVERGED, FAILED, TIMED_OUT, CRASHED = "ok", "diverged", "failed", "timeout", "crashed"
# Columns that each row has beside its numbers and measures.
OWN = ("case", "seed", "status", "error", "wall_s")
# The longest time that a case may take unless another is given, s.
TIMEOUT_S = 3600.0


@declared
class Keep:
    """What is kept of each case beside its row."""

    topics: tuple[str, ...] = given(ListOf(Text()), "Patterns of topics to record in a bag", default=())
    columns: tuple[str, ...] = given(ListOf(Text()), "Names of columns to store over time", default=())
    picture: bool = given(Flag(), "Whether to draw the end of the run", default=False)
    failures_only: bool = given(Flag(), "Whether to keep these for failures only", default=False)

    def __bool__(self) -> bool:
        return bool(self.topics or self.columns or self.picture)


@dataclass(frozen=True)
class Job:
    """What all cases of a sweep have in common.

    Attributes:
        payload: The world.
        duration_ns: Simulated time of each case, ns.
        paths: The paths of the varied numbers.
        measures: The measures, as texts.
        every_ns: Time between two recorded instants, ns; 0 for the world's step.
        keep: What is kept of each case.
        in_place: Where the numbers are in a compiled model, or None to compile the world for each case.
        block: How many cases run in one vmapped batch; 1 for worlds that do not.
        timeout_s: The longest time that a case may take, s.
    """

    payload: Payload
    duration_ns: int
    paths: tuple[str, ...]
    measures: tuple[str, ...]
    every_ns: int = 0
    keep: Keep = field(default_factory=Keep)
    in_place: InPlace | None = None
    block: int = 1
    timeout_s: float = TIMEOUT_S


class Case(NamedTuple):
    """One case.

    Attributes:
        number: Its number.
        seed: Its seed.
        values: The varied numbers by path.
    """

    number: int
    seed: int
    values: Mapping[str, float]


@dataclass(frozen=True)
class Cases:
    """Some cases of a job, as arrays.

    Attributes:
        numbers: Their numbers (n,).
        seeds: Their seeds (n,).
        values: The numbers of each path (n,).
    """

    numbers: npt.NDArray[np.int64]
    seeds: npt.NDArray[np.int64]
    values: Mapping[str, npt.NDArray[Any]]

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[Case]:
        columns = [values.tolist() for values in self.values.values()]
        for row, (number, seed) in enumerate(zip(self.numbers.tolist(), self.seeds.tolist(), strict=True)):
            yield Case(number, seed, dict(zip(self.values, (column[row] for column in columns), strict=True)))

    def part(self, rows: slice | npt.NDArray[Any]) -> Cases:
        """Return some of the cases.

        Args:
            rows: Their rows.

        Returns:
            These cases.
        """
        return Cases(self.numbers[rows], self.seeds[rows], {path: each[rows] for path, each in self.values.items()})


class Outcome(NamedTuple):
    """The result of a case.

    Attributes:
        case: The case.
        status: How it ended: ok, diverged, failed, timeout or crashed.
        error: Why it has no measures, or empty.
        measures: The values of its measures.
        wall_s: Time that it took, s.
        files: Contents of the files that are kept of it, by path below its folder.
    """

    case: Case
    status: str
    error: str
    measures: Mapping[str, Value]
    wall_s: float
    files: Mapping[str, bytes] = {}
