"""The world of a scene graph: actors as frames, effectors as moving frames, sensors, and assets as shapes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sim_node import names
from sim_node.extensions.aerosim.coordinates import origin_of
from sim_node.extensions.aerosim.graph import PROPERTIES, STATE, Effector, SceneEntity, SceneGraph, Transform3D
from sim_node.extensions.aerosim.options import EFFECTOR_CONVENTIONS, MOUNTED, ROOTS, Asset, Options
from sim_node.extensions.aerosim.part import Actor, EffectorPart, Resource
from sim_node.extensions.aerosim.sensor_types import Reading, sensor_of
from sim_node.spatial.frames import Frame, Transform
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.bodies import Body
from sim_node.world.model import DEFAULT_FIXED_FRAME, Motion, Sensor, StaticFrame, TimeGrid, World
from sim_node.world.part import Rename, all_parts
from sim_node.world.problems import Place, Problem, quoted
from sim_node.world.shapes import Geometry

OURS, OURS_MOUNTED = (Frame.ENU, Frame.FLU), (Frame.FLU, Frame.FLU)
# The frame with the shape of a sensor or effector, below its own.
ASSET = "asset"
# Largest deviation of the real part of a quaternion from 1 that counts as rounding.
_UNTURNED = 1e-12


class SceneWorld(NamedTuple):
    """The world of a scene graph, with the problems and changes."""

    world: World
    errors: list[Problem]
    warnings: list[Problem]


def world_of(graph: SceneGraph, name: str, options: Options | None = None) -> SceneWorld:
    """Convert a scene graph to a world.

    Every entity is a frame, in the order of the graph, below the frame of its parent or the fixed frame `map`. Poses
    come from the transforms; world coordinates only determine the origin.

    Args:
        graph: The scene graph.
        name: The name of the world.
        options: Conventions and assets.

    Returns:
        The world, and its problems.
    """
    return _Builder(graph, options or Options()).build(name)


class _Builder:
    def __init__(self, graph: SceneGraph, options: Options) -> None:
        self._graph, self._options = graph, options
        self._errors: list[Problem] = []
        self._warnings: list[Problem] = []
        self._parts: dict[str, list[Any]] = {}

    def build(self, name: str) -> SceneWorld:
        graph, options = self._graph, self._options
        if options.scaled_children:
            graph, faults = with_scaled_children(graph)
            self._errors += faults
        poses = entity_poses(graph.entities, options.convention)
        frames = {entity.id: entity.frame for entity in graph.entities}
        for entity, pose in zip(graph.entities, poses, strict=True):
            self._add_entity(entity, frames.get(entity.parent, DEFAULT_FIXED_FRAME), pose)
        for key, value in graph.resources.items():
            if key != "origin" or origin_of(graph) is None:
                self._add("resources", Resource(key, value))
        step_ns = _step_ns(self._parts.get("sensors", ()))
        world = World(name, DEFAULT_FIXED_FRAME, origin_of(graph), TimeGrid(0, step_ns), parts=self._parts)
        return SceneWorld(world, self._errors, self._warnings)

    def _add(self, kind: str, part: Any) -> None:
        self._parts.setdefault(kind, []).append(part)

    def _add_entity(self, entity: SceneEntity, parent: str, pose: FloatArray) -> None:
        name = entity.frame
        own: dict[str, Any] = {"place": entity.place, "parent_place": entity.parent_place}
        scale = _scale(entity.transform.scale) if entity.transform else None
        asset = self._options.assets.get(entity.asset)
        sensor = None if entity.sensor is None else sensor_of(entity.sensor)
        if sensor is not None and sensor.remark:
            self._warnings.append(Problem(entity.place.where, entity.place.key, sensor.remark))
        if entity.sensor is not None and sensor is not None:
            self._report_unknown(entity.sensor.places, sensor, entity.place)
            for key, message in sensor.wrong.items():
                place = entity.sensor.places.get(key, entity.place)
                self._errors.append(Problem(place.where, place.key, message))
        if sensor is not None and sensor.type:
            fields: dict[str, Any] = {
                "type": sensor.type,
                "parameters": sensor.parameters,
                "parameter_places": sensor.places,
            }
            self._add("sensors", Sensor(name, parent, pose, scale, **fields, **own))
            self._add_shape(asset, name, scale, own)
        elif asset is not None and asset.world is None:
            self._add("bodies", Body(name, parent, pose=pose, geometry=(_mesh(asset.file),), scale=scale, **own))
        else:
            self._add("frames", StaticFrame(name, parent, pose, scale, **own))
            if asset is not None and asset.world is not None:
                self._add_model(asset, name, scale, own)
        effectors = None if entity.effectors is None else self._effectors(entity.effectors, entity.frame, asset)
        given: Mapping[str, Any] | None = None
        if entity.sensor is not None:
            given = {"type": entity.sensor.type, "parameters": dict(entity.sensor.parameters)}
            given = {**given, "name": entity.sensor.name, "extra": dict(entity.sensor.extra)}
        extra = {group: dict(more) for group, more in entity.extra.items() if group in (PROPERTIES, STATE)}
        self._add(
            "actors",
            Actor(name, entity.id, entity.asset, effectors, given, dict(entity.components), extra, entity.place),
        )

    def _report_unknown(self, places: Mapping[str, Place], sensor: Reading, otherwise: Place) -> None:
        """Report the parameters that a sensor does not have."""
        for path in sensor.unknown:
            place = places.get(".".join(path), otherwise)
            message = f"a {sensor.type} has no such parameter, so that it has no effect here; it is kept"
            self._warnings.append(Problem(place.where, place.key, message))

    def _effectors(self, effectors: Sequence[Effector], owner: str, asset: Asset | None) -> tuple[EffectorPart, ...]:
        """Add the frames of an entity's effectors, unless its model has them. Return the effectors as parts."""
        linked = {names.prefixed(owner, link.name) for link in _links(asset)}
        parts = []
        for effector, pose in zip(effectors, effector_poses(effectors, self._options), strict=True):
            name = names.prefixed(owner, effector.id)
            parts.append(EffectorPart(name, effector.id, effector.path, dict(effector.extra)))
            if name in linked:
                continue
            own: dict[str, Any] = {"place": effector.place, "parent_place": effector.place}
            scale = _scale(effector.transform.scale)
            self._add("motions", Motion(name, owner, np.array([0]), pose[None], scale=scale, **own))
            self._add_shape(self._options.assets.get(effector.path), name, scale, own)
        return tuple(parts)

    def _add_shape(self, asset: Asset | None, frame: str, scale: FloatArray | None, own: Mapping[str, Any]) -> None:
        """Add the shape of a sensor or effector in a separate frame, because its own frame cannot have shapes."""
        if asset is None:
            return
        if asset.world is not None:
            message = f"{quoted(asset.file.name)} is a model; sensors and effectors need a mesh"
            self._errors.append(Problem(asset.place.where, asset.place.key, message))
            return
        body = Body(f"{frame}/{ASSET}", frame, geometry=(_mesh(asset.file),), scale=scale, **own)
        self._add("bodies", body)

    def _add_model(self, asset: Asset, frame: str, scale: FloatArray | None, own: Mapping[str, Any]) -> None:
        assert asset.world is not None
        if scale is not None:
            message = f"scale {scale.tolist()} of {quoted(frame)}: a model has no scale; scale a mesh instead"
            self._errors.append(Problem(own["place"].where, own["place"].key, message))
        rename = Rename(frame, asset.world.fixed_frame, frame, asset.place)
        for kind, each in all_parts(asset.world):
            renamed = kind.renamed(each, rename)
            if renamed is not None:
                self._add(kind.name, renamed)


