"""From a World to its FrameTable: the tree is checked, sensors that stand still are promoted to static."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np

from sim_node.geometry import poses as pose_math
from sim_node.geometry.arrays import FloatArray
from sim_node.world import names
from sim_node.world.frame_table import FrameTable
from sim_node.world.model import Motion, Sensor, StaticFrame, World
from sim_node.world.problems import Problem, Where, WorldError, did_you_mean


@dataclass(frozen=True, eq=False)
class Layout:
    """A World's frames laid out for a run.

    poses (N, 7): where each static frame is in its parent, and each moving frame at its first keyframe;
    moving: the row and the motion of each frame that moves.
    """

    frames: FrameTable
    poses: FloatArray
    moving: tuple[tuple[int, Motion], ...]


@dataclass(frozen=True, slots=True)
class _Entry:
    name: str
    parent: str
    of: StaticFrame | Motion | None
    where: Where


def lay_out(world: World) -> Layout:
    """The layout of a world. Raises WorldError with every duplicate name, missing parent and cycle."""
    entries = _checked_entries(world)
    children: dict[str, list[_Entry]] = {}
    for entry in entries[1:]:
        children.setdefault(entry.parent, []).append(entry)

    order: list[_Entry] = []
    parents: list[int] = []
    stack = [(entries[0], -1)]
    while stack:
        entry, parent_row = stack.pop()
        stack.extend((child, len(order)) for child in reversed(children.get(entry.name, ())))
        order.append(entry)
        parents.append(parent_row)
    if len(order) < len(entries):
        raise WorldError(_cycles(entries[1:], {entry.name for entry in order}))

    parent_of = {entry.name: entry.parent for entry in entries}
    poses = np.tile(pose_math.IDENTITY, (len(order), 1))
    static = np.ones(len(order), dtype=bool)
    moving: list[tuple[int, Motion]] = []
    for row, entry in enumerate(order):
        of = entry.of
        if isinstance(of, StaticFrame):
            poses[row] = of.pose
        elif of is not None:
            poses[row] = of.poses[0]
            if not _promoted(of, world.static_patterns, parent_of):
                static[row] = False
                moving.append((row, of))
    table = FrameTable(tuple(entry.name for entry in order), np.array(parents, dtype=np.int32), static)
    for array in (table.parents, table.static, poses):
        array.setflags(write=False)
    return Layout(table, poses, tuple(moving))


def matches(name: str, patterns: tuple[str, ...]) -> bool:
    """Whether the last component of a frame name fits one of the patterns (CAM_*), in its case."""
    return any(fnmatchcase(names.last(name), pattern) for pattern in patterns)


def _promoted(motion: Motion, patterns: tuple[str, ...], parent_of: dict[str, str]) -> bool:
    """Whether a motion is a sensor's mounting: named as one, below a base_link, and never moving."""
    if motion.moves() or not matches(motion.frame, patterns):
        return False
    above: str | None = motion.parent
    while above is not None:
        if names.last(above) == names.BASE_LINK:
            return True
        above = parent_of.get(above)
    return False


def _checked_entries(world: World) -> list[_Entry]:
    """Every frame, the fixed frame first; raises WorldError for names and parents that cannot be."""
    entries = [_Entry(world.fixed_frame, "", None, Where(world.source)), *_entries(world)]
    first: dict[str, _Entry] = {}
    problems: list[Problem] = []
    for entry in entries:
        if names.fault(entry.name):
            problems.append(Problem(entry.where, entry.name, f"the name {names.fault(entry.name)}"))
            continue
        there = first.setdefault(entry.name, entry)
        if there is entry:
            continue
        if there is entries[0]:
            message = "is the fixed frame, which has no parent"
        else:
            message = f"a second frame of this name, the first is at {there.where}"
        problems.append(Problem(entry.where, entry.name, message))
    for entry in entries[1:]:
        if entry.parent not in first:
            hint = did_you_mean(entry.parent, first)
            problems.append(Problem(entry.where, entry.name, f"parent {entry.parent!r} is no frame{hint}"))
    if problems:
        raise WorldError(problems)
    return entries


def _entries(world: World) -> Iterator[_Entry]:
    statics: tuple[StaticFrame | Sensor, ...] = (*world.frames, *world.sensors)
    yield from (_Entry(frame.name, frame.parent, frame, frame.where) for frame in statics)
    yield from (_Entry(motion.frame, motion.parent, motion, motion.where) for motion in world.motions)


def _cycles(entries: list[_Entry], reached: set[str]) -> Iterator[Problem]:
    """One problem per cycle, told at its first frame in the file."""
    by_name = {entry.name: entry for entry in entries}
    seen = set(reached)
    for entry in entries:
        walk: list[str] = []
        name = entry.name
        while name not in seen:
            seen.add(name)
            walk.append(name)
            name = by_name[name].parent
        if name in walk:
            cycle = [*walk[walk.index(name) :], name]
            first = by_name[cycle[0]]
            yield Problem(first.where, first.name, f"is its own ancestor: {' below '.join(cycle)}")
