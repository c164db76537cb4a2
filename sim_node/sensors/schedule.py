"""When sensors read: at the first step of the time grid at or after each multiple of their period, without drift."""

from __future__ import annotations

import math
from collections import deque
from fractions import Fraction
from typing import Generic, TypeVar

T = TypeVar("T")


class Schedule(Generic[T]):
    """The steps at which sensors of one rate read, and those at which what they read is out.

    rate: Hz of simulation time, at most one reading per step; latency: s from a reading until it is out;
    step_ns: length of a step. due: the step of the next reading, beginning with step 0.
    """

    def __init__(self, rate: float, latency: float, step_ns: int) -> None:
        # As the decimals that were written, so that 0.1 Hz is every tenth second, for ever.
        period = Fraction(10**9, step_ns) / Fraction(str(rate))
        self._period = period.numerator, period.denominator
        self._delay = math.ceil(Fraction(str(latency)) * 10**9 / step_ns)
        self.restore((0, ()))

    @property
    def next_out(self) -> int:
        """The step by which the reading of the step `due` will be out."""
        return self.due + self._delay

    def took(self, reading: T) -> None:
        """The reading of the step `due` has been taken; `due` becomes the next one."""
        self._held.append((self.next_out, reading))
        self._count += 1
        self._find_due()

    def out(self, step: int) -> list[T]:
        """The readings that came out by `step` and were not asked for before."""
        held, measurements = self._held, []
        while held and held[0][0] <= step:
            measurements.append(held.popleft()[1])
        return measurements

    def state(self) -> tuple[int, tuple[tuple[int, T], ...]]:
        """How many readings were taken, and those that are not out yet, each after the step at which it will be."""
        return self._count, tuple(self._held)

    def restore(self, state: tuple[int, tuple[tuple[int, T], ...]]) -> None:
        """Goes on from a state."""
        self._count, held = state
        self._held: deque[tuple[int, T]] = deque(held)
        self._find_due()

    def _find_due(self) -> None:
        steps, measurements = self._period
        self.due = -(-self._count * steps // measurements)
