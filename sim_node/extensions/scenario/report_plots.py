"""Plots of reports as SVG: signals over time with violations marked, robustness against a number."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from itertools import pairwise

import numpy as np

from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.viewing.graph_axes import axis_range, ticks

WIDTH, HEIGHT = 640, 180
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 12, 24, 26
# Width of a character of the marks above a plot on a phone, pixels.
_LETTER = 12
# Number of bins of a line, about one for each pixel. The smallest and the largest value of each bin are drawn.
_BINS = 320


def thinned(times: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return a line with fewer points that looks the same: the smallest and the largest value of each bin, in order."""
    if len(times) <= 2 * _BINS:
        return times, values
    edges = np.linspace(0, len(times), _BINS + 1).astype(int)
    chosen: list[int] = []
    for start, end in pairwise(edges.tolist()):
        part = values[start:end]
        if np.isnan(part).all():
            chosen.append(start)
            continue
        chosen += sorted({start + int(np.nanargmin(part)), start + int(np.nanargmax(part))})
    kept = np.array([0, *chosen, len(times) - 1])
    return times[kept], values[kept]


class PlotAxes:
    """The axes of a plot, which map numbers to pixels.

    Args:
        xs: All x values that must be visible.
        ys: All y values that must be visible.
        unit: The unit of x.
    """

    def __init__(self, xs: Iterable[float], ys: Iterable[float], unit: str = "") -> None:
        self.x_low, self.x_high = _range(xs)
        if not self.x_high > self.x_low:
            self.x_low, self.x_high = self.x_low - 0.5, self.x_high + 0.5
        self.y_low, self.y_high = axis_range(*_range(ys))
        self._unit = f" {unit}" if unit else ""

    def x(self, value: float) -> float:
        """Return the pixel of an x."""
        part = (value - self.x_low) / (self.x_high - self.x_low)
        return round(_LEFT + part * (WIDTH - _LEFT - _RIGHT), 1)

    def y(self, value: float) -> float:
        """Return the pixel of a y."""
        part = (value - self.y_low) / (self.y_high - self.y_low)
        return round(HEIGHT - _BOTTOM - part * (HEIGHT - _TOP - _BOTTOM), 1)

    def drawn(self, inside: str, about: str) -> str:
        """Return the plot with its contents."""
        parts = []
        for value in ticks(self.y_low, self.y_high, 4):
            y = self.y(value)
            parts.append(f'<path class="grid" d="M{_LEFT} {y}H{WIDTH - _RIGHT}"/>')
            parts.append(f'<text class="y" x="{_LEFT - 6}" y="{y + 4}">{value:.4g}</text>')
        for value in ticks(self.x_low, self.x_high, 5):
            x = min(self.x(value), WIDTH - 2 * _RIGHT)
            parts.append(f'<text class="x" x="{x}" y="{HEIGHT - 8}">{value:.4g}{self._unit}</text>')
        label = escape(about, quote=True)
        return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">{"".join(parts)}{inside}</svg>'


def signal_plot(
    times: FloatArray,
    lines: Sequence[tuple[str, FloatArray]],
    limits: Sequence[float],
    violated_at: float | None,
    marks: Sequence[tuple[float, int, int]] = (),
) -> str:
    """Return signals over time, with dashed limits, and a vertical line where they were violated.

    `marks` are instants (s) with the first and the last number of the events at that time.
    """
    shown = [(name, *thinned(times, values)) for name, values in lines]
    ys = [value for _, _, values in shown for value in values.tolist()] + list(limits)
    axes = PlotAxes(times.tolist(), ys, "s")
    inside = [f'<path class="limit" d="M{_LEFT} {axes.y(limit)}H{WIDTH - _RIGHT}"/>' for limit in limits]
    inside += [f'<path class="event" d="M{axes.x(at_s)} {_TOP}V{HEIGHT - _BOTTOM}"/>' for at_s, _, _ in marks]
    inside += [f'<text class="event" x="{x}" y="{_TOP - 6}">{text}</text>' for x, text in apart(axes, marks)]
    for index, (_, at, values) in enumerate(shown):
        inside.append(f'<path class="line c{index % 4}" d="{_path(axes, at, values)}"/>')
    if violated_at is not None:
        x = axes.x(violated_at)
        inside.append(f'<path class="violated" d="M{x} {_TOP}V{HEIGHT - _BOTTOM}"/>')
        for _, _, values in ((name, times, values) for name, values in lines):
            row = int(np.argmin(np.abs(times - violated_at)))
            if math.isfinite(values[row]):
                inside.append(f'<circle class="violated" cx="{x}" cy="{axes.y(values[row])}" r="4"/>')
    return axes.drawn("".join(inside), "over time: " + ", ".join(name for name, _ in lines))


def apart(axes: PlotAxes, marks: Sequence[tuple[float, int, int]]) -> list[tuple[float, str]]:
    """Return the positions and texts of the marks above a plot. Overlapping marks are merged."""
    found: list[tuple[float, float, int, int]] = []
    for at_s, first, last in marks:
        here = axes.x(at_s), axes.x(at_s), first, last
        while found and _middle(here) - _middle(found[-1]) < 0.5 * _LETTER * (_letters(here) + _letters(found[-1])):
            left, _, first, _ = found.pop()
            here = left, here[1], first, last
        found.append(here)
    return [(round(_middle(each), 1), _numbers(*each[2:])) for each in found]


def _middle(mark: tuple[float, float, int, int]) -> float:
    return 0.5 * (mark[0] + mark[1])


def _letters(mark: tuple[float, float, int, int]) -> int:
    return len(_numbers(*mark[2:]))


def _numbers(first: int, last: int) -> str:
    return f"{first}" if first == last else f"{first}-{last}"


def scatter(xs: Sequence[float], ys: Sequence[float], verdicts: Sequence[str], x_label: str) -> str:
    """Return a scatter plot of robustness over a varied number, with a point for each run, coloured by its verdict."""
    axes = PlotAxes(xs, [*ys, 0.0])
    inside = [f'<path class="limit" d="M{_LEFT} {axes.y(0.0)}H{WIDTH - _RIGHT}"/>']
    for x, y, verdict in zip(xs, ys, verdicts, strict=True):
        inside.append(f'<circle class="{verdict}" cx="{axes.x(x)}" cy="{axes.y(y)}" r="3"/>')
    return axes.drawn("".join(inside), f"robustness against {x_label}")


def _path(axes: PlotAxes, times: FloatArray, values: FloatArray) -> str:
    parts, pen = [], "M"
    for time, value in zip(times.tolist(), values.tolist(), strict=True):
        if not math.isfinite(value):
            pen = "M"
            continue
        parts.append(f"{pen}{axes.x(time)} {axes.y(value)}")
        pen = "L"
    return "".join(parts)


def _range(values: Iterable[float]) -> tuple[float, float]:
    finite = [value for value in values if math.isfinite(value)]
    return (min(finite), max(finite)) if finite else (0.0, 1.0)
