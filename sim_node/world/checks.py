"""Whether a World can be laid out: names, parents and numbers, every fault told at the place of its value."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from sim_node import names
from sim_node.world.bodies import Body
from sim_node.world.body_checks import body_problems
from sim_node.world.force_checks import force_problems
from sim_node.world.model import (
    INTERPOLATIONS,
    LATEST_NS,
    ORIGIN_RANGES,
    OUTSIDE,
    SHORTEST_STEP_NS,
    Motion,
    Sensor,
    StaticFrame,
    World,
)
from sim_node.world.model_checks import model_problems
from sim_node.world.models import Model, ModelLink, links_of
from sim_node.world.pose_checks import pose_faults
from sim_node.world.problems import NO_PLACE, Place, Problem, Where, did_you_mean, quoted, shortened, shown_key
from sim_node.world.sensor_types import is_optical
from sim_node.world.systems import System
from sim_node.world.vehicle_checks import vehicle_problems

# Comparing two names that are alike takes some 60 us: in a large world only the first missing parents get a hint.
MOST_COMPARED = 10_000
# z ahead, x to the right, y down, in a frame of x ahead, y to the left, z up.
OPTICAL_POSE = np.array([0.0, 0.0, 0.0, -0.5, 0.5, -0.5, 0.5])
# Frames of a cycle that its message names.
MOST_IN_CYCLE = 8


class Entry(NamedTuple):
    """A frame as the tree sees it; `of` is what stands there, nothing for the fixed frame."""

    name: str
    parent: str
    of: StaticFrame | Motion | Body | ModelLink | None
    place: Place
    parent_place: Place

    def problem(self, message: str) -> Problem:
        """A fault of the frame's name."""
        return Problem(self.place.where, self.place.key or shown_key(self.name), message)

    def parent_problem(self, message: str) -> Problem:
        """A fault of its parent."""
        return Problem(self.parent_place.where, self.parent_place.key or shown_key(self.name), message)


def entries_of(world: World) -> list[Entry]:
    """Every frame of a world, the fixed frame first."""
    root = Entry(world.fixed_frame, "", None, Place(Where(world.source), "fixed_frame"), NO_PLACE)
    return [
        root,
        *(Entry(f.name, f.parent, f, f.place, f.parent_place) for f in (*world.frames, *world.sensors)),
        *(_optical_entry(sensor) for sensor in world.sensors if is_optical(sensor.type)),
        *(Entry(m.frame, m.parent, m, m.place, m.parent_place) for m in world.motions),
        *(entry for body in world.bodies for entry in _body_entries(body)),
        *(entry for system in world.systems for entry in _system_entries(system, world.fixed_frame)),
        *(entry for model in world.models for entry in _model_entries(model)),
    ]


def _system_entries(system: System, fixed_frame: str) -> Iterator[Entry]:
    """A system and all systems and bodies in it, which become frames as it is assembled."""
    for path, of in system.frames():
        if of is system:
            yield Entry(path, system.parent or fixed_frame, None, of.place, system.parent_place)
        else:
            yield Entry(path, path.rpartition("/")[0], None, of.place, of.place)


def _optical_entry(camera: Sensor) -> Entry:
    """The frame of a camera's pictures: z ahead, x to the right (REP 103)."""
    name = camera.name + names.OPTICAL
    return Entry(name, camera.name, StaticFrame(name, camera.name, OPTICAL_POSE), camera.place, camera.place)


def _body_entries(body: Body) -> Iterator[Entry]:
    """A body, after its joint frame where that is a frame of its own; a frozen body is a static frame."""
    if not body.type.parts:
        of = StaticFrame(body.name, body.parent, body.pose)
        yield Entry(body.name, body.parent, of, body.place, body.parent_place)
        return
    joint_frame = body.joint_frame
    if joint_frame != body.parent:
        of = StaticFrame(joint_frame, body.parent, body.pose)
        yield Entry(joint_frame, body.parent, of, body.place, body.parent_place)
    yield Entry(body.name, joint_frame, body, body.place, body.parent_place)


def _model_entries(model: Model) -> Iterator[Entry]:
    """The links of a model; the first ones' parent is told where the model is attached."""
    for link in links_of(model):
        yield Entry(link.name, link.parent, link, link.link.place, model.parent_place)


