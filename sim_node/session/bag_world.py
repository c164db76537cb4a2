"""The world of a bag, and the poses recorded in it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from sim_node.geometry.arrays import FloatArray
from sim_node.recording.bag import Bag, Message
from sim_node.recording.frames import BagFrames
from sim_node.recording.transforms import WALL_CLOCK_NS, BagTransforms
from sim_node.recording.worlds import recorded_world
from sim_node.viewing.meshes import Shape
from sim_node.viewing.render_requests import PoseSource
from sim_node.viewing.shapes import shapes_of
from sim_node.wire.tf_message_reader import Unreadable
from sim_node.world import FrameTable
from sim_node.world.layout import lay_out
from sim_node.world.model import StaticFrame, World


@contextmanager
def recorded_shapes(bag: Bag, frames: FrameTable) -> Iterator[tuple[Shape, ...]]:
    """The shapes of the recorded world that are on frames of the table; none of a bag without a world.

    The files that they refer to are there until the end. Raises WorldError where they no longer make a world.
    """
    with recorded_world(bag) as world:
        if world is None:
            yield ()
            return
        theirs = lay_out(world).frames
        rows = {row: frames.index(name) for row, name in enumerate(theirs.names) if name in frames.names}
        yield tuple(replace(each, row=rows[each.row]) for each in shapes_of(world, theirs) if each.row in rows)


@contextmanager
def source_of_bag(
    bag: Bag, read: Callable[[Collection[str]], Iterable[Message]], unreadable: Unreadable
) -> Iterator[PoseSource]:
    """A bag: the world that it was recorded in, with what it has of its frames; else its frames and nothing else.

    read: gives the messages of topics. Frames that the bag does not tell of are where the world has them at its start.
    Raises BagError, and WorldError where the recorded files no longer make a world.
    """
    frames = BagFrames(bag, unreadable)
    with recorded_world(bag) as recorded:
        world = _bare(frames) if recorded is None else recorded
        layout = lay_out(world)
        told = {name: row for row, name in enumerate(frames.table.names) if frames.table.parents[row] >= 0}
        rows = [row for row, name in enumerate(layout.frames.names) if name in told and layout.frames.parents[row] >= 0]
        start = layout.poses.copy()
        start[rows] = frames.poses[[told[layout.frames.names[row]] for row in rows]]
        names = layout.frames.names
        pairs = [(names[layout.frames.parents[row]], names[row]) for row in rows]

        def poses(times_ns: Iterable[int]) -> Iterator[FloatArray]:
            now = start.copy()
            for found in BagTransforms(bag, read).poses(pairs, iter(times_ns)):
                known = np.isfinite(found[:, 0])
                now[np.array(rows, dtype=np.intp)[known]] = found[known]
                yield now.copy()

        zero_ns = frames.first_ns if frames.first_ns >= WALL_CLOCK_NS else 0
        yield PoseSource(world, poses, frames.first_ns, frames.last_ns, zero_ns, "bag")


def _bare(frames: BagFrames) -> World:
    """A world of the frames of a bag; those without a parent hang on its root."""
    names, parents = frames.table.names, frames.table.parents
    fixed = names[0]
    statics: Sequence[StaticFrame] = [
        StaticFrame(name, names[parents[row]] if parents[row] >= 0 else fixed, frames.poses[row])
        for row, name in enumerate(names)
        if row
    ]
    return World("bag", fixed_frame=fixed, frames=tuple(statics))