def with_scaled_children(graph: SceneGraph) -> tuple[SceneGraph, list[Problem]]:
    """Apply the scale of each entity to all of its descendants.

    Args:
        graph: The scene.

    Returns:
        The scene, in which no child depends on its parent's scale, and a problem for each rotated child of an entity
        with non-uniform scale, whose shapes would be sheared.
    """
    by_id = {entity.id: entity for entity in graph.entities}
    whole: dict[str, FloatArray] = {"": np.ones(3)}
    problems: list[Problem] = []

    def inside(transform: Transform3D, factors: FloatArray, place: Place, name: str) -> Transform3D:
        turned = abs(abs(transform.pose[6]) - 1.0) > _UNTURNED
        if turned and not np.array_equal(factors, factors[[0, 0, 0]]):
            why = f"is turned in an entity with the scale {factors.tolist()}, which would shear it; scale it evenly"
            problems.append(Problem(place.where, place.key, f"{quoted(name)} {why}"))
        pose = np.array(transform.pose)
        pose[:3] *= factors
        return replace(transform, pose=pose, scale=transform.scale * factors)

    def factors_of(id: str) -> FloatArray:
        if id not in whole:
            entity = by_id[id]
            own = np.ones(3) if entity.transform is None else entity.transform.scale
            whole[id] = own * factors_of(entity.parent)
        return whole[id]

    entities = []
    for entity in graph.entities:
        above, here = factors_of(entity.parent), factors_of(entity.id)
        transform = entity.transform and inside(entity.transform, above, entity.place, entity.name)
        effectors = entity.effectors and tuple(
            replace(each, transform=inside(each.transform, here, each.place, each.id)) for each in entity.effectors
        )
        entities.append(replace(entity, transform=transform, effectors=effectors))
    return replace(graph, entities=tuple(entities)), problems


