"""How many freedoms a mechanism really has: at singular configurations, fewer than its derivative shows."""

from __future__ import annotations

import numpy as np

from sim_node.assembly.loop_solvers import newton
from sim_node.assembly.mechanism import RANK, LoopMechanism, rank

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
