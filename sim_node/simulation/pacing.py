"""Pacing: which steps are published, and at what wall time each is due."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sim_node.world.fields import within
from sim_node.world.model import TimeGrid

# If the loop falls behind by more than this (a suspended laptop, a debugger), it continues from the current time
# instead of publishing all missed ticks at once.
MAX_BEHIND_S = 1.0
WINDOW = 1024
# Maximum real-time factor: faster than any computer, and far from overflowing int64 nanoseconds.
MAX_FACTOR = 1e6


@dataclass(frozen=True, slots=True)
class Pace:
    """Figures of how well a run keeps up with the wall clock, over its last ticks (at most WINDOW).

    Attributes:
        ticks: Number of ticks in the window.
        rate: Ticks per wall second (Hz).
        lateness_p50: Median delay behind the deadline, s.
        lateness_p99: 99th percentile of the delay behind the deadline, s.
        real_time_factor: Simulated seconds per wall second.
        behind: Total wall time (s) skipped so far because the run was more than MAX_BEHIND_S late.
    """

    ticks: int
    rate: float
    lateness_p50: float
    lateness_p99: float
    real_time_factor: float
    behind: float


class Ticks:
    """The steps that are published: the first at or after each multiple of the publish period, without drift.

    Attributes:
        due: Step of the next tick.

    Args:
        rate: Ticks per simulated second (Hz).
        step_ns: Length of a step.
        first_step: Step from which multiples are counted.

    Raises:
        ValueError: The rate is not finite or not above zero.
    """

    def __init__(self, rate: float | Fraction, step_ns: int, first_step: int) -> None:
        if not 0.0 < rate < math.inf:
            raise ValueError(f"publish rate: {rate}; a finite number of Hz above zero is needed")
        # Steps per tick as an exact fraction; above the rate of steps, every step is a tick.
        per_tick = max(Fraction(10**9, step_ns) / Fraction(str(rate)), Fraction(1))
        self._steps, self._ticks = per_tick.numerator, per_tick.denominator
        self._first = first_step
        self.due = first_step

    def pass_by(self, step: int) -> None:
        """Mark a step as published or skipped; `due` becomes the first tick after it."""
        if step >= self.due:
            count = (step - self._first) * self._ticks // self._steps + 1
            self.due = self._first - (-count * self._steps // self._ticks)


class Pacer:
    """A stopwatch of simulation time that runs at a real-time factor against the wall clock. Deadlines are absolute.

    With a factor of 0 everything is due at once, and the time is that of the last tick.

    Args:
        real_time_factor: Simulated seconds per wall second; 0 for as fast as possible.
        wall: The wall clock, s.

    Attributes:
        factor: The real-time factor that was set.
        behind: Wall time (s) skipped so far.

    Raises:
        ValueError: The factor is negative or above MAX_FACTOR.
    """

    def __init__(self, real_time_factor: float, wall: Callable[[], float] = time.monotonic) -> None:
        self.behind = 0.0
        self._wall = wall
        self.factor = _checked(real_time_factor)
        self._running = True
        # A row per tick: wall time, simulation time in seconds, lateness.
        self._log: deque[tuple[float, float, float]] = deque(maxlen=WINDOW)
        self._ticks = 0
        self.anchor(0)

    def anchor(self, time_ns: int) -> None:
        """Set the simulation time to `time_ns` now and start a new window of measurements."""
        self._anchor_wall, self._anchor_ns = self._wall(), time_ns
        self.forget()

    def now_ns(self) -> int:
        """Return the simulation time by the wall clock, at or after the last tick."""
        return self._at(self._wall())

    def forget(self) -> None:
        """Start a new window of measurements."""
        self._log.clear()

    def stop(self) -> None:
        """Stop the watch."""
        self._anchor_here()
        self._running = False

    def go(self) -> None:
        """Continue from where the watch stopped."""
        self._anchor_here()
        self._running = True

    def set_real_time_factor(self, factor: float) -> None:
        """Change the speed from now on. Raises ValueError."""
        factor = _checked(factor)
        self._anchor_here()
        self.factor = factor

    @property
    def free(self) -> bool:
        """Whether it runs as fast as possible."""
        return self.factor == 0.0

    def wait(self, time_ns: int) -> float:
        """Return the seconds until a running watch shows `time_ns`; zero or less if it is due."""
        if self.factor == 0.0:
            return 0.0
        due = self._anchor_wall + (time_ns - self._anchor_ns) * 1e-9 / self.factor
        return due - self._wall()

    def ticked(self, time_ns: int) -> None:
        """Record that the tick of `time_ns` is about to be published."""
        late = max(0.0, -self.wait(time_ns))
        if self.factor == 0.0:
            self._anchor_ns = time_ns
        elif late > MAX_BEHIND_S:
            self._anchor_wall += late
            self.behind += late
        self._log.append((self._wall(), time_ns * 1e-9, late))
        self._ticks += 1

    def pace(self) -> Pace:
        """Return the figures of the window. May be called from any thread."""
        log = np.array(list(self._log)) if self._log else np.zeros((0, 3))
        if len(log) < 2:
            return Pace(self._ticks, 0.0, 0.0, 0.0, 0.0, self.behind)
        wall, simulated = log[-1, :2] - log[0, :2]
        p50, p99 = np.percentile(log[:, 2], (50, 99))
        wall = max(float(wall), 1e-9)
        return Pace(self._ticks, (len(log) - 1) / wall, float(p50), float(p99), float(simulated) / wall, self.behind)

    def _at(self, wall: float) -> int:
        if not self._running or self.factor == 0.0:
            return self._anchor_ns
        return self._anchor_ns + int((wall - self._anchor_wall) * self.factor * 1e9)

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


def last_step(duration_ns: int | None, grid: TimeGrid) -> int | None:
    """Return the first step at or after a duration, which must end within int64 nanoseconds; None for no duration."""
    if duration_ns is None:
        return None
    step = -(-not_negative(duration_ns) // grid.step_ns)
    within(grid.start_ns + step * grid.step_ns)
    return step


def not_negative(duration_ns: int) -> int:
    """Return a duration. Raises ValueError if it is negative."""
    if duration_ns < 0:
        raise ValueError(f"duration: {duration_ns / 1e9:g} s; zero or more is needed")
    return duration_ns
