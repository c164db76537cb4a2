"""Scene graphs of a run as messages, complete or with changes only, and a scene that follows such messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from sim_node import names
from sim_node.extensions.aerosim.from_world import SceneLayout
from sim_node.extensions.aerosim.graph import Effector, Json, SceneEntity, SceneGraph
from sim_node.extensions.aerosim.json_text import compose_json, json_text
from sim_node.extensions.aerosim.options import Options
from sim_node.extensions.aerosim.reading import read_graph
from sim_node.extensions.aerosim.to_world import effector_poses, entity_poses, world_of
from sim_node.extensions.aerosim.writing import components_data, graph_data
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.frame_table import FrameTable
from sim_node.world.layout import Layout, lay_out
from sim_node.world.model import World
from sim_node.world.problems import WorldError, refuse_any
from sim_node.world.readers.report import Report

# Keys of a message besides those of a scene graph. `sequence` counts updates; a whole graph includes those so far.
SEQUENCE, TIME, ADDED, REMOVED = "sequence", "time", "added", "removed"


class SceneMessages:
    """The messages of a run: the whole scene graph, and updates with the changes since the previous message.

    An update is a scene graph of the changed entities, with their changed components. `added` lists entities that are
    new or have a different parent, with all their components, and `removed` lists deleted entities.

    Args:
        convention: "NED" or "ENU"; see `options.Options`.
        dialect: One of writing.DIALECTS.
        prefix: The prefix of all names.
    """

    def __init__(self, convention: str = "NED", dialect: str = "seed", prefix: str = "") -> None:
        self._convention, self._dialect, self._prefix = convention, dialect, prefix
        self._layout: SceneLayout | None = None
        self._graph = SceneGraph()
        self._ids: dict[str, str] = {}
        self._next = 0
        self.sequence = 0

    def open(self, world: World, frames: FrameTable) -> SceneLayout:
        """Begin a run, or continue with a new structure. Remaining frames keep their ids, and ids are not reused."""
        layout = SceneLayout(world, frames, self._ids, self._convention, self._prefix)
        self._ids.update(layout.names)
        self._layout = layout
        return layout

    def whole(self, time_ns: int, poses: FloatArray, angles: FloatArray | None = None) -> str:
        """Return the whole scene graph.

        Args:
            time_ns: Simulation time.
            poses: Poses (N, 7) of all frames in their parents, m.
            angles: Angles (R,) of the rotors, rad; None for zero.
        """
        self._graph = self._current(poses, angles)
        return self._text(graph_data(self._graph, self._dialect), time_ns)

    def update(self, time_ns: int, poses: FloatArray, angles: FloatArray | None = None) -> str | None:
        """Return the changes since the last message, or None if there are none. The arguments are those of `whole`."""
        before = {entity.id: entity for entity in self._graph.entities}
        graph = self._current(poses, angles)
        changed, added = [], []
        for entity in graph.entities:
            old = before.pop(entity.id, None)
            if old is None or (old.parent, old.name) != (entity.parent, entity.name):
                added.append(entity.id)
                changed.append(entity)
            elif entity != old:
                changed.append(_difference(old, entity))
        if not changed and not before:
            return None
        self._graph = graph
        self.sequence += 1
        components = components_data(changed, (), self._dialect)
        for entity in changed:
            if entity.id not in added:
                del components["actor_properties"][entity.id]
        groups = {entity.id: [group for group in entity.groups if entity.id in components[group]] for entity in changed}
        data: dict[str, Json] = {"entities": groups, "components": {k: v for k, v in components.items() if v}}
        if added or before:
            data["resources"] = dict(graph.resources)
        data |= {ADDED: added, REMOVED: list(before)}
        return self._text(data, time_ns)

    def _current(self, poses: FloatArray, angles: FloatArray | None) -> SceneGraph:
        assert self._layout is not None, "open comes first"
        return self._layout.graph(poses, angles)

    def _text(self, data: Mapping[str, Json], time_ns: int) -> str:
        return json_text({**data, SEQUENCE: self.sequence, TIME: time_ns / 1e9}, compact=True)


def _difference(old: SceneEntity, new: SceneEntity) -> SceneEntity:
    """Return an entity with only the components that differ."""
    same_state = (old.transform, old.world_coordinate) == (new.transform, new.world_coordinate)
    return replace(
        new,
        transform=None if same_state else new.transform,
        world_coordinate=None if same_state else new.world_coordinate,
        effectors=None if old.effectors == new.effectors else new.effectors,
        sensor=None if old.sensor == new.sensor else new.sensor,
        components={} if old.components == new.components else new.components,
    )


class FollowedScene:
    """A world that follows messages with scene graphs or updates, from sim_node or AeroSim.

    Args:
        options: Conventions and assets.

    Attributes:
        graph: The scene graph after the last message.
        generation: The number of changes of the structure.
        world: The world of the scene.
        layout: Its frames. Those that have never moved are static, so that the viewer shows them as fixed.
        poses: Poses (N, 7) of its frames in their parents, ENU and FLU, m.
        time_ns: The time of the last message; None if it has none, like AeroSim's.
    """

    def __init__(self, options: Options | None = None) -> None:
        self._options = options or Options()
        self._sequence = -1
        self.graph = SceneGraph()
        self.generation = 0
        self.world = World("scene")
        self.layout: Layout = lay_out(self.world)
        self.poses: FloatArray = np.array(self.layout.poses)
        self.time_ns: int | None = None

    def receive(self, text: str) -> bool:
        """Process a message.

        Args:
            text: The JSON of a scene graph or of an update.

        Returns:
            Whether it was used. Updates before any whole graph, or after a gap, are ignored until the next whole graph.

        Raises:
            WorldError: The message is not a scene graph; the scene stays unchanged.
        """
        report = Report("scene graph")
        known = [entity.id for entity in self.graph.entities]
        part = read_graph(compose_json(text, report), report, known)
        if part is None or report.errors:
            raise WorldError(report.errors)
        sequence, time = part.extra.get(SEQUENCE), part.extra.get(TIME)
        is_update = ADDED in part.extra
        if is_update and (self._sequence < 0 or sequence != self._sequence + 1):
            return False
        self._use(self._merged(part) if is_update else part)
        self._sequence = sequence if isinstance(sequence, int) else -1
        self.time_ns = round(time * 1e9) if isinstance(time, (int, float)) else None
        return True

    def _merged(self, part: SceneGraph) -> SceneGraph:
        """Return the scene with an update applied."""
        removed, added = part.extra.get(REMOVED, ()), part.extra.get(ADDED, ())
        entities = {entity.id: entity for entity in self.graph.entities if entity.id not in removed}
        for entity in part.entities:
            old = entities.get(entity.id)
            entities[entity.id] = entity if old is None or entity.id in added else _updated(old, entity)
        resources = {**self.graph.resources, **part.resources}
        return replace(self.graph, entities=tuple(entities.values()), resources=resources)

    def _use(self, graph: SceneGraph) -> None:
        structure = _structure(graph)
        if structure != _structure(self.graph) or not self.generation:
            found = world_of(graph, "scene", self._options)
            refuse_any(found.errors)
            layout = lay_out(found.world)
            self.world, self.layout, self.poses = found.world, layout, np.array(layout.poses)
            self.generation += 1
        else:
            self._move(graph)
        self.graph = graph

    def _move(self, graph: SceneGraph) -> None:
        frames, before = self.layout.frames, self.poses.copy()
        rows = [frames.index(entity.frame) for entity in graph.entities]
        self.poses[rows] = entity_poses(graph.entities, self._options.convention)
        for entity in graph.entities:
            if entity.effectors:
                rows = [frames.index(names.prefixed(entity.frame, each.id)) for each in entity.effectors]
                self.poses[rows] = effector_poses(entity.effectors, self._options)
        static = frames.static & (self.poses == before).all(axis=1)
        if not np.array_equal(static, frames.static):
            self.layout = replace(self.layout, frames=replace(frames, static=static))

    @property
    def moving(self) -> list[int]:
        """The rows of entities and effectors, which may move. Other frames are fixed to these."""
        frames = self.layout.frames
        found = [entity.frame for entity in self.graph.entities]
        found += [names.prefixed(e.frame, each.id) for e in self.graph.entities for each in e.effectors or ()]
        return sorted(frames.index(name) for name in found)


def _updated(old: SceneEntity, new: SceneEntity) -> SceneEntity:
    """Return an entity with the components of an update applied."""
    changes: dict[str, Any] = {
        key: value
        for key in ("transform", "world_coordinate", "effectors", "sensor")
        if (value := getattr(new, key)) is not None
    }
    return replace(old, **changes, components={**old.components, **new.components})


def _structure(graph: SceneGraph) -> list[tuple[Any, ...]]:
    """Return the structure of a scene, whose changes need a new world: everything except poses."""

    def parts(effectors: tuple[Effector, ...] | None) -> tuple[Any, ...]:
        return tuple((each.id, each.path, each.transform.scale.tolist()) for each in effectors or ())

    return [
        (each.id, each.frame, each.parent, each.asset, each.sensor, parts(each.effectors), _scale(each))
        for each in graph.entities
    ]


def _scale(entity: SceneEntity) -> list[float] | None:
    return None if entity.transform is None else entity.transform.scale.tolist()
