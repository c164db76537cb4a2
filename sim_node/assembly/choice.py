"""The ways to assemble a mechanism: found from many starts, distinguished, and the best of them chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sim_node.assembly.loop_solvers import Mask, newton, relaxed, within_limits
from sim_node.assembly.mechanism import RANK, LoopMechanism
from sim_node.assembly.table import AssemblyTable
from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray

# Random starts, by default and when all assemblies are asked for.
STARTS, STARTS_FOR_ALL = 24, 200
# As long as a start finds another assembly, there are as many more, up to this multiple, when all are asked for.
MAX_STARTS = 10
# Two solutions that differ by less are one, rad and parts of the size; by ten times more where loops close to a
# tolerance, since stretched linkages then differ by its root.
SAME = 1e-5

# Poses (N, 7) of all frames in the roots of their trees, at other positions of some mates.
InRoots = Callable[[Mapping[int, FloatArray]], FloatArray]
# The step of a free motion (rad and parts of the size), and what it turns axes by at least that are not determined.
STEP, TURNED = 1e-4, 1e-2


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
        configurations: Distinguishes them.
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


class Configurations:
    """The configurations of a mechanism by the positions of its mates.

    Args:
        of: The mechanism.
        table: Its table.
        in_roots: Places its frames.
    """

    def __init__(self, of: LoopMechanism, table: AssemblyTable, in_roots: InRoots) -> None:
        self._of, self._in_roots = of, in_roots
        ends = sorted({end for m in of.mates for end in table.ends[m]})
        self._owners, self._connectors = [table.owners[end] for end in ends], table.connectors[ends]

    def connectors_at(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the origins (C, 3), in parts of the size, and the axes (C, 3, 3) of all connectors."""
        owners = self._in_roots(self._of.values_at(x))[self._owners]
        turns = quaternions.to_matrix(owners[:, 3:])
        origins = owners[:, :3] + np.einsum("nij,nj->ni", turns, self._connectors[:, :3])
        return origins / self._of.size, turns @ quaternions.to_matrix(self._connectors[:, 3:])

    def at(self, loops: list[int], free: Mask, x: FloatArray) -> Configuration:
        """Return the configuration at positions (U,) at which loops are closed and `free` ones may move."""

        def is_determined() -> npt.NDArray[np.bool_]:
            determined = np.ones(len(axes), dtype=bool)
            _, sizes, rows = np.linalg.svd(self._of.evaluate(loops, x)[1][:, free])
            used = int((sizes > RANK * max(float(sizes.max(initial=0.0)), 1.0)).sum())
            for direction in rows[used:]:
                there = np.array(x)
                there[free] += STEP * direction
                turned = np.abs(self.connectors_at(there)[1] - axes).max(axis=(1, 2))
                determined &= turned < TURNED * STEP
            return determined

        origins, axes = self.connectors_at(x)
        return Configuration(origins, axes, is_determined)


@dataclass(frozen=True, eq=False)
class Configuration:
    """Where a mechanism's connectors are.

    Rods between balls spin about themselves, and a body held at one point turns about it: free motions that move no
    connector's origin. An axis that a free motion turns does not distinguish assemblies.

    Attributes:
        origins: Of the connectors (C, 3), in parts of the mechanism's size.
        axes: Their directions (C, 3, 3).
    """

    origins: FloatArray
    axes: FloatArray
    _find_determined: Callable[[], npt.NDArray[np.bool_]]

    @cached_property
    def is_determined(self) -> npt.NDArray[np.bool_]:
        """Which axes no free motion turns (C,)."""
        return self._find_determined()

    def is_same(self, other: Configuration, tolerance: float) -> bool:
        """Return whether two configurations are of one assembly."""
        if np.abs(self.origins - other.origins).max(initial=0.0) > tolerance:
            return False
        differ = np.abs(self.axes - other.axes).max(axis=(1, 2)) > tolerance
        return not (differ.any() and (differ & self.is_determined & other.is_determined).any())
