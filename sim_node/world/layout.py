"""From a World to its FrameTable: the tree is checked, sensors that stand still are promoted to static."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sim_node import names
from sim_node.geometry import poses as pose_math
from sim_node.geometry.arrays import FloatArray
from sim_node.world.bodies import Body
from sim_node.world.checks import Entry, entries_of, number_problems, tree_problems
from sim_node.world.frame_table import FrameTable
from sim_node.world.model import Motion, StaticFrame, World
from sim_node.world.models import ModelLink
from sim_node.world.problems import WorldError


@dataclass(frozen=True, eq=False)
class Layout:
    """A World's frames laid out for a run.

    poses (N, 7): where each static frame is in its parent, and each moving one at its first keyframe or initial state;
    moving: the row and the motion of each frame that follows keyframes; bodies: the row of each of the world's
    bodies, parents first; links: likewise of the bodies in its models. Arrays are read-only.
    """

    frames: FrameTable
    poses: FloatArray
    moving: tuple[tuple[int, Motion], ...]
    bodies: tuple[tuple[int, Body], ...] = ()
    links: tuple[tuple[int, ModelLink], ...] = ()


def lay_out(world: World) -> Layout:
    """The layout of a world.

    Raises WorldError with every duplicate name, missing parent, cycle, and value out of range.
    """
    entries = entries_of(world)
    problems = [*tree_problems(entries), *number_problems(world)]
    if problems:
        raise WorldError(problems)
    order, parents = _parents_first(entries)

    poses = np.tile(pose_math.IDENTITY, (len(order), 1))
    static = np.ones(len(order), dtype=bool)
    on_base_link = [False] * len(order)
    moving: list[tuple[int, Motion]] = []
    links: list[tuple[int, ModelLink]] = []
    for row, (entry, parent) in enumerate(zip(order, parents, strict=True)):
        on_base_link[row] = parent >= 0 and (on_base_link[parent] or names.last(entry.parent) == names.BASE_LINK)
        of = entry.of
        if isinstance(of, StaticFrame):
            poses[row] = of.pose
        elif isinstance(of, Body):
            poses[row] = of.start()
            static[row] = False
        elif isinstance(of, ModelLink):
            poses[row] = of.pose
            static[row] = not of.link.joints
            if of.link.is_body:
                links.append((row, of))
        elif of is not None:
            poses[row] = of.poses[0]
            if not (on_base_link[row] and names.fits(of.frame, world.static_patterns) and not of.moves()):
                static[row] = False
                moving.append((row, of))
    table = FrameTable(tuple(entry.name for entry in order), np.array(parents, dtype=np.int32), static)
    for array in (table.parents, table.static, poses):
        array.setflags(write=False)
    bodies = sorted(((table.index(body.name), body) for body in world.bodies), key=lambda row_body: row_body[0])
    return Layout(table, poses, tuple(moving), tuple(bodies), tuple(links))


def _parents_first(entries: list[Entry]) -> tuple[list[Entry], list[int]]:
    """The entries depth first, siblings in the order of the world, and the row of each one's parent."""
    children: dict[str, list[Entry]] = {}
    for entry in entries[1:]:
        children.setdefault(entry.parent, []).append(entry)
    order: list[Entry] = []
    parents: list[int] = []
    stack = [(entries[0], -1)]
    while stack:
        entry, parent_row = stack.pop()
        stack.extend((child, len(order)) for child in reversed(children.get(entry.name, ())))
        order.append(entry)
        parents.append(parent_row)
    return order, parents
