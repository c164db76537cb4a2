"""Loop closing: mates between frames that are already placed are met by moving what other mates leave free."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from sim_node.assembly.assembly_log import Alternative, Step
from sim_node.assembly.choice import STARTS, STARTS_FOR_ALL, Configurations, InRoots, ways
from sim_node.assembly.loop_solvers import Mask, approach, newton, solve
from sim_node.assembly.mechanism import RANK, LoopMechanism, Path, rank
from sim_node.assembly.table import AssemblyTable, UnionFind, climb
from sim_node.spatial.geometry.arrays import FloatArray

# Maximum number of mechanisms in a world up to which other assemblies are searched by default.
MAX_MECHANISMS = 10
# Maximum number of positions of a mechanism up to which other assemblies are searched by default.
MAX_SEARCHED = 24

# Number of directions to try, step (rad, fractions of the size), and minimum fraction of it that a real motion keeps.
TRIALS, STEP, KEPT = 8, 0.05, 0.3


class Closing(NamedTuple):
    """The result of closing loops.

    Attributes:
        moved: Whether any position changed.
        steps: What was done, in order.
        degrees_of_freedom: Total number of remaining degrees of freedom.
        rates: Initial velocities of mates in loops that start in motion, by row, for each degree of freedom of their
            parts.
        others: Other ways to assemble, if requested.
    """

    moved: bool
    steps: list[Step]
    degrees_of_freedom: int
    rates: dict[int, FloatArray]
    others: list[Alternative]


def close_loops(
    table: AssemblyTable,
    poses: FloatArray,
    solved_by: dict[int, int],
    values: dict[int, FloatArray],
    loops: Sequence[int],
    in_roots: InRoots,
    *,
    every: bool = False,
) -> Closing:
    """Change `values` until the mates in `loops` are met.

    Args:
        table: The table of the assembly.
        poses: Local poses (N, 7) at `values`.
        solved_by: The mate that placed each frame, by row of the frame.
        values: Positions of the mates, changed in place.
        loops: Rows of the mates that close loops.
        in_roots: Computes the poses of all frames at other positions of mates.
        every: Whether to search for all ways to assemble and to return them.
    """
    left = sum(table.mates[m].type.translations + table.mates[m].type.rotations for m in solved_by.values())
    steps: list[Step] = []
    rates: dict[int, FloatArray] = {}
    others: list[Alternative] = []
    moved = False
    if loops:
        paths = dict(zip(loops, _paths(table, solved_by, loops), strict=True))
        order = {m: rank for rank, m in enumerate(solved_by.values())}
        groups = _groups(loops, paths)
        for group in groups:
            mechanism = LoopMechanism(table, poses, values, {m: paths[m] for m in group}, order)
            configurations = Configurations(mechanism, table, in_roots)
            done = close(mechanism, configurations, searched=len(groups) <= MAX_MECHANISMS, every=every)
            moved |= done.moved
            steps += done.steps
            others += done.others
            left -= done.constraints
            rates.update(mechanism.rates())
    return Closing(moved, steps, left, rates, others)


def _paths(table: AssemblyTable, solved_by: dict[int, int], loops: Sequence[int]) -> Iterator[Path]:
    """Yield the path from the owner of each loop's first connector to that of its second, over mates in the tree."""
    neighbours: list[list[tuple[int, str, int, bool]]] = [[] for _ in table.names]
    for row, parent in enumerate(table.parents.tolist()):
        if row in solved_by:
            m = solved_by[row]
            a, b = (table.owners[end] for end in table.ends[m])
            neighbours[a].append((b, "mate", m, True))
            neighbours[b].append((a, "mate", m, False))
        elif parent >= 0:
            neighbours[row].append((parent, "frame", row, True))
            neighbours[parent].append((row, "frame", row, False))
    # Spanning trees of the graph: the row from which each row was reached, and the step back to it.
    above, steps = [-1] * len(table.names), dict[int, tuple[str, int, bool]]()
    depth = [-1] * len(table.names)
    for root in range(len(table.names)):
        if depth[root] >= 0:
            continue
        depth[root] = 0
        stack = [root]
        while stack:
            row = stack.pop()
            for other, kind, index, forward in neighbours[row]:
                if depth[other] < 0:
                    depth[other] = depth[row] + 1
                    above[other], steps[other] = row, (kind, index, not forward)
                    stack.append(other)
    for m in loops:
        a, b = (table.owners[end] for end in table.ends[m])
        up, down, _ = climb(a, b, depth, above)
        backwards = ((kind, index, not forward) for kind, index, forward in (steps[row] for row in reversed(down)))
        yield [*(steps[row] for row in up), *backwards]


