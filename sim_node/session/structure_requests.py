"""Requests that change the world of a run: spawn and delete entities, load and unload worlds."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from sim_node.assembly import assemble
from sim_node.mavlink.instances import AutopilotInstances
from sim_node.names import prefixed
from sim_node.session.entities import Rejected, find_entity, rejecting
from sim_node.session.entity_requests import EntityRequests
from sim_node.session.resources import Resources, uri_of
from sim_node.session.run_requests import RunRequests
from sim_node.simulation import Loop
from sim_node.simulation.changes import with_world
from sim_node.simulation.generation import Generation
from sim_node.simulation.removal import without
from sim_node.spatial.geometry import poses, quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import shown
from sim_node.world.autopilots import autopiloted
from sim_node.world.bases import Base
from sim_node.world.bodies import Body
from sim_node.world.model import World
from sim_node.world.models import Model
from sim_node.world.vehicles import BUILTIN

_TURN = slice(3, 7)


def joined(world: World, part: World, name: str, pose: FloatArray, *, named: bool = False) -> World:
    """Return a world that contains another one.

    Free-floating parts start at the pose, directly below the fixed frame; everything else is attached to a frame at the
    pose. A base model takes the name itself, as if the world listed it among its bases.

    Args:
        world: The world.
        part: The world to add. Its ground, lights, sky, physics and processes are left out, as in an include.
        name: Prefix of all names of the part.
        pose: Pose (7,) of the part's fixed frame in the world's, m.
        named: Whether the part's names already begin with `name`.

    Returns:
        The combined world.

    Raises:
        Rejected: The part has an autopilot that does not start with the run (FEATURE_UNSUPPORTED).
        WorldError: The part cannot be assembled, or its names conflict.
    """
    part = assemble(part)
    if not all(autopilot.type == BUILTIN and autopilot.start for _, autopilot in autopiloted(part)):
        # The run would wait for a program that nobody starts.
        message = f"only vehicles with a pilot, or an autopilot {BUILTIN} that the run starts, can be added to a run"
        raise Rejected("FEATURE_UNSUPPORTED", message)
    root = world.fixed_frame if named else prefixed(name, part.fixed_frame)
    both = with_world(world, part, *(() if named else (name, pose)))
    known = {id(each) for each in (*world.bodies, *world.models)}

    def freed(each: Any) -> Any:
        return each if id(each) in known else _free(each, root, world.fixed_frame, pose)

    parts: dict[str, tuple[Any, ...]] = dict(both.parts)
    for kind in ("bodies", "models"):
        if kind in parts:
            parts[kind] = tuple(map(freed, parts[kind]))
    if not named and [base.body.count("/") for base in part.of(Base)] == [0]:
        # A base model. Its own name is left out, so that its topics and its odometry begin with `name`.
        *before, base = parts["bases"]
        parts["bases"] = (*before, replace(base, name=name))
    if not named and not any(getattr(each, "parent", "") == root for each in chain.from_iterable(parts.values())):
        parts["frames"] = tuple(each for each in parts["frames"] if each.name != root)
    return replace(both, parts=parts)


def _free(part: Any, root: str, fixed_frame: str, pose: FloatArray) -> Any:
    """Move a free-floating part below the fixed frame, at the pose. Return other parts unchanged."""
    if part.parent != root:
        return part
    if isinstance(part, Body) and part.joint == "free":
        start = poses.compose(pose, poses.compose(part.pose, part.start()))
        qd = part.qd
        if qd is not None:  # its linear part is along the parent's axes
            turn = quaternions.multiply(pose[_TURN], part.pose[_TURN])
            qd = np.concatenate([quaternions.rotate(turn, qd[:3]), qd[3:]])
        return replace(part, parent=fixed_frame, pose=np.array(poses.IDENTITY), q=start, qd=qd)
    if isinstance(part, Model) and part.floats():
        starts = part.starts()
        q = {joint.name: poses.compose(pose, starts[joint.name]) for joint in part.joints() if joint.kind == "free"}
        followers = {name: value for name, value in part.start.followers.items() if name not in q}
        begin = replace(part.start, q={**part.start.q, **q}, followers=followers)
        return replace(part, parent=fixed_frame, start=begin)
    return part


# Entity names become parts of topic names.
_NAME = re.compile(r"[A-Za-z]\w*(/[A-Za-z]\w*)*", re.ASCII)
MAX_NAME = 100


class StructureRequests:
    """Carries out requests that change the world. Methods may be called from any thread.

    Args:
        loop: The run.
        entities: Its entities.
        resources: What may be spawned and loaded.
        instances: Autopilot instances of the run.

    Attributes:
        resources: What may be spawned and loaded.
    """

    def __init__(
        self, loop: Loop, entities: EntityRequests, resources: Resources, instances: AutopilotInstances
    ) -> None:
        self.resources = resources
        self._loop, self._entities, self._instances = loop, entities, instances

    def spawn(
        self,
        name: str,
        *,
        uri: str = "",
        text: str = "",
        namespace: str = "",
        frame: str = "",
        pose: tuple[npt.ArrayLike, npt.ArrayLike] = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0)),
        allow_renaming: bool = False,
        static: bool = False,
    ) -> str:
        """Add an entity to the world.

        Args:
            name: Its name; empty for the name in the resource.
            uri: The resource; see `Resources`.
            text: The content of the resource, if there is no URI.
            namespace: Prefix of the name.
            frame: The frame of the pose; empty for the fixed frame.
            pose: Position (3,), m, and quaternion (4,) [x, y, z, w].
            allow_renaming: Whether another name may be used if this one is taken.
            static: Whether to fix a URDF model in place; see `Resources.spawnable`.

        Returns:
            The name of the entity, with the namespace.

        Raises:
            Rejected: With a result code of SpawnEntity. Nothing has changed.
        """
        prefix = namespace.strip("/")
        if prefix and not _NAME.fullmatch(prefix):
            raise Rejected("NAMESPACE_INVALID", f"namespace {shown(namespace)!r}: allowed are {_NAME.pattern}")
        if name and not _NAME.fullmatch(name):
            raise Rejected("NAME_INVALID", f"name {shown(name)!r}: allowed are {_NAME.pattern}")
        if len(prefix) + len(name) > MAX_NAME:
            raise Rejected("NAME_INVALID", f"a name of {len(prefix) + len(name)} characters; allowed: {MAX_NAME}")
        part, own = self.resources.spawnable(uri, text, name or "entity", static=static)
        named = uri if own and uri.isidentifier() else part.name
        wanted = name or re.sub(r"\W", "_", named, flags=re.ASCII).lstrip("0123456789_")
        if not wanted:
            if not allow_renaming:
                raise Rejected("NAME_INVALID", "the name is empty, and so is that of the resource")
            wanted = "entity"

        def look() -> tuple[World, str, FloatArray]:
            self._entities.need_world()
            full = self._unused(f"{prefix}/{wanted}" if prefix else wanted, allow_renaming=allow_renaming)
            return self._loop.simulation.world, full, self._entities.placed(frame, pose).pose[0]

        def act() -> str:
            while True:  # until no other change intervenes
                world, full, placed = self._loop.call(look)
                # A shipped vehicle is read with its final name.
                added = self.resources.spawnable(uri, text, full)[0] if own else part
                if self._loop.change_from(world, self._joined(world, added, full, placed, named=own)):
                    self._loop.call(partial(self._entities.spawned.update, {full: uri or "text"}))
                    return full

        with rejecting():
            return act()

    def delete(self, name: str) -> None:
        """Remove an entity and everything attached to it. Raises Rejected (NOT_FOUND, OPERATION_FAILED)."""

        def act() -> None:
            simulation = self._loop.simulation
            entity = find_entity(self._entities.present().entities, name)
            names, rows = simulation.frames.names, set(entity.rows)
            # Its topmost frames. Whatever is attached to them is removed with them.
            tops = [names[row] for row in entity.rows if int(simulation.frames.parents[row]) not in rows]
            with rejecting():
                after = simulation.world
                for each in [name] if name in self._entities.spawned else tops:
                    after = without(after, each)
                self._loop.change(after)
            self._entities.spawned.pop(name, None)
            self._entities.infos.pop(name, None)

        self._loop.call(act)

    def despawn(self) -> None:
        """Remove everything that was spawned. Raises Rejected."""

        def act() -> None:
            for name in list(self._entities.spawned):
                self.delete(name)

        self._loop.call(act)

    def current(self) -> tuple[str, str]:
        """Return the name and the URI of the world. The URI is empty if it was not read from a file."""
        return self._loop.call(lambda: (self._loop.simulation.world.name, uri_of(self._loop.simulation.world)))

    def load(self, run: RunRequests, uri: str, text: str) -> tuple[str, str]:
        """Replace the world and stop at the start of the new one. The present autopilots are shut down.

        Args:
            run: The requests about the run.
            uri: The world; see `Resources`.
            text: The content of the world's file, if there is no URI.

        Returns:
            Its name and its URI.

        Raises:
            Rejected: With a result code of LoadWorld. Nothing has changed.
        """
        with run.loading():
            world = self.resources.world(uri, text)

            def act(after: Generation) -> tuple[str, str]:
                self._enter(after)
                run.entered()
                return world.name, uri_of(world)

            with rejecting():
                after = self._loop.prepare_load(world)
            return self._loop.call(lambda: act(after))

    def unload(self, run: RunRequests) -> None:
        """Replace the world by an empty one and shut its autopilots down. Raises Rejected (NO_WORLD_LOADED)."""

        def act() -> None:
            if run.unloaded:
                raise Rejected("NO_WORLD_LOADED", "there is no world")
            now = self._loop.simulation.world
            empty = World("empty", fixed_frame=now.fixed_frame, origin=now.origin, time=now.time)
            with rejecting():
                after = self._loop.prepare_load(empty)
            self._enter(after)
            run.entered(unloaded=True)

        self._loop.call(act)

    def _enter(self, after: Generation) -> None:
        """Switch the run to another world, paused at its start."""
        with rejecting():
            self._loop.enter_loaded(after)
        self._loop.pause()
        self._entities.spawned.clear()
        self._entities.infos.clear()

    def _joined(self, world: World, added: World, name: str, pose: FloatArray, *, named: bool) -> World:
        """Return the world with another one added, whose built-in autopilots get free ports."""
        running = {vehicle.name for vehicle, _ in autopiloted(world)}
        both = joined(world, added, name, pose, named=named)
        return self._instances.choose(both, running)

    def _unused(self, name: str, *, allow_renaming: bool) -> str:
        """Return a name that is unused in the world. Raises Rejected (NAME_NOT_UNIQUE)."""
        taken = {*self._entities.present().entities, *self._loop.simulation.frames.names}
        tops = {each.partition("/")[0] for each in taken} | {
            "/".join(parts[:count]) for each in taken for parts in [each.split("/")] for count in range(1, len(parts))
        }
        if name not in taken | tops:
            return name
        if not allow_renaming:
            raise Rejected("NAME_NOT_UNIQUE", f"{shown(name)!r} exists already; set allow_renaming for another name")
        number = 1
        while f"{name}_{number}" in taken | tops:
            number += 1
        return f"{name}_{number}"
