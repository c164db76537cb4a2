"""A mechanism: loops with common mates, and the solvers that close them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sim_node.assembly import kernels
from sim_node.assembly.assembly_log import Step
from sim_node.assembly.mate_motion import free_parts, part_offsets, positions_of
from sim_node.assembly.table import Table
from sim_node.geometry import poses as pose_math
from sim_node.geometry import quaternions
from sim_node.geometry.arrays import FloatArray, IntArray

# A loop is closed if its residual (m, rad) is below; Newton's method continues to machine precision.
CLOSED, LAST_DIGITS = 1e-10, 1e-14
MAX_NEWTON_STEPS = 40
# Directions that move a loop by less, relative to the one that moves it most, are neglected.
RANK = 1e-8
# Offsets of further starts from rest, rad and m: linkages that are folded at rest have no preferred direction.
STARTS, SPREAD, STARTS_TO_APPROACH = 40, 1.5, 8

Unknown = tuple[
    int, int
]  # a mate and one of its positions; for a ball, one of three angles from its present orientation
# An element of a cycle: its kind, a pose or an axis, the index of an unknown and its sign.
_Element = tuple[int, FloatArray, int, float]
_Mask = npt.NDArray[np.bool_]
# A step of the path between two frames: ("frame", row, towards the parent) or ("mate", row, from its first connector).
Path = list[tuple[str, int, bool]]


@dataclass(frozen=True, eq=False)
class _Cycle:
    """The arguments of `kernels.cycle` for a loop: over placed frames to the second connector, back over its mate."""

    kinds: IntArray
    data: FloatArray
    unknowns: IntArray
    signs: FloatArray


class Mechanism:
    """Loops with common mates, and the positions that their mates leave free."""

    def __init__(
        self,
        table: Table,
        poses: FloatArray,
        values: dict[int, FloatArray],
        paths: dict[int, Path],
        order: dict[int, int],
    ) -> None:
        self.steps: list[Step] = []
        self._table, self._poses, self._values, self._paths = table, poses, values, paths
        self._loops = list(paths)
        for m in self._loops:
            self._meet_halfway(m)
        on_paths = {index for path in paths.values() for kind, index, _ in path if kind == "mate"}
        mates = [*sorted(on_paths, key=order.__getitem__), *self._loops]
        self._unknowns: list[Unknown] = [(m, at) for m in mates for at in self._positions(m)]
        self._index = {unknown: k for k, unknown in enumerate(self._unknowns)}
        free = {(m, k) for m in mates for k in free_parts(table.mates[m])}
        self._free = np.array([(m, self._part_at(m, at)) in free for m, at in self._unknowns], dtype=bool)
        self._in_tree = len([1 for m, _ in self._unknowns if m not in paths])
        self._kinds = [(unknown, self._is_ball(*unknown)) for unknown in self._unknowns]
        self._balls = any(ball for _, ball in self._kinds)
        self.constraints = 0
        # Initial values of the unknowns; those that remain free keep them.
        self._rest = {m: np.array(values[m]) for m in mates}
        self._cycles = {m: self._cycle(m) for m in self._loops}
        self._settle()

    def close(self) -> bool:
        """Close what can be closed; return whether any position changed."""
        moves = self._worst(self._loops, self._start) > CLOSED
        closed = self._solve_all() if moves else self._loops
        self._count(closed)
        self._log(closed)
        return moves

    def rates(self) -> dict[int, FloatArray]:
        """Return the rates of all mates from the given speeds, with loops closed. None if no speed is given."""
        mates = list(self._rest)
        given = {m: speeds for m in mates if (speeds := self._table.mates[m].speeds) is not None}
        if not any(any(speeds) for speeds in given.values()):
            return {}
        rates = np.zeros(len(self._unknowns))
        fixed = np.array([m in given for m, _ in self._unknowns])
        for m, speeds in given.items():
            offsets = part_offsets(self._table.mates[m].type)
            for k, speed in zip(self._table.mates[m].type.valued, speeds, strict=True):
                if (m, offsets[k]) in self._index:
                    rates[self._index[(m, offsets[k])]] = speed
        matrix = self._jacobian(self._loops)
        free = ~fixed
        rates[free] = np.linalg.lstsq(matrix[:, free], -matrix[:, fixed] @ rates[fixed], rcond=RANK)[0]
        return {m: rates[[k for k, (mate, _) in enumerate(self._unknowns) if mate == m]] for m in mates}

    def _solve_all(self) -> list[int]:
        """Close all loops at once or, if that is impossible, one after the other as far as possible."""
        if self._solve(self._loops, self._free):
            self._determine(self._loops)
            return self._loops
        closed: list[int] = []
        for m in self._loops:
            if len(self._loops) > 1 and self._solve([*closed, m], self._free):
                closed.append(m)
        if not closed:
            self._approach(self._loops)
        return closed

    def _determine(self, loops: list[int]) -> None:
        """If the loops leave freedom, hold the first free motions at rest, as long as loops close."""
        free = np.array(self._free)
        matrix = self._jacobian(loops)
        spare = int(free.sum()) - _rank(matrix[:, free])
        for k, (m, at) in enumerate(self._unknowns[: self._in_tree]):
            if not spare:
                return
            kind = self._table.mates[m].type.parts[self._part_at(m, at)].kind
            without = np.array(free)
            without[k] = False
            if not free[k] or kind == "ball" or _rank(matrix[:, without]) < _rank(matrix[:, free]):
                continue
            if self._solve(loops, without, from_rest=True):
                free, spare = without, spare - 1
                matrix = self._jacobian(loops)
                value = float(self._values[m][at])
                self.steps.append(Step("held", self._table.mate_names[m], value=(value,)))

    def _solve(self, loops: list[int], free: _Mask, *, from_rest: bool = False) -> bool:
        """Move free positions, from the present ones or from rest, until loops are closed; else leave them."""
        before = {m: np.array(self._values[m]) for m in self._rest}
        if from_rest:
            self._restore(self._rest)
        for start in self._starts(free):
            x = self._newton(loops, free, start)
            if x is None:
                x = self._trust_region(loops, free, start)
            if x is not None:
                self._take(x)
                return True
            if not free.any():
                break
        self._restore(before)
        return False

    def _starts(self, free: _Mask) -> Iterator[FloatArray]:
        yield np.array(self._start)
        random = np.random.default_rng(len(self._unknowns))
        for k in range(STARTS):
            start = np.array(self._start)
            start[free] += random.normal(0.0, SPREAD * (k + 1) / STARTS, int(free.sum()))
            yield start

    def _newton(self, loops: list[int], free: _Mask, start: FloatArray) -> FloatArray | None:
        """Gauss-Newton with the shortest step each time, which finds the nearest of several solutions."""
        x = np.array(start)
        residual, matrix = self._evaluate(loops, x)
        worst = float(np.abs(residual).max())
        for _ in range(MAX_NEWTON_STEPS):
            if worst <= LAST_DIGITS or not free.any():
                break
            step = np.linalg.lstsq(matrix[:, free], -residual, rcond=RANK)[0]
            # Beyond this the linearisation is useless.
            step *= min(1.0, 0.5 / max(float(np.abs(step).max()), 1e-300))
            there = np.array(x)
            there[free] += step
            residual_there, matrix_there = self._evaluate(loops, there)
            worst_there = float(np.abs(residual_there).max())
            if worst <= CLOSED and worst_there >= worst:
                break
            x, residual, matrix, worst = there, residual_there, matrix_there, worst_there
        return x if worst <= CLOSED else None

    def _trust_region(self, loops: list[int], free: _Mask, start: FloatArray) -> FloatArray | None:
        """Solve with scipy's least squares, and refine by Newton's method."""
        x = self._least_squares(loops, free, start)
        return self._newton(loops, free, x) if x is not None and self._worst(loops, x) < 1e-3 else None

    def _least_squares(self, loops: list[int], free: _Mask, start: FloatArray) -> FloatArray | None:
        if not free.any():
            return None
        from scipy.optimize import least_squares  # imported here: most assemblies do not need it

        x = np.array(start)

        def at(part: FloatArray) -> FloatArray:
            x[free] = part
            return x

        found = least_squares(
            lambda part: self._evaluate(loops, at(part))[0],
            start[free],
            jac=lambda part: self._evaluate(loops, at(part))[1][:, free],
            xtol=1e-15,
            ftol=1e-15,
            gtol=1e-15,
            max_nfev=200,
        )
        return np.array(at(found.x))

    def _approach(self, loops: list[int]) -> None:
        """Minimise the residual of loops that cannot be closed, in the least-squares sense."""
        best, least = None, math.inf
        for start in itertools.islice(self._starts(self._free), STARTS_TO_APPROACH):
            x = self._least_squares(loops, self._free, start)
            if x is not None and (worst := float(np.linalg.norm(self._evaluate(loops, x)[0]))) < least - CLOSED:
                best, least = x, worst
        if best is not None:
            self._take(best)

    # The unknowns: their indices, their values, and the residual of the loops

    def _positions(self, m: int) -> Iterable[int]:
        """Return which of a mate's positions are unknowns: of a ball three, of a distance all but the distance."""
        mate = self._table.mates[m].type
        for k, (part, at) in enumerate(zip(mate.parts, part_offsets(mate), strict=True)):
            if not (mate.distance and k in mate.valued):
                yield from range(at, at + part.qd_size)

    def _part_at(self, m: int, at: int) -> int:
        offsets = part_offsets(self._table.mates[m].type)
        return max(k for k, offset in enumerate(offsets) if offset <= at)

    def _meet_halfway(self, m: int) -> None:
        """Move a loop's own mate to the pose between its connectors, as far as its parts can and are free."""
        table = self._table
        between = np.empty(7)
        first, second = table.ends[m]
        kernels.gap(self._poses, table.nodes, *table.chains[m], table.connectors[[first, second]], between)
        mate, q = table.mates[m], self._values[m]
        if mate.type.distance:
            return
        nearest = positions_of(mate.type, between)
        for k in free_parts(mate):
            at = part_offsets(mate.type)[k]
            size = mate.type.parts[k].q_size
            q[at : at + size] = nearest[at : at + size]

    def _settle(self) -> None:
        """Count unknowns from the present positions on."""
        if self._balls:  # whose angles are from their present orientation
            self._cycles = {m: self._cycle(m) for m in self._loops}
        self._start = np.array([0.0 if ball else self._values[m][at] for (m, at), ball in self._kinds])

    def _is_ball(self, m: int, at: int) -> bool:
        return self._table.mates[m].type.parts[self._part_at(m, at)].kind == "ball"

    def _cycle(self, m: int) -> _Cycle:
        table = self._table
        first, second = table.ends[m]
        elements = [_constant(pose_math.invert(table.connectors[first]))]
        for kind, index, forward in self._paths[m]:
            if kind == "frame":
                pose = self._poses[index]
                elements.append(_constant(pose_math.invert(pose) if forward else pose))
            else:
                a, b = table.ends[index] if forward else table.ends[index][::-1]
                elements.append(_constant(table.connectors[a]))
                elements += self._motion(index, forward=forward)
                elements.append(_constant(pose_math.invert(table.connectors[b])))
        elements.append(_constant(table.connectors[second]))
        elements += self._motion(m, forward=False)
        kinds, data, unknowns, signs = zip(*elements, strict=True)
        return _Cycle(np.array(kinds), np.array(data), np.array(unknowns), np.array(signs))

    def _motion(self, m: int, *, forward: bool) -> list[_Element]:
        """Return a mate's motion as elements, from its first connector to its second or back."""
        mate = self._table.mates[m].type
        elements: list[_Element] = []
        for k, (part, at) in enumerate(zip(mate.parts, part_offsets(mate), strict=True)):
            if part.axis is None:
                elements.append(_constant(pose_math.pose(np.zeros(3), self._values[m][at : at + 4])))
                elements += [(kernels.HINGE, _axis(np.eye(3)[i]), self._index[(m, at + i)], 1.0) for i in range(3)]
            elif mate.distance and k in mate.valued:
                step = np.multiply(part.axis, self._values[m][at])
                elements.append(_constant(pose_math.pose(step, (0.0, 0.0, 0.0, 1.0))))
            else:
                code = kernels.SLIDE if part.kind == "slide" else kernels.HINGE
                elements.append((code, _axis(np.array(part.axis)), self._index[(m, at)], 1.0))
        return elements if forward else [_backwards(element) for element in reversed(elements)]

    def _evaluate(self, loops: list[int], x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the residual (6 L,) of loops and its derivative (6 L, U) by all unknowns."""
        residual, matrix = np.empty(6 * len(loops)), np.empty((6 * len(loops), len(x)))
        for k, m in enumerate(loops):
            c, rows = self._cycles[m], slice(6 * k, 6 * k + 6)
            kernels.cycle(c.kinds, c.data, c.unknowns, c.signs, x, residual[rows], matrix[rows])
        return residual, matrix

    def _worst(self, loops: list[int], x: FloatArray) -> float:
        return float(np.abs(self._evaluate(loops, x)[0]).max())

    def _jacobian(self, loops: list[int]) -> FloatArray:
        return self._evaluate(loops, np.array(self._start))[1]

    def _take(self, x: FloatArray) -> None:
        """Set the positions from the unknowns."""
        for k, (m, at) in enumerate(self._unknowns):
            if not self._is_ball(m, at):
                self._values[m][at] = x[k]
            elif at == part_offsets(self._table.mates[m].type)[self._part_at(m, at)]:
                turn = self._values[m][at : at + 4]
                for axis, angle in zip(np.eye(3), x[k : k + 3], strict=True):
                    turn = quaternions.multiply(turn, quaternions.from_axis_angle(axis, angle))
                self._values[m][at : at + 4] = quaternions.normalise(turn)
        self._settle()

    def _restore(self, values: dict[int, FloatArray]) -> None:
        for m, q in values.items():
            self._values[m][:] = q
        self._settle()

    def _count(self, closed: list[int]) -> None:
        """Return the degrees of freedom that the closed loops remove, less those of their own mates."""
        if closed:
            own = sum(1 for m, _ in self._unknowns if m in closed)
            self.constraints = _rank(self._jacobian(closed)) - own

    def _log(self, closed: list[int]) -> None:
        names = self._table.mate_names
        for m, rest in self._rest.items():
            if m not in self._loops and np.abs(self._values[m] - rest).max(initial=0.0) > CLOSED:
                self.steps.append(Step("moved", names[m], value=tuple(self._values[m].tolist())))
        for m in self._loops:
            residual = self._evaluate([m], self._start)[0]
            distance = float(np.linalg.norm(residual[:3]))
            angle = 2.0 * math.asin(min(1.0, float(np.linalg.norm(residual[3:])) / 2.0))
            value = tuple(self._values[m].tolist())
            self.steps.append(
                Step("closed" if m in closed else "conflict", names[m], value=value, distance=distance, angle=angle)
            )


def _constant(pose: FloatArray) -> _Element:
    return kernels.CONSTANT, pose, 0, 1.0


def _backwards(element: _Element) -> _Element:
    kind, data, unknown, sign = element
    return (kind, pose_math.invert(data) if kind == kernels.CONSTANT else data, unknown, -sign)


def _axis(axis: FloatArray) -> FloatArray:
    return np.array([*axis, 0.0, 0.0, 0.0, 0.0])


def _rank(matrix: FloatArray) -> int:
    if not matrix.size:
        return 0
    sizes = np.linalg.svd(matrix, compute_uv=False)
    return int((sizes > RANK * max(float(sizes[0]), 1.0)).sum())