def _groups(loops: Sequence[int], paths: dict[int, Path]) -> list[list[int]]:
    """Return groups of loops that share mates."""
    groups, found = UnionFind(), dict[int, list[int]]()
    for m in loops:
        for kind, index, _ in paths[m]:
            if kind == "mate":
                groups.join(index, m)
    for m in loops:
        found.setdefault(groups.of(m), []).append(m)
    return list(found.values())


@dataclass
class Closed:
    """The result of closing the loops of one mechanism.

    Attributes:
        moved: Whether any position changed.
        constraints: Number of degrees of freedom that the loops remove, minus those of their own mates.
        steps: What was done, in order.
        others: Other ways to assemble the mechanism.
    """

    moved: bool = False
    constraints: int = 0
    steps: list[Step] = field(default_factory=list)
    others: list[Alternative] = field(default_factory=list)


def close(of: LoopMechanism, configurations: Configurations, *, searched: bool, every: bool) -> Closed:
    """Close the loops of a mechanism as far as possible.

    Args:
        of: The mechanism, whose positions are changed.
        configurations: Distinguishes ways to assemble it.
        searched: Whether to search for other ways to assemble it, and to check whether its configuration is singular.
        every: Whether to search thoroughly, and to return the other ways.
    """
    done = Closed()
    starts = STARTS_FOR_ALL if every else STARTS if searched and len(of.unknowns) <= MAX_SEARCHED else 0
    closed = of.loops
    opened = of.worst(of.loops, of.start) > of.tolerance
    astray = of.from_near(of.start) > 0.0 or not of.is_within_limits(of.wrapped(of.start))
    if opened or astray:
        closed = _solve_all(of)
    if closed == of.loops and of.free.any():
        free = np.array(of.free)
        if opened or astray:
            _determine(of, closed, free, done)
        _choose(of, configurations, closed, free, done, starts, every=every)
    done.moved = of.has_moved()
    _count(of, closed, done, thorough=searched or every)
    _log(of, closed, done)
    return done


def _solve_all(of: LoopMechanism) -> list[int]:
    """Close all loops at once or, if that is impossible, one after the other as far as possible."""
    x = solve(of, of.loops, of.free, of.start)
    if x is not None:
        of.take(x)
        return of.loops
    closed: list[int] = []
    for m in of.loops if len(of.loops) > 1 else ():
        x = solve(of, [*closed, m], of.free, of.start)
        if x is not None:
            of.take(x)
            closed.append(m)
    if not closed and (x := approach(of, of.loops)) is not None:
        of.take(x)
    return closed


def _determine(of: LoopMechanism, loops: list[int], free: Mask, done: Closed) -> None:
    """Hold free positions at rest while the loops leave degrees of freedom and still close; remove them from `free`.

    Positions with a value of `near` are held first, then those of mates in the tree, in order.
    """
    matrix = of.jacobian(loops)
    spare = int(free.sum()) - rank(matrix[:, free])
    candidates = [k for k in range(len(of.unknowns)) if of.near[k]]
    candidates += [k for k in range(of.in_tree) if not of.near[k]]
    for k in candidates:
        if not spare:
            return
        without = np.array(free)
        without[k] = False
        if not free[k] or of.is_ball(k) or rank(matrix[:, without]) < rank(matrix[:, free]):
            continue
        solved = of.values_at(of.start)
        of.restore()
        x = solve(of, loops, without, np.where(of.free & ~without, of.rest, of.start))
        if x is None:
            of.restore(solved)
            continue
        of.take(x)
        free[:], spare = without, spare - 1
        matrix = of.jacobian(loops)
        done.steps.append(Step("held", of.name(of.unknowns[k][0]), value=(of.value(k),)))


