"""Seconds as people give them, as the int64 nanoseconds that simulation time is counted in."""

from __future__ import annotations

import math

# The last instant there is, and what it is in words.
LAST_NS = 2**63 - 1
RANGE = f"{LAST_NS // 10**9} s (int64 nanoseconds, about 292 years)"


def nanoseconds(seconds: float) -> int:
    """The whole nanoseconds nearest to `seconds`. Raises ValueError for what is not finite, or beyond int64."""
    if not math.isfinite(seconds):
        raise ValueError(f"{seconds} is no finite number of seconds")
    return within(round(seconds * 1e9))


def within(time_ns: int) -> int:
    """`time_ns` itself. Raises ValueError where int64 does not hold it."""
    if not -LAST_NS <= time_ns <= LAST_NS:
        raise ValueError(f"{time_ns / 1e9:g} s is out of range; allowed: up to {RANGE}")
    return time_ns
