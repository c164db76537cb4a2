"""Geofence and rally points, uploaded as missions of their own types: https://mavlink.io/en/services/mission.html"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sim_node.autopilots.builtin.geo_reference import MAX_DISTANCE, RELATIVE, GeoReference
from sim_node.spatial.geometry.arrays import FloatArray

if TYPE_CHECKING:
    from sim_node.autopilots.builtin.settings import Settings

Item = Mapping[str, Any]
FENCE, RALLY = 1, 2  # MAV_MISSION_TYPE
# Kinds of limits, as bits of FENCE_TYPE: height above home, distance from home, uploaded areas.
HEIGHT, CIRCLE, AREAS = 1, 2, 4
ALL = HEIGHT | CIRCLE | AREAS
# FENCE_OPTIONS: a vehicle must be inside any, instead of all, of several inclusion areas.
UNION = 2
# MAV_CMD_NAV_FENCE_*: a polygon's vertices have their number in `param1`, circles their radius. Return points are
# stored, but only ArduPlane uses them.
_RETURN_POINT, _POLYGON_IN, _POLYGON_OUT, _CIRCLE_IN, _CIRCLE_OUT = 5000, 5001, 5002, 5003, 5004
_RALLY_POINT = 5100
_MIN_VERTICES = 3
# Maximum number of corrections of a velocity, each for the barrier that it violates most.
_MAX_TURNS = 16


class Barriers(NamedTuple):
    """Closest points of the limits ahead of a vehicle.

    Attributes:
        directions: Unit vectors (N, 3) towards the points, ENU.
        distances: Distances (N,) of the points, m.
    """

    directions: FloatArray
    distances: FloatArray


class _Area(NamedTuple):
    """A polygon, or a circle if `radius` is above 0.

    Attributes:
        inside: Whether the vehicle must stay inside, instead of outside.
        radius: Radius of a circle, m; 0 for a polygon.
        vertices: Vertices (N, 2) of a polygon, or the centre (1, 2) of a circle, ENU, m.
    """

    inside: bool
    radius: float
    vertices: FloatArray

    def is_breached(self, place: FloatArray) -> bool:
        return self._contains(place) != self.inside

    def _contains(self, place: FloatArray) -> bool:
        if self.radius > 0.0:
            return math.dist(self.vertices[0], place) <= self.radius
        (x1, y1), (x2, y2) = self.vertices.T, np.roll(self.vertices, -1, axis=0).T
        east, north = place
        crosses = (y1 > north) != (y2 > north)
        with np.errstate(divide="ignore", invalid="ignore"):
            return bool(np.count_nonzero(crosses & (east < x1 + (north - y1) / (y2 - y1) * (x2 - x1))) % 2)

    def offsets(self, place: FloatArray) -> FloatArray:
        """Return the vectors (N, 2) from a position (2,) to the closest point of each edge, m."""
        if self.radius > 0.0:
            out = place - self.vertices
            away = float(np.hypot(*out[0]))
            return out * ((self.radius - away) / away) if away > 0.0 else np.array([[self.radius, 0.0]])
        edges = np.roll(self.vertices, -1, axis=0) - self.vertices
        lengths = np.maximum((edges * edges).sum(axis=1), 1e-12)  # squared lengths
        along = ((place - self.vertices) * edges).sum(axis=1) / lengths
        closest: FloatArray = self.vertices + np.clip(along, 0.0, 1.0)[:, None] * edges
        return closest - place


class Fence:
    """Limits of height and of distance from home, inclusion areas and exclusion areas.

    Args:
        items: Fields of MISSION_ITEM_INTs of type FENCE that have no `fence_fault`.
        places: Geographic reference of the vehicle.
    """

    def __init__(self, items: Sequence[Item], places: GeoReference) -> None:
        self.items, self._places = tuple(items), places
        self._areas = list(_areas(self.items, places))

    def kinds(self, settings: Settings) -> int:
        """Return the kinds of limits that exist, enabled or not, as bits."""
        return int(settings.fence_types) & (
            (HEIGHT if settings.fence_height > 0.0 else 0)
            | (CIRCLE if settings.fence_radius > 0.0 else 0)
            | (AREAS if self._areas else 0)
        )

    def breaches(self, place: FloatArray, kinds: int, settings: Settings) -> dict[int, float]:
        """Return the limits that a position breaches.

        Args:
            place: Position (3,), ENU, m.
            kinds: Kinds of limits to check, as bits.
            settings: Heights and distances of the limits.

        Returns:
            By kind, the distance outside of the limit, m.
        """
        kinds &= self.kinds(settings)
        beyond = {}
        if kinds & HEIGHT:
            beyond[HEIGHT] = float(place[2] - self._home[2]) - settings.fence_height
        if kinds & CIRCLE:
            beyond[CIRCLE] = math.dist(place[:2], self._home[:2]) - settings.fence_radius
        if kinds & AREAS:
            beyond[AREAS] = self._beyond_areas(place[:2], settings)
        return {kind: distance for kind, distance in beyond.items() if distance >= 0.0}

    def _beyond_areas(self, place: FloatArray, settings: Settings) -> float:
        breached = [(area, area.is_breached(place)) for area in self._areas]
        if _is_union(settings) and any(area.inside and not outside for area, outside in breached):
            breached = [(area, outside) for area, outside in breached if not area.inside]
        distances = (float(np.hypot(*area.offsets(place).T).min()) for area, outside in breached if outside)
        return max(distances, default=-math.inf)

    def barriers(self, place: FloatArray, kinds: int, settings: Settings) -> Barriers:
        """Return the limits ahead of a position, except for areas that it breaches.

        Args:
            place: Position (3,), ENU, m.
            kinds: Kinds of limits to respect, as bits.
            settings: Heights and distances of the limits.
        """
        kinds &= self.kinds(settings)
        offsets = [np.zeros((0, 3))]
        if kinds & HEIGHT:
            # Above the limit, the way up is blocked and the way down is free.
            above = max(self._home[2] + settings.fence_height - float(place[2]), 1e-9)
            offsets.append(np.array([[0.0, 0.0, above]]))
        areas = [_Area(True, settings.fence_radius, np.array([self._home[:2]]))] if kinds & CIRCLE else []
        if kinds & AREAS:
            # Where inclusion areas form a union, an edge of one of several may lead into another.
            leads_on = _is_union(settings) and sum(area.inside for area in self._areas) > 1
            areas += [area for area in self._areas if not (leads_on and area.inside)]
        for area in areas:
            if not area.is_breached(place[:2]):
                flat = area.offsets(place[:2])
                offsets.append(np.column_stack([flat, np.zeros(len(flat))]))
        every = np.concatenate(offsets)
        distances = np.linalg.norm(every, axis=1)
        return Barriers(every / np.maximum(distances, 1e-9)[:, None], distances)

    @property
    def _home(self) -> tuple[float, float, float]:
        return self._places.home or (0.0, 0.0, 0.0)


def _is_union(settings: Settings) -> bool:
    return bool(int(settings.fence_options) & UNION)


def braked(
    velocity: Sequence[float], barriers: Barriers, margin: float, acceleration: float
) -> tuple[float, float, float]:
    """Reduce a velocity so that the vehicle can stop before barriers, and slides along them.

    As in ArduPilot's AC_Avoid::limit_velocity_2D: the component towards the closest point of an edge is limited to the
    speed from which the vehicle stops at the margin. It stops with half of the acceleration; the other half is left for
    sliding.

    Args:
        velocity: Velocity (3,), ENU, m/s.
        barriers: The barriers.
        margin: Distance from barriers at which to stop, m.
        acceleration: Maximum acceleration, m/s².

    Returns:
        The velocity (3,), ENU, m/s.
    """
    found = np.array(velocity, dtype=np.float64)
    most = np.sqrt(acceleration * np.maximum(barriers.distances - margin, 0.0))
    for _ in range(_MAX_TURNS if len(most) else 0):
        over = barriers.directions @ found - most
        worst = int(np.argmax(over))
        if over[worst] <= 1e-9:
            break
        found -= over[worst] * barriers.directions[worst]
    x, y, z = found.tolist()
    return x, y, z


def fence_fault(items: Sequence[Item]) -> str:
    """Return why the items of a whole geofence are invalid; empty if they are valid."""
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


_FENCE_COMMANDS = (_RETURN_POINT, _POLYGON_IN, _POLYGON_OUT, _CIRCLE_IN, _CIRCLE_OUT)


def item_fault(entry: Item, kind: int) -> str:
    """Return why an item of a geofence or of rally points is invalid; empty if it is valid."""
    commands = (_RALLY_POINT,) if kind == RALLY else _FENCE_COMMANDS
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
    """Return the rally points in the local frame (ENU), m."""
    found = []
    for entry in items:
        place = places.local(entry["frame"], entry["x"] * 1e-7, entry["y"] * 1e-7, entry["z"])
        if place is not None:
            found.append((float(place[0]), float(place[1]), float(place[2])))
    return found


def _areas(items: Sequence[Item], places: GeoReference) -> Iterator[_Area]:
    vertices: list[FloatArray] = []
    for entry in items:
        if entry["command"] == _RETURN_POINT:
            continue
        place = places.local(RELATIVE[0], entry["x"] * 1e-7, entry["y"] * 1e-7, 0.0)
        assert place is not None
        inside = entry["command"] in (_POLYGON_IN, _CIRCLE_IN)
        vertices.append(place[:2])
        circle = entry["command"] in (_CIRCLE_IN, _CIRCLE_OUT)
        if circle or len(vertices) == _count(entry["param1"]):
            yield _Area(inside, entry["param1"] if circle else 0.0, np.array(vertices))
            vertices = []


def _count(number: float) -> int:
    return int(number) if math.isfinite(number) else 0
