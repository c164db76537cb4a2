"""The frames of a bag: static transforms, the tree, and where frames are at any time of it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

import numpy as np

from sim_node.geometry import poses as pose_math
from sim_node.geometry.arrays import FloatArray
from sim_node.recording.bag import Bag, BagError, Message
from sim_node.recording.transforms import TYPE
from sim_node.wire.encoding import encode
from sim_node.wire.tf_message_reader import TfMessageReader, TransformBatch, Unreadable
from sim_node.world.frame_table import table_of
from sim_node.world.model import MAX_DISTANCE

# Of a child frame: its parent, stamp and pose.
_Transform = tuple[str, int, tuple[float, ...]]


class Statics:
    """A topic of static transforms: at any time one message with every frame of the bag.

    Broadcasters that were recorded side by side sent a message each; replayed by one publisher of depth 1, the last
    would be all that a late subscriber gets (ros2/rosbag2#1049). A recorded message that has all frames stays as it
    is, byte for byte. A frame is there from the beginning, as it is first told: static transforms hold for all time.
    Raises ValueError for bytes that are no TFMessage.
    """

    def __init__(self, messages: Iterable[Message]) -> None:
        reader = TfMessageReader()
        self._times: list[int] = []
        rows: list[tuple[bytes, dict[str, _Transform]]] = []
        first: dict[str, _Transform] = {}
        for message in messages:
            names, stamps_ns, poses = reader.read(message.data)
            transforms = zip(names.parents, stamps_ns.tolist(), map(tuple, poses.tolist()), strict=True)
            told = dict(zip(names.children, transforms, strict=True))
            rows.append((message.data, told))
            self._times.append(message.time_ns)
            first = {**told, **first}
        self._states: list[bytes] = []
        state = first
        merged = _serialised(first)
        self._initial = merged if rows else None
        for data, told in rows:
            if any(state[child] != transform for child, transform in told.items()):
                state = {**state, **told}
                merged = _serialised(state)
            self._states.append(data if len(told) == len(first) else merged)
        if rows and len(rows[0][1]) == len(first):
            self._initial = self._states[0]

    def count_before(self, time_ns: int) -> int:
        """How many of the messages were recorded before a time."""
        return bisect_left(self._times, time_ns)

    def after(self, count: int) -> bytes | None:
        """What holds after so many messages, None in a bag without any."""
        return self._states[min(count, len(self._states)) - 1] if count else self._initial


def _serialised(transforms: dict[str, _Transform]) -> bytes:
    rows = [
        {"header": {"stamp": stamp_ns, "frame_id": parent}, "child_frame_id": child, "transform": pose}
        for child, (parent, stamp_ns, pose) in transforms.items()
    ]
    return encode("tf2_msgs/msg/TFMessage", {"transforms": rows})


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
