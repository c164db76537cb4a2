"""Loops as cycles of poses and motions, in the arrays that the kernel takes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sim_node.assembly import kernels
from sim_node.assembly.mate_motion import part_offsets
from sim_node.assembly.table import AssemblyTable
from sim_node.spatial.geometry import poses as pose_math
from sim_node.spatial.geometry.arrays import FloatArray, IntArray

# What is left of poses that cancel out, as a fraction of them.
ROUNDING = 1e-12
# A step of the path between two frames: ("frame", row, towards the parent) or ("mate", row, from its first connector).
Path = list[tuple[str, int, bool]]
# An element of a cycle: its kind, a pose or an axis, the index of an unknown and its sign.
_Element = tuple[int, FloatArray, int, float]


@dataclass(frozen=True, eq=False)
class Cycle:
    """The arguments of `kernels.cycle` for a loop: over placed frames to the second connector, back over its mate.

    Rigid parts are merged from poses; extent is the length of the longest of these, m.
    """

    kinds: IntArray
    data: FloatArray
    unknowns: IntArray
    signs: FloatArray
    extent: float

    def length(self) -> float:
        """Return the longest of its rigid parts, m. What is left where poses cancel out is none: then the extent."""
        rigid = self.data[self.kinds == kernels.CONSTANT]
        length = float(np.linalg.norm(rigid[:, :3], axis=1).max(initial=0.0))
        return length if length > ROUNDING * self.extent else self.extent

    def scaled(self, factor: float) -> Cycle:
        """Return the cycle with other lengths."""
        data = np.array(self.data)
        data[self.kinds == kernels.CONSTANT, :3] *= factor
        return Cycle(self.kinds, data, self.unknowns, self.signs, self.extent * factor)


def cycle_of(
    table: AssemblyTable,
    poses: FloatArray,
    values: dict[int, FloatArray],
    path: Path,
    m: int,
    index: dict[tuple[int, int], int],
) -> Cycle:
    """Return the cycle of a loop.

    Args:
        table: The table.
        poses: Poses (N, 7) of the frames in their parents.
        values: Positions of the mates; of balls, from which their angles count.
        path: From the owner of the loop's first connector to that of its second.
        m: The mate that closes the loop.
        index: The index of each unknown.
    """
    first, second = table.ends[m]
    elements = [_inverse(table.connectors[first])]
    for kind, row, forward in path:
        if kind == "frame":
            elements.append(_inverse(poses[row]) if forward else _constant(poses[row]))
        else:
            a, b = table.ends[row] if forward else table.ends[row][::-1]
            elements.append(_constant(table.connectors[a]))
            elements += _motion(table, values, row, index, forward=forward)
            elements.append(_inverse(table.connectors[b]))
    elements.append(_constant(table.connectors[second]))
    elements += _motion(table, values, m, index, forward=False)
    kinds, data, unknowns, signs = map(np.array, zip(*elements, strict=True))
    rigid = (kinds == kernels.CONSTANT) | (kinds == kernels.INVERSE)
    extent = float(np.linalg.norm(data[rigid, :3], axis=1).max())
    # What is far from the origin of its owners is no longer part of merged poses.
    left = kernels.merge(kinds, data, unknowns, signs)
    return Cycle(kinds[:left], data[:left], unknowns[:left], signs[:left], extent)


def _motion(
    table: AssemblyTable, values: dict[int, FloatArray], m: int, index: dict[tuple[int, int], int], *, forward: bool
) -> list[_Element]:
    """Return a mate's motion as elements, from its first connector to its second or back."""
    mate = table.mates[m].type
    elements: list[_Element] = []
    for k, (part, at) in enumerate(zip(mate.parts, part_offsets(mate), strict=True)):
        if part.axis is None:
            elements.append(_constant(pose_math.pose(np.zeros(3), values[m][at : at + 4])))
            elements += [(kernels.HINGE, _axis(np.eye(3)[i]), index[(m, at + i)], 1.0) for i in range(3)]
        elif mate.distance and k in mate.valued:
            step = np.multiply(part.axis, values[m][at])
            elements.append(_constant(pose_math.pose(step, (0.0, 0.0, 0.0, 1.0))))
        else:
            code = kernels.SLIDE if part.kind == "slide" else kernels.HINGE
            elements.append((code, _axis(np.array(part.axis)), index[(m, at)], 1.0))
    return elements if forward else [_backwards(element) for element in reversed(elements)]


def _constant(pose: FloatArray) -> _Element:
    return kernels.CONSTANT, pose, 0, 1.0


def _inverse(pose: FloatArray) -> _Element:
    return kernels.INVERSE, pose, 0, 1.0


def _backwards(element: _Element) -> _Element:
    kind, data, unknown, sign = element
    return kernels.INVERSE if kind == kernels.CONSTANT else kind, data, unknown, -sign


def _axis(axis: FloatArray) -> FloatArray:
    return np.array([*axis, 0.0, 0.0, 0.0, 0.0])