def entity_poses(entities: Sequence[SceneEntity], convention: str) -> FloatArray:
    """Return the poses (N, 7) of entities in their parents, ENU and FLU, m.

    Args:
        entities: The entities. Those without a transform are at the poses of their parents.
        convention: A key of ROOTS.
    """
    poses = np.tile([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], (len(entities), 1))
    for below in (False, True):
        rows = [row for row, each in enumerate(entities) if bool(each.parent) is below and each.transform is not None]
        if rows:
            values = [transform.pose for row in rows if (transform := entities[row].transform) is not None]
            given, ours = (MOUNTED[convention], OURS_MOUNTED) if below else (ROOTS[convention], OURS)
            poses[rows] = Transform(values, given).to(*ours).in_frames(*ours)
    return poses


def effector_poses(effectors: Sequence[Effector], options: Options) -> FloatArray:
    """Return the poses (N, 7) of effectors in their actor, FLU, m."""
    given = EFFECTOR_CONVENTIONS[options.effectors] if options.effectors else MOUNTED[options.convention]
    values = np.array([each.transform.pose for each in effectors]).reshape(-1, 7)
    return Transform(values, given).to(*OURS_MOUNTED).in_frames(*OURS_MOUNTED)


def _step_ns(sensors: Iterable[Sensor]) -> int:
    """Return the default step of a world, or the longest fraction of a second that suits its fastest sensor."""
    rates = [each.parameters.get("rate") for each in sensors]
    fastest = max((rate for rate in rates if isinstance(rate, (int, float)) and 0.0 < rate <= 1e6), default=1.0)
    default = TimeGrid().step_ns
    return default if fastest <= 1e9 / default else 10**9 // math.ceil(fastest)


def _scale(factors: FloatArray) -> FloatArray | None:
    return None if np.array_equal(factors, np.ones(3)) else factors


def _mesh(file: Path) -> Geometry:
    return Geometry("mesh", np.ones(3), file=file, only="visual")


def _links(asset: Asset | None) -> Sequence[Any]:
    world = None if asset is None else asset.world
    return () if world is None else [link for model in world.models for link in model.links]
