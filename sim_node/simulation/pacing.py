"""When: which steps are published, and at what wall time each is due."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

# Fallen behind by more than this (a suspended laptop, a debugger), the loop goes on from now
# instead of publishing all that was missed at once.
MOST_BEHIND_S = 1.0
WINDOW = 1024


@dataclass(frozen=True, slots=True)
class Pace:
    """How a run keeps up, over its last ticks (at most WINDOW) on the wall clock.

    rate: ticks per second; lateness_p50, lateness_p99: seconds behind the deadline; real_time_factor:
    simulated seconds per second; behind: seconds of wall time given up so far because they were missed by
    more than MOST_BEHIND_S.
    """

    ticks: int
    rate: float
    lateness_p50: float
    lateness_p99: float
    real_time_factor: float
    behind: float


class Ticks:
    """The steps that are published: the first at or after each multiple of the publish period, without drift."""

    def __init__(self, rate: float, step_ns: int, first_step: int) -> None:
        # Steps per tick, exactly; with a rate above the steps' own every step is a tick.
        self._per_tick = max(Fraction(10**9, step_ns) / Fraction(str(rate)), Fraction(1))
        self._first = first_step
        self._count = 0

    @property
    def due(self) -> int:
        """The step of the next tick."""
        exact = self._count * self._per_tick
        return self._first - (-exact.numerator // exact.denominator)

    def advance(self) -> None:
        """The next tick is done."""
        self._count += 1


class Pacer:
    """Absolute deadlines: simulation time against an anchor on the wall clock, at real_time_factor.

    A factor of 0 means as fast as possible: everything is due at once.
    """

    def __init__(self, real_time_factor: float) -> None:
        self.real_time_factor = real_time_factor
        self.behind = 0.0
        self._anchor_wall = 0.0
        self._anchor_ns = 0
        # A row per tick: wall time, simulation time in seconds, lateness.
        self._log: deque[tuple[float, float, float]] = deque(maxlen=WINDOW)
        self._ticks = 0

    def anchor(self, time_ns: int) -> None:
        """Simulation time `time_ns` is now; what was measured until here is another pace."""
        self._anchor_wall, self._anchor_ns = time.monotonic(), time_ns
        self._log.clear()

    def wait(self, time_ns: int) -> float:
        """Seconds until simulation time `time_ns` is due; zero or less where it is."""
        if self.real_time_factor == 0.0:
            return 0.0
        due = self._anchor_wall + (time_ns - self._anchor_ns) * 1e-9 / self.real_time_factor
        return due - time.monotonic()

    def ticked(self, time_ns: int) -> None:
        """A tick for `time_ns` is about to go out."""
        late = max(0.0, -self.wait(time_ns))
        if late > MOST_BEHIND_S:
            self._anchor_wall += late
            self.behind += late
        self._log.append((time.monotonic(), time_ns * 1e-9, late))
        self._ticks += 1

    def pace(self) -> Pace:
        """The figures over the window. May be called from any thread."""
        log = np.array(list(self._log)) if self._log else np.zeros((0, 3))
        if len(log) < 2:
            return Pace(self._ticks, 0.0, 0.0, 0.0, 0.0, self.behind)
        wall, simulated = log[-1, :2] - log[0, :2]
        p50, p99 = np.percentile(log[:, 2], (50, 99))
        wall = max(float(wall), 1e-9)
        return Pace(self._ticks, (len(log) - 1) / wall, float(p50), float(p99), float(simulated) / wall, self.behind)
