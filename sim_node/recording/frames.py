"""The frames of a bag: static transforms, the tree, and the poses of frames at any time."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sim_node.messages.encoding import encode
from sim_node.messages.tf_message_reader import TfMessageReader, TransformBatch, TransformNames, Unreadable
from sim_node.recording.bag import Bag, BagError, BagMessage
from sim_node.recording.changes import change_times
from sim_node.recording.transforms import TYPE
from sim_node.spatial.geometry import poses as pose_math
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.bounds import MAX_DISTANCE
from sim_node.world.frame_table import FrameTable, table_of

# Given the parents of frames with transforms and the fixed frame, returns parents and poses of additional frames.
Place = Callable[[Mapping[str, str], str], Mapping[str, tuple[str, FloatArray]]]
# The fixed frame of a bag without transforms (REP 105).
MAP = "map"

# Parent, stamp and pose of a child frame.
_Transform = tuple[str, int, tuple[float, ...]]


class Statics:
    """The merged messages of a topic of static transforms: each merged message contains all frames of the bag.

    Each of several broadcasters sends its own message. If one publisher of depth 1 replayed them, a late subscriber
    would only receive the last one (ros2/rosbag2#1049). A recorded message with all frames is left unchanged, byte for
    byte. A frame exists from the beginning, with its first pose, because static transforms are valid at all times.
    Raises ValueError for bytes that are not a TFMessage.
    """

    def __init__(self, messages: Iterable[BagMessage]) -> None:
        reader = TfMessageReader()
        self._times: list[int] = []
        rows: list[tuple[bytes, dict[str, _Transform]]] = []
        first: dict[str, _Transform] = {}
        for message in messages:
            names, stamps_ns, poses = reader.read(message.data)
            transforms = zip(names.parents, stamps_ns.tolist(), map(tuple, poses.tolist()), strict=True)
            updated = dict(zip(names.children, transforms, strict=True))
            rows.append((message.data, updated))
            self._times.append(message.time_ns)
            first = {**updated, **first}
        self._states: list[bytes] = []
        state = first
        merged = _serialised(first)
        self._initial = merged if rows else None
        for data, updated in rows:
            if any(state[child] != transform for child, transform in updated.items()):
                state = {**state, **updated}
                merged = _serialised(state)
            self._states.append(data if len(updated) == len(first) else merged)
        if rows and len(rows[0][1]) == len(first):
            self._initial = self._states[0]

    def count_before(self, time_ns: int) -> int:
        """Return the number of messages recorded before a time."""
        return bisect_left(self._times, time_ns)

    def after(self, count: int) -> bytes | None:
        """Return the merged message after a number of messages; None for a bag without any."""
        return self._states[min(count, len(self._states)) - 1] if count else self._initial


def _serialised(transforms: dict[str, _Transform]) -> bytes:
    rows = [
        {"header": {"stamp": stamp_ns, "frame_id": parent}, "child_frame_id": child, "transform": pose}
        for child, (parent, stamp_ns, pose) in transforms.items()
    ]
    return encode("tf2_msgs/msg/TFMessage", {"transforms": rows})


class Moves(NamedTuple):
    """The motion in a message: rows of frames (K,), their poses in their parents (K, 7), and the last stamp of moving
    frames, or None.
    """

    rows: npt.NDArray[np.intp]
    poses: FloatArray
    stamp_ns: int | None


_STILL = Moves(np.empty(0, dtype=np.intp), np.empty((0, 7)), None)


class BagEra:
    """The frames of a bag between two changes of the recorded world, with their poses during a replay.

    Attributes:
        start_ns: Start, in bag time.
        table: The frames, each below its last parent. Additional roots are placed beside the first. Frames that occur
            only on latched topics are static.
        first: First pose (N, 7) of each frame in its parent, m.
        poses: Pose (N, 7) of each frame in its parent after the last `update`, m.
        stamp_ns: Last stamp in `poses`; None before the first.
    """

    def __init__(self, start_ns: int, table: FrameTable, first: Mapping[str, FloatArray]) -> None:
        self.start_ns, self.table = start_ns, table
        self.first = np.array([first.get(name, pose_math.IDENTITY) for name in table.names])
        self.poses = self.first.copy()
        self.stamp_ns: int | None = None
        self._reader = TfMessageReader()
        # Rows by parent and child. And for the frames of a message, by parents and children: indices and rows of known
        # frames, and indices of moving ones, because static transforms may have any stamp and arrive late.
        parents = table.parents.tolist()
        self._places = {
            (table.names[parent], name): row
            for row, (name, parent) in enumerate(zip(table.names, parents, strict=True))
        }
        self._rows: dict[
            tuple[tuple[str, ...], tuple[str, ...]],
            tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], npt.NDArray[np.intp]],
        ] = {}

    def rewind(self) -> None:
        """Reset all frames to their first poses."""
        self.poses[:] = self.first

    def update(self, data: bytes) -> None:
        """Apply a TFMessage. Invalid bytes are ignored, and so are frames and parents of other eras."""
        self.move(self.moves(data))

    def move(self, moves: Moves) -> None:
        """Move frames."""
        self.poses[moves.rows] = moves.poses
        self.stamp_ns = self.stamp_ns if moves.stamp_ns is None else moves.stamp_ns

    def moves(self, data: bytes) -> Moves:
        """Return the motion in a TFMessage, for `move`."""
        try:
            names, stamps, poses = _sound(self._reader, data)
        except ValueError:  # already reported when the bag was read
            return _STILL
        key = names.parents, names.children
        if key not in self._rows:
            found = [
                (place, self._places[ends]) for place, ends in enumerate(zip(*key, strict=True)) if ends in self._places
            ]
            places, rows = np.array(found, dtype=np.intp).reshape(-1, 2).T
            self._rows[key] = places, rows, places[~self.table.static[rows]]
        places, rows, moving = self._rows[key]
        return Moves(rows, poses[places], int(stamps[moving].max()) if len(moving) else None)


class _Structure:
    """The frames according to transforms from a time on. statics: parent and pose by child before that time."""

    def __init__(self, start_ns: int, statics: Mapping[str, tuple[str, FloatArray]] = MappingProxyType({})) -> None:
        self.start_ns = start_ns
        self.parents = {child: parent for child, (parent, _) in statics.items()}
        self.first = {child: pose for child, (_, pose) in statics.items()}
        self.dynamic: set[str] = set()
        self._latched = set(statics)

    @property
    def statics(self) -> dict[str, tuple[str, FloatArray]]:
        """Parent and pose of the frames on latched topics, by child."""
        return {child: (self.parents[child], self.first[child]) for child in self._latched - self.dynamic}

    def drop_all_but(self, children: Iterable[str], *, latched: bool) -> None:
        """Drop the static or moving frames that are not in a list."""
        own, others = (self._latched, self.dynamic) if latched else (self.dynamic, self._latched)
        for gone in own.difference(children, others):
            del self.parents[gone], self.first[gone]
        own.intersection_update(children)

    def add(self, names: TransformNames, poses: FloatArray, *, latched: bool) -> None:
        """Add the transforms of a message."""
        (self._latched if latched else self.dynamic).update(names.children)
        for parent, child, pose in zip(names.parents, names.children, poses, strict=True):
            self.parents[child] = parent
            if child not in self.first:
                self.first[child] = np.array(pose)

    def add_missing(self, place: Place) -> None:
        """Add static frames for those without transforms."""
        fixed = self.table().names[0] if self.parents else MAP
        for child, (parent, pose) in place(self.parents, fixed).items():
            self.parents[child], self.first[child] = parent, pose

    def table(self) -> FrameTable:
        """Return the frames as a table. Raises BagError for a loop."""
        try:
            return table_of(self.parents, self.dynamic)
        except ValueError as error:
            raise BagError(f"the bag's transforms: {error}") from None


class BagFrames:
    """The transforms of a bag, read completely: one table of all frames, and one per world of a changing run.

    Args:
        bag: The bag.
        unreadable: Counts the messages that are skipped because they are not TFMessages.
        place: Places frames that have no transform; None to leave them out.

    Attributes:
        first_ns, last_ns: First and last stamp of moving frames; without any, the times of the bag's messages.
        eras: The frames between changes of the recorded world; a single era if it never changed.
        table: All frames of the bag.
        poses: First pose (N, 7) of each frame in its parent.
        places: Corners (P, 3) of the box that contains all motion of frames below the root, m.

    Raises:
        BagError: The bag has no transforms, and `place` adds no frames.
    """

    def __init__(self, bag: Bag, unreadable: Unreadable, place: Place | None = None) -> None:
        changes = deque(change_times(bag))
        whole = _Structure(bag.start_ns)
        # A single object if the world never changed
        structures = [_Structure(bag.start_ns) if changes else whole]
        low, high = np.full(3, np.inf), np.full(3, -np.inf)
        first_ns, last_ns = 2**63 - 1, -1
        for time_ns, latched, (names, stamps, poses) in _batches(bag, unreadable):
            if not latched:
                first_ns = min(first_ns, int(stamps.min(initial=first_ns)))
                last_ns = max(last_ns, int(stamps.max(initial=last_ns)))
            whole.add(names, poses, latched=latched)
            for parent, child, pose in zip(names.parents, names.children, poses, strict=True):
                if parent not in whole.parents and child in whole.dynamic:
                    low, high = np.minimum(low, pose[:3]), np.maximum(high, pose[:3])
            while changes and time_ns >= changes[0]:
                structures.append(_Structure(changes.popleft(), structures[-1].statics))
            if structures[-1] is not whole:
                # A run whose world changes has one publisher per topic, so each message has all static or all moving
                # frames. The message of the tick before a change may have the time of the change.
                structures[-1].drop_all_but(names.children, latched=latched)
                structures[-1].add(names, poses, latched=latched)
        if place is not None:
            for each in {id(each): each for each in (whole, *structures)}.values():
                each.add_missing(place)
        if not whole.parents:
            raise BagError("the bag has no transforms, and therefore no fixed frame to show it in")
        self.table = whole.table()
        self.eras = tuple(BagEra(each.start_ns, each.table(), each.first) for each in structures if each.parents)
        self.first_ns, self.last_ns = (first_ns, last_ns) if last_ns >= 0 else (bag.start_ns, bag.end_ns)
        self.poses = np.array([whole.first.get(name, pose_math.IDENTITY) for name in self.table.names])
        self.places = np.stack([low, high]) if np.isfinite(low).all() else np.zeros((0, 3))

    def era_at(self, time_ns: int) -> BagEra:
        """Return the frames at a time of the bag."""
        return self.eras[max(bisect_right([era.start_ns for era in self.eras], time_ns) - 1, 0)]


def _batches(bag: Bag, unreadable: Unreadable) -> Iterator[tuple[int, bool, TransformBatch]]:
    """Yield the time and the transforms of each message, and whether its topic is latched."""
    reader, topics = TfMessageReader(), [topic.name for topic in bag.topics if topic.type == TYPE]
    for message in bag.messages(topics) if topics else ():
        topic = bag.topics[message.topic].name
        try:
            batch = _sound(reader, message.data)
        except ValueError as error:
            unreadable.count(topic, error)
        else:
            yield message.time_ns, topic.endswith("tf_static"), batch


def _sound(reader: TfMessageReader, data: bytes) -> TransformBatch:
    """Return a message's transforms. Raises ValueError for invalid bytes and impossible poses."""
    batch = reader.read(data)
    if not np.abs(batch.poses).max(initial=0.0) <= MAX_DISTANCE:
        row = int(np.flatnonzero(~(np.abs(batch.poses).max(axis=1) <= MAX_DISTANCE))[0])
        raise ValueError(f"{batch.names.children[row]}: a pose must be finite and up to {MAX_DISTANCE:g} m away")
    return batch
