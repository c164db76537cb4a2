"""Scene graphs from AeroSim's simulation configurations, and from scenarios of aerosim-scenarios."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sim_node.extensions.aerosim.graph import (
    PROPERTIES,
    Effector,
    Json,
    SceneEntity,
    SceneGraph,
    SensorComponent,
    Transform3D,
)
from sim_node.extensions.aerosim.json_text import compose_json, keys_of
from sim_node.extensions.aerosim.reading import opened, places_in, scale_of, text_of
from sim_node.spatial.frames import Frame, Position
from sim_node.spatial.geometry import poses, quaternions
from sim_node.spatial.geometry.arrays import FloatArray, IntArray
from sim_node.text import did_you_mean
from sim_node.world.bounds import MAX_DISTANCE
from sim_node.world.locate import LocateError
from sim_node.world.model import ORIGIN_RANGES
from sim_node.world.problems import WorldError, quoted
from sim_node.world.readers.files import Roots, read_text
from sim_node.world.readers.report import Report
from sim_node.world.readers.yaml_nodes import Mapping as MappingNode
from sim_node.world.readers.yaml_nodes import Node, plain_of
from sim_node.world.readers.yaml_values import Table, Value

# Interpreted keys of an actor. Its key `state` names the topic of its pose, which belongs to AeroSim's middleware.
ACTOR_KEYS = ("actor_name", "actor_asset", "parent", "transform", "effectors")
SENSOR_KEYS = ("sensor_name", "type", "parent", "transform", "parameters")
_INTERVAL = "update_interval_ms"  # of AeroSim's own messages
EFFECTOR_KEYS = ("id", "relative_path", "transform")


def read_sim_config(root: Node, report: Report) -> SceneGraph | None:
    """Return the scene of a configuration. If it is invalid, report the problems and return None.

    Actors have their position in transform.position, sensors and effectors in transform.translation; either key is
    accepted in all of them. Rotations are roll, pitch and yaw in degrees: intrinsic rotations about z, y and x. Parents
    are given by actor_name. The orchestrator, and the clock without FMUs, are not part of a scene and cause a warning.
    """
    whole = Value(root, report)
    errors = len(report.errors)
    table, others = opened(whole, ("world", "renderers"), required=("world",))
    runs = "fmu_models" in others
    for key in others:
        if key not in ("description", *(("fmu_models", "clock", "orchestrator") if runs else ())):
            report.warning("is not part of a scene, and has no effect here", (root.line, root.column), key)
    world, renderers = table.get("world"), table.get("renderers")
    if world is None:
        return None
    inside, extra = opened(world, ("origin", "actors", "sensors"), required=("actors",))
    actors, sensors, origin = (inside.get(key) for key in ("actors", "sensors", "origin"))
    resources: dict[str, Json] = {} if origin is None else {"origin": _origin(origin)}
    resources |= {key: value for key, value in extra.items() if key != _INTERVAL}
    assert isinstance(world.node, MappingNode)
    if _INTERVAL in extra:
        world.node.entries[_INTERVAL][1].read = False
    found: list[tuple[SceneEntity, Value | None]] = []
    for value in () if actors is None else actors.items():
        found.append(_actor(value, f"entity_{len(found)}"))
    for value in () if sensors is None else sensors.items():
        found.append(_sensor(value, f"entity_{len(found)}"))
    entities = _with_parents(found)
    if renderers is not None:
        ids = {entity.frame: entity.id for entity in entities}
        resources["viewport_configs"] = [_viewport(each, ids) for each in renderers.items()]
    return SceneGraph(entities, resources) if len(report.errors) == errors else None


def _origin(value: Value) -> dict[str, Json]:
    table, extra = opened(value, tuple(ORIGIN_RANGES), required=tuple(ORIGIN_RANGES), kept=False)
    data = {key: each.number(*ORIGIN_RANGES[key]) for key in ORIGIN_RANGES if (each := table.get(key)) is not None}
    return {**data, **extra}


def _actor(value: Value, id: str) -> tuple[SceneEntity, Value | None]:
    table, extra = opened(value, ACTOR_KEYS, required=("actor_name", "transform"))
    effectors = table.get("effectors")
    listed = None if effectors is None else tuple(_effector(each) for each in effectors.items())
    name, asset = text_of(table, "actor_name"), text_of(table, "actor_asset")
    return _entity(id, name, asset, table, effectors=listed, extra={PROPERTIES: extra} if extra else {})


def _sensor(value: Value, id: str) -> tuple[SceneEntity, Value | None]:
    table, extra = opened(value, SENSOR_KEYS, required=("sensor_name", "type", "transform"))
    kind, parameters = table.get("type"), table.get("parameters")
    places = {} if kind is None else {"type": kind.place}
    given = {} if parameters is None else keys_of(parameters)
    places |= {} if parameters is None else places_in(parameters)
    name, asset = text_of(table, "sensor_name"), text_of(table, "type")
    return _entity(id, name, asset, table, sensor=SensorComponent(name, asset, given, extra, places))


def _entity(id: str, name: str, asset: str, table: Table, **own: Any) -> tuple[SceneEntity, Value | None]:
    """Return an entity with the data that actors and sensors share, and the value that names its parent."""
    named, parent = table.get("actor_name") or table.get("sensor_name") or table.value, table.get("parent")
    above = (parent or table.value).place
    transform = transform_of(table.get("transform"))
    return SceneEntity(
        id, name, asset, text_of(table, "parent"), transform, place=named.place, parent_place=above, **own
    ), parent


def _effector(value: Value) -> Effector:
    table, extra = opened(value, EFFECTOR_KEYS, required=("id", "transform"))
    transform, place = transform_of(table.get("transform")), (table.get("id") or value).place
    return Effector(text_of(table, "id"), text_of(table, "relative_path"), transform, extra, place)


def transform_of(value: Value | None) -> Transform3D:
    """Return a transform from a position in m and a rotation in degrees; by default the identity."""
    if value is None:
        return Transform3D()
    keys = ("position", "translation", "rotation", "scale")
    table, extra = opened(value, keys, kept=False)
    position, translation, rotation, scale = map(table.get, keys)
    if position is not None and translation is not None:
        translation.error("cannot be combined with position; give one of them")
    pose = np.array(poses.IDENTITY)
    place = position or translation
    if place is not None and (found := place.vector(3, MAX_DISTANCE)) is not None:
        pose[:3] = found
    if rotation is not None and (degrees := rotation.vector(3)) is not None:
        pose[3:] = _attitude(np.radians(degrees))
    return Transform3D(pose, scale_of(scale, lambda value: value.vector(3)), extra)


def _attitude(rpy: FloatArray) -> FloatArray:
    """Return the quaternion of roll, pitch and yaw, rad: the aeronautical sequence z, y', x''."""
    parts = [quaternions.from_axis_angle(axis, angle) for axis, angle in zip(np.eye(3), rpy, strict=True)]
    return quaternions.multiply(quaternions.multiply(parts[2], parts[1]), parts[0])