def tree_problems(entries: Sequence[Entry]) -> Iterator[Problem]:
    """Names that cannot be, names that stand twice, parents that are not there, frames below themselves."""
    first: dict[str, Entry] = {}
    for entry in entries:
        fault = names.fault(entry.name)
        if fault:
            yield entry.problem(f"the name {quoted(entry.name)} {fault}")
            continue
        there = first.setdefault(entry.name, entry)
        if there is not entry:
            if there is entries[0]:
                yield entry.problem(f"{entry.name!r} is the fixed frame, which has no parent and no pose")
            else:
                at = f", the first is at {there.place.where}" if there.place.where.line else ""
                yield entry.problem(f"a second frame {entry.name!r}{at}")
    hints: dict[str, str] = {}
    for entry in entries[1:]:
        parent = entry.parent
        if parent in first:
            continue
        if parent not in hints:
            hints[parent] = did_you_mean(parent, first) if len(hints) * len(first) < MOST_COMPARED else ""
        yield entry.parent_problem(f"{quoted(parent)} is no frame of this world{hints[parent]}")
    yield from _cycles(first)


def _cycles(entries: dict[str, Entry]) -> Iterator[Problem]:
    """One problem per cycle, told at its first frame."""
    seen: set[str] = set()
    for start in entries:
        walk: dict[str, int] = {}
        name = start
        while name in entries and name not in seen:
            seen.add(name)
            walk[name] = len(walk)
            name = entries[name].parent
        if name in walk:
            cycle = [*list(walk)[walk[name] :], name]
            if len(cycle) > MOST_IN_CYCLE:
                cycle[MOST_IN_CYCLE - 2 : -1] = [f"... {len(cycle) - MOST_IN_CYCLE + 1} more ..."]
            yield entries[name].parent_problem(f"{name!r} is its own ancestor: {' below '.join(map(shortened, cycle))}")


def number_problems(world: World) -> Iterator[Problem]:
    """Times, places, poses and words out of range: a reader lets none through, a World made in Python may."""
    start_ns, step_ns = world.time.start_ns, world.time.step_ns
    file = Where(world.source)
    if not 0 <= start_ns <= LATEST_NS:
        yield Problem(file, "time.start_ns", f"{start_ns} is out of range; allowed: 0 to {LATEST_NS}")
    if not SHORTEST_STEP_NS <= step_ns <= LATEST_NS:
        yield Problem(file, "time.step_ns", f"{step_ns} is out of range; allowed: {SHORTEST_STEP_NS} to {LATEST_NS}")
    for key, (low, high) in ORIGIN_RANGES.items() if world.origin else ():
        number = getattr(world.origin, key)
        if not (low <= number <= high):
            yield Problem(file, f"origin.{key}", f"{number} is out of range; allowed: {low:g} to {high:g}")

    statics = (*world.frames, *world.sensors)
    if statics:
        poses = np.array([frame.pose for frame in statics])
        for row, message in pose_faults(poses):
            yield _named(statics[row], "pose", message)
    for frame in statics:
        if frame.scale is not None and not all(0.0 < factor < math.inf for factor in frame.scale.tolist()):
            yield _named(frame, "scale", f"{frame.scale.tolist()} must be above zero and finite")
    for motion in world.motions:
        yield from _motion_problems(motion)
    yield from body_problems(world)
    yield from vehicle_problems(world)
    yield from force_problems(world)
    if world.systems or world.attachments:
        yield Problem(file, "systems", "are not assembled; sim_node.assembly.assemble(world) does that")
    yield from model_problems(world)


def _motion_problems(motion: Motion) -> Iterator[Problem]:
    for key, word, allowed in (
        ("interpolation", motion.interpolation, INTERPOLATIONS),
        ("before", motion.before, OUTSIDE),
        ("after", motion.after, OUTSIDE),
    ):
        if word not in allowed:
            yield _named(motion, key, f"found {word!r}; allowed: {', '.join(allowed)}")
    for row, message in pose_faults(motion.poses):
        yield _named(motion, f"poses[{row}]", message)
    backwards = np.flatnonzero(np.diff(motion.times_ns) <= 0)
    if len(backwards):
        row = int(backwards[0]) + 1
        found = f"{motion.times_ns[row]} after {motion.times_ns[row - 1]}"
        yield _named(motion, f"times_ns[{row}]", f"{found}; times must increase")
    if np.abs(motion.times_ns).max() > LATEST_NS:
        yield _named(motion, "times_ns", f"out of range; allowed: {-LATEST_NS} to {LATEST_NS}")


def _named(of: StaticFrame | Motion, part: str, message: str) -> Problem:
    name = of.frame if isinstance(of, Motion) else of.name
    return Problem(of.place.where, f"{shown_key(name)}: {part}", message)
