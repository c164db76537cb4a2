"""Stamps of a run's messages: simulation time, or the wall clock."""

from __future__ import annotations

import time
from collections.abc import Callable

# What gives a stamp (ns) for a simulation time (ns).
Stamp = Callable[[int], int]


def simulation_stamp(time_ns: int) -> int:
    """Stamps are simulation time, as /clock."""
    return time_ns


def wall_stamp() -> Stamp:
    """Stamps are the wall clock, strictly increasing, for graphs that do not use simulation time."""
    last = 0

    def stamp(time_ns: int) -> int:
        nonlocal last
        last = max(last + 1, time.time_ns())
        return last

    return stamp
