"""Transforms on the wire: TFMessage bytes, and the sink that sends what moves every tick, what stands still once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from sim_node.geometry.arrays import FloatArray
from sim_node.simulation import Snapshot
from sim_node.wire import topic
from sim_node.wire.clock import Stamp, simulation_stamp
from sim_node.wire.layout import Layout
from sim_node.wire.topic import Outlet, Topic
from sim_node.world import FrameTable, World

TF = Topic("/tf", "tf2_msgs/msg/TFMessage", topic.TF)
TF_STATIC = Topic("/tf_static", "tf2_msgs/msg/TFMessage", topic.TF_STATIC)

# What sends transforms of fixed names: called with a stamp (ns) and poses (N, 7).
SendPoses = Callable[[int, FloatArray], None]
# Makes it, from a topic, the names of the parents and those of the children.
PoseOutlet = Callable[[Topic, Sequence[str], Sequence[str]], SendPoses]


class TfMessageBytes:
    """The CDR of a TFMessage of fixed parents and children: every transform carries the same stamp."""

    def __init__(self, parents: Sequence[str], children: Sequence[str]) -> None:
        ends = zip(parents, children, strict=True)
        rows = [{"header.frame_id": parent, "child_frame_id": child} for parent, child in ends]
        self._layout = Layout(TF.type, {"transforms": rows})
        self._memory, places = self._layout.rows("transforms[].transform")
        self._places = places.reshape(len(rows), 7)

    def __len__(self) -> int:
        """Return the number of bytes of the message."""
        return len(self._layout)

    def write(self, stamp_ns: int, poses: FloatArray) -> bytes:
        """Return the message for poses (N, 7) [x y z qx qy qz qw], all stamped stamp_ns.

        Raises ValueError for another number of poses, OverflowError for a time that stamps do not hold.
        """
        if poses.shape != self._places.shape:
            raise ValueError(f"poses: shape is {poses.shape}, this message needs {self._places.shape}")
        self._memory[self._places] = poses
        return self._layout.write(stamp_ns)


def serialised(outlet: Outlet) -> PoseOutlet:
    """Sends ready CDR: the bytes are laid out once, then only stamps and doubles are rewritten."""

    def advertise(topic: Topic, parents: Sequence[str], children: Sequence[str]) -> SendPoses:
        send_bytes = outlet.advertise(topic)
        message = TfMessageBytes(parents, children)

        def send(stamp_ns: int, poses: FloatArray) -> None:
            send_bytes(stamp_ns, message.write(stamp_ns, poses))

        return send

    return advertise


def to_all(*outlets: PoseOutlet) -> PoseOutlet:
    """Sends in several ways, in their order, with the same stamps."""

    def advertise(topic: Topic, parents: Sequence[str], children: Sequence[str]) -> SendPoses:
        sends = [outlet(topic, parents, children) for outlet in outlets]

        def send(stamp_ns: int, poses: FloatArray) -> None:
            for each in sends:
                each(stamp_ns, poses)

        return send

    return advertise


class TfSink:
    """Sends a run on /tf (the frames that move) and /tf_static (the rest, latched, with the first snapshot).

    prefix goes before every frame name but the fixed frame's, which vehicles share.
    """

    def __init__(self, outlet: PoseOutlet, *, prefix: str = "", stamp: Stamp = simulation_stamp) -> None:
        self._outlet = outlet
        self._prefix = prefix
        self._stamp = stamp
        self._moving: npt.NDArray[np.intp] = np.empty(0, dtype=np.intp)
        self._still: npt.NDArray[np.intp] = np.empty(0, dtype=np.intp)
        self._send_moving: SendPoses | None = None
        self._send_still: SendPoses | None = None

    def open(self, world: World, frames: FrameTable) -> None:
        """Lays out both messages."""
        ids = [name if row == 0 else self._prefix + name for row, name in enumerate(frames.names)]
        children = np.flatnonzero(frames.parents >= 0)
        self._moving = children[~frames.static[children]]
        self._still = children[frames.static[children]]
        if len(self._moving):
            self._send_moving = self._outlet(TF, *_ends(ids, frames, self._moving))
        if len(self._still):
            self._send_still = self._outlet(TF_STATIC, *_ends(ids, frames, self._still))

    def write(self, snapshot: Snapshot) -> None:
        """Sends the moving frames; the first time, the others too."""
        stamp_ns = self._stamp(snapshot.time_ns)
        if self._send_still is not None:
            self._send_still(stamp_ns, snapshot.poses[self._still])
            self._send_still = None
        if self._send_moving is not None:
            self._send_moving(stamp_ns, snapshot.poses[self._moving])

    def close(self) -> None:
        """The outlet is its owner's."""


def _ends(ids: list[str], frames: FrameTable, rows: npt.NDArray[np.intp]) -> tuple[list[str], list[str]]:
    return [ids[frames.parents[row]] for row in rows], [ids[row] for row in rows]
