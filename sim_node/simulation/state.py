"""State: the complete state of a run, to go back to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sim_node.simulation.columns import Array
from sim_node.world.model import World


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """The complete state of a run, for `Simulation.restore`. It can be pickled, and restored in another process.

    Attributes:
        seed: Seed of the run's random numbers.
        steps: Steps since the world's start.
        columns: A copy of every column that the future of the run depends on, by name.
        entities: Names of the rows of each column.
        remainder_ns: Time requested from `Simulation.run` beyond whole steps.
        world: The world that changes have led to; None for the one that the run began with.
        cohorts: The cohort of each sensor that does not measure together with those like it, because a change added it.
    """

    seed: int
    steps: int
    columns: Mapping[str, Array] = field(repr=False)
    entities: Mapping[str, tuple[str, ...] | None] = field(repr=False)
    remainder_ns: int = 0
    world: World | None = field(default=None, repr=False)
    cohorts: Mapping[str, int] = field(default_factory=dict, repr=False)

    __hash__ = None  # type: ignore[assignment]  # arrays are mutable

    def __eq__(self, other: object) -> bool:
        """Return whether both continue to the same bytes."""
        if not isinstance(other, State):
            return NotImplemented
        if (self.seed, self.steps, self.remainder_ns) != (other.seed, other.steps, other.remainder_ns):
            return False
        if self.world != other.world or self.cohorts != other.cohorts:
            return False
        return self.entities == other.entities and _content(self.columns) == _content(other.columns)


def _content(columns: Mapping[str, Array]) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    return {name: (array.dtype.str, array.shape, array.tobytes()) for name, array in columns.items()}
