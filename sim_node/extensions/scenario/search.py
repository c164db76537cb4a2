"""Search for the run that holds least: CMA-ES over the varied numbers, towards the smallest robustness."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from sim_node.extensions.scenario.certificate import Certificate
from sim_node.extensions.scenario.verdicts import FAIL
from sim_node.extensions.sweep import Variation, quantiles
from sim_node.randomness import stream
from sim_node.spatial.geometry.arrays import FloatArray

# Of the first generation, in ranks: the middle two thirds of each range.
_SPREAD = 1.0 / 3.0


def searched(
    vary: Sequence[Variation],
    runs: int,
    seed: int,
    judged: Callable[[int, dict[str, FloatArray]], Sequence[Certificate]],
) -> None:
    """Run as many runs as there are to be, each generation where the ones before held least.

    The search is in the ranks of the varied numbers, from 0 to 1 each, so that any distribution can be searched. It
    begins anew with twice as many runs a generation where it has converged (Auger and Hansen, A restart CMA evolution
    strategy with increasing population size, CEC 2005). The same arguments and verdicts give the same runs.

    Args:
        vary: The varied numbers.
        runs: How many runs there are to be.
        seed: Of the search.
        judged: Takes the number of the first run of a generation and the values (n,) of each path, and returns the
            certificates of these runs.
    """
    from cmaes import CMA

    random = stream(seed, "test", "search")
    size = max(len(vary), 2)  # CMA needs two dimensions
    bounds, population = np.tile([0.0, 1.0], (size, 1)), 4 + int(3 * math.log(size))
    mean, first, search = np.full(size, 0.5), 0, None
    while first < runs:
        if search is None or search.should_stop():
            if search is not None:
                mean, population = random.random(size), 2 * population
            search = CMA(mean, _SPREAD, bounds, seed=int(random.integers(2**31)), population_size=population)
        ranks = np.array([search.ask() for _ in range(search.population_size)])
        part = ranks[: runs - first].clip(0.0, np.nextafter(1.0, 0.0))
        found = judged(first, {each.path: quantiles(each, part[:, row]) for row, each in enumerate(vary)})
        if len(found) < len(part):  # stopped
            return
        first += len(part)
        if len(part) == len(ranks):
            search.tell(list(zip(ranks, map(margin, found), strict=True)))


def margin(of: Certificate) -> float:
    """Return by how much a run held; infinite where that is no number, or where it could not be judged."""
    if of.robustness is None:
        return -math.inf if of.verdict == FAIL else math.inf
    return of.robustness
