"""Transforms: serialized TFMessages, and the sink that publishes moving and static frames."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np
import numpy.typing as npt

from sim_node.messages import topic
from sim_node.messages.clock import Stamp, simulation_stamp
from sim_node.messages.layout import MessageLayout
from sim_node.messages.odometry import BaseTransforms
from sim_node.messages.topic import Outlet, Topic
from sim_node.simulation import Sink, Snapshot
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import FrameTable, World

TF = Topic("/tf", "tf2_msgs/msg/TFMessage", topic.TF)
TF_STATIC = Topic("/tf_static", "tf2_msgs/msg/TFMessage", topic.TF_STATIC)

# Maximum difference between poses of a static frame that is attributed to rounding, m and in quaternions.
_SAME = 1e-9

# Sends transforms with fixed names, given a stamp (ns) and poses (N, 7).
SendPoses = Callable[[int, FloatArray], None]
# Creates a sender, given the names of parents and children. Senders of the same publisher are used one after another.
LayOutPoses = Callable[[Sequence[str], Sequence[str]], SendPoses]
# Creates the publisher of a topic
PoseOutlet = Callable[[Topic], LayOutPoses]


class TfMessageBytes:
    """Serialized TFMessage with fixed names, in which all transforms carry the same stamp.

    Args:
        parents: Parent of each transform.
        children: Child of each transform.
    """

    def __init__(self, parents: Sequence[str], children: Sequence[str]) -> None:
        ends = zip(parents, children, strict=True)
        rows = [{"header.frame_id": parent, "child_frame_id": child} for parent, child in ends]
        self._layout = MessageLayout(TF.type, {"transforms": rows})
        self._memory, places = self._layout.rows("transforms[].transform")
        self._places = places.reshape(len(rows), 7)

    def __len__(self) -> int:
        """Return the number of bytes of the message."""
        return len(self._layout)

    def write(self, stamp_ns: int, poses: FloatArray) -> bytes:
        """Return the message.

        Args:
            stamp_ns: Stamp of all transforms.
            poses: Poses (N, 7) [x y z qx qy qz qw] of each child in its parent, m.

        Returns:
            The CDR of the message.

        Raises:
            ValueError: The number of poses is wrong.
            OverflowError: The time does not fit into a stamp.
        """
        if poses.shape != self._places.shape:
            raise ValueError(f"poses: shape is {poses.shape}, this message needs {self._places.shape}")
        self._memory[self._places] = poses
        return self._layout.write(stamp_ns)


def serialised(outlet: Outlet) -> PoseOutlet:
    """Return a PoseOutlet that sends CDR. Bytes are laid out once; then only stamps and doubles are rewritten."""

    def advertise(topic: Topic) -> LayOutPoses:
        send_bytes = outlet.advertise(topic)

        def lay_out(parents: Sequence[str], children: Sequence[str]) -> SendPoses:
            message = TfMessageBytes(parents, children)
            return lambda stamp_ns, poses: send_bytes(stamp_ns, message.write(stamp_ns, poses))

        return lay_out

    return advertise


def to_all(*outlets: PoseOutlet) -> PoseOutlet:
    """Return a PoseOutlet that sends through several others, in order, with the same stamps."""

    def advertise(topic: Topic) -> LayOutPoses:
        publishers = [outlet(topic) for outlet in outlets]

        def lay_out(parents: Sequence[str], children: Sequence[str]) -> SendPoses:
            sends = [publisher(parents, children) for publisher in publishers]

            def send(stamp_ns: int, poses: FloatArray) -> None:
                for each in sends:
                    each(stamp_ns, poses)

            return send

        return lay_out

    return advertise


class TfSink(Sink):
    """Publishes a run on /tf (moving frames) and /tf_static (all others, latched, with the first snapshot).

    A transform on /tf_static never changes, since tf2 treats it as valid at all times. If a change of the world moves a
    static frame, gives it another parent or lets it move, it is on /tf from then on, even if it stands still. After
    each change of static frames, /tf_static contains all of them again, for late subscribers.

    A wheeled base is a child of its odometry frame, unless its `transforms` say otherwise; see BaseTransforms.

    Args:
        outlet: The outlet of the transforms.
        prefix: Prefix of all frame names except the fixed frame's, which vehicles share.
        stamp: Returns the stamp for a simulation time.
        left_out: Returns the rows of frames that are published elsewhere, such as by robot_state_publisher.
    """

    def __init__(
        self,
        outlet: PoseOutlet,
        *,
        prefix: str = "",
        stamp: Stamp = simulation_stamp,
        left_out: Callable[[World, FrameTable], Collection[int]] = lambda world, frames: (),
    ) -> None:
        self._outlet, self._left_out = outlet, left_out
        self._prefix = prefix
        self._stamp = stamp
        self._frames: FrameTable | None = None
        self._world: World | None = None
        self._bases: BaseTransforms | None = None
        self._moving: npt.NDArray[np.intp] = np.empty(0, dtype=np.intp)
        self._send_moving: SendPoses | None = None
        self._publishers: dict[Topic, LayOutPoses] = {}
        # By child, parent and pose published as static; the content of the last message; and the frames on /tf.
        self._static: dict[str, tuple[str, FloatArray]] = {}
        self._latched: list[tuple[str, str]] | None = None
        self._dynamic: set[str] = set()

    def open(self, world: World, frames: FrameTable) -> None:
        """Prepare the messages. Static frames are determined with the first snapshot, which contains the poses."""
        self._frames, self._world = frames, world
        children = np.flatnonzero(frames.parents >= 0)
        if not frames.static[children].all():
            self._publisher(TF)
        if frames.static[children].any():
            self._publisher(TF_STATIC)

    def write(self, snapshot: Snapshot) -> None:
        """Publish the moving frames and, the first time after a change, also the static ones."""
        stamp_ns = self._stamp(snapshot.time_ns)
        if self._frames is not None:
            frames, self._frames = self._frames, None
            self._begin(frames, stamp_ns, snapshot.poses)
        if self._send_moving is not None:
            poses = snapshot.poses[self._moving]
            if self._bases is not None:
                poses = np.concatenate([poses, self._bases.write(snapshot.poses)])
            self._send_moving(stamp_ns, poses)

    def _begin(self, frames: FrameTable, stamp_ns: int, poses: FloatArray) -> None:
        """Divide the frames into moving and static ones, lay out their messages, and publish the static ones."""
        ids = [name if row == 0 else self._prefix + name for row, name in enumerate(frames.names)]
        assert self._world is not None
        bases = BaseTransforms.of(self._world, frames, ids) if self._world.bases else None
        self._bases = bases if bases is not None and bases.rows else None
        moving: list[int] = []
        still: list[int] = []
        left_out = self._left_out(self._world, frames)
        for row in np.flatnonzero(frames.parents >= 0).tolist():
            if row in left_out:
                continue
            if frames.static[row] and ids[row] not in self._dynamic and self._stays(ids, frames, row, poses[row]):
                still.append(row)
            else:
                moving.append(row)
                self._dynamic.add(ids[row])
        if self._bases is not None:
            moving = [row for row in moving if row not in self._bases.rows]
        self._moving = np.array(moving, dtype=np.intp)
        ends = _ends(ids, frames, moving)
        if self._bases is not None:
            ends = ends[0] + self._bases.parents, ends[1] + self._bases.children
        self._send_moving = self._publisher(TF)(*ends) if ends[0] else None
        parents, children = _ends(ids, frames, still)
        latched = list(zip(parents, children, strict=True))
        if latched != (self._latched or []):
            self._publisher(TF_STATIC)(parents, children)(stamp_ns, poses[still])
            self._latched = latched

    def _stays(self, ids: list[str], frames: FrameTable, row: int, pose: FloatArray) -> bool:
        """Return whether a static frame is where it was published, if it was. Remember new frames."""
        parent, before = self._static.setdefault(ids[row], (ids[frames.parents[row]], np.array(pose)))
        return parent == ids[frames.parents[row]] and bool(np.abs(pose - before).max() <= _SAME)

    def _publisher(self, topic: Topic) -> LayOutPoses:
        if topic not in self._publishers:
            self._publishers[topic] = self._outlet(topic)
        return self._publishers[topic]


def _ends(ids: list[str], frames: FrameTable, rows: list[int]) -> tuple[list[str], list[str]]:
    return [ids[frames.parents[row]] for row in rows], [ids[row] for row in rows]
