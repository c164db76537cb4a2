"""The layout of a World: default parents, checks of the tree, and promotion of motionless sensors to static frames."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from sim_node import names
from sim_node.spatial.geometry import poses as pose_math
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.bodies import Body
from sim_node.world.checks import entries_of, number_problems, tree_problems
from sim_node.world.frame_table import FrameTable
from sim_node.world.model import Motion, World
from sim_node.world.models import ModelLink
from sim_node.world.part import PARTS, FrameEntry, entries_of_kind
from sim_node.world.problems import refuse_any


def with_default_parents(world: World) -> World:
    """Return the world with a parent for every frame that has none, as its kind of part defines it.

    The default parent of a sensor is the nearest base_link at or above its namespace. That of any other frame is the
    nearest frame whose name contains its own (`drone` for `drone/mast`), else the fixed frame.
    """
    if not any(PARTS[name].lacks_parents(parts) for name, parts in world.parts.items()):
        return world
    known = {entry.name for kind in PARTS.values() for entry in entries_of_kind(kind, world) if entry.part is not None}
    known.add(world.fixed_frame)
    parts = {name: PARTS[name].with_parents(parts, known, world.fixed_frame) for name, parts in world.parts.items()}
    return replace(world, parts=parts)


P = TypeVar("P")


@dataclass(frozen=True, eq=False)
class Layout:
    """The frames of a World, laid out for a run. Arrays are read-only.

    Attributes:
        frames: The table of frames.
        poses: Pose (N, 7) of each frame in its parent, m. For a moving frame, that of its first keyframe or its initial
            state.
        parts: Row and part of each frame that is a part, in the order of the rows.
    """

    frames: FrameTable
    poses: FloatArray
    parts: tuple[tuple[int, object], ...] = ()

    def of(self, part_type: type[P]) -> tuple[tuple[int, P], ...]:
        """Return the frames that are parts of a class.

        Args:
            part_type: The class.

        Returns:
            The row and the part of each, parents first.
        """
        return tuple((row, part) for row, part in self.parts if isinstance(part, part_type))

    @cached_property
    def moving(self) -> tuple[tuple[int, Motion], ...]:
        """The row and the motion of each frame that follows keyframes."""
        return tuple((row, motion) for row, motion in self.of(Motion) if not self.frames.static[row])

    @cached_property
    def bodies(self) -> tuple[tuple[int, Body], ...]:
        """The row and the body of each body."""
        return self.of(Body)

    @cached_property
    def model_links(self) -> tuple[tuple[int, ModelLink], ...]:
        """The row of each body of the world's models."""
        return tuple((row, link) for row, link in self.of(ModelLink) if link.link.is_body)

    @cached_property
    def links(self) -> tuple[tuple[int, Body | ModelLink], ...]:
        """The row and the link of each body of a model."""
        return tuple(sorted((*self.bodies, *self.model_links), key=lambda each: each[0]))


# Cache of the last layout and its world, both of which are immutable: a run, its names, markers, descriptions and pages
# use the same one.
_last: tuple[World, Layout] | None = None


def lay_out(world: World) -> Layout:
    """Lay out the frames of a world.

    Args:
        world: The world, assembled.

    Returns:
        The layout.

    Raises:
        WorldError: Names every duplicate name, missing parent, loop, and value out of range.
    """
    global _last
    last = _last
    if last is None or last[0] is not world:
        _last = last = world, _laid_out(world)
    return last[1]


def _laid_out(world: World) -> Layout:
    entries = entries_of(world)
    refuse_any([*tree_problems(entries), *number_problems(world)])
    order, parents = _parents_first(entries)

    poses = np.tile(pose_math.IDENTITY, (len(order), 1))
    static = np.ones(len(order), dtype=bool)
    scales = np.ones((len(order), 3))
    on_base_link = [False] * len(order)
    for row, (entry, parent) in enumerate(zip(order, parents, strict=True)):
        on_base_link[row] = parent >= 0 and (on_base_link[parent] or names.last(entry.parent) == names.BASE_LINK)
        if entry.of is not None:
            poses[row] = entry.of.start()
            if (scale := getattr(entry.of, "scale", None)) is not None:
                scales[row] = scale
            mobility = entry.of.mobility
            if mobility != "static":
                mountable = mobility == "mountable" and on_base_link[row]
                static[row] = mountable and names.fits(entry.name, world.static_patterns) and _is_still(entry.of)
    table = FrameTable(tuple(entry.name for entry in order), np.array(parents, dtype=np.int32), static, scales)
    for array in (table.parents, table.static, scales, poses):
        array.setflags(write=False)
    parts = tuple((row, entry.part) for row, entry in enumerate(order) if entry.part is not None)
    return Layout(table, poses, parts)


def _is_still(of: Any) -> bool:
    return not of.moves()


def _parents_first(entries: list[FrameEntry]) -> tuple[list[FrameEntry], list[int]]:
    """Return the entries depth first, siblings in the order of the world, and the row of each one's parent."""
    children: dict[str, list[FrameEntry]] = {}
    for entry in entries[1:]:
        children.setdefault(entry.parent, []).append(entry)
    order: list[FrameEntry] = []
    parents: list[int] = []
    stack = [(entries[0], -1)]
    while stack:
        entry, parent_row = stack.pop()
        stack.extend((child, len(order)) for child in reversed(children.get(entry.name, ())))
        order.append(entry)
        parents.append(parent_row)
    return order, parents


def joints_below(world: World, frame: str) -> tuple[str, ...]:
    """Return the names of the joints of a frame and of all frames below it, parents first.

    Only hinges and slides are listed, since free joints and balls have no scalar coordinate. The joint of a body has
    the name of the body; if it has several parts, # and an index are appended: saddle#0, saddle#1. A joint of a model
    has its own name, below the model's prefix.
    """
    return tuple(scalar_joints(lay_out(world), frame))


def scalar_joints(layout: Layout, frame: str) -> Iterator[str]:
    """Yield the names of hinges and slides as `joints_below` does, for a world that has been laid out.

    Args:
        layout: Its layout.
        frame: The frame.

    Yields:
        The names.
    """
    above = layout.frames.index(frame)
    for row, link in layout.links:
        if above in layout.frames.chain(row):
            yield from _scalar_joints(link)


def _scalar_joints(link: Body | ModelLink) -> list[str]:
    if isinstance(link, Body):
        if not all(joint.is_scalar for joint in link.joints):
            return []
        if len(link.joints) == 1:
            return [link.name]
    return [joint.name for joint in link.joints if joint.is_scalar]
