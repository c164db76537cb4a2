"""The frames of a bag: their tree, and where they are at any time of it."""

from __future__ import annotations

import numpy as np

from sim_node.geometry import poses as pose_math
from sim_node.geometry.arrays import FloatArray
from sim_node.recording.bag import Bag, BagError
from sim_node.recording.transforms import TYPE
from sim_node.wire.tf_message_reader import TfMessageReader, TransformBatch
from sim_node.wire.unreadable import Unreadable
from sim_node.world.frame_table import table_of
from sim_node.world.model import MAX_DISTANCE


class BagFrames:
    """The transforms of a bag, read through once: a table of its frames, and their poses as messages come in.

    first_ns, last_ns: the first and the last stamp of what moves; where nothing does, the times of the bag's messages.
    table: frames below what they hung on last, those of a second root beside the first one; those that only latched
    topics tell of are static. poses (N, 7): of each in its parent, as `take` left them. places (P, 3): the corners of
    the box in which moving frames below the root are. unreadable: counts the messages that are skipped, for they are no
    TFMessages. Raises BagError for a bag without transforms.
    """

    def __init__(self, bag: Bag, unreadable: Unreadable) -> None:
        topics = [topic.name for topic in bag.topics if topic.type == TYPE]
        parents: dict[str, str] = {}
        first: dict[str, FloatArray] = {}
        dynamic: set[str] = set()
        low, high = np.full(3, np.inf), np.full(3, -np.inf)
        self._reader = TfMessageReader()
        self._unreadable = unreadable
        first_ns, last_ns = 2**63 - 1, -1
        for message in bag.messages(topics) if topics else ():
            batch = self._read(message.data, bag.topics[message.topic].name)
            if batch is None:
                continue
            names, stamps, poses = batch
            if not _is_latched(bag.topics[message.topic].name):
                dynamic.update(names.children)
                first_ns = min(first_ns, int(stamps.min(initial=first_ns)))
                last_ns = max(last_ns, int(stamps.max(initial=last_ns)))
            for parent, child, pose in zip(names.parents, names.children, poses, strict=True):
                parents[child] = parent
                if child not in first:
                    first[child] = np.array(pose)
                if parent not in parents and child in dynamic:
                    low, high = np.minimum(low, pose[:3]), np.maximum(high, pose[:3])
        if not parents:
            raise BagError("the bag has no transforms, so there is no frame to see it in")
        try:
            self.table = table_of(parents, dynamic)
        except ValueError as error:
            raise BagError(f"the bag's transforms: {error}") from None
        self.first_ns, self.last_ns = (first_ns, last_ns) if last_ns >= 0 else (bag.start_ns, bag.end_ns)
        self.poses = np.array([first.get(name, pose_math.IDENTITY) for name in self.table.names])
        self.places = np.stack([low, high]) if np.isfinite(low).all() else np.zeros((0, 3))
        self._rows: dict[tuple[str, ...], np.ndarray[tuple[int], np.dtype[np.intp]]] = {}

    def take(self, data: bytes) -> None:
        """Moves frames to where a TFMessage says; what is none is skipped."""
        try:
            names, _, poses = self._sound(data)
        except ValueError:  # which was told of when the bag was read through
            return
        rows = self._rows.get(names.children)
        if rows is None:
            rows = np.array([self.table.index(name) for name in names.children], dtype=np.intp)
            self._rows[names.children] = rows
        self.poses[rows] = poses

    def _sound(self, data: bytes) -> TransformBatch:
        """A message's transforms. Raises ValueError for what is none, and for poses that no frame can have."""
        batch = self._reader.read(data)
        if not np.abs(batch.poses).max(initial=0.0) <= MAX_DISTANCE:
            row = int(np.flatnonzero(~(np.abs(batch.poses).max(axis=1) <= MAX_DISTANCE))[0])
            raise ValueError(f"{batch.names.children[row]}: a pose has to be finite, up to {MAX_DISTANCE:g} m away")
        return batch

    def _read(self, data: bytes, topic: str) -> TransformBatch | None:
        try:
            return self._sound(data)
        except ValueError as error:
            self._unreadable.count(topic, error)
            return None


def _is_latched(topic: str) -> bool:
    return topic.endswith("tf_static")
