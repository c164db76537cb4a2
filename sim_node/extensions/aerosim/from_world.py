"""The scene graph of a world at an instant: every frame as an entity, rotors and leaf joints as effectors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from sim_node import names
from sim_node.extensions.aerosim.coordinates import world_coordinates
from sim_node.extensions.aerosim.graph import (
    Effector,
    Json,
    SceneEntity,
    SceneGraph,
    SensorComponent,
    Transform3D,
    WorldCoordinate,
)
from sim_node.extensions.aerosim.options import MOUNTED, ROOTS
from sim_node.extensions.aerosim.part import Actor
from sim_node.extensions.aerosim.sensor_types import component_of
from sim_node.extensions.aerosim.to_world import ASSET, OURS, OURS_MOUNTED
from sim_node.messages.rotor_frames import RotorFrames
from sim_node.spatial.frames import Frame, Position, Transform
from sim_node.spatial.geometry.arrays import FloatArray, IntArray
from sim_node.world.frame_table import FrameTable
from sim_node.world.model import ORIGIN_RANGES, Sensor, World
from sim_node.world.sensor_types import is_optical


@dataclass(frozen=True)
class Slot:
    """An effector of an entity: the row of its frame, or the index of its rotor among all rotors of the world."""

    id: str
    path: str
    row: int = -1
    rotor: int = -1
    extra: Mapping[str, Json] = field(default_factory=dict)


class SceneLayout:
    """The assignment of a world's frames to entities and effectors, which is fixed as long as its structure is.

    The fixed frame is not an entity: its children have no parent. Entities are in the order of the frames. Effectors
    are those that the world lists (`actors`), rotors of vehicles, and other frames without children on a joint below a
    vehicle's body. The optical frames of cameras are omitted, because every camera has one.

    Args:
        world: The assembled world.
        frames: Its frames.
        ids: Ids to keep, by frame, such as those of an earlier layout of the same run.
        convention: The convention of the output, "NED" or "ENU"; see `options.Options`.
        prefix: The prefix of all names.
    """

    def __init__(
        self,
        world: World,
        frames: FrameTable,
        ids: Mapping[str, str] | None = None,
        convention: str = "NED",
        prefix: str = "",
    ) -> None:
        self.world, self.frames, self.convention, self._prefix = world, frames, convention, prefix
        self.rotors = RotorFrames(world)
        self._actors: dict[str, Actor] = {actor.frame: actor for actor in world.of(Actor)}
        self._sensors = {sensor.name: sensor for sensor in world.of(Sensor)}
        self.slots = self._find_effectors()
        hidden = self._hidden()
        self.rows: IntArray = np.array(
            [row for row in range(1, len(frames)) if row not in hidden and frames.parents[row] >= 0], dtype=np.int64
        )
        self.ids = self._choose_ids(ids or {})

    def _find_effectors(self) -> dict[int, list[Slot]]:
        """Return the effectors by the row of their entity."""
        frames = self.frames
        rows = {name: row for row, name in enumerate(frames.names)}
        slots: dict[int, list[Slot]] = {}
        taken: set[int] = set()
        for actor in self._actors.values():
            found = [
                Slot(each.id, each.path, rows[each.frame], extra=each.extra)
                for each in actor.effectors or ()
                if each.frame in rows
            ]
            taken |= {slot.row for slot in found}
            if actor.effectors is not None:
                slots[rows[actor.frame]] = found
        with_children = set(frames.parents.tolist())
        for number, (vehicle, index) in enumerate(self.rotors.of_vehicles()):
            body = rows[vehicle.body]
            slots.setdefault(body, []).append(Slot(f"rotor_{index}", "", rotor=number))
        for vehicle in self.world.vehicles:
            body = rows[vehicle.body]
            for row in range(body + 1, len(frames)):
                is_leaf = row not in with_children and not frames.static[row] and row not in taken
                above = int(frames.parents[row])
                holder = int(frames.parents[above]) if frames.static[above] and above != body else above
                if is_leaf and body in (above, holder) and frames.names[row] not in self._sensors:
                    slots.setdefault(body, []).append(Slot(_relative(frames.names[row], vehicle.body), "", row))
        return slots

    def _hidden(self) -> set[int]:
        """Return the rows that are not entities: effectors with their shapes and joint frames, and optical frames."""
        frames = self.frames
        hidden = {slot.row for slots in self.slots.values() for slot in slots if slot.row >= 0}
        children: dict[int, list[int]] = {}
        for row, parent in enumerate(frames.parents.tolist()):
            children.setdefault(parent, []).append(row)
        for row in sorted(hidden):
            above = int(frames.parents[row])
            if above not in self.slots and set(children[above]) <= hidden:
                hidden.add(above)
        for row, name in enumerate(frames.names):
            above = int(frames.parents[row])
            parent = frames.names[above] if above > 0 else ""
            is_shape = name == f"{parent}/{ASSET}" and row not in children
            if (is_shape and (parent in self._sensors or above in hidden)) or self._is_optical(parent, name):
                hidden.add(row)
        # A frame that carries an entity is an entity, too.
        for row in range(len(frames) - 1, 0, -1):
            if row in hidden and any(child not in hidden for child in children.get(row, ())):
                hidden.discard(row)
        return hidden

    def _is_optical(self, parent: str, name: str) -> bool:
        sensor = self._sensors.get(parent)
        return sensor is not None and name == parent + names.OPTICAL and is_optical(sensor.type)

    def _choose_ids(self, kept: Mapping[str, str]) -> dict[int, str]:
        """Return the id of each entity: its earlier id, that of its actor, or the next free id."""
        chosen: dict[int, str] = {}
        used: set[str] = set(kept.values())
        for row in self.rows.tolist():
            name = self.frames.names[row]
            actor = self._actors.get(name)
            if name in kept:
                chosen[row] = kept[name]
            elif actor is not None and actor.id and actor.id not in used:
                chosen[row] = actor.id
            used.add(chosen.get(row, ""))
        number = 0
        for row in self.rows.tolist():
            while row not in chosen:
                id, number = f"entity_{number}", number + 1
                if id not in used:
                    chosen[row] = id
        return {row: chosen[row] for row in self.rows.tolist()}

    @cached_property
    def names(self) -> dict[str, str]:
        """The ids by frame."""
        return {self.frames.names[row]: id for row, id in self.ids.items()}

    @cached_property
    def _above(self) -> IntArray:
        return np.asarray(self.frames.parents[self.rows])

    def poses(self, poses: FloatArray) -> FloatArray:
        """Return the poses (E, 7) of the entities in their parents, in the convention of the scene graph.

        Args:
            poses: Poses (N, 7) of all frames in their parents.
        """
        found = np.array(poses[self.rows])
        for roots, ours, theirs in (
            (self._above == 0, OURS, ROOTS[self.convention]),
            (self._above > 0, OURS_MOUNTED, MOUNTED[self.convention]),
        ):
            if roots.any():
                found[roots] = Transform(found[roots], ours).to(*theirs).in_frames(*theirs)
        return found

    def effectors(self, poses: FloatArray, angles: FloatArray | None = None) -> dict[int, tuple[Effector, ...]]:
        """Return the effectors by the row of their entity.

        Args:
            poses: Poses (N, 7) of all frames in their parents.
            angles: Angles (R,) of the world's rotors, rad; None for zero.
        """
        theirs = MOUNTED[self.convention]
        rotors = self.rotors.poses(angles)
        slots = [(row, slot) for row, slots in self.slots.items() for slot in slots]
        values = [rotors[slot.rotor] if slot.rotor >= 0 else self._inside(row, slot.row, poses) for row, slot in slots]
        turned = Transform(np.reshape(values, (-1, 7)), OURS_MOUNTED).to(*theirs).in_frames(*theirs)
        found: dict[int, list[Effector]] = {row: [] for row in self.slots}
        for (row, slot), pose in zip(slots, turned, strict=True):
            scale = self.frames.scales[slot.row] if slot.row >= 0 else np.ones(3)
            found[row].append(Effector(slot.id, slot.path, Transform3D(pose, scale), slot.extra))
        return {row: tuple(each) for row, each in found.items()}

    def _inside(self, owner: int, row: int, poses: FloatArray) -> FloatArray:
        return self.frames.lookup(poses, self.frames.names[owner], self.frames.names[row])

    def coordinates(self, poses: FloatArray) -> Sequence[WorldCoordinate | None]:
        """Return the world coordinates of the entities; None for each if the world has no origin."""
        origin = self.world.origin
        if origin is None or not len(self.rows):
            return [None] * len(self.rows)
        places = self.frames.in_root(poses)[self.rows, :3]
        about = (origin.latitude, origin.longitude, origin.altitude)
        return world_coordinates(Position(places, Frame.ENU, about))

    def graph(self, poses: FloatArray, angles: FloatArray | None = None) -> SceneGraph:
        """Return the whole scene graph.

        Args:
            poses: Poses (N, 7) of all frames in their parents, m.
            angles: Angles (R,) of the world's rotors, rad; None for zero.
        """
        found, effectors = self.poses(poses), self.effectors(poses, angles)
        entities = []
        coordinates = self.coordinates(poses)
        for at, (row, id) in enumerate(self.ids.items()):
            entity = replace(
                self._still(row, id),
                transform=Transform3D(found[at], self.frames.scales[row]),
                world_coordinate=coordinates[at],
                effectors=effectors.get(row),
            )
            entities.append(entity)
        return SceneGraph(tuple(entities), self.resources())

    def resources(self) -> dict[str, Json]:
        """Return the resources: the world's origin, and those that it has from scene graphs."""
        origin = self.world.origin
        data: dict[str, Json] = {}
        if origin is not None:
            data["origin"] = {key: getattr(origin, key) for key in ORIGIN_RANGES}
        return {**data, **{each.name: each.value for each in self.world.resources if each.name not in data}}

    def _still(self, row: int, id: str) -> SceneEntity:
        """Return the constant part of an entity."""
        name, parent = self.frames.names[row], int(self.frames.parents[row])
        actor, sensor = self._actors.get(name), self._sensors.get(name)
        given = None if actor is None else actor.sensor
        return SceneEntity(
            id,
            self._prefix + name,
            "" if actor is None else actor.asset,
            self.ids.get(parent, ""),
            sensor=_sensor(sensor, given),
            components={} if actor is None else actor.components,
            extra={} if actor is None else actor.extra,
        )


