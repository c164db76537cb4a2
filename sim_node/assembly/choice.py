"""The ways to assemble a mechanism: found from many starts, told apart, and the best of them chosen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sim_node.assembly.loop_solvers import Mask, newton, relaxed, within_limits
from sim_node.assembly.mechanism import Mechanism
from sim_node.geometry.arrays import FloatArray

# Random starts, by default and when all assemblies are asked for.
STARTS, STARTS_FOR_ALL = 24, 200
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


def ways(of: Mechanism, loops: list[int], free: Mask, first: FloatArray, *, starts: int) -> list[Way]:
    """Return the ways to close loops that were found, the best first.

    Args:
        of: A mechanism.
        loops: Its loops that can be closed.
        free: The positions that may move (U,).
        first: A solution (U,).
        starts: The number of random starts. They are the same each time.
    """
    found = [first]
    guided = _guided(of, loops, free, first)
    if guided is not None:
        found.append(guided)
    if not of.is_within_limits(of.wrapped(first)):
        inside = within_limits(of, loops, free, of.rest)
        if inside is not None:
            found.append(inside)
    random = np.random.default_rng(len(of.unknowns))
    for _ in range(starts if free.any() else 0):
        start = np.array(first)
        turns = random.uniform(-np.pi, np.pi, len(start))
        slides = of.rest + random.normal(size=len(start))
        start[free] = np.where(of.turning, turns, slides)[free]
        x = newton(of, loops, free, start)
        if x is not None:
            found.append(x)
    spare = of.spare(loops, free) > 0
    same = max(SAME, 10.0 * of.tolerance**0.5)
    different: list[tuple[FloatArray, FloatArray]] = []
    for each in found:
        x = of.wrapped(relaxed(of, loops, free, each, first) if spare and each is not first else each)
        marks = of.marks(x)
        if all(np.abs(marks - other).max(initial=0.0) > same for _, other in different):
            different.append((x, marks))
    every = [Way(x, of.is_within_limits(x), of.from_near(x), of.motion(x)) for x, _ in different]
    return sorted(every, key=Way.rank)


def _guided(of: Mechanism, loops: list[int], free: Mask, first: FloatArray) -> FloatArray | None:
    """Return the solution that is found from the values of `near`, or None."""
    if not of.near.any():
        return None
    start = np.where(of.near & free, of.rest, first)
    return newton(of, loops, free, start)
