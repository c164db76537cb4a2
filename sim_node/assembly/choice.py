"""The ways to assemble a mechanism: found from many starts, told apart, and the best of them chosen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sim_node.assembly.configurations import Configuration, Configurations
from sim_node.assembly.loop_solvers import Mask, newton, relaxed, within_limits
from sim_node.assembly.mechanism import LoopMechanism
from sim_node.spatial.geometry.arrays import FloatArray

# Random starts, by default and when all assemblies are asked for.
STARTS, STARTS_FOR_ALL = 24, 200
# As long as a start finds another assembly, there are as many more, up to this multiple, when all are asked for.
MAX_STARTS = 10
# Two solutions that differ by less are one, rad and parts of the size; by ten times more where loops close to a
# tolerance, since stretched linkages then differ by its root.
SAME = 1e-5


@dataclass(frozen=True, eq=False)
class Way:
    """One way to assemble.

    Attributes:
        x: The positions (U,).
        is_within_limits: Whether all of them are within limits.
        from_near: Squared distance from the values of `near`, rad and parts of the size.
        motion: Squared distance from rest of all mates.
    """

    x: FloatArray
    is_within_limits: bool
    from_near: float
    motion: float

    def rank(self) -> tuple[bool, float, float]:
        """Return what the best is the least of: within limits, then as near as asked, then least moved."""
        return not self.is_within_limits, round(self.from_near, 9), self.motion


def ways(
    of: LoopMechanism, configurations: Configurations, loops: list[int], free: Mask, first: FloatArray, *, starts: int
) -> list[Way]:
    """Return the ways to close loops that were found, the best first.

    Args:
        of: A mechanism.
        configurations: Tells them apart.
        loops: Its loops that can be closed.
        free: The positions that may move (U,).
        first: A solution (U,).
        starts: The number of random starts, and how many may find nothing new before the search ends, if any did. They
            are the same each time.
    """
    ways = _Ways(of, configurations, loops, free, first)
    ways.add(first)
    guided = _guided(of, loops, free, first)
    if guided is not None:
        ways.add(guided)
    if not of.is_within_limits(of.wrapped(first)):
        inside = within_limits(of, loops, free, of.rest)
        if inside is not None:
            ways.add(inside)
    random = np.random.default_rng(len(of.unknowns))
    left = starts if free.any() else 0
    for _ in range(MAX_STARTS * starts):
        if not left:
            break
        start = np.array(first)
        turns = random.uniform(-np.pi, np.pi, len(start))
        slides = of.rest + random.normal(size=len(start))
        start[free] = np.where(of.turning, turns, slides)[free]
        x = newton(of, loops, free, start)
        left = starts if x is not None and ways.add(x) and starts == STARTS_FOR_ALL else left - 1
    every = [Way(x, of.is_within_limits(x), of.from_near(x), of.motion(x)) for x, _ in ways.different]
    return sorted(every, key=Way.rank)


class _Ways:
    """Different ways to close loops.

    Attributes:
        different: The positions (U,) of each, and its configuration.
    """

    def __init__(
        self, of: LoopMechanism, configurations: Configurations, loops: list[int], free: Mask, first: FloatArray
    ) -> None:
        self._of, self._configurations, self._loops, self._free, self._first = of, configurations, loops, free, first
        self._spare = of.spare(loops, free) > 0
        self._same = max(SAME, 10.0 * of.tolerance**0.5)
        self.different: list[tuple[FloatArray, Configuration]] = []

    def add(self, x: FloatArray) -> bool:
        """Add a way. Return False if it is known."""
        configuration = self._new(x)
        if configuration is not None and self._spare and x is not self._first:
            x = relaxed(self._of, self._loops, self._free, x, self._first)
            configuration = self._new(x)
        if configuration is not None:
            self.different.append((self._of.wrapped(x), configuration))
        return configuration is not None

    def _new(self, x: FloatArray) -> Configuration | None:
        """Return the configuration at some positions if it is not known."""
        found = self._configurations.at(self._loops, self._free, x)
        return None if any(found.is_same(other, self._same) for _, other in self.different) else found


def _guided(of: LoopMechanism, loops: list[int], free: Mask, first: FloatArray) -> FloatArray | None:
    """Return the solution that is found from the values of `near`, or None."""
    if not of.near.any():
        return None
    start = np.where(of.near & free, of.rest, first)
    return newton(of, loops, free, start)
