"""The ways to assemble a mechanism: found from many starting positions, distinguished, and ranked."""

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

# Number of random starts, by default and if all assemblies are requested.
STARTS, STARTS_FOR_ALL = 24, 200
# If all assemblies are requested, each new one extends the search by as many starts again, up to this multiple.
MAX_STARTS = 10
# Two solutions that differ by less than this (rad and fractions of the size) are the same. If loops close only to a
# tolerance, by less than ten times its square root, since nearly singular linkages differ by that order.
SAME = 1e-5

# Returns the poses (N, 7) of all frames in the roots of their trees, at other positions of some mates.
InRoots = Callable[[Mapping[int, FloatArray]], FloatArray]
# Step of a free motion (rad and fractions of the size), and the minimum rotation of undetermined axes relative to it.
STEP, TURNED = 1e-4, 1e-2


@dataclass(frozen=True, eq=False)
class Way:
    """One way to assemble a mechanism.

    Attributes:
        x: The positions (U,).
        is_within_limits: Whether all of them are within limits.
        from_near: Squared distance from the values of `near`, rad and fractions of the size.
        motion: Squared distance of all mates from their rest positions.
    """

    x: FloatArray
    is_within_limits: bool
    from_near: float
    motion: float

    def rank(self) -> tuple[bool, float, float]:
        """Return a sort key, smallest for the best: within limits first, then nearest to `near`, then least motion."""
        return not self.is_within_limits, round(self.from_near, 9), self.motion


def ways(
    of: LoopMechanism, configurations: Configurations, loops: list[int], free: Mask, first: FloatArray, *, starts: int
) -> list[Way]:
    """Return the ways to close loops that the search finds, the best first.

    Args:
        of: The mechanism.
        configurations: Distinguishes the ways.
        loops: The loops that can be closed.
        free: Mask (U,) of the positions that may move.
        first: A solution (U,).
        starts: The number of random starts, which are reproducible. If all assemblies are requested, it is the number
            of consecutive starts without a new solution that ends the search.
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
        different: The positions (U,) and the configuration of each way.
    """

    def __init__(
        self, of: LoopMechanism, configurations: Configurations, loops: list[int], free: Mask, first: FloatArray
    ) -> None:
        self._of, self._configurations, self._loops, self._free, self._first = of, configurations, loops, free, first
        self._spare = of.spare(loops, free) > 0
        self._same = max(SAME, 10.0 * of.tolerance**0.5)
        self.different: list[tuple[FloatArray, Configuration]] = []

    def add(self, x: FloatArray) -> bool:
        """Add a way. Return False if it is already known."""
        configuration = self._new(x)
        if configuration is not None and self._spare and x is not self._first:
            x = relaxed(self._of, self._loops, self._free, x, self._first)
            configuration = self._new(x)
        if configuration is not None:
            self.different.append((self._of.wrapped(x), configuration))
        return configuration is not None

    def _new(self, x: FloatArray) -> Configuration | None:
        """Return the configuration at some positions, or None if it is already known."""
        found = self._configurations.at(self._loops, self._free, x)
        return None if any(found.is_same(other, self._same) for _, other in self.different) else found


def _guided(of: LoopMechanism, loops: list[int], free: Mask, first: FloatArray) -> FloatArray | None:
    """Return the solution found when starting from the values of `near`, or None."""
    if not of.near.any():
        return None
    start = np.where(of.near & free, of.rest, first)
    return newton(of, loops, free, start)


class Configurations:
    """Computes configurations of a mechanism from the positions of its mates.

    Args:
        of: The mechanism.
        table: The table of its assembly.
        in_roots: Computes the poses of its frames.
    """

    def __init__(self, of: LoopMechanism, table: AssemblyTable, in_roots: InRoots) -> None:
        self._of, self._in_roots = of, in_roots
        ends = sorted({end for m in of.mates for end in table.ends[m]})
        self._owners, self._connectors = [table.owners[end] for end in ends], table.connectors[ends]

    def connectors_at(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the origins (C, 3), in fractions of the size, and the axes (C, 3, 3) of all connectors."""
        owners = self._in_roots(self._of.values_at(x))[self._owners]
        turns = quaternions.to_matrix(owners[:, 3:])
        origins = owners[:, :3] + np.einsum("nij,nj->ni", turns, self._connectors[:, :3])
        return origins / self._of.size, turns @ quaternions.to_matrix(self._connectors[:, 3:])

    def at(self, loops: list[int], free: Mask, x: FloatArray) -> Configuration:
        """Return the configuration at positions (U,) at which the loops are closed; `free` positions may move."""

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
    """The poses of a mechanism's connectors.

    Rods between ball joints spin freely about themselves, and a body that is held at one point turns about it: such
    motions do not move the origin of any connector. Axes that they rotate do not distinguish assemblies.

    Attributes:
        origins: Origins (C, 3) of the connectors, in fractions of the mechanism's size.
        axes: Axes (C, 3, 3) of the connectors.
    """

    origins: FloatArray
    axes: FloatArray
    _find_determined: Callable[[], npt.NDArray[np.bool_]]

    @cached_property
    def is_determined(self) -> npt.NDArray[np.bool_]:
        """Whether the axes of each connector (C,) are determined: not rotated by any free motion."""
        return self._find_determined()

    def is_same(self, other: Configuration, tolerance: float) -> bool:
        """Return whether two configurations belong to the same assembly."""
        if np.abs(self.origins - other.origins).max(initial=0.0) > tolerance:
            return False
        differ = np.abs(self.axes - other.axes).max(axis=(1, 2)) > tolerance
        return not (differ.any() and (differ & self.is_determined & other.is_determined).any())
