"""Geofence and rally points, as missions of their own types: https://mavlink.io/en/services/mission.html"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sim_node.autopilot.builtin.geo_reference import MAX_DISTANCE, RELATIVE, GeoReference

Item = Mapping[str, Any]
FENCE, RALLY = 1, 2  # MAV_MISSION_TYPE
# MAV_CMD_NAV_FENCE_*: vertices count up to `param1`, circles have a radius in `param1`.
_POLYGON_IN, _POLYGON_OUT, _CIRCLE_IN, _CIRCLE_OUT = 5001, 5002, 5003, 5004
_RALLY_POINT = 5100
_MIN_VERTICES = 3


class _Area(NamedTuple):
    """A polygon of vertices, or a circle around one; inside: whether the vehicle has to stay inside or outside."""

    inside: bool
    radius: float
    vertices: tuple[tuple[float, float], ...]

    def contains(self, east: float, north: float) -> bool:
        if self.radius > 0.0:
            return math.dist(self.vertices[0], (east, north)) <= self.radius
        found = False
        for (x1, y1), (x2, y2) in zip(self.vertices, (*self.vertices[1:], self.vertices[0]), strict=True):
            if (y1 > north) != (y2 > north) and east < x1 + (north - y1) / (y2 - y1) * (x2 - x1):
                found = not found
        return found


class Fence:
    """Areas that the vehicle has to stay in, and areas that it has to stay out of.

    items: the fields of MISSION_ITEM_INTs of the type FENCE, without a `fault`.
    """

    def __init__(self, items: Sequence[Item] = (), places: GeoReference | None = None) -> None:
        self.items = tuple(items)
        self._areas = [] if places is None else list(_areas(self.items, places))

    def violation(self, east: float, north: float) -> str:
        """Return what is wrong with a position in the local frame, m; empty where nothing is."""
        inclusions = [area for area in self._areas if area.inside]
        if any(area.contains(east, north) for area in self._areas if not area.inside):
            return "inside an excluded area"
        # As for PX4 and ArduPilot, one of several inclusions is enough.
        if inclusions and not any(area.contains(east, north) for area in inclusions):
            return "outside of the area"
        return ""


def fence_fault(items: Sequence[Item]) -> str:
    """Return what is wrong with the items of a whole fence; empty where nothing is."""
    left, command = 0, 0
    for sequence, entry in enumerate(items):
        if entry["command"] in (_POLYGON_IN, _POLYGON_OUT):
            if not left:
                left, command = _count(entry["param1"]), entry["command"]
                if left < _MIN_VERTICES or left > len(items) - sequence:
                    return f"item {sequence}: a polygon of {entry['param1']:g} vertices, {len(items) - sequence} follow"
            elif entry["command"] != command:
                return f"item {sequence}: another polygon begins before the last one ends"
            left -= 1
        elif left:
            return f"item {sequence}: a polygon ends early"
    return ""


def item_fault(entry: Item, kind: int) -> str:
    """Return what is wrong with one item of a fence or of rally points; empty where nothing is."""
    commands = (_RALLY_POINT,) if kind == RALLY else (_POLYGON_IN, _POLYGON_OUT, _CIRCLE_IN, _CIRCLE_OUT)
    if entry["command"] not in commands:
        return f"MAV_CMD {entry['command']} is not supported here"
    if entry["frame"] not in (0, 3, 5, 6):
        return f"MAV_FRAME {entry['frame']} is not supported here"
    if abs(entry["x"]) > 900_000_000 or abs(entry["y"]) > 1_800_000_000:
        return "latitude or longitude is out of range"
    if entry["command"] in (_CIRCLE_IN, _CIRCLE_OUT) and not 0.0 < entry["param1"] <= MAX_DISTANCE:
        return f"a radius of {entry['param1']:g} m"
    if kind == RALLY and not math.isfinite(entry["z"]):
        return f"altitude {entry['z']}"
    return ""


def rally_points(items: Sequence[Item], places: GeoReference) -> list[tuple[float, float, float]]:
    """Return the rally points in the local frame (ENU, m)."""
    found = []
    for entry in items:
        place = places.local(entry["frame"], entry["x"] * 1e-7, entry["y"] * 1e-7, entry["z"])
        if place is not None:
            found.append((float(place[0]), float(place[1]), float(place[2])))
    return found


def _areas(items: Sequence[Item], places: GeoReference) -> Iterator[_Area]:
    vertices: list[tuple[float, float]] = []
    for entry in items:
        place = places.local(RELATIVE[0], entry["x"] * 1e-7, entry["y"] * 1e-7, 0.0)
        assert place is not None
        east, north = float(place[0]), float(place[1])
        inside = entry["command"] in (_POLYGON_IN, _CIRCLE_IN)
        if entry["command"] in (_CIRCLE_IN, _CIRCLE_OUT):
            yield _Area(inside, entry["param1"], ((east, north),))
            continue
        vertices.append((east, north))
        if len(vertices) == _count(entry["param1"]):
            yield _Area(inside, 0.0, tuple(vertices))
            vertices = []


def _count(number: float) -> int:
    return int(number) if math.isfinite(number) else 0
