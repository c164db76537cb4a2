"""Scene graphs as JSON, in the spelling of AeroSim's documentation or of its program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sim_node.extensions.aerosim.graph import (
    EFFECTORS,
    PROPERTIES,
    SENSOR,
    STATE,
    Effector,
    Json,
    SceneEntity,
    SceneGraph,
    SensorComponent,
    Transform3D,
    WorldCoordinate,
)
from sim_node.extensions.aerosim.json_text import json_text
from sim_node.extensions.aerosim.reading import CAMERA, COORDINATES, ID_KEYS, UPSTREAM_SENSORS, XYZ
from sim_node.extensions.aerosim.sensor_types import CAPTURE
from sim_node.spatial.geometry.arrays import FloatArray

# Spellings: that of AeroSim's documentation, and that of its program.
DIALECTS = ("seed", "upstream")
# Component groups that AeroSim's program always writes.
_UPSTREAM_GROUPS = ("primary_flight_display_state", "trajectory")
# Data that AeroSim's renderers require of every scene, and of every sensor whatever its type.
_RESOURCES: Mapping[str, Json] = {
    "origin": {"latitude": 0.0, "longitude": 0.0, "altitude": 0.0},
    "weather": {"preset": "Cloudy"},
}
_CAMERA: Mapping[str, Json] = {
    **{"resolution": [640, 480], "tick_rate": 0.1, "fov": 90.0, "near_clip": 0.1, "far_clip": 1000.0},
    CAPTURE: False,
}
# The renderer that gets the first camera if a scene does not define renderers.
_RENDERER = "0"


def to_json(graph: SceneGraph, dialect: str = "seed", *, compact: bool = False) -> str:
    """Return a scene graph as JSON. The same graph gives the same bytes everywhere.

    Args:
        graph: The scene graph.
        dialect: One of DIALECTS: "seed" as AeroSim documents it, "upstream" as AeroSim's program writes it.
        compact: Whether to write one line, for topics.

    Returns:
        The text.

    Raises:
        ValueError: The dialect is unknown, or a number is not finite.
    """
    return json_text(graph_data(graph, dialect), compact=compact)


def graph_data(graph: SceneGraph, dialect: str = "seed") -> dict[str, Json]:
    """Return a scene graph as plain JSON data."""
    if dialect not in DIALECTS:
        raise ValueError(f"no dialect {dialect!r}; allowed: {', '.join(DIALECTS)}")
    return {
        "entities": {entity.id: list(entity.groups) for entity in graph.entities},
        "components": components_data(graph.entities, graph.groups, dialect),
        "resources": _resources(graph) if dialect == "upstream" else dict(graph.resources),
        **graph.extra,
    }


def _resources(graph: SceneGraph) -> dict[str, Json]:
    """Return the resources, with those that AeroSim's renderers need, and a viewport of the first camera."""
    cameras = (each.id for each in graph.entities if each.sensor is not None and each.sensor.kind == "rgb_camera")
    viewport = {"renderer_instance": _RENDERER, "active_camera": next(cameras, "")}
    return {**_RESOURCES, "viewport_configs": [viewport], **graph.resources}


def components_data(entities: Sequence[SceneEntity], groups: Sequence[str], dialect: str) -> dict[str, Json]:
    """Return the components of entities by group and id."""
    upstream = dialect == "upstream"
    data: dict[str, dict[str, Json]] = {PROPERTIES: {}, STATE: {}, EFFECTORS: {}, SENSOR: {}}
    for name in (*groups, *(_UPSTREAM_GROUPS if upstream else ())):
        data[name] = {}
    for entity in entities:
        data[PROPERTIES][entity.id] = _properties(entity)
        if entity.transform is not None:
            data[STATE][entity.id] = state_data(entity)
        if entity.effectors is not None:
            data[EFFECTORS][entity.id] = [effector_data(each, dialect) for each in entity.effectors]
        if entity.sensor is not None:
            data[SENSOR][entity.id] = _sensor(entity.sensor, upstream=upstream)
        for name, component in entity.components.items():
            data.setdefault(name, {})[entity.id] = component
    return data


def _properties(entity: SceneEntity) -> dict[str, Json]:
    named = {"actor_name": entity.name, "actor_asset": entity.asset, "parent": entity.parent}
    return {**named, **entity.extra.get(PROPERTIES, {})}


def state_data(entity: SceneEntity) -> dict[str, Json]:
    """Return the component actor_state of an entity that has a transform."""
    assert entity.transform is not None
    data: dict[str, Any] = {"pose": _pose(entity.transform)}
    if entity.world_coordinate is not None:
        data["world_coordinate"] = _coordinate(entity.world_coordinate)
    return {**data, **entity.extra.get(STATE, {})}


def effector_data(effector: Effector, dialect: str = "seed") -> dict[str, Json]:
    """Return an effector."""
    id, path = ID_KEYS if dialect == "upstream" else ID_KEYS.values()
    return {id: effector.id, path: effector.path, "pose": _pose(effector.transform), **effector.extra}


def _pose(transform: Transform3D) -> dict[str, Json]:
    x, y, z, w = transform.pose[3:].tolist()
    data = {
        "position": _named(XYZ, transform.pose[:3]),
        "orientation": {"x": x, "y": y, "z": z, "w": w},
        "scale": _named(XYZ, transform.scale),
    }
    return {"transform": {**data, **transform.extra}, **transform.beside}


def _coordinate(coordinate: WorldCoordinate) -> dict[str, Json]:
    data: dict[str, Json] = {
        key: _named(names, value)
        for key, names in COORDINATES.items()
        if (value := getattr(coordinate, key)) is not None
    }
    if coordinate.ellipsoid is not None:
        data["ellipsoid"] = coordinate.ellipsoid._asdict()
    return {**data, **coordinate.extra}


def _sensor(sensor: SensorComponent, *, upstream: bool) -> dict[str, Json]:
    kind, parameters = sensor.type, dict(sensor.parameters)
    if upstream and sensor.kind in UPSTREAM_SENSORS:
        kind, wrapper = UPSTREAM_SENSORS[sensor.kind]
        resolution = parameters.get("resolution")
        if isinstance(resolution, Mapping):
            parameters["resolution"] = [resolution.get("x"), resolution.get("y")]
        if wrapper == CAMERA:
            parameters = {**_CAMERA, CAPTURE: True, **parameters}
        parameters = {wrapper: parameters}
    if upstream:
        parameters.setdefault(CAMERA, dict(_CAMERA))
    named = {"sensor_name": sensor.name, "sensor_type": kind, "sensor_parameters": parameters}
    return {**named, **sensor.extra}


def _named(names: tuple[str, ...], values: FloatArray) -> dict[str, float]:
    return dict(zip(names, values.tolist(), strict=True))
