"""Look up transforms of a bag through the transform tree, for bags of any length."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sim_node.messages.tf_message_reader import TfMessageReader
from sim_node.recording.bag import Bag, BagError, BagMessage
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.spatial.tree.errors import InvalidTransform, TransformError

if TYPE_CHECKING:
    from sim_node.spatial.tree import TransformTree

TYPE = "tf2_msgs/msg/TFMessage"
# Seconds of transforms to keep: how long a lookup waits for slow frames.
_KEPT_S = 30.0
# Later stamps are wall clock times (2001-09-09). Times given by users then count from the first stamp.
WALL_CLOCK_NS = 10**18
_GIVEN_UP_NS = round(_KEPT_S / 2 * 1e9)

# Returns the messages of topics in time order.
Read = Callable[[Collection[str]], Iterable[BagMessage]]


class Found(NamedTuple):
    """A lookup result. stamp_ns: the time; pose: pose (7,) of source in target, or the reason why there is none."""

    stamp_ns: int
    pose: FloatArray | TransformError


class BagTransforms:
    """Reads the transforms of a bag into a tree, static ones first.

    Args:
        bag: The bag.
        read: Returns the messages of topics in time order.

    Attributes:
        first_ns: Stamp of the first moving transform; without any, the time of the first message.
        newest_ns: Latest stamp so far; without any, the time of the last message.
        refused: Transforms rejected by the tree.
        is_read: Whether the end has been reached.

    Raises:
        BagError: The bag has no transforms.
    """

    def __init__(self, bag: Bag, read: Read) -> None:
        from sim_node.spatial.tree import TransformTree  # imports numba

        names = [topic.name for topic in bag.topics if topic.type == TYPE]
        if not names:
            raise BagError(f"the bag has no transforms: no topic of {TYPE}")
        self._bag, self._read = bag, read
        self._dynamic = moving_topics(bag)
        self._static = [name for name in names if name not in self._dynamic]
        self._reader = TfMessageReader()
        self.tree = TransformTree(cache_duration=_KEPT_S, static_patterns=())
        self.refused: list[str] = []
        self.is_read = False
        self.first_ns, self.newest_ns = self._first()
        for message in bag.messages(self._static) if self._static else ():
            self._store(message, static=True)

    def fill(self, until_ns: int | None = None) -> TransformTree:
        """Read up to a time.

        Args:
            until_ns: Last stamp; None for the end of the bag.

        Returns:
            The tree with the transforms up to that time. For moving frames, the last half minute is kept.
        """
        for message in self._messages():
            if until_ns is not None and _stamp(self._reader, message) > until_ns:
                break
            self._store(message, static=False)
        return self.tree

    def lookups(self, target: str, source: str, stamps: Iterator[int]) -> Iterator[Found]:
        """Yield the pose of source in target at each stamp, once transforms on both sides of it have been read.

        Args:
            target: The frame to express the pose in.
            source: The frame whose pose is looked up.
            stamps: Ascending times, ns.

        Yields:
            The result at each stamp.
        """
        return (self._found(target, source, stamp) for stamp in self._readable([(target, source)], stamps))

    def poses(self, pairs: Sequence[tuple[str, str]], stamps: Iterator[int]) -> Iterator[FloatArray]:
        """Yield the poses of frames in their parents at each stamp.

        Poses are interpolated between transforms, held constant after the last one, and NaN before the first one.

        Args:
            pairs: Parent and child of each frame.
            stamps: Ascending times, ns.

        Yields:
            Poses (F, 7) [x y z qx qy qz qw], m, at each stamp.
        """
        for stamp in self._readable(pairs, stamps):
            yield np.array([self._held(*pair, stamp) for pair in pairs]).reshape(-1, 7)

    def _readable(self, pairs: Sequence[tuple[str, str]], stamps: Iterator[int]) -> Iterator[int]:
        """Yield each stamp once the tree has transforms of all pairs on both sides of it, or no longer has them."""
        stamp, waiting = next(stamps, None), list(pairs)
        for message in self._messages():
            self._store(message, static=False)
            while stamp is not None and self.newest_ns >= stamp:
                while waiting and self.tree.can_lookup(*waiting[-1], stamp, tolerance_ns=0):
                    waiting.pop()
                if waiting and self.newest_ns <= stamp + _GIVEN_UP_NS:
                    break
                yield stamp
                stamp, waiting = next(stamps, None), list(pairs)
            if stamp is None:
                return
        while stamp is not None:
            yield stamp
            stamp = next(stamps, None)

    def _held(self, parent: str, child: str, stamp: int) -> FloatArray:
        try:
            return self.tree.lookup(parent, child, stamp, tolerance_ns=0)
        except TransformError:
            try:
                last, pose = self.tree.lookup_stamped(parent, child)
            except TransformError:
                return np.full(7, np.nan)
            return pose if last is None or last < stamp else np.full(7, np.nan)

    def _found(self, target: str, source: str, stamp: int) -> Found:
        try:
            return Found(stamp, self.tree.lookup(target, source, stamp))
        except TransformError as error:
            return Found(stamp, error)

    def _messages(self) -> Iterator[BagMessage]:
        yield from self._read(self._dynamic) if self._dynamic else ()
        self.is_read = True

    def _first(self) -> tuple[int, int]:
        if not self._dynamic:
            return self._bag.start_ns, self._bag.end_ns
        first = first_stamp(self._bag)
        first = self._bag.start_ns if first is None else first
        return first, first

    def _store(self, message: BagMessage, static: bool) -> None:
        try:
            names, stamps, poses = self._reader.read(message.data)
            if len(stamps) and not static:
                self.newest_ns = max(self.newest_ns, int(stamps.max()))
            self.tree.set_transforms(names.parents, names.children, stamps, poses, static)
        except (InvalidTransform, ValueError) as error:
            self.refused.append(f"{self._bag.topics[message.topic].name} at {message.time_ns / 1e9:.3f} s: {error}")


def moving_topics(bag: Bag) -> list[str]:
    """Return the topics of a bag that contain transforms of moving frames."""
    return [topic.name for topic in bag.topics if topic.type == TYPE and not topic.name.endswith("tf_static")]


def first_stamp(bag: Bag, from_ns: int | None = None) -> int | None:
    """Return the first stamp of moving frames, ns.

    Args:
        bag: The bag.
        from_ns: Earliest recording time, in bag time; None for the start of the bag.

    Returns:
        The stamp; None if there is none.
    """
    topics, reader = moving_topics(bag), TfMessageReader()
    stamps = (_stamp(reader, message) for message in (bag.messages(topics, from_ns) if topics else ()))
    return next((stamp for stamp in stamps if stamp >= 0), None)


def _stamp(reader: TfMessageReader, message: BagMessage) -> int:
    """Return the first stamp in a message; -1 if it has none."""
    try:
        stamps = reader.read(message.data).stamps_ns
    except ValueError:
        return -1
    return int(stamps.min()) if len(stamps) else -1
