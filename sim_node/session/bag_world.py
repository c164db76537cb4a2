"""The world of a bag, and the poses recorded in it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from sim_node.geometry.arrays import FloatArray
from sim_node.recording.bag import Bag, BagMessage
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
    """Yield the shapes of the recorded world that are on frames of the table; an empty tuple without a world.

    The files that they refer to exist until the context ends. Raises WorldError if they no longer make a world.
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
    bag: Bag, read: Callable[[Collection[str]], Iterable[BagMessage]], unreadable: Unreadable
) -> Iterator[PoseSource]:
    """Yield the PoseSource of a bag: its recorded world with its poses, or just its frames if it has no world.

    Frames without transforms in the bag stay at the start pose of the world. Raises BagError, and WorldError if the
    recorded files no longer make a world.

    Args:
        bag: The bag.
        read: Returns the messages of topics.
        unreadable: Counts the messages that are skipped.
    """
    frames = BagFrames(bag, unreadable)
    with recorded_world(bag) as recorded:
        world = _bare(frames) if recorded is None else recorded
        layout = lay_out(world)
        rows_of = {name: row for row, name in enumerate(frames.table.names) if frames.table.parents[row] >= 0}
        rows = [
            row for row, name in enumerate(layout.frames.names) if name in rows_of and layout.frames.parents[row] >= 0
        ]
        start = layout.poses.copy()
        start[rows] = frames.poses[[rows_of[layout.frames.names[row]] for row in rows]]
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
    """Return a world of the frames of a bag; further roots are placed on the first one."""
    names, parents = frames.table.names, frames.table.parents
    fixed = names[0]
    statics: Sequence[StaticFrame] = [
        StaticFrame(name, names[parents[row]] if parents[row] >= 0 else fixed, frames.poses[row])
        for row, name in enumerate(names)
        if row
    ]
    return World("bag", fixed_frame=fixed, frames=tuple(statics))