def _with_parents(found: list[tuple[SceneEntity, Value | None]]) -> tuple[SceneEntity, ...]:
    """Return the entities with the ids of their parents, which are given by name."""
    ids: dict[str, str] = {}
    for entity, _ in found:
        ids.setdefault(entity.frame, entity.id)
    entities = []
    for entity, value in found:
        parent = ids.get(entity.parent, "")
        if entity.parent and not parent and value is not None:
            value.error(f"no actor {quoted(entity.parent)}{did_you_mean(entity.parent, ids)}")
        entities.append(replace(entity, parent=parent))
    return tuple(entities)


def _viewport(value: Value, ids: Mapping[str, str]) -> dict[str, Any]:
    """Return a renderer in the form of AeroSim's scene graph, with its active camera by entity id."""
    number, config = value.get("renderer_id"), value.get("viewport_config")
    camera = None if config is None else config.get("active_camera")
    data = ["" if each is None else plain_of(each.node) for each in (number, camera)]
    return {"renderer_instance": data[0], "active_camera": ids.get(str(data[1]), "")}


PLACE = dict(zip(("latitude", "longitude", "height"), ORIGIN_RANGES.values(), strict=True))
# Camera parameters in AeroSim's sensor files, and their names in scene graphs. frame_rate is in Hz.
_CALLED = {"field_of_view": "fov", "frame_rate": "tick_rate"}
# Keys that are only names, in the file and in its entries.
_NAMES = ("scenario_id", "description", "actor_type", "trajectory_id")


class Trajectory(NamedTuple):
    """The trajectory of an actor: times (K,), ns, and positions (K, 3) in ENU from the scenario's origin, m."""

    times_ns: IntArray
    positions: FloatArray


class ScenarioScene(NamedTuple):
    """A scenario: the scene at its start, and the trajectories of actors by name."""

    graph: SceneGraph
    trajectories: dict[str, Trajectory]


def read_scenario(root: Node, path: Path, roots: Roots, report: Report) -> ScenarioScene | None:
    """Return the scene of a scenario. On errors, return None; they are in `report`.

    Its origin is that of the scenario, or else the position of its first actor. Scenarios have no attitudes: actors
    face north. Missing files that a scenario names cause a warning.
    """
    errors = len(report.errors)
    keys = (*PLACE, "actors", "trajectories", "sensor_setup")
    table = _opened(Value(root, report), keys, "actors")
    listed = {key: [] if (each := table.get(key)) is None else list(each.items()) for key in keys[3:]}
    actors = [_opened(each, ("actor_id", *PLACE, "config_file"), "actor_id") for each in listed["actors"]]
    if not actors or len(report.errors) > errors:
        return None
    origin = _place(table) if "latitude" in table else _place(actors[0])
    ids = {text_of(actor, "actor_id"): f"entity_{k}" for k, actor in enumerate(actors)}
    entities = []
    for name, actor in zip(ids, actors, strict=False):
        config = _file(actor, path, roots, report)
        pose = np.array([*_local(_place(actor)[None], origin, Frame.NED)[0], 0.0, 0.0, 0.0, 1.0])
        asset = str(config.get("usd", "")) if isinstance(config, dict) else ""
        place = actor.value.place
        entities.append(SceneEntity(ids[name], name, asset, transform=Transform3D(pose), place=place))
    trajectories = {}
    for value in listed["trajectories"]:
        named = _opened(value, ("object_id", "config_file"), "object_id")
        if _known(named, "object_id", ids) and (rows := _file(named, path, roots, report)) is not None:
            trajectories[text_of(named, "object_id")] = _trajectory(rows, named, origin)
    for k, value in enumerate(listed["sensor_setup"], start=len(entities)):
        sensor = _opened(value, ("sensor_name", "vehicle", "relative_transform", "config_file"), "sensor_name")
        if _known(sensor, "vehicle", ids):
            entities.append(_mounted_sensor(sensor, f"entity_{k}", ids, _file(sensor, path, roots, report)))
    resources = {"origin": dict(zip(ORIGIN_RANGES, origin.tolist(), strict=True))}
    graph = SceneGraph(tuple(entities), resources)
    return ScenarioScene(graph, trajectories) if len(report.errors) == errors else None


