"""Solvers for closed loops: Gauss-Newton, trust region, within limits, and along the remaining degrees of freedom."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from sim_node.assembly.mechanism import AT_LIMIT, RANK, LoopMechanism
from sim_node.spatial.geometry.arrays import FloatArray

# Residual down to which Newton's method continues: machine precision.
LAST_DIGITS = 1e-14
MAX_NEWTON_STEPS, MAX_RELAXING_STEPS = 40, 60
# Spread of additional starts, rad and fractions of the size: linkages that are folded at rest have no preferred
# direction.
STARTS, SPREAD, STARTS_TO_APPROACH = 40, 1.5, 8

Mask = npt.NDArray[np.bool_]


def solve(of: LoopMechanism, loops: list[int], free: Mask, start: FloatArray) -> FloatArray | None:
    """Return positions (U,) at which the loops are closed, found from a start or from others around it, or None."""
    for each in starts(of, free, start):
        x = newton(of, loops, free, each)
        if x is None:
            x = trust_region(of, loops, free, each)
        if x is not None:
            return x
        if not free.any():
            break
    return None


def starts(of: LoopMechanism, free: Mask, start: FloatArray) -> Iterator[FloatArray]:
    """Yield a start, and reproducible random ones at increasing distances from it."""
    yield np.array(start)
    random = np.random.default_rng(len(of.unknowns))
    for k in range(STARTS):
        other = np.array(start)
        other[free] += random.normal(0.0, SPREAD * (k + 1) / STARTS, int(free.sum()))
        yield other


def newton(of: LoopMechanism, loops: list[int], free: Mask, start: FloatArray) -> FloatArray | None:
    """Return a solution found by Gauss-Newton with minimum-norm steps, which tends to the nearest one; None if none."""
    x, places = np.array(start), np.flatnonzero(free)
    residual, matrix = of.evaluate(loops, x)
    worst = float(np.abs(residual).max(initial=0.0))
    for _ in range(MAX_NEWTON_STEPS if len(places) else 0):
        if worst <= LAST_DIGITS:
            break
        step = np.linalg.lstsq(matrix.take(places, axis=1), -residual, rcond=RANK)[0]
        # Limit the step to where the linearisation is useful.
        step *= min(1.0, 0.5 / max(float(np.abs(step).max()), 1e-300))
        there = x.copy()
        there[places] += step
        residual_there, matrix_there = of.evaluate(loops, there)
        worst_there = float(np.abs(residual_there).max())
        if worst <= of.tolerance and worst_there >= worst:
            break
        x, residual, matrix, worst = there, residual_there, matrix_there, worst_there
    return x if worst <= of.tolerance else None


def trust_region(of: LoopMechanism, loops: list[int], free: Mask, start: FloatArray) -> FloatArray | None:
    """Return a solution of scipy's least squares, refined by Newton's method; None if there is none."""
    x = least_squares(of, loops, free, start)
    return newton(of, loops, free, x) if x is not None and of.worst(loops, x) < 1e-3 else None


def within_limits(of: LoopMechanism, loops: list[int], free: Mask, start: FloatArray) -> FloatArray | None:
    """Return positions within limits at which the loops are closed, or None."""
    limited = np.isfinite(of.low) | np.isfinite(of.high)
    for each in itertools.islice(starts(of, free, start), STARTS_TO_APPROACH):
        x = least_squares(of, loops, free, each, bounded=True)
        if x is None or of.worst(loops, x) > 1e-3:
            continue
        # Positions that have reached a limit stay there.
        inside = free & ~(limited & ((x - of.low < AT_LIMIT) | (of.high - x < AT_LIMIT)))
        x = newton(of, loops, inside, x)
        if x is not None and of.is_within_limits(x):
            return x
    return None


def least_squares(
    of: LoopMechanism, loops: list[int], free: Mask, start: FloatArray, *, bounded: bool = False
) -> FloatArray | None:
    """Return the positions near a start at which the residual of the loops is minimal; None if nothing is free."""
    if not free.any():
        return None
    from scipy.optimize import least_squares as minimised  # imported here: most assemblies do not need it

    x = np.array(start)
    low, high = (of.low[free], of.high[free]) if bounded else (-np.inf, np.inf)

    def at(part: FloatArray) -> FloatArray:
        x[free] = part
        return x

    found = minimised(
        lambda part: of.evaluate(loops, at(part))[0],
        np.clip(start[free], low, high),
        jac=lambda part: of.evaluate(loops, at(part))[1][:, free],
        bounds=(low, high),
        xtol=1e-15,
        ftol=1e-15,
        gtol=1e-15,
        max_nfev=200,
    )
    return np.array(at(found.x))


def approach(of: LoopMechanism, loops: list[int]) -> FloatArray | None:
    """Return the positions at which the residual of loops that cannot be closed is minimal."""
    best, least = None, math.inf
    for start in itertools.islice(starts(of, of.free, of.start), STARTS_TO_APPROACH):
        x = least_squares(of, loops, of.free, start)
        if x is not None and (norm := float(np.linalg.norm(of.evaluate(loops, x)[0]))) < least - of.tolerance:
            best, least = x, norm
    return best


def relaxed(of: LoopMechanism, loops: list[int], free: Mask, x: FloatArray, goal: FloatArray) -> FloatArray:
    """Return the positions nearest to a goal that can be reached from x with the loops kept closed."""
    for _ in range(MAX_RELAXING_STEPS):
        matrix = of.evaluate(loops, x)[1][:, free]
        step = along(matrix, (goal - x)[free])
        longest = float(np.abs(step).max(initial=0.0))
        if longest < 1e-9:
            break
        there = np.array(x)
        there[free] += step * min(1.0, 0.3 / longest)
        moved = newton(of, loops, free, there)
        if moved is None or np.linalg.norm(moved - goal) >= np.linalg.norm(x - goal):
            break
        x = moved
    return x


def along(matrix: FloatArray, step: FloatArray) -> FloatArray:
    """Return the component of a step (F,) in the null space of a matrix (R, F)."""
    _, sizes, rows = np.linalg.svd(matrix, full_matrices=False)
    used = rows[sizes > RANK * max(float(sizes.max(initial=0.0)), 1.0)]
    return np.asarray(step - used.T @ (used @ step))
