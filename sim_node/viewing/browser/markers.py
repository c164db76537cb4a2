"""Lines and arrows of a schematic on the page."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from sim_node.spatial.geometry import poses as pose_math
from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.viewing.browser.drawn_source import DrawnSource, locate
from sim_node.viewing.browser.overlays import PlacedLabel
from sim_node.viewing.messages.drawing import FIXED, Drawing, Item, Lines, TextLabel, in_one_colour, strip
from sim_node.viewing.schematic import FormulaScope, UnknownName, bound, bound_pose
from sim_node.viewing.schematic.binding import axes_of, bound_vector, problem_of
from sim_node.viewing.schematic.eql import Formula
from sim_node.viewing.schematic.model import ENU, Marker, TrailLine, VectorArrow

NODE = "/world/markers"
# Maximum number of points of a line, their minimum distance, m, and the minimum time between updates, s.
MAX_POINTS, APART, PERIOD_S = 2000, 1e-3, 0.1
# Arrow head: its fraction of the length, and its distance beside the shaft.
_HEAD, _BESIDE = 0.2, 0.08
_THERE = {FIXED: np.array(pose_math.IDENTITY)}


class _Bound(NamedTuple):
    """A marker, and the functions for its point or vector (3,) and its origin's pose (7,), in the fixed frame."""

    marker: Marker
    of: Callable[[], FloatArray]
    origin: Callable[[], FloatArray] | None


class PageMarkers:
    """Draws the lines and arrows of a schematic on viser's pages.

    Args:
        scene: viser's scene.
    """

    def __init__(self, scene: Any) -> None:
        self._scene = scene
        self._sources: list[DrawnSource] = []
        self._bound: list[_Bound] = []
        self._ways: list[list[FloatArray]] = []
        self._due = 0.0

    def change(self, markers: Sequence[Marker], scope: FormulaScope) -> None:
        """Draw these markers. If a name is unknown, raise WorldError and keep the previous ones."""
        found = [
            _Bound(each, _pose(each.point, "line_3d", scope, each.frame), None)
            if isinstance(each, TrailLine)
            else _bound_arrow(each, scope)
            for each in markers
        ]
        if [each.marker for each in found] == [each.marker for each in self._bound]:
            self._bound = found
            return
        for source in self._sources:
            source.remove()
        self._bound, self._ways = found, [[] for _ in found]
        self._sources = [
            DrawnSource(self._scene, f"{NODE}/{number}", getattr(each.marker, "name", ""), 1.0)
            for number, each in enumerate(found)
        ]

    def placed(self) -> list[PlacedLabel]:
        """Return the labels of arrows."""
        return [label for source in self._sources for label in source.placed()]

    def clear(self) -> None:
        """Restart the lines, after a reset of the run."""
        self._ways = [[] for _ in self._bound]

    def show(self) -> None:
        """Record the present positions, and draw them if an update is due."""
        for way, each in zip(self._ways, self._bound, strict=True):
            if isinstance(each.marker, TrailLine):
                _go_on(way, each.of()[:3])
        if not self._bound or time.monotonic() < self._due:
            return
        self._due = time.monotonic() + PERIOD_S
        for source, way, each in zip(self._sources, self._ways, self._bound, strict=True):
            source.draw(locate(Drawing(FIXED, tuple(_items(each, way))), _THERE))


def arrow(origin: FloatArray, vector: FloatArray) -> FloatArray:
    """Return the segments (5, 2, 3) of an arrow from a point along a vector (3,), m."""
    length, tip = float(np.linalg.norm(vector)), origin + vector
    across = np.cross(vector, np.eye(3)[int(np.argmin(np.abs(vector)))])
    across *= _BESIDE * length / max(float(np.linalg.norm(across)), 1e-12)
    other = np.cross(vector, across) / max(length, 1e-12)
    neck = tip - _HEAD * vector
    return np.array([[origin, tip], *([tip, neck + side] for side in (across, -across, other, -other))])


def _items(each: _Bound, way: Sequence[FloatArray]) -> list[Item]:
    marker = each.marker
    colour = tuple(round(255.0 * part) for part in marker.colour[:3])
    red, green, blue = colour
    if isinstance(marker, TrailLine):
        ends = strip(np.array(way)) if len(way) > 1 else np.zeros((0, 2, 3))
        return [Lines(FIXED, ends, in_one_colour(ends, (red, green, blue)), width=marker.width)] if len(ends) else []
    vector = np.array(each.of(), dtype=np.float64)
    pose = np.array(pose_math.IDENTITY) if each.origin is None else each.origin()
    length = float(np.linalg.norm(vector))
    if not (np.isfinite(vector).all() and np.isfinite(pose).all()) or length == 0.0:
        return []
    vector = vector * marker.scale / (length if marker.normalize else 1.0)
    if marker.body_frame:
        vector = quaternions.rotate(pose[3:], vector)
    ends = arrow(pose[:3], vector)
    label = [TextLabel(FIXED, pose[:3] + 0.5 * vector, marker.name)] if marker.name else []
    return [Lines(FIXED, ends, in_one_colour(ends, (red, green, blue)), width=3.0), *label]


def _go_on(way: list[FloatArray], point: FloatArray) -> None:
    if np.isfinite(point).all() and (not way or float(np.linalg.norm(point - way[-1])) > APART):
        way.append(point)
        del way[:-MAX_POINTS]


def _bound_arrow(marker: VectorArrow, scope: FormulaScope) -> _Bound:
    origin = None
    if marker.origin is not None:
        origin = _pose(marker.origin, "vector_arrow.origin", scope, marker.frame)
    elif marker.frame != ENU:
        place = axes_of(marker.frame, scope)
        origin = lambda: place  # noqa: E731
    try:
        if len(bound(marker.vector, scope).labels) != 3:
            raise UnknownName(f"has {len(bound(marker.vector, scope).labels)} numbers; three numbers are needed")
        # A vector in the body's axes rotates with them.
        vector = bound_vector(marker.vector, scope, ENU if marker.body_frame else marker.frame)
    except UnknownName as error:
        raise problem_of(marker.vector, "vector_arrow", error) from None
    return _Bound(marker, vector, origin)


def _pose(formula: Formula, key: str, scope: FormulaScope, frame: str) -> Callable[[], FloatArray]:
    try:
        return bound_pose(formula, scope, frame)
    except UnknownName as error:
        raise problem_of(formula, key, error) from None