def _opened(value: Value, keys: tuple[str, ...], required: str) -> Table:
    """Return a mapping with a required key. Unknown keys are reported as unread. AeroSim writes null for no value."""
    if isinstance(value.node, MappingNode):
        for name in [name for name, (_, node) in value.node.entries.items() if plain_of(node) is None]:
            del value.node.entries[name]
    table = opened(value, (*keys, *_NAMES), required=(required,), kept=False)[0]
    for name in _NAMES:
        table.get(name)
    return table


def _known(table: Table, key: str, ids: dict[str, str]) -> bool:
    """Return whether an entry names a known actor; otherwise report it."""
    name = text_of(table, key)
    if name not in ids:
        (table.get(key) or table.value).error(f"no actor {quoted(name)}{did_you_mean(name, ids)}")
    return name in ids


def _place(table: Table) -> FloatArray:
    """Return latitude, longitude and height."""
    found = []
    for key, limits in PLACE.items():
        if (each := table.get(key)) is None:
            table.value.error(f"{key} is missing")
        found.append(0.0 if each is None else each.number(*limits))
    return np.array(found)


def _local(places: FloatArray, origin: FloatArray, frame: Frame) -> FloatArray:
    """Convert geodetic positions (K, 3) to a local frame at an origin, m."""
    about = (float(origin[0]), float(origin[1]), float(origin[2]))
    return Position(places, Frame.LLA).to(frame, about).in_frame(frame)


def _file(table: Table, path: Path, roots: Roots, report: Report) -> Json:
    """Return the data in the file that an entry names. If it cannot be read, warn and return None."""
    if (named := table.get("config_file")) is None:
        return None
    try:
        found = roots.resolve(named.text(), path)
        inner = Report(str(found))
        text = read_text(found, inner)
        data = None if text is None else keys_of(Value(compose_json(text, inner), inner))
    except (LocateError, WorldError) as error:
        named.warning(f"cannot be read, and is left out: {error}")
        return None
    if inner.errors:
        named.warning(f"cannot be read, and is left out: {inner.errors[0]}")
        return None
    report.read.append(found)
    return data


def _trajectory(data: Json, named: Table, origin: FloatArray) -> Trajectory:
    """Return a trajectory. If its points are not positions at increasing times, report it and return an empty one."""
    try:
        points = [[float(each[key]) for key in ("timestamp", *PLACE)] for each in data["trajectory"]]
        rows = np.array(points).reshape(-1, 4)
        times_ns = np.round(rows[:, 0] * 1e9).astype(np.int64)
        if len(rows) and np.isfinite(rows).all() and (np.diff(times_ns) > 0).all():
            return Trajectory(times_ns, _local(rows[:, 1:], origin, Frame.ENU))
    except (KeyError, TypeError, ValueError):
        pass
    wanted = f"points with {', '.join(('timestamp', *PLACE))}, at growing times, are needed"
    (named.get("config_file") or named.value).error(f"trajectory: {wanted}")
    return Trajectory(np.zeros(1, dtype=np.int64), np.zeros((1, 3)))


def _mounted_sensor(table: Table, id: str, ids: dict[str, str], config: Json) -> SceneEntity:
    """Return a sensor on its vehicle, with the type from its file."""
    given: dict[str, Json] = config.get("sensor", {}) if isinstance(config, dict) else {}
    called = {"rgbcamera": "rgb_camera"}.get(str(given.get("type", "")).lower(), str(given.get("type", "")).lower())
    groups = (value for key, value in given.items() if key.endswith("Parameters") and isinstance(value, dict))
    own: dict[str, Json] = next(groups, {})
    parameters = {_CALLED.get(key, key): value for key, value in own.items()}
    rate = own.get("frame_rate")
    if isinstance(rate, (int, float)) and rate:
        parameters["tick_rate"] = 1.0 / rate
    name, place = text_of(table, "sensor_name"), table.value.place
    return SceneEntity(
        id,
        name,
        parent=ids[text_of(table, "vehicle")],
        transform=transform_of(table.get("relative_transform")),
        sensor=SensorComponent(name, called, parameters) if called else None,
        place=place,
        parent_place=(table.get("vehicle") or table.value).place,
    )
