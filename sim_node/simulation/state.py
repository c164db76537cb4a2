"""A State: a run as it stands, to go back to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sim_node.sensors.suite import SavedBank


@dataclass(frozen=True, slots=True)
class State:
    """A run as it stands: what `Simulation.restore` takes. engines: the state of each engine by its name."""

    seed: int
    steps: int
    engines: Mapping[str, bytes] = field(repr=False)
    sensors: tuple[SavedBank, ...] = field(repr=False)
    remainder_ns: int = 0
