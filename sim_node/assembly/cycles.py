"""Loops as cycles of poses and motions, in the arrays that the kernel takes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sim_node.assembly import kernels
from sim_node.assembly.mate_motion import part_offsets
from sim_node.assembly.table import Table
from sim_node.geometry import poses as pose_math
from sim_node.geometry.arrays import FloatArray, IntArray

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
    table: Table,
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
    elements = [_constant(pose_math.invert(table.connectors[first]))]
    for kind, row, forward in path:
        if kind == "frame":
            pose = poses[row]
            elements.append(_constant(pose_math.invert(pose) if forward else pose))
        else:
            a, b = table.ends[row] if forward else table.ends[row][::-1]
            elements.append(_constant(table.connectors[a]))
            elements += _motion(table, values, row, index, forward=forward)
            elements.append(_constant(pose_math.invert(table.connectors[b])))
    elements.append(_constant(table.connectors[second]))
    elements += _motion(table, values, m, index, forward=False)
    extent = max(float(np.linalg.norm(pose[:3])) for kind, pose, _, _ in elements if kind == kernels.CONSTANT)
    kinds, data, unknowns, signs = zip(*_merged(elements), strict=True)
    return Cycle(np.array(kinds), np.array(data), np.array(unknowns), np.array(signs), extent)


def _motion(
    table: Table, values: dict[int, FloatArray], m: int, index: dict[tuple[int, int], int], *, forward: bool
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


def _merged(elements: list[_Element]) -> list[_Element]:
    """Return the elements with poses that follow each other as one.

    What is far from the origin of its owners is no longer part of them then.
    """
    merged: list[_Element] = []
    for element in elements:
        if merged and element[0] == merged[-1][0] == kernels.CONSTANT:
            merged[-1] = _constant(pose_math.compose(merged[-1][1], element[1]))
        else:
            merged.append(element)
    return merged


def _constant(pose: FloatArray) -> _Element:
    return kernels.CONSTANT, pose, 0, 1.0


def _backwards(element: _Element) -> _Element:
    kind, data, unknown, sign = element
    return (kind, pose_math.invert(data) if kind == kernels.CONSTANT else data, unknown, -sign)


def _axis(axis: FloatArray) -> FloatArray:
    return np.array([*axis, 0.0, 0.0, 0.0, 0.0])
