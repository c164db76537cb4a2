"""World coordinates of entities: computed from their positions, and checked if a file has them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

import numpy as np

from sim_node.extensions.aerosim.graph import Ellipsoid, SceneEntity, SceneGraph, WorldCoordinate
from sim_node.spatial.frames import Frame, Position
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.model import ORIGIN_RANGES, Origin
from sim_node.world.problems import Place, Problem, shown_key

WGS84 = Ellipsoid()
# Tolerance between two forms of the same position, m. Files round degrees to about a centimetre.
TOLERANCE = 0.01
# Relative difference of radii that counts as rounding.
_ROUNDING = 1e-9


def world_coordinates(positions: Position) -> list[WorldCoordinate]:
    """Return the complete world coordinates of positions.

    Args:
        positions: Tagged positions (N, 3), with their origin unless they are global.

    Returns:
        One for each, on WGS84.

    Raises:
        OriginRequired: The positions have no origin.
    """
    origin = positions.origin
    assert origin is not None, "positions on Earth need their origin"
    ned = positions.to(Frame.NED, origin).in_frame(Frame.NED)
    lla = positions.to(Frame.LLA, origin).in_frame(Frame.LLA)
    ecef = positions.to(Frame.ECEF, origin).in_frame(Frame.ECEF)
    cartesian = ecef - _ecef_of(origin)
    about = np.array(origin)
    return [WorldCoordinate(*rows, about, WGS84) for rows in zip(ned, lla, ecef, cartesian, strict=True)]


@lru_cache(maxsize=8)
def _ecef_of(origin: tuple[float, float, float]) -> FloatArray:
    return Position(origin, Frame.LLA).to(Frame.ECEF).in_frame(Frame.ECEF)


def origin_of(graph: SceneGraph) -> Origin | None:
    """Return the origin of a scene: its resource `origin`, or else the origin_lla that its entities share.

    An origin_lla of 0, 0, 0 is ignored, because AeroSim leaves it at that value whatever the origin is.
    """
    given = graph.resources.get("origin")
    if isinstance(given, dict) and all(isinstance(given.get(key), (int, float)) for key in ORIGIN_RANGES):
        return Origin(*(float(given[key]) for key in ORIGIN_RANGES))
    found = {
        tuple(each.world_coordinate.origin_lla.tolist())
        for each in graph.entities
        if each.world_coordinate is not None and each.world_coordinate.origin_lla is not None
    } - {(0.0, 0.0, 0.0)}
    return Origin(*found.pop()) if len(found) == 1 else None


def consistent(graph: SceneGraph) -> tuple[SceneGraph, list[Problem]]:
    """Complete the world coordinates of a scene, and recompute those that contradict each other.

    The geodetic position has the highest priority, then ECEF, `ned` and `cartesian`, relative to the scene's origin.
    Entities without world coordinates get none.

    Args:
        graph: The scene.

    Returns:
        The scene, and a problem for each replaced value. Without an origin, the scene is returned unchanged.
    """
    origin = origin_of(graph)
    if origin is None:
        return graph, []
    about = (origin.latitude, origin.longitude, origin.altitude)
    entities: list[SceneEntity] = []
    problems: list[Problem] = []
    for entity in graph.entities:
        given = entity.world_coordinate
        position = None if given is None else _position(given, about)
        if given is None or position is None:
            entities.append(entity)
            continue
        [complete] = world_coordinates(position)
        problems += _differences(entity, given, complete)
        entities.append(replace(entity, world_coordinate=_kept(given, complete)))
    return replace(graph, entities=tuple(entities)), problems


def _position(given: WorldCoordinate, about: tuple[float, float, float]) -> Position | None:
    """Return the position (1, 3) with the highest priority, tagged with the origin of the scene."""
    if given.lla is not None:
        ned = Position([given.lla], Frame.LLA).to(Frame.NED, about)
    elif given.ecef is not None:
        ned = Position([given.ecef], Frame.ECEF).to(Frame.NED, about)
    elif given.ned is not None:
        ned = Position([given.ned], Frame.NED, about)
    elif given.cartesian is not None:
        ned = Position([given.cartesian + _ecef_of(about)], Frame.ECEF).to(Frame.NED, about)
    else:
        return None
    return ned


def _kept(given: WorldCoordinate, complete: WorldCoordinate) -> WorldCoordinate:
    """Return the complete coordinates, but keep the given values that agree with them."""
    changes = {
        key: value
        for key in ("ned", "lla", "ecef", "cartesian", "origin_lla")
        if (value := getattr(given, key)) is not None and _distance(key, value, getattr(complete, key)) <= TOLERANCE
    }
    return replace(complete, **changes, extra=given.extra)


def _differences(entity: SceneEntity, given: WorldCoordinate, complete: WorldCoordinate) -> Iterator[Problem]:
    place = given_place(entity)
    for key in ("ned", "ecef", "cartesian", "origin_lla"):
        value = getattr(given, key)
        if value is not None and (apart := _distance(key, value, getattr(complete, key))) > TOLERANCE:
            means = ", ".join(f"{part:.10g}" for part in getattr(complete, key).tolist())
            found = ", ".join(f"{part:.10g}" for part in value.tolist())
            why = f"{apart:.4g} m from where the other coordinates are; recomputed as ({means})"
            yield Problem(place.where, f"{place.key}.{key}", f"({found}) is {why}")
    ellipsoid = given.ellipsoid
    if ellipsoid is not None and not _is_wgs84(ellipsoid):
        yield Problem(place.where, f"{place.key}.ellipsoid", "is not WGS84, the only ellipsoid here; WGS84 is used")


def given_place(entity: SceneEntity) -> Place:
    """Return the location of an entity's world coordinates, for messages."""
    key = f"components.actor_state.{shown_key(entity.id)}.world_coordinate"
    coordinate = entity.world_coordinate
    return Place(entity.place.where if coordinate is None else coordinate.place.where, key)


def _distance(key: str, one: FloatArray, other: FloatArray) -> float:
    """Return the distance between two forms of a position (3,), m."""
    if key in ("lla", "origin_lla"):
        one, other = (Position(each, Frame.LLA).to(Frame.ECEF).in_frame(Frame.ECEF) for each in (one, other))
    return float(np.linalg.norm(one - other))


def _is_wgs84(ellipsoid: Ellipsoid) -> bool:
    return all(abs(one - other) <= _ROUNDING * other for one, other in zip(ellipsoid, WGS84, strict=True))
