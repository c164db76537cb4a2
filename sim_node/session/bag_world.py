"""The shapes of the world that a bag was recorded in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from sim_node.recording.bag import Bag
from sim_node.recording.worlds import recorded_world
from sim_node.viewing.shape import Shape
from sim_node.viewing.shapes import shapes_of
from sim_node.world import FrameTable
from sim_node.world.layout import lay_out


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