def scene_graph_of(
    world: World,
    frames: FrameTable,
    poses: FloatArray,
    angles: FloatArray | None = None,
    convention: str = "NED",
) -> SceneGraph:
    """Return the scene graph of a world at an instant.

    Args:
        world: The assembled world.
        frames: Its frames.
        poses: Poses (N, 7) [x y z qx qy qz qw] of each frame in its parent, m.
        angles: Angles (R,) of the rotors of all vehicles, in their order, rad; None for zero.
        convention: "NED", as in AeroSim, or "ENU".

    Returns:
        The scene graph. World coordinates are omitted if the world has no origin.
    """
    return SceneLayout(world, frames, convention=convention).graph(poses, angles)


def _sensor(sensor: Sensor | None, given: Mapping[str, Json] | None) -> SensorComponent | None:
    """Return a sensor as a component, or a bare frame as the component in the file."""
    parameters: Any = {} if given is None else given.get("parameters", {})
    extra: Any = {} if given is None else given.get("extra", {})
    found = None if sensor is None else component_of(sensor, parameters)
    if found is not None:
        name = found.name if given is None else str(given.get("name", found.name))
        return replace(found, name=name, extra=extra)
    if given is None:
        return None
    return SensorComponent(str(given.get("name", "")), str(given.get("type", "")), parameters, extra)


def _relative(name: str, body: str) -> str:
    """Return the id of a joint frame: its name without the prefix that it shares with the body."""
    shared: Iterable[str] = (body, *names.enclosing(body))
    return next((name[len(above) + 1 :] for above in shared if name.startswith(f"{above}/")), name)
