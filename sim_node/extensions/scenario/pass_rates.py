"""Statistics of many runs: the pass rate with its confidence interval."""

from __future__ import annotations

import math

# The normal quantile of a two-sided interval of 95 %.
_Z = 1.959963984540054


def pass_rate(passed: int, runs: int) -> tuple[float, float, float]:
    """Return the rate of what passed, and its interval of 95 % confidence, by Wilson's score (1927).

    It contains neither -1 nor 2, as the normal approximation may, and is no point where all runs passed.
    """
    if not runs:
        return math.nan, 0.0, 1.0
    rate, square = passed / runs, _Z * _Z / runs
    middle = (rate + square / 2.0) / (1.0 + square)
    half = _Z / (1.0 + square) * math.sqrt(rate * (1.0 - rate) / runs + square / (4.0 * runs))
    return rate, max(0.0, middle - half), min(1.0, middle + half)
