"""Closing the loops of one mechanism: solved, determined, chosen among the ways to assemble, and reported."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from sim_node.assembly.assembly_log import Alternative, Step
from sim_node.assembly.choice import STARTS, STARTS_FOR_ALL, Configurations, ways
from sim_node.assembly.loop_solvers import Mask, approach, newton, solve
from sim_node.assembly.mechanism import RANK, LoopMechanism, rank

# Mechanisms with more positions are searched for other assemblies on demand only.
MAX_SEARCHED = 24


@dataclass
class Closed:
    """What was done to a mechanism.

    Attributes:
        moved: Whether any position changed.
        constraints: The freedoms that its loops remove, less those of their own mates.
        steps: What was done.
        others: Other ways to assemble it.
    """

    moved: bool = False
    constraints: int = 0
    steps: list[Step] = field(default_factory=list)
    others: list[Alternative] = field(default_factory=list)


def close(of: LoopMechanism, configurations: Configurations, *, searched: bool, every: bool) -> Closed:
    """Close what can be closed.

    Args:
        of: The mechanism. Its positions are changed.
        configurations: Tells ways to assemble it apart.
        searched: Whether other ways to assemble it are looked for, and whether its configuration is singular.
        every: Whether they are looked for thoroughly, and described.
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
    """If the loops leave freedom, hold free motions at rest, as long as loops close: they are no longer `free` then.

    First those with `near`, whatever mate they are of, then those of mates that placed frames, in their order.
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
    """Find the ways to assemble what is not held, and take the best."""
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


# Directions that are tried, how far (rad, parts of the size), and how much of that a real motion keeps.
TRIALS, STEP, KEPT = 8, 0.05, 0.3


def freedoms(of: LoopMechanism, loops: list[int], *, thorough: bool) -> tuple[int, int]:
    """Count the freedoms of closed loops: of infinitesimal motions, and of motions.

    They differ at a singular configuration, as of a parallelogram that lies flat. There, steps along the infinitesimal
    motions lead to configurations nearby, at which the loops are closed again; these have as many freedoms as the
    motion really has, or there are none.

    Args:
        of: A mechanism.
        loops: Its closed loops.
        thorough: Whether steps are taken at all; if not, both numbers are that of infinitesimal motions.

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
