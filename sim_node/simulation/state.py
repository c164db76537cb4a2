"""A State: a run as it stands, to go back to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sim_node.columns import Array


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """A run as it stands: what `Simulation.restore` takes. It can be pickled, and restored in another process.

    Attributes:
        seed: Of the run's random numbers.
        steps: Since the world's start.
        columns: A copy of every column on which the future of the run depends, by name.
        entities: What the rows of each of them belong to.
        remainder_ns: What `Simulation.run` was asked for beyond whole steps.
    """

    seed: int
    steps: int
    columns: Mapping[str, Array] = field(repr=False)
    entities: Mapping[str, tuple[str, ...] | None] = field(repr=False)
    remainder_ns: int = 0

    __hash__ = None  # type: ignore[assignment]  # arrays are mutable

    def __eq__(self, other: object) -> bool:
        """Whether both continue to the same bytes."""
        if not isinstance(other, State):
            return NotImplemented
        if (self.seed, self.steps, self.remainder_ns) != (other.seed, other.steps, other.remainder_ns):
            return False
        return self.entities == other.entities and _content(self.columns) == _content(other.columns)


def _content(columns: Mapping[str, Array]) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    return {name: (array.dtype.str, array.shape, array.tobytes()) for name, array in columns.items()}
