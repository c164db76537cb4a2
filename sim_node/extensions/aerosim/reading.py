"""Reading of scene graphs from JSON in both spellings of AeroSim. Unknown parts are kept."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sim_node.extensions.aerosim.graph import (
    EFFECTORS,
    GROUP_ALIASES,
    GROUPS,
    PROPERTIES,
    SENSOR,
    STATE,
    Effector,
    Ellipsoid,
    Json,
    SceneEntity,
    SceneGraph,
    SensorComponent,
    Transform3D,
    WorldCoordinate,
)
from sim_node.extensions.aerosim.json_text import compose_json, keys_of
from sim_node.spatial.geometry import poses
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import did_you_mean
from sim_node.world.bounds import MAX_DISTANCE
from sim_node.world.model import ORIGIN_RANGES
from sim_node.world.problems import Place, WorldError, quoted
from sim_node.world.readers.report import Report
from sim_node.world.readers.yaml_nodes import Mapping as MappingNode
from sim_node.world.readers.yaml_nodes import Node, Sequence, plain_of
from sim_node.world.readers.yaml_poses import ROTATIONS
from sim_node.world.readers.yaml_values import Table, Value

XYZ, NED_KEYS, LLA_KEYS = ("x", "y", "z"), ("north", "east", "down"), tuple(ORIGIN_RANGES)
# The keys of the numbers in each part of a world coordinate.
COORDINATES = {"ned": NED_KEYS, "lla": LLA_KEYS, "ecef": XYZ, "cartesian": XYZ, "origin_lla": LLA_KEYS}
# Keys in the documented spelling, and in that of AeroSim's program.
ID_KEYS = {"effector_id": "id", "relative_path": "usd_relative_path"}
# The class in whose name AeroSim's program wraps the parameters of cameras. Its renderers make a camera of every
# sensor.
CAMERA = "RGBCamera"
UPSTREAM_SENSORS = {
    "depth_sensor": ("sensors/depth_sensor", "DepthSensor"),
    "rgb_camera": ("sensors/cameras/rgb_camera", CAMERA),
}


def scene_graph(text: str, file: str = "<text>") -> SceneGraph:
    """Read a scene graph.

    Args:
        text: JSON.
        file: Its name in messages.

    Returns:
        The scene graph as in the text. World coordinates are not checked; see `coordinates.consistent`.

    Raises:
        WorldError: Lists every problem with line and column.
    """
    report = Report(file)
    graph = read_graph(compose_json(text, report), report)
    if graph is None or report.errors:
        raise WorldError(report.errors)
    return graph


def load_scene_graph(path: str | Path) -> SceneGraph:
    """Read the scene graph in a file.

    Args:
        path: The file.

    Returns:
        The scene graph, like `scene_graph`.

    Raises:
        WorldError: Lists every problem with file, line and column.
        OSError: The file cannot be read.
    """
    return scene_graph(Path(path).read_text(encoding="utf-8-sig"), str(path))


def read_graph(root: Node, report: Report, known: Collection[str] = ()) -> SceneGraph | None:
    """Return the scene graph of a node. If it is invalid, report the problems and return None.

    For a part of a scene, `known` has the ids of other entities that may be parents.
    """
    whole = Value(root, report)
    errors = len(report.errors)
    keys = ("entities", "components", "resources")
    table, extra = opened(whole, keys, required=("entities", "components"), kept=False)
    listed, components, resources = (table.get(key) for key in ("entities", "components", "resources"))
    if listed is None or components is None or len(report.errors) > errors:
        return None
    groups = _groups(components)
    ids = _listed(listed, groups)
    entities = tuple(
        _entity(id, at, {name: by_id[id] for name, by_id in groups.items() if id in by_id}) for id, at in ids.items()
    )
    for name, by_id in groups.items():
        for id, value in by_id.items():
            if id not in ids:
                value.error(f"{name}: {quoted(id)} is not among the entities{did_you_mean(id, ids)}")
    _check_parents(entities, report, known)
    return SceneGraph(
        entities=entities,
        resources={} if resources is None else _resources(resources),
        groups=tuple(name for name in groups if name not in GROUPS),
        extra=extra,
    )


def opened(
    value: Value,
    known: Collection[str],
    required: Collection[str] = (),
    aliases: Mapping[str, str] | None = None,
    *,
    kept: bool = True,
) -> tuple[Table, Mapping[str, Json]]:
    """Return a mapping as a table that allows further keys, and these keys as plain data.

    `kept` tells whether a world keeps the further keys; otherwise they are not marked as read.
    """
    aliases = aliases or {}
    others = [name for name in _entries(value) if name not in known and name not in aliases]
    table = value.table((*known, *others), required=required, aliases=aliases)
    data = {name: plain_of(_entries(value)[name][1]) for name in others}
    for name in () if kept else others:
        _entries(value)[name][1].read = False
    return table, data


def _resources(value: Value) -> dict[str, Json]:
    """Read the resources. Further keys of the origin are not kept, because a world has its own origin."""
    data = keys_of(value)
    origin = _entries(value).get("origin")
    if origin is not None and isinstance(origin[1], MappingNode):
        for key, (_, node) in origin[1].entries.items():
            node.read = key in ORIGIN_RANGES
    return data


def places_in(value: Value, above: str = "") -> dict[str, Place]:
    """Return the locations of the values in a mapping and its nested mappings, by dotted keys."""
    found: dict[str, Place] = {}
    for key, (_, node) in _entries(value).items():
        inner = Value(node, value.report, key, value)
        found[above + key] = inner.place
        found |= places_in(inner, f"{above}{key}.")
    return found


def _entries(value: Value) -> Mapping[str, Any]:
    return value.node.entries if isinstance(value.node, MappingNode) else {}


def _groups(components: Value) -> dict[str, dict[str, Value]]:
    """Return the components of every group by the id of their entity."""
    table = components.table(
        [*GROUPS, *(key for key in _entries(components) if key not in GROUP_ALIASES)], (), GROUP_ALIASES
    )
    found: dict[str, dict[str, Value]] = {}
    for spelled in _entries(components):
        name = GROUP_ALIASES.get(spelled, spelled)
        group = table.get(name)
        assert group is not None
        if not isinstance(group.node, MappingNode):
            group.error(f"a mapping of entities to components is needed, found {group.found()}")
            continue
        found[name] = {id: Value(node, group.report, id, group) for id, (_, node) in group.node.entries.items()}
    return found


def _listed(value: Value, components: Mapping[str, Mapping[str, Value]]) -> dict[str, Place]:
    """Return the entities and where they are listed. The components that they list are implied by `components`."""
    found = {}
    if not isinstance(value.node, MappingNode):
        value.error(f"a mapping of entities to lists of their component groups is needed, found {value.found()}")
    for id, (key, node) in _entries(value).items():
        groups = Value(node, value.report, id, value)
        for each in groups.items():
            name = each.text()
            each.node.read = id in components.get(GROUP_ALIASES.get(name, name), {})
        found[id] = Value(key, value.report, id, value).place
    return found


def _entity(id: str, listed: Place, values: Mapping[str, Value]) -> SceneEntity:
    fields: dict[str, Any] = {"id": id, "place": listed, "parent_place": listed}
    extra: dict[str, Mapping[str, Json]] = {}
    if (value := values.get(PROPERTIES)) is not None:
        table, more = opened(value, ("actor_name", "actor_asset", "parent"))
        extra[PROPERTIES] = more
        for key, field in (("actor_name", "name"), ("actor_asset", "asset"), ("parent", "parent")):
            text = table.get(key)
            if text is not None:
                fields[field] = text.text()
                if field != "asset":
                    fields["place" if field == "name" else "parent_place"] = text.place
    if (value := values.get(STATE)) is not None:
        fields["transform"], fields["world_coordinate"], more = _state(value)
        extra[STATE] = more
    if (value := values.get(EFFECTORS)) is not None:
        fields["effectors"] = tuple(_effector(each) for each in value.items())
    if (value := values.get(SENSOR)) is not None:
        fields["sensor"] = _sensor(value)
    others = {name: plain_of(each.node) for name, each in values.items() if name not in GROUPS}
    return SceneEntity(**fields, components=others, extra={name: more for name, more in extra.items() if more})


def _state(value: Value) -> tuple[Transform3D, WorldCoordinate | None, Mapping[str, Json]]:
    table, extra = opened(value, ("pose", "world_coordinate"), required=("pose",))
    pose, coordinate = table.get("pose"), table.get("world_coordinate")
    transform = Transform3D()
    if pose is not None:
        # AeroSim's documentation has world_coordinate in the pose, its examples beside the pose.
        inside, more = opened(pose, ("transform", "world_coordinate"), required=("transform",), kept=False)
        coordinate = coordinate or inside.get("world_coordinate")
        transform = _transform(inside.get("transform"), more)
    return transform, None if coordinate is None else _coordinate(coordinate), extra


def _transform(value: Value | None, beside: Mapping[str, Json]) -> Transform3D:
    if value is None:
        return Transform3D()
    keys = ("position", "orientation", "scale")
    table, more = opened(value, keys, required=keys[:2], kept=False)
    position, orientation, scale = (table.get(key) for key in keys)
    pose = np.array(poses.IDENTITY)
    if position is not None and (xyz := _vector(position, XYZ, MAX_DISTANCE)) is not None:
        pose[:3] = xyz
    if orientation is not None:
        quaternion = ROTATIONS["quaternion"](_as_list(orientation, ("x", "y", "z", "w")))
        pose[3:] = pose[3:] if quaternion is None else quaternion
    return Transform3D(pose, scale_of(scale, lambda value: _vector(value, XYZ)), more, beside)


def scale_of(value: Value | None, read: Callable[[Value], Any]) -> FloatArray:
    """Return the scale factors (3,) of a value; ones if there is no value or it is invalid (reported)."""
    factors = None if value is None else read(value)
    if value is None or factors is None:
        return np.ones(3)
    if min(factors) <= 0.0:
        value.error(f"found {min(factors):g}; a scale must be above zero")
        return np.ones(3)
    return np.array(factors)


def _coordinate(value: Value) -> WorldCoordinate:
    table, extra = opened(value, (*COORDINATES, "ellipsoid"), kept=False)
    fields: dict[str, Any] = {"extra": extra, "place": value.place}
    for key, names in COORDINATES.items():
        if (part := table.get(key)) is not None:
            fields[key] = _vector(part, names, ranges=ORIGIN_RANGES if names is LLA_KEYS else None)
    ellipsoid = table.get("ellipsoid")
    if ellipsoid is not None and (found := _vector(ellipsoid, Ellipsoid._fields)) is not None:
        fields["ellipsoid"] = Ellipsoid(*found.tolist())
    return WorldCoordinate(**fields)


def _effector(value: Value) -> Effector:
    table, extra = opened(value, ("id", "usd_relative_path", "pose"), required=("id", "pose"), aliases=ID_KEYS)
    id, pose = table.get("id"), table.get("pose")
    transform = Transform3D()
    if pose is not None:
        inside, more = opened(pose, ("transform",), required=("transform",), kept=False)
        transform = _transform(inside.get("transform"), more)
    name = text_of(table, "id")
    if id is not None and not name:
        id.error("is empty; an effector needs an id")
    return Effector(name, text_of(table, "usd_relative_path"), transform, extra, (id or value).place)


def _sensor(value: Value) -> SensorComponent:
    keys = ("sensor_name", "sensor_type", "sensor_parameters")
    table, extra = opened(value, keys, required=keys[:2])
    kind, parameters = table.get("sensor_type"), table.get("sensor_parameters")
    places = {} if kind is None else {"type": kind.place}
    given: dict[str, Json] = {}
    if parameters is not None:
        inner = _entries(parameters)
        wrappers = [each for _, each in UPSTREAM_SENSORS.values()]
        wrapper = next((each for each in wrappers if each in inner), "")
        of_camera = wrapper != CAMERA or "camera" in text_of(table, "sensor_type").lower()
        if CAMERA in inner:
            plain_of(inner[CAMERA][1])
        if wrapper and of_camera and inner.keys() <= set(wrappers):
            parameters = Value(inner[wrapper][1], parameters.report, wrapper, parameters)
        given = {key: value for key, value in keys_of(parameters).items() if key != CAMERA}
        places |= places_in(parameters)
    return SensorComponent(text_of(table, "sensor_name"), text_of(table, "sensor_type"), given, extra, places)


def text_of(table: Table, key: str) -> str:
    """Read the string under a key; empty if there is none."""
    found = table.get(key)
    return "" if found is None else found.text()


def _vector(
    value: Value,
    names: tuple[str, ...],
    limit: float = np.inf,
    ranges: Mapping[str, tuple[float, float]] | None = None,
) -> FloatArray | None:
    """Read numbers from a mapping by name, or from a list in order. On errors, report them and return None."""
    errors = len(value.report.errors)
    listed = _as_list(value, names)
    if len(value.report.errors) > errors:
        return None
    if ranges is not None:
        found = [each.number(*ranges[name]) for name, each in zip(names, listed.items(), strict=False)]
        return np.array(found) if len(found) == len(names) and len(value.report.errors) == errors else None
    numbers = listed.vector(len(names), limit)
    return None if numbers is None else np.array(numbers)


def _as_list(value: Value, names: tuple[str, ...]) -> Value:
    """Return a mapping of names to numbers as a list in the order of the names; a list unchanged."""
    if isinstance(value.node, Sequence):
        return value
    table = value.table(names, required=names)
    nodes = [each.node for name in names if (each := table.get(name)) is not None]
    if len(nodes) < len(names):  # already reported
        nodes = []
    return Value(Sequence(nodes, value.node.line, value.node.column), value.report, value.key, value.holder)


def _check_parents(entities: Collection[SceneEntity], report: Report, known: Collection[str]) -> None:
    """Report parents that do not exist, and entities that are their own ancestors."""
    parents = {entity.id: entity.parent for entity in entities}
    for entity in entities:
        if entity.parent in known and entity.parent not in parents:
            continue
        if entity.parent and entity.parent not in parents:
            place, hint = entity.parent_place, did_you_mean(entity.parent, (*parents, *known))
            report.error(f"no entity {quoted(entity.parent)}{hint}", place.where[1:], place.key)
            continue
        above, seen = entity.parent, {entity.id}
        while above and above not in seen:
            seen.add(above)
            above = parents.get(above, "")
        if above == entity.id:
            place = entity.parent_place
            report.error(f"{quoted(entity.id)} is below itself", place.where[1:], place.key)
