"""Snapshots to /tf and /tf_static: what moves every tick, what stands still once."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from geometry_msgs.msg import TransformStamped
from rclpy.node import Node
from tf2_msgs.msg import TFMessage

from sim_node.geometry.arrays import FloatArray
from sim_node.nodes import qos
from sim_node.simulation import Snapshot
from sim_node.wire.tf_message import TfMessageBytes
from sim_node.world import FrameTable, World

# After a reset /clock goes back first; listeners that follow it then drop what they know of the future. Transforms
# that overtook it would be refused by them as old (TF_OLD_DATA), so these wait a moment.
RESET_GAP_S = 0.1

# What gives a stamp (ns) for a simulation time (ns).
Stamp = Callable[[int], int]
# What sends transforms of fixed names: called with a stamp (ns) and poses (N, 7).
Send = Callable[[int, FloatArray], None]


def simulation_stamp(time_ns: int) -> int:
    """Stamps are simulation time, as /clock."""
    return time_ns


def wall_stamp() -> Stamp:
    """Stamps are the wall clock, strictly increasing, for graphs that do not use simulation time."""
    last = 0

    def stamp(time_ns: int) -> int:
        nonlocal last
        last = max(last + 1, time.time_ns())
        return last

    return stamp


def serialised(node: Node, topic: str, profile: Any, parents: Sequence[str], children: Sequence[str]) -> Send:
    """Sends ready CDR: the bytes are laid out here, only stamps and doubles are rewritten."""
    publisher = node.create_publisher(TFMessage, topic, profile)
    message = TfMessageBytes(parents, children)

    def send(stamp_ns: int, poses: FloatArray) -> None:
        publisher.publish(message.write(stamp_ns, poses))

    return send


def typed(node: Node, topic: str, profile: Any, parents: Sequence[str], children: Sequence[str]) -> Send:
    """Sends message objects, through tf2_ros' broadcaster where /tf is sent and it is installed."""
    transforms = [TransformStamped(child_frame_id=child) for child in children]
    for transform, parent in zip(transforms, parents, strict=True):
        transform.header.frame_id = parent
    publish = _typed_publish(node, topic, profile)

    def send(stamp_ns: int, poses: FloatArray) -> None:
        seconds, nanoseconds = divmod(stamp_ns, 1_000_000_000)
        for message, (x, y, z, qx, qy, qz, qw) in zip(transforms, poses.tolist(), strict=True):
            message.header.stamp.sec, message.header.stamp.nanosec = seconds, nanoseconds
            translation, rotation = message.transform.translation, message.transform.rotation
            translation.x, translation.y, translation.z = x, y, z
            rotation.x, rotation.y, rotation.z, rotation.w = qx, qy, qz, qw
        publish(transforms)

    return send


SENDERS = {"serialised": serialised, "typed": typed}


class TfSink:
    """Publishes a run on /tf (the frames that move) and /tf_static (the rest, latched, with the first snapshot).

    prefix goes before every frame name but the fixed frame's, which vehicles share.
    """

    def __init__(self, node: Node, *, prefix: str = "", stamp: Stamp = simulation_stamp, messages: str = "serialised"):
        self._node = node
        self._prefix = prefix
        self._stamp = stamp
        self._sender = SENDERS[messages]
        self._moving: npt.NDArray[np.intp] = np.empty(0, dtype=np.intp)
        self._still: npt.NDArray[np.intp] = np.empty(0, dtype=np.intp)
        self._send_moving: Send | None = None
        self._send_still: Send | None = None
        self._last_stamp_ns = 0

    def open(self, world: World, frames: FrameTable) -> None:
        """Lays out both messages."""
        ids = [name if row == 0 else self._prefix + name for row, name in enumerate(frames.names)]
        children = np.flatnonzero(frames.parents >= 0)
        self._moving = children[~frames.static[children]]
        self._still = children[frames.static[children]]
        if len(self._moving):
            self._send_moving = self._sender(self._node, "/tf", qos.TF, *_ends(ids, frames, self._moving))
        if len(self._still):
            self._send_still = self._sender(self._node, "/tf_static", qos.TF_STATIC, *_ends(ids, frames, self._still))

    def write(self, snapshot: Snapshot) -> None:
        """Sends the moving frames; the first time, the others too."""
        stamp_ns = self._stamp(snapshot.time_ns)
        if stamp_ns < self._last_stamp_ns:
            time.sleep(RESET_GAP_S)
        self._last_stamp_ns = stamp_ns
        if self._send_still is not None:
            self._send_still(stamp_ns, snapshot.poses[self._still])
            self._send_still = None
        if self._send_moving is not None:
            self._send_moving(stamp_ns, snapshot.poses[self._moving])

    def close(self) -> None:
        """The publishers go with their node."""


def _ends(ids: list[str], frames: FrameTable, rows: npt.NDArray[np.intp]) -> tuple[list[str], list[str]]:
    return [ids[frames.parents[row]] for row in rows], [ids[row] for row in rows]


def _typed_publish(node: Node, topic: str, profile: Any) -> Callable[[list[TransformStamped]], None]:
    if topic == "/tf":
        try:
            from tf2_ros import TransformBroadcaster
        except ImportError:
            pass
        else:
            send: Callable[[list[TransformStamped]], None] = TransformBroadcaster(node, profile).sendTransform
            return send
    publisher = node.create_publisher(TFMessage, topic, profile)
    return lambda transforms: publisher.publish(TFMessage(transforms=transforms))
