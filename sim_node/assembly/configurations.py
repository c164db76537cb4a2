"""Configurations: where a mechanism's connectors are, as far as its loops determine it, to tell assemblies apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sim_node.assembly.loop_solvers import Mask
from sim_node.assembly.mechanism import RANK, LoopMechanism
from sim_node.assembly.table import AssemblyTable
from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray

# Poses (N, 7) of all frames in the roots of their trees, at other positions of some mates.
InRoots = Callable[[Mapping[int, FloatArray]], FloatArray]
# The step of a free motion (rad and parts of the size), and what it turns axes by at least that are not determined.
STEP, TURNED = 1e-4, 1e-2


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
    connector's origin. An axis that a free motion turns does not tell one assembly from another.

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