def _choose(
    of: LoopMechanism,
    configurations: Configurations,
    loops: list[int],
    free: Mask,
    done: Closed,
    starts: int,
    *,
    every: bool,
) -> None:
    """Find the ways to assemble with the positions that are not held, and apply the best one."""
    if not starts and not of.near[of.in_tree :].any() and of.is_within_limits(of.wrapped(of.start)):
        return
    here = of.marks(of.start)
    found = ways(of, configurations, loops, free, of.start, starts=starts)
    best = found[0]
    if every:
        done.others += [Alternative(of.values_at(way.x), way.is_within_limits) for way in found[1:]]
    if np.abs(of.marks(best.x) - here).max(initial=0.0) > of.tolerance:
        of.take(best.x)
    if not best.is_within_limits:
        done.steps += of.beyond_limits()
    if len(found) > 1:
        inside = sum(way.is_within_limits for way in found[1:])
        done.steps.append(Step("others", of.name(loops[0]), value=(float(len(found) - 1), float(inside))))


def _count(of: LoopMechanism, closed: list[int], done: Closed, *, thorough: bool) -> None:
    if not closed:
        return
    own = sum(1 for m, _ in of.unknowns if m in closed)
    involved = len(of.unknowns)
    instant, real = freedoms(of, closed, thorough=thorough)
    done.constraints = involved - real - own
    if real < instant:
        done.steps.append(Step("singular", of.name(closed[0]), value=(float(instant), float(real))))


def _log(of: LoopMechanism, closed: list[int], done: Closed) -> None:
    done.steps += of.moved_steps()
    for m in of.loops:
        distance, turn = of.residual(m)
        angle = 2.0 * math.asin(min(1.0, turn / 2.0))
        kind = "closed" if m in closed else "conflict"
        done.steps.append(Step(kind, of.name(m), value=tuple(of.values[m].tolist()), distance=distance, angle=angle))


def freedoms(of: LoopMechanism, loops: list[int], *, thorough: bool) -> tuple[int, int]:
    """Count the degrees of freedom of closed loops: of infinitesimal and of finite motions.

    They differ at singular configurations, such as a flat parallelogram. There, steps along the infinitesimal motions
    are followed by closing the loops again. The nearby configurations that this finds have the degrees of freedom of
    finite motions; if it finds none, there is no finite motion.

    Args:
        of: The mechanism.
        loops: The closed loops.
        thorough: Whether to take such steps; if not, both numbers are those of infinitesimal motions.

    Returns:
        Both numbers.
    """
    x = np.array(of.start)
    matrix = of.evaluate(loops, x)[1]
    if not thorough:
        instant = len(x) - rank(matrix)
        return instant, instant
    _, sizes, rows = np.linalg.svd(matrix)
    used = int((sizes > RANK * max(float(sizes.max(initial=0.0)), 1.0)).sum())
    instant = len(x) - used
    null, everything = rows[used:], np.ones(len(x), dtype=bool)
    random = np.random.default_rng(len(x))
    real = 0
    for _ in range(TRIALS if instant else 0):
        step = random.normal(size=instant) @ null
        step *= STEP / float(np.abs(step).max())
        there = newton(of, loops, everything, x + step)
        if there is not None and np.linalg.norm(there - x) > KEPT * np.linalg.norm(step):
            real = max(real, len(x) - rank(of.evaluate(loops, there)[1]))
            if real == instant:
                break
    return instant, real
