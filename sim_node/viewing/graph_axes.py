"""Appearance of graphs on pages, in pictures and in reports: ranges, round numbers, colours."""

from __future__ import annotations

import math
from typing import NamedTuple


class GraphLook(NamedTuple):
    """Parameters that are also passed to the page's script unchanged.

    Attributes:
        level: Relative difference, to 1 or to the largest number, below which differences are mere rounding of doubles.
        margin: Margin above and below curves, as a fraction of their range.
        level_margin, least_level_margin: Margin around level curves, as a fraction of their value, and its minimum.
        light, dark: Colours of curves and legends, with a contrast of at least 4.5 to the background (WCAG 2, 1.4.3).
    """

    level: float = 1e-12
    margin: float = 0.06
    level_margin: float = 0.1
    least_level_margin: float = 0.5
    light: tuple[str, ...] = (
        *("#c92a2a", "#237a33", "#1864ab", "#a84300", "#7048b0", "#0b7285", "#7a4a3e", "#b02a86"),
        "#5c6470",
    )
    dark: tuple[str, ...] = (
        *("#ff8787", "#69db7c", "#74b7f5", "#ffa94d", "#c3a6f5", "#66d9e8", "#d8b4a6", "#f5a3d7"),
        "#c4c9cf",
    )


LOOK = GraphLook()


def axis_range(low: float, high: float) -> tuple[float, float]:
    """Return the range of a value axis: all values, with a margin."""
    largest = max(abs(low), abs(high))
    is_level = high - low <= LOOK.level * max(1.0, largest)
    margin = max(LOOK.level_margin * abs(high), LOOK.least_level_margin) if is_level else LOOK.margin * (high - low)
    return low - margin, high + margin


def ticks(low: float, high: float, count: float) -> list[float]:
    """Return round numbers from low to high: multiples of 1, 2 or 5 times a power of 10, with at most `count` steps."""
    rough = (high - low) / count
    if not rough > 0.0 or not math.isfinite(rough):
        return [low]
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(each * power for each in (1.0, 2.0, 5.0, 10.0) if each * power >= rough * (1.0 - 1e-9))
    return [step * each for each in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]
