"""When: which steps are published, and at what wall time each is due."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

# Fallen behind by more than this (a suspended laptop, a debugger), the loop goes on from now
# instead of publishing all that was missed at once.
MAX_BEHIND_S = 1.0
WINDOW = 1024
# Beyond any computer, and by far not beyond int64 nanoseconds.
MAX_FACTOR = 1e6


@dataclass(frozen=True, slots=True)
class Pace:
    """How a run keeps up, over its last ticks (at most WINDOW) on the wall clock.

    rate: ticks per second; lateness_p50, lateness_p99: seconds behind the deadline; real_time_factor:
    simulated seconds per second; behind: seconds of wall time given up so far because they were missed by
    more than MAX_BEHIND_S.
    """

    ticks: int
    rate: float
    lateness_p50: float
    lateness_p99: float
    real_time_factor: float
    behind: float


class Ticks:
    """The steps that are published: the first at or after each multiple of the publish period, without drift.

    rate: Hz of simulation time; step_ns: length of a step; first_step: where the multiples are counted from.
    due: the step of the next tick. Raises ValueError for a rate that is not finite and above zero.
    """

    def __init__(self, rate: float | Fraction, step_ns: int, first_step: int) -> None:
        if not 0.0 < rate < math.inf:
            raise ValueError(f"publish rate: {rate}; a finite number of Hz above zero is needed")
        # Steps per tick, exactly, as a quotient; with a rate above the steps' own every step is a tick.
        per_tick = max(Fraction(10**9, step_ns) / Fraction(str(rate)), Fraction(1))
        self._steps, self._ticks = per_tick.numerator, per_tick.denominator
        self._first = first_step
        self.due = first_step

    def pass_by(self, step: int) -> None:
        """`step` has been published, or is gone; `due` becomes the first tick after it."""
        if step >= self.due:
            count = (step - self._first) * self._ticks // self._steps + 1
            self.due = self._first - (-count * self._steps // self._ticks)


class Pacer:
    """A stop-watch of simulation time: it runs at real_time_factor against the wall clock, deadlines are absolute.

    A factor of 0 means as fast as possible: everything is due at once, and it is the time of the last tick.
    wall: the wall clock, in seconds. Raises ValueError for a factor that is negative or above MAX_FACTOR.
    """

    def __init__(self, real_time_factor: float, wall: Callable[[], float] = time.monotonic) -> None:
        self.behind = 0.0
        self._wall = wall
        self._factor = _checked(real_time_factor)
        self._running = True
        # A row per tick: wall time, simulation time in seconds, lateness.
        self._log: deque[tuple[float, float, float]] = deque(maxlen=WINDOW)
        self._ticks = 0
        self.anchor(0)

    def anchor(self, time_ns: int) -> None:
        """Simulation time `time_ns` is now; what was measured until here is another pace."""
        self._anchor_wall, self._anchor_ns = self._wall(), time_ns
        self.forget()

    def now_ns(self) -> int:
        """What simulation time it is by the wall clock, at or after the last tick."""
        return self._at(self._wall())

    def forget(self) -> None:
        """What was measured until here is another pace."""
        self._log.clear()

    def stop(self) -> None:
        """Holds the watch."""
        self._anchor_here()
        self._running = False

    def go(self) -> None:
        """Lets it run on from where it stands."""
        self._anchor_here()
        self._running = True

    def set_real_time_factor(self, factor: float) -> None:
        """Changes its speed from now on. Raises ValueError."""
        factor = _checked(factor)
        self._anchor_here()
        self._factor = factor

    @property
    def factor(self) -> float:
        """Its speed as it was set."""
        return self._factor

    @property
    def free(self) -> bool:
        """Whether it runs as fast as possible."""
        return self._factor == 0.0

    def wait(self, time_ns: int) -> float:
        """Seconds until a running watch shows `time_ns`; zero or less where it is due."""
        if self._factor == 0.0:
            return 0.0
        due = self._anchor_wall + (time_ns - self._anchor_ns) * 1e-9 / self._factor
        return due - self._wall()

    def ticked(self, time_ns: int) -> None:
        """A tick for `time_ns` is about to go out."""
        late = max(0.0, -self.wait(time_ns))
        if self._factor == 0.0:
            self._anchor_ns = time_ns
        elif late > MAX_BEHIND_S:
            self._anchor_wall += late
            self.behind += late
        self._log.append((self._wall(), time_ns * 1e-9, late))
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

    def _at(self, wall: float) -> int:
        if not self._running or self._factor == 0.0:
            return self._anchor_ns
        return self._anchor_ns + int((wall - self._anchor_wall) * self._factor * 1e9)

    def _anchor_here(self) -> None:
        wall = self._wall()  # read once, so that no time passes in between
        self._anchor_wall, self._anchor_ns = wall, self._at(wall)
        self.forget()


def _checked(factor: float) -> float:
    if not 0.0 <= factor <= MAX_FACTOR:
        raise ValueError(
            f"real-time factor: {factor}; a finite number up to {MAX_FACTOR:g} is needed, 0 for as fast as possible"
        )
    return factor
