"""The world of a bag, and the poses recorded in it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import numpy as np

from sim_node.messages.tf_message_reader import Unreadable
from sim_node.recording.bag import Bag, BagMessage
from sim_node.recording.changes import recorded_worlds
from sim_node.recording.frames import BagEra, BagFrames
from sim_node.recording.transforms import WALL_CLOCK_NS, BagTransforms
from sim_node.session.topic_fields import TopicFields
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.viewing.meshes import DrawnShape
from sim_node.viewing.render_requests import PoseSource
from sim_node.viewing.shapes import shapes_of
from sim_node.world import FrameTable, WorldWarning
from sim_node.world.layout import lay_out
from sim_node.world.model import StaticFrame, World


def shapes_on(world: World | None, frames: FrameTable) -> tuple[DrawnShape, ...]:
    """Return the shapes of a recorded world whose frames are in the table; none without a world."""
    if world is None:
        return ()
    theirs = lay_out(world).frames
    rows = {row: frames.index(name) for row, name in enumerate(theirs.names) if name in frames.names}
    return tuple(replace(each, row=rows[each.row]) for each in shapes_of(world, theirs) if each.row in rows)


class BagFields(TopicFields):
    """Numbers that formulas refer to, read from the topics of a bag at given instants.

    Args:
        bag: The bag.
        read: Returns the messages of topics.
        wanted: The topics that the formulas refer to.
    """

    def __init__(
        self, bag: Bag, read: Callable[[Collection[str]], Iterable[BagMessage]], wanted: Iterable[str]
    ) -> None:
        super().__init__(wanted, lambda text: warnings.warn(WorldWarning(text), stacklevel=2))
        self._names = [topic.name for topic in bag.topics]
        for topic in bag.topics:
            self.add(topic)
        self._messages = iter(read(known) if (known := list(self.types())) else ())
        self._next = next(self._messages, None)

    def reach(self, time_ns: int) -> None:
        """Read the messages up to an instant. Instants must not decrease."""
        newest: dict[int, bytes] = {}
        while self._next is not None and self._next.time_ns <= time_ns:
            newest[self._next.topic] = self._next.data
            self._next = next(self._messages, None)
        for topic, data in newest.items():
            self.receive(self._names[topic], data)


@contextmanager
def sources_of_bag(
    bag: Bag, read: Callable[[Collection[str]], Iterable[BagMessage]], unreadable: Unreadable
) -> Iterator[list[PoseSource]]:
    """Yield the PoseSources of a bag, one for each recorded world; frames alone if no world was recorded.

    Frames without transforms in the bag stay at the start pose of the world. Raises BagError, and WorldError if the
    recorded files no longer make a world.

    Args:
        bag: The bag.
        read: Returns the messages of topics.
        unreadable: Counts the messages that are skipped.
    """
    frames = BagFrames(bag, unreadable)
    zero_ns = frames.first_ns if frames.first_ns >= WALL_CLOCK_NS else 0
    ends = [*(era.start_ns - 1 for era in frames.eras[1:]), frames.last_ns]
    with recorded_worlds(bag) as worlds:
        sources: list[PoseSource] = []
        for era, end_ns in zip(frames.eras, ends, strict=True):
            world = worlds[worlds.place_at(era.start_ns)] or _bare(era)
            start_ns = max(era.start_ns, frames.first_ns) if sources else frames.first_ns
            poses, fields = _poses_of(bag, read, world, era), partial(BagFields, bag, read)
            sources.append(PoseSource(world, poses, start_ns, end_ns, zero_ns, "bag", fields=fields))
        yield sources


def _poses_of(
    bag: Bag, read: Callable[[Collection[str]], Iterable[BagMessage]], world: World, era: BagEra
) -> Callable[[Iterable[int]], Iterator[FloatArray]]:
    """Return a function that yields the recorded poses of a world's frames at ascending times."""
    layout = lay_out(world)
    names, parents = layout.frames.names, layout.frames.parents
    rows_of = {name: row for row, name in enumerate(era.table.names) if era.table.parents[row] >= 0}
    rows = [row for row, name in enumerate(names) if name in rows_of and parents[row] >= 0]
    start = layout.poses.copy()
    start[rows] = era.poses[[rows_of[names[row]] for row in rows]]
    pairs = [(names[parents[row]], names[row]) for row in rows]

    def poses(times_ns: Iterable[int]) -> Iterator[FloatArray]:
        now = start.copy()
        for found in BagTransforms(bag, read).poses(pairs, iter(times_ns)):
            known = np.isfinite(found[:, 0])
            now[np.array(rows, dtype=np.intp)[known]] = found[known]
            yield now.copy()

    return poses


def _bare(frames: BagEra) -> World:
    """Return a world that consists of the frames of a bag. Additional roots are placed on the first one."""
    names, parents = frames.table.names, frames.table.parents
    fixed = names[0]
    statics: Sequence[StaticFrame] = [
        StaticFrame(name, names[parents[row]] if parents[row] >= 0 else fixed, frames.poses[row])
        for row, name in enumerate(names)
        if row
    ]
    return World("bag", fixed_frame=fixed, frames=tuple(statics))
