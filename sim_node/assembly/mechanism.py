"""A mechanism: loops with common mates, the positions that these leave free, and the residual of the loops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sim_node.assembly import kernels
from sim_node.assembly.assembly_log import Step
from sim_node.assembly.mate_motion import free_parts, part_offsets, positions_of
from sim_node.assembly.table import AssemblyTable
from sim_node.spatial.geometry import poses as pose_math
from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray, IntArray

# Relative singular value below which a direction is considered not to move a loop.
RANK = 1e-8
TURN = 2.0 * np.pi
# Tolerance of positions at their limits.
AT_LIMIT = 1e-7

# A mate and one of its positions; for a ball, one of three angles relative to its present orientation.
Unknown = tuple[int, int]

# Rounding error of poses that cancel out, relative to their lengths.
ROUNDING = 1e-12
# Steps of the path between two frames: ("frame", row, towards the parent) or ("mate", row, from its first connector).
Path = list[tuple[str, int, bool]]
# An element of a cycle: its kind, a pose or an axis, the index of an unknown, and the sign of the unknown.
_Element = tuple[int, FloatArray, int, float]


@dataclass(frozen=True, eq=False)
class _Ball:
    """Three unknowns that are angles of a ball: its mate, the first of its positions, and the first unknown."""

    mate: int
    at: int
    first: int


class LoopMechanism:
    """Loops with common mates, and their U unknowns: positions that mates leave free, rad and fractions of the size.

    Attributes:
        mates: All mates of the loops, those in the tree first.
        loops: The mates that close the loops.
        values: Positions of all mates, m and rad.
        unknowns: The mate and position of each unknown. Those of mates in the tree come first.
        in_tree: Number of unknowns of mates in the tree.
        free: Whether the assembly may move each unknown (U,).
        turning: Whether each unknown is an angle (U,).
        near: Whether each unknown has a value of `near` (U,).
        rest: Rest positions (U,), or the values of `near`.
        low: Lower limits (U,), -inf for none.
        high: Upper limits (U,), inf for none.
        start: The present positions (U,).
        size: The length that positions and residuals are divided by, m.
        tolerance: Residual up to which a loop is closed, rad and fractions of the size.
    """

    def __init__(
        self,
        table: AssemblyTable,
        poses: FloatArray,
        values: dict[int, FloatArray],
        paths: dict[int, Path],
        order: dict[int, int],
    ) -> None:
        self.values = values
        self._table, self._poses, self._paths = table, poses, paths
        self.loops = list(paths)
        self.mates = mates = [*sorted(_mates_on(paths.values()), key=order.__getitem__), *self.loops]
        rests = {m: np.array(values[m]) for m in mates}
        for m in self.loops:
            self._meet_halfway(m)
        found = [(m, *position) for m in mates for position in self._positions(m)]
        self.unknowns: list[Unknown] = [(m, at) for m, at, _, _ in found]
        self.index = {unknown: k for k, unknown in enumerate(self.unknowns)}
        self.in_tree = sum(m not in paths for m, _ in self.unknowns)
        kinds = np.array([kind for *_, kind in found], dtype=str)
        self.free = np.array([free for *_, free, _ in found], dtype=bool)
        self.turning, self._is_ball = kinds != "slide", kinds == "ball"
        balls: list[int] = np.flatnonzero(self._is_ball)[::3].tolist()
        self._balls = [_Ball(*self.unknowns[first], first) for first in balls]
        cycles = [self._cycle(m) for m in self.loops]
        self.size = max((cycle.length() for cycle in cycles), default=0.0) or 1.0
        self._cycles = {m: cycle.scaled(1.0 / self.size) for m, cycle in zip(self.loops, cycles, strict=True)}
        self.tolerance = max(table.tolerances[m] for m in self.loops)
        self._unit = np.where(self.turning, 1.0, self.size)
        self._before = {m: np.array(values[m]) for m in mates}
        self._orientations = rests
        self.near = np.zeros(len(self.unknowns), dtype=bool)
        self.low, self.high = np.full((2, len(self.unknowns)), [[-np.inf], [np.inf]])
        for m in mates:
            self._read_near_and_limits(m)
        self.rest = self._counted(rests)
        self._settle()

    def name(self, m: int) -> str:
        """Return the name of a mate."""
        return self._table.mate_names[m]

    # Closing

    def evaluate(self, loops: list[int], x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the residual (6 L,) of L loops, rad and fractions of the size, and its Jacobian (6 L, U)."""
        residual, matrix = np.empty(6 * len(loops)), np.empty((6 * len(loops), len(x)))
        for k, m in enumerate(loops):
            c, rows = self._cycles[m], slice(6 * k, 6 * k + 6)
            kernels.cycle(c.kinds, c.data, c.unknowns, c.signs, x, residual[rows], matrix[rows])
        return residual, matrix

    def worst(self, loops: list[int], x: FloatArray) -> float:
        """Return the largest residual."""
        return float(np.abs(self.evaluate(loops, x)[0]).max(initial=0.0))

    def jacobian(self, loops: list[int]) -> FloatArray:
        """Return the Jacobian (6 L, U) at the present positions."""
        return self.evaluate(loops, np.array(self.start))[1]

    def spare(self, loops: list[int], free: npt.NDArray[np.bool_]) -> int:
        """Return the number of free positions that the loops leave undetermined."""
        return int(free.sum()) - rank(self.jacobian(loops)[:, free])

    def residual(self, m: int) -> tuple[float, float]:
        """Return the norms of a loop's present residual: distance in m, and angle in rad if it is small."""
        residual = self.evaluate([m], self.start)[0]
        return float(np.linalg.norm(residual[:3])) * self.size, float(np.linalg.norm(residual[3:]))

    def value(self, k: int) -> float:
        """Return a present position, m or rad."""
        return float(self.start[k] * self._unit[k])

    def take(self, x: FloatArray) -> None:
        """Set the positions of all mates, with hinges wrapped as in `wrapped`."""
        self.restore(self.values_at(self.wrapped(x)))

    def restore(self, values: Mapping[int, FloatArray] | None = None) -> None:
        """Set the positions of all mates, m and rad; by default, to the initial ones."""
        for m, q in (self._before if values is None else values).items():
            self.values[m][:] = q
        self._settle()

    def values_at(self, x: FloatArray) -> dict[int, FloatArray]:
        """Return the positions of all mates, m and rad, for given unknowns (U,)."""
        found = {m: np.array(self.values[m]) for m in self.mates}
        for k, (m, at) in enumerate(self.unknowns):
            if not self._is_ball[k]:
                found[m][at] = x[k] * self._unit[k]
        for ball in self._balls:
            found[ball.mate][ball.at : ball.at + 4] = self._turned(ball, x)
        return found

    def rates(self) -> dict[int, FloatArray]:
        """Return the velocities of all mates that follow from given ones, with loops closed; empty if none is given."""
        given = {m: speeds for m in self.mates if (speeds := self._table.mates[m].speeds) is not None}
        if not any(any(speeds) for speeds in given.values()):
            return {}
        rates = np.zeros(len(self.unknowns))
        fixed = np.array([m in given for m, _ in self.unknowns])
        for m, speeds in given.items():
            offsets = part_offsets(self._table.mates[m].type)
            for k, speed in zip(self._table.mates[m].type.valued, speeds, strict=True):
                if (m, offsets[k]) in self.index:
                    rates[self.index[(m, offsets[k])]] = speed
        rates /= self._unit
        matrix = self.jacobian(self.loops)
        free = ~fixed
        rates[free] = np.linalg.lstsq(matrix[:, free], -matrix[:, fixed] @ rates[fixed], rcond=RANK)[0]
        rates *= self._unit
        return {m: rates[[k for k, (mate, _) in enumerate(self.unknowns) if mate == m]] for m in self.mates}

    # Comparing

    def is_ball(self, k: int) -> bool:
        """Return whether an unknown is an angle of a ball."""
        return bool(self._is_ball[k])

    def is_within_limits(self, x: FloatArray) -> bool:
        """Return whether all positions are within their limits."""
        return bool(np.all((x >= self.low - AT_LIMIT) & (x <= self.high + AT_LIMIT)))

    def wrapped(self, x: FloatArray) -> FloatArray:
        """Return the same positions with hinges wrapped to (-pi, pi], or by the whole turns that are within limits.

        Hinges with a given value, or with one of `near` outside of this range, are within half a turn of that value.
        """
        x = np.array(x)
        hinges = self.turning & ~self._is_ball
        middle = np.where(self.free & (np.abs(self.rest) <= np.pi), 0.0, self.rest)[hinges]
        x[hinges] -= TURN * np.ceil((x[hinges] - middle) / TURN - 0.5)
        x += np.where(hinges & (x < self.low - AT_LIMIT), TURN, 0.0)
        x -= np.where(hinges & (x > self.high + AT_LIMIT), TURN, 0.0)
        return x

    def marks(self, x: FloatArray) -> FloatArray:
        """Return numbers that identify a configuration, independent of whole turns."""
        hinges = self.turning & ~self._is_ball
        slides = x[~self.turning]
        balls = [np.outer(q, q).ravel() for ball in self._balls for q in (self._turned(ball, x),)]
        return np.concatenate([np.cos(x[hinges]), np.sin(x[hinges]), slides, *balls])

    def motion(self, x: FloatArray) -> float:
        """Return the squared distance from rest of all mates that may move, rad and fractions of the size."""
        plain = self.free & ~self._is_ball
        total = float((_apart(x, self.rest, self.turning)[plain] ** 2).sum())
        for ball in self._balls:
            if self.free[ball.first]:
                rest = self._orientations[ball.mate][ball.at : ball.at + 4]
                cosine = min(1.0, abs(float(rest @ self._turned(ball, x))))
                total += (2.0 * np.arccos(cosine)) ** 2
        return total

    def from_near(self, x: FloatArray) -> float:
        """Return the squared distance from the values of `near`, rad and fractions of the size."""
        return float((_apart(x, self.rest, self.turning)[self.near & self.free] ** 2).sum())

    def beyond_limits(self) -> list[Step]:
        """Return a step for each mate that is beyond its limits."""
        steps = []
        for k in np.flatnonzero((self.start < self.low - AT_LIMIT) | (self.start > self.high + AT_LIMIT)).tolist():
            numbers = (self.start[k], self.low[k], self.high[k])
            value = tuple(float(number * self._unit[k]) for number in numbers)
            steps.append(Step("limits", self.name(self.unknowns[k][0]), value=value))
        return steps

    def moved_steps(self) -> list[Step]:
        """Return a step for each mate in the tree that has moved."""
        moved = (m for m in self.mates if m not in self._paths and self._moved_by(m) > self.tolerance)
        return [Step("moved", self.name(m), value=tuple(self.values[m].tolist())) for m in moved]

    def has_moved(self) -> bool:
        """Return whether any mate has moved from its initial position."""
        return any(self._moved_by(m) > 0.0 for m in self.mates)

    def _moved_by(self, m: int) -> float:
        return float(np.abs(self.values[m] - self._before[m]).max(initial=0.0))

    # The unknowns

    def _counted(self, values: Mapping[int, FloatArray]) -> FloatArray:
        """Return the unknowns (U,) at positions of mates, m and rad. Angles of balls are 0."""
        return np.where(self._is_ball, 0.0, [values[m][at] for m, at in self.unknowns]) / self._unit

    def _positions(self, m: int) -> Iterator[tuple[int, bool, str]]:
        """Yield each position of a mate that is an unknown, whether the assembly may move it, and the kind of its part.

        A ball has three unknowns. For a distance mate, they are all positions except the distance.
        """
        mate, free = self._table.mates[m].type, free_parts(self._table.mates[m])
        for k, (part, at) in enumerate(zip(mate.parts, part_offsets(mate), strict=True)):
            if not (mate.distance and k in mate.valued):
                yield from ((at + i, k in free, part.kind) for i in range(part.qd_size))

    def _read_near_and_limits(self, m: int) -> None:
        mate = self._table.mates[m]
        limits = mate.limits
        if mate.type.distance or (mate.near is None and limits is None):
            return
        offsets = part_offsets(mate.type)
        for k, part in enumerate(mate.type.valued):
            row = self.index[m, offsets[part]]
            self.near[row] = mate.near is not None and part in free_parts(mate)
            if limits is not None:
                self.low[row], self.high[row] = np.array(limits[k]) / self._unit[row]

    def _meet_halfway(self, m: int) -> None:
        """Move the free parts of a loop's own mate as near as possible to the pose between its connectors."""
        table = self._table
        between = np.empty(7)
        first, second = table.ends[m]
        kernels.gap(self._poses, table.nodes, *table.chains[m], table.connectors[[first, second]], between)
        mate, q = table.mates[m], self.values[m]
        if mate.type.distance:
            return
        nearest = positions_of(mate.type, between)
        for k in free_parts(mate):
            at = part_offsets(mate.type)[k]
            size = mate.type.parts[k].q_size
            q[at : at + size] = nearest[at : at + size]

    def _settle(self) -> None:
        """Measure the unknowns from the present positions."""
        if self._balls:  # their angles are relative to their present orientation
            self._cycles = {m: self._cycle(m).scaled(1.0 / self.size) for m in self.loops}
        self.start = self._counted(self.values)

    def _turned(self, ball: _Ball, x: FloatArray) -> FloatArray:
        """Return the orientation of a ball for given unknowns (U,)."""
        turn = self.values[ball.mate][ball.at : ball.at + 4]
        for axis, angle in zip(np.eye(3), x[ball.first : ball.first + 3], strict=True):
            turn = quaternions.multiply(turn, quaternions.from_axis_angle(axis, angle))
        return quaternions.normalise(turn)

    def _cycle(self, m: int) -> Cycle:
        return cycle_of(self._table, self._poses, self.values, self._paths[m], m, self.index)


