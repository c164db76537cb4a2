"""Actors of SDF worlds: frames that move through waypoints, with visuals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sim_node.extensions.sdf.document import relative_to
from sim_node.extensions.sdf.elements import SdfReading, child, place_of
from sim_node.extensions.sdf.mechanism import FIXED_FRAME, SdfMechanism, recording
from sim_node.extensions.sdf.scopes import ScopeEntry, SdfScope, frame_name, own_pose
from sim_node.extensions.sdf.shapes import Shapes
from sim_node.extensions.sdf.surroundings import elements_of
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.bodies import Body
from sim_node.world.bounds import MAX_STAMP_NS
from sim_node.world.model import Motion
from sim_node.world.readers.xml_elements import Element


def add_actors(reading: SdfReading, found: SdfMechanism, scope: SdfScope) -> None:
    """Add the actors of a world. Faults are recorded."""
    shapes = Shapes(reading)
    for actor in elements_of(scope.element, "actor"):
        with recording(reading):
            motion = _motion(reading, actor)
            found.add("motions", motion)
            found.add("bodies", *_bodies(reading, actor, scope, motion, shapes))


def _bodies(reading: SdfReading, actor: Element, world: SdfScope, motion: Motion, shapes: Shapes) -> list[Body]:
    """Return the visible bodies of an actor: its skin, and its links with their visuals."""
    place, bodies = motion.place, []
    seen = [shape for skin in actor.all("skin") for shape in shapes.skin(skin)]
    if seen:
        bodies.append(Body(f"{motion.frame}/skin", motion.frame, geometry=tuple(seen), place=place, parent_place=place))
    for animation in actor.all("animation"):
        reading.leave_out(animation, "an actor moves as a whole here, without its animation")
    for joint in actor.all("joint"):
        reading.leave_out(joint, "the links of an actor do not move in it here")
    # Its links are named and posed like those of a model.
    own = SdfScope(motion.frame, actor, world.version)
    for link in actor.all("link"):
        pose = child(link, "pose")
        entry = ScopeEntry(link.get("name"), "link", link, reading.pose(pose), relative_to(pose, world.version))
        own.entries[entry.name] = entry
    for entry in own.entries.values():
        for collision in entry.element.all("collision"):
            reading.leave_out(collision, "an actor touches nothing here")
        for sensor in entry.element.all("sensor"):
            reading.leave_out(sensor, "an actor has no sensors here")
        at = place_of(entry.element)
        body = Body(f"{motion.frame}/{frame_name(entry.name)}", motion.frame, pose=own_pose(own, entry), place=at)
        bodies.append(replace(body, geometry=tuple(shapes.visuals(own, entry)), parent_place=at))
    return bodies


def _nanoseconds(reading: SdfReading, element: Element, tag: str) -> int:
    """Return a time in ns that fits a ROS time stamp; 0 if there is none, or if it is invalid, which is reported."""
    seconds, most = reading.number(element, tag, default=0.0), MAX_STAMP_NS // 10**9
    if abs(seconds) <= most:
        return round(seconds * 1e9)
    reading.error(child(element, tag) or element, f"{seconds:g} s is out of range; allowed: -{most} to {most}")
    return 0


def _motion(reading: SdfReading, actor: Element) -> Motion:
    """Return the motion of an actor through its waypoints, or its fixed pose."""
    rows: list[tuple[int, FloatArray]] = []
    script = child(actor, "script")
    at = reading.pose(child(actor, "pose"))
    trajectories = [] if script is None else script.all("trajectory")
    for trajectory in trajectories[:1]:
        trajectory.get("type"), trajectory.get("id")
        rows = [
            (_nanoseconds(reading, waypoint, "time"), reading.pose(child(waypoint, "pose")))
            for waypoint in trajectory.all("waypoint")
        ]
    for more in trajectories[1:]:
        reading.leave_out(more, "only the first trajectory of an actor is read")
    place = place_of(actor)
    rows.sort(key=lambda row: row[0])
    rows = [row for k, row in enumerate(rows) if k == 0 or row[0] > rows[k - 1][0]]
    if not rows:
        rows = [(0, at)]
    loops = script is None or reading.flag(script, "loop", default=True)
    if script is not None:
        start = max(_nanoseconds(reading, script, "delay_start"), 0)
        rows = [(time + start, pose) for time, pose in rows]
        if not reading.flag(script, "auto_start", default=True):
            reading.approximate(script, "an actor that does not start by itself moves from the start of a run")
    return Motion(
        frame_name(actor.get("name")),
        FIXED_FRAME,
        np.array([time for time, _ in rows]),
        np.array([pose for _, pose in rows]),
        after="loop" if loops and len(rows) > 1 else "hold",
        place=place,
        parent_place=place,
    )
