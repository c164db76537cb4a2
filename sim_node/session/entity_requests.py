"""Requests about the entities of a run, as in simulation_interfaces: names, states, bounds and named poses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import numpy.typing as npt

from sim_node.session.entities import (
    Category,
    Entity,
    EntityInfo,
    Filters,
    NamedPose,
    Rejected,
    entities_of,
    find_entity,
    has_tags,
    matching,
    named_poses,
    rejecting,
)
from sim_node.session.entity_bounds import Boxes, Region, overlapping, rotation_of
from sim_node.simulation import Loop
from sim_node.simulation.run_view import RunView
from sim_node.simulation.sensors.truth import FrameState
from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import did_you_mean, shown
from sim_node.world.bounds import fault
from sim_node.world.frame_table import FrameTable
from sim_node.world.layout import Layout, lay_out

MAX_TAGS, MAX_TAG, MAX_DESCRIPTION = 100, 200, 10_000


@dataclass
class _Present:
    """The structure of the run at present."""

    key: object
    layout: Layout
    entities: dict[str, Entity]
    boxes: Boxes | None = None
    observers: dict[tuple[str, ...], Callable[[], FrameState]] = field(default_factory=dict)


class EntityRequests:
    """Answers requests about entities. Methods may be called from any thread; each makes one call into the loop.

    Filtering by bounds happens afterwards, in the caller's thread.

    Args:
        loop: The run.
        prefix: Prefix of published frame names, except the fixed frame's.

    Attributes:
        unloaded: Whether no world is loaded.
        spawned: The spawned entities by name, and the resource that each came from.
        infos: Information set by requests, by entity name.
    """

    def __init__(self, loop: Loop, prefix: str = "") -> None:
        self.unloaded = False
        self.spawned: dict[str, str] = {}
        self.infos: dict[str, EntityInfo] = {}
        self._loop, self._prefix = loop, prefix
        self._known: _Present | None = None

    def need_world(self) -> None:
        """Raise Rejected (INCORRECT_STATE) if no world is loaded."""
        if self.unloaded:
            raise Rejected("INCORRECT_STATE", "there is no world; load one first")

    def names(self, filters: Filters) -> list[str]:
        """Return the names of the entities that match filters. Raises Rejected."""
        _, within = self._loop.call(lambda: self._matching(filters))
        return [entity.name for entity in within()]

    def states(self, filters: Filters) -> tuple[list[str], FrameState, int]:
        """Return the names and the states of the entities that match filters.

        Args:
            filters: The filters.

        Returns:
            Names (S); states (S) in the fixed frame, along its axes; and the time, ns.

        Raises:
            Rejected: A filter is invalid.
        """

        def look() -> tuple[tuple[list[Entity], Callable[[], list[Entity]]], FrameState, int]:
            matched = self._matching(filters)
            state = self._observed(tuple(entity.frame for entity in matched[0]))
            return matched, state, self._loop.simulation.time_ns

        (found, within), state, time_ns = self._loop.call(look)
        kept = [entity.name for entity in within()]
        rows = np.flatnonzero(np.isin([entity.name for entity in found], kept))
        state = FrameState(state.pose[rows], state.twist[rows], state.acceleration[rows], state.gravity[rows])
        return kept, state, time_ns

    def state(self, name: str) -> tuple[FrameState, int]:
        """Return the state of an entity, as in `states`. Raises Rejected."""

        def look() -> tuple[FrameState, int]:
            entity = find_entity(self.present().entities, name)
            return self._observed((entity.frame,)), self._loop.simulation.time_ns

        return self._loop.call(look)

    def info(self, name: str) -> EntityInfo:
        """Return the category, description and tags of an entity. Raises Rejected."""
        return self._loop.call(lambda: find_entity(self.present().entities, name).info)

    def set_info(self, name: str, category: int, description: str, tags: Sequence[str]) -> None:
        """Replace the category, description and tags of an entity.

        Args:
            name: The entity.
            category: One of Category.
            description: At most MAX_DESCRIPTION characters.
            tags: At most MAX_TAGS tags of at most MAX_TAG characters each.

        Raises:
            Rejected: The entity does not exist (NOT_FOUND), or a value is invalid (OPERATION_FAILED).
        """
        if category not in Category._value2member_map_:
            allowed = ", ".join(f"{each.value} ({each.name})" for each in Category)
            raise Rejected("OPERATION_FAILED", f"category {category}; allowed: {allowed}")
        if len(description) > MAX_DESCRIPTION or len(tags) > MAX_TAGS or any(len(tag) > MAX_TAG for tag in tags):
            limits = f"{MAX_DESCRIPTION} characters of description, {MAX_TAGS} tags of {MAX_TAG} characters"
            raise Rejected("OPERATION_FAILED", f"information is too long; allowed: {limits}")
        info = EntityInfo(Category(category), description, tuple(tags))

        def act() -> None:
            find_entity(self.present().entities, name)
            self.infos[name] = info

        self._loop.call(act)

    def bounds(self, name: str) -> tuple[FloatArray, FloatArray] | None:
        """Return the bounds of an entity in its canonical link.

        Args:
            name: The entity.

        Returns:
            The upper and the lower corner (3,), m; None for an entity without bounds, such as a plane.

        Raises:
            Rejected: The entity does not exist.
        """

        def look() -> tuple[FloatArray, FloatArray] | None:
            entity = find_entity(self.present().entities, name)
            frames = self._loop.simulation.frames
            return self._boxes().bounds(entity, frames.index(entity.frame), self._in_root())

        return self._loop.call(look)

    def set_state(
        self,
        name: str,
        frame: str,
        pose: tuple[npt.ArrayLike, npt.ArrayLike] | None,
        twist: npt.ArrayLike | None,
        acceleration: npt.ArrayLike = (0.0,) * 6,
    ) -> None:
        """Set the pose, the twist or both of an entity.

        Args:
            name: The entity.
            frame: The reference frame of the pose and the twist: a frame or an entity; empty for the fixed frame.
            pose: Position (3,), m, and quaternion (4,) [x, y, z, w]; None keeps the present pose.
            twist: Twist (6,) [linear, angular] along the frame's axes, m/s and rad/s; None keeps the present twist.
            acceleration: Must be zero for entities that cannot move; otherwise ignored.

        Raises:
            Rejected: The entity does not exist (NOT_FOUND), the pose is invalid (INVALID_POSE), or the entity cannot be
                placed (OPERATION_FAILED). Nothing is changed.
        """
        given = [(0.0,) * 6 if twist is None else twist, acceleration]
        rates = np.concatenate([np.asarray(each, dtype=np.float64) for each in given])
        if wrong := fault("twist", rates):
            raise Rejected("OPERATION_FAILED", f"twist or acceleration {rates.tolist()} {wrong}")

        def act() -> None:
            entity = find_entity(self.present().entities, name)
            placed = self.placed(frame, self._pose_in(frame, entity) if pose is None else pose, rates[:6])
            moves = rates.any()
            if not entity.loose:
                if moves and entity.info.category == Category.STATIC_OBJECT:
                    raise Rejected("OPERATION_FAILED", f"{shown(name)!r} is static; its twist can only be zero")
                if moves:
                    raise Rejected("OPERATION_FAILED", f"{shown(name)!r} does not float free; its twist cannot be set")
                if pose is not None:
                    with rejecting():
                        self._loop.set_pose(entity.frame, placed.pose[0])
                return

            def move(run: RunView) -> None:
                if pose is not None:
                    run.bodies[entity.frame].pose = placed.pose[0]
                if twist is not None:
                    run.bodies[entity.frame].twist = placed.twist[0]

            with rejecting():
                self._loop.edit(move)

        self._loop.call(act)

    def named_poses(self, tags: Sequence[str] = (), *, all_tags: bool = False) -> list[NamedPose]:
        """Return the plain, static frames of the world whose tags match, as named poses. `frame` is one."""

        def look() -> list[NamedPose]:
            present, in_root = self.present(), self._in_root()
            return [
                NamedPose(place.name, place.description or f"frame {place.name}", own, in_root[row].copy(), place.size)
                for place, row in named_poses(self._loop.simulation.world, present.layout, present.entities)
                if has_tags(own := ("frame", *place.tags), tags, all_tags=all_tags)
            ]

        return self._loop.call(look)

    def frame_row(self, name: str) -> int:
        """Return the row of a frame by its published name, or of the canonical link of an entity.

        Args:
            name: The frame or the entity; empty, or `world`, for the fixed frame.

        Returns:
            The row.

        Raises:
            Rejected: It does not exist (INVALID_POSE).
        """
        frames: FrameTable = self._loop.simulation.frames
        entities = self.present().entities
        own = name.removeprefix(self._prefix) if self._prefix else name
        for each in (own, name):
            if each in frames.names:
                return frames.index(each)
        for each in (own, name):
            if each in entities:
                return frames.index(entities[each].frame)
        if name in ("", "world"):
            return 0
        known = [*frames.names, *entities]
        raise Rejected("INVALID_POSE", f"no frame or entity {shown(name)!r}{did_you_mean(name, known)}")

    def frame_of(self, name: str) -> str:
        """Return the frame with a name, or the canonical link of the entity. Raises Rejected (INVALID_POSE)."""
        return self._loop.simulation.frames.names[self.frame_row(name)]

    def placed(
        self, frame: str, pose: tuple[npt.ArrayLike, npt.ArrayLike], twist: npt.ArrayLike = (0.0,) * 6
    ) -> FrameState:
        """Convert a pose and a twist in a frame to the state of one frame in the fixed frame. Call it from the loop.

        Args:
            frame: The frame; empty for the fixed frame.
            pose: Position (3,), m, and quaternion (4,) [x, y, z, w].
            twist: Twist (6,) relative to the frame and along its axes.

        Returns:
            The state.

        Raises:
            Rejected: The pose is invalid (INVALID_POSE).
        """
        position = np.array(pose[0], dtype=np.float64)
        if wrong := fault("position", position):
            raise Rejected("INVALID_POSE", f"position {position.tolist()} {wrong}")
        rider = FrameState.at_rest(1)
        rider.pose[0] = np.concatenate([position, rotation_of(pose[1])])
        rider.twist[0] = twist
        row = self.frame_row(frame)
        if row == 0:
            return rider
        carried = self._observed((self._loop.simulation.frames.names[row],)).carrying(rider)
        carried.pose[0, 3:] = quaternions.normalise(carried.pose[0, 3:])
        return carried

    def present(self) -> _Present:
        """Return the present structure of the run. Call it from the loop."""
        simulation = self._loop.simulation

        def key() -> tuple[object, ...]:
            return simulation.generation, tuple(self.spawned), tuple(self.infos.items())

        if self._known is None or self._known.key != key():
            layout = lay_out(simulation.world)
            entities = entities_of(simulation.world, layout, self.spawned, self.infos)
            # A reset removes all spawned entities, whoever requested it.
            for kept in (self.spawned, self.infos):
                for name in [name for name in kept if name not in entities]:
                    del kept[name]
            self._known = _Present(key(), layout, entities)
        return self._known

    def _matching(self, filters: Filters) -> tuple[list[Entity], Callable[[], list[Entity]]]:
        """Return the entities that match all filters except bounds, and a function that applies the bounds.

        The function uses the poses at the time of this call. Call it outside the loop, because it is slow.
        """
        entities = list(self.present().entities.values())
        found = matching(entities, filters)
        kind, points = filters.bounds
        if not kind:
            return found, lambda: found
        return found, partial(overlapping, found, Region(kind, points), self._boxes(), np.array(self._in_root()))

    def _observed(self, names: tuple[str, ...]) -> FrameState:
        """Return a copy of the true motion of frames."""
        observers = self.present().observers
        if names not in observers:
            observers[names] = self._loop.simulation.observer(names)
        now = observers[names]()
        return FrameState(np.array(now.pose), np.array(now.twist), np.array(now.acceleration), now.gravity)

    def _boxes(self) -> Boxes:
        present = self.present()
        if present.boxes is None:
            present.boxes = Boxes(self._loop.simulation)
        return present.boxes

    def _in_root(self) -> FloatArray:
        simulation = self._loop.simulation
        return simulation.frames.in_root(simulation.present().poses)

    def _pose_in(self, frame: str, entity: Entity) -> tuple[FloatArray, FloatArray]:
        """Return the present position (3,) and quaternion (4,) of an entity in a frame."""
        simulation = self._loop.simulation
        names, row = simulation.frames.names, self.frame_row(frame)
        pose = simulation.frames.lookup(simulation.present().poses, names[row], entity.frame)
        return pose[:3], pose[3:]