def _mates_on(paths: Iterable[Path]) -> set[int]:
    return {index for path in paths for kind, index, _ in path if kind == "mate"}


def rank(matrix: FloatArray) -> int:
    """Return the rank of a Jacobian."""
    if not matrix.size:
        return 0
    sizes = np.linalg.svd(matrix, compute_uv=False)
    return int((sizes > RANK * max(float(sizes[0]), 1.0)).sum())


def _apart(x: FloatArray, other: FloatArray, turning: npt.NDArray[np.bool_]) -> FloatArray:
    """Return the differences of positions, with those of angles wrapped."""
    apart = x - other
    return np.asarray(np.where(turning, quaternions.wrapped(apart), apart))


@dataclass(frozen=True, eq=False)
class Cycle:
    """The arguments of `kernels.cycle` for a loop: over frames to the second connector, and back over its mate.

    Consecutive poses are merged into rigid parts; extent is the largest distance in the poses before that, m.
    """

    kinds: IntArray
    data: FloatArray
    unknowns: IntArray
    signs: FloatArray
    extent: float

    def length(self) -> float:
        """Return the length of the longest rigid part, m, or the extent if the poses cancel out up to rounding."""
        rigid = self.data[self.kinds == kernels.CONSTANT]
        length = float(np.linalg.norm(rigid[:, :3], axis=1).max(initial=0.0))
        return length if length > ROUNDING * self.extent else self.extent

    def scaled(self, factor: float) -> Cycle:
        """Return the cycle with all lengths scaled."""
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
        values: Positions of the mates. The angles of balls are relative to these.
        path: Path from the owner of the loop's first connector to that of its second.
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
    # Merging removes large distances from the origins of owners, which cancel out.
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
