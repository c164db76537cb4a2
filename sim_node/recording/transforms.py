"""The transforms of a bag: through the transform tree, as far as it remembers, however long the bag is."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from sim_node.geometry.arrays import FloatArray
from sim_node.recording.bag import Bag, BagError, BagMessage
from sim_node.tree import InvalidTransform, TransformError, TransformTree
from sim_node.wire.tf_message_reader import TfMessageReader

TYPE = "tf2_msgs/msg/TFMessage"
# Seconds of transforms that are kept: a lookup waits this long for slow frames before it is given up.
_KEPT_S = 30.0
# Stamps after this are of the wall clock: 2001-09-09. Times that people give are then counted from the first.
WALL_CLOCK_NS = 10**18
_GIVEN_UP_NS = round(_KEPT_S / 2 * 1e9)

# Gives the messages of these topics in the order of their times.
Read = Callable[[Collection[str]], Iterable[BagMessage]]


class Found(NamedTuple):
    """An answer. pose: (7,) of source in target, or why there is none."""

    stamp_ns: int
    pose: FloatArray | TransformError


class BagTransforms:
    """Reads the transforms of a bag into a tree, static ones first.

    first_ns, newest_ns: the stamp of its first moving transform, and the newest so far; of a bag that has none, the
    times of its messages. refused: what the tree would not take. is_read: whether the end was reached.
    Raises BagError for a bag without transforms.
    """

    def __init__(self, bag: Bag, read: Read) -> None:
        names = [topic.name for topic in bag.topics if topic.type == TYPE]
        if not names:
            raise BagError(f"the bag has no transforms: no topic of {TYPE}")
        self._bag, self._read = bag, read
        self._static = [name for name in names if name.endswith("tf_static")]
        self._dynamic = [name for name in names if name not in self._static]
        self._reader = TfMessageReader()
        self.tree = TransformTree(cache_duration=_KEPT_S, static_patterns=())
        self.refused: list[str] = []
        self.is_read = False
        self.first_ns, self.newest_ns = self._first()
        for message in bag.messages(self._static) if self._static else ():
            self._store(message, static=True)

    def fill(self, until_ns: int | None = None) -> TransformTree:
        """The tree with all transforms stamped up to a time; of moving frames the last half minute is kept."""
        for message in self._messages():
            if until_ns is not None and self._stamp(message) > until_ns:
                break
            self._store(message, static=False)
        return self.tree

    def lookups(self, target: str, source: str, stamps: Iterator[int]) -> Iterator[Found]:
        """The pose of source in target at each stamp (rising), as soon as transforms on both sides of it were read."""
        stamp = next(stamps, None)
        for message in self._messages():
            self._store(message, static=False)
            while stamp is not None and self.newest_ns >= stamp:
                if self.tree.can_lookup(target, source, stamp, tolerance_ns=0) or self.newest_ns > stamp + _GIVEN_UP_NS:
                    yield self._found(target, source, stamp)
                else:
                    break
                stamp = next(stamps, None)
            if stamp is None:
                return
        while stamp is not None:
            yield self._found(target, source, stamp)
            stamp = next(stamps, None)

    def poses(self, pairs: Sequence[tuple[str, str]], stamps: Iterator[int]) -> Iterator[FloatArray]:
        """The poses (F, 7) of each child in its parent at each stamp (rising).

        Where the bag tells of a frame before and after a stamp, in between; the last one where it tells no more; NaN
        where it has not told yet.
        """
        stamp, waiting = next(stamps, None), list(pairs)
        for message in self._messages():
            self._store(message, static=False)
            while stamp is not None and self.newest_ns >= stamp:
                while waiting and self.tree.can_lookup(*waiting[-1], stamp, tolerance_ns=0):
                    waiting.pop()
                if waiting and self.newest_ns <= stamp + _GIVEN_UP_NS:
                    break
                yield np.array([self._held(*pair, stamp) for pair in pairs]).reshape(-1, 7)
                stamp, waiting = next(stamps, None), list(pairs)
            if stamp is None:
                return
        while stamp is not None:
            yield np.array([self._held(*pair, stamp) for pair in pairs]).reshape(-1, 7)
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
        stamps = (self._stamp(message) for message in self._bag.messages(self._dynamic))
        first = next((stamp for stamp in stamps if stamp >= 0), self._bag.start_ns)
        return first, first

    def _stamp(self, message: BagMessage) -> int:
        """The first stamp in a message, -1 where it has none."""
        try:
            stamps = self._reader.read(message.data).stamps_ns
        except ValueError:
            return -1
        return int(stamps.min()) if len(stamps) else -1

    def _store(self, message: BagMessage, static: bool) -> None:
        try:
            names, stamps, poses = self._reader.read(message.data)
            if len(stamps) and not static:
                self.newest_ns = max(self.newest_ns, int(stamps.max()))
            self.tree.set_transforms(names.parents, names.children, stamps, poses, static)
        except (InvalidTransform, ValueError) as error:
            self.refused.append(f"{self._bag.topics[message.topic].name} at {message.time_ns / 1e9:.3f} s: {error}")
