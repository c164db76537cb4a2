"""Bytes that any peer of the graph can send: /tf and /tf_static, /clock, and what the viewer shows of sensors."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import rclpy
from rclpy.context import Context
from rclpy.serialization import deserialize_message

from sim_node.messages.cdr import first_stamp
from sim_node.recording.bag import BagTopic
from sim_node.recording.decoding import Decoder, UnreadableMessage, leaves
from sim_node.ros.live_graph import TfStatistics
from sim_node.ros.publishers import message_class
from sim_node.ros.tf2 import Buffer, TransformListener
from sim_node.spatial.tree import TransformTree
from sim_node.viewing.browser.stream import Instant
from sim_node.viewing.browser.viewer import Viewer
from sim_node.viewing.messages.readers import READERS, Read, ReaderContext
from sim_node.world import FrameTable
from stress import cdr

MAX_FRAMES = 500
_POSE = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])


class Transforms:
    """Bytes for the callbacks of a listener, as `tree --live` has them; one in five comes on /tf_static."""

    burst = 200

    def __init__(self, folder: Path) -> None:
        os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
        os.environ["ROS_LOG_DIR"] = str(folder)
        self._context = Context()
        rclpy.init(context=self._context, args=[])
        self._node = rclpy.create_node("stress", context=self._context, start_parameter_services=False)
        self._tree = TransformTree(detect_jumps=True, max_frames=MAX_FRAMES)
        self._statistics = TfStatistics(lambda: 2_000_000_000)
        self._listener = TransformListener(
            Buffer(tree=self._tree), self._node, spin_thread=False, on_batch=self._statistics.on_batch
        )
        self._sent = 0

    def seeds(self) -> Sequence[bytes]:
        """One transform and several, short names and long ones."""
        return cdr.samples()[cdr.TF]

    def mutate(self, rng: Random, seed: bytes) -> bytes:
        """As CDR; now and then a sound message that says what cannot be."""
        if rng.random() < 0.2:
            names = [rng.choice("abcdefgh") for _ in range(rng.randint(1, 6))]
            x = rng.choice((float("nan"), float("inf"), 1e308, 1.0))
            return cdr.transforms(*names, parent=rng.choice("abcdefgh"), seconds=rng.choice((0, 1, -1, 2**31 - 1)), x=x)
        return cdr.broken_cdr(seed, rng)

    def feed(self, data: bytes) -> str:
        """It is taken in, refused or counted as unreadable."""
        before = sum(self._listener.unreadable.values()), sum(self._listener.refused.values())
        self._sent += 1
        subscription = self._listener.tf_static_sub if self._sent % 5 == 0 else self._listener.tf_sub
        subscription.callback(data)
        after = sum(self._listener.unreadable.values()), sum(self._listener.refused.values())
        return "unreadable" if after[0] > before[0] else "refused" if after[1] > before[1] else "taken in"

    def settle(self) -> None:
        """The tree can be looked at, and still takes sound transforms."""
        assert len(self._tree.frames) <= MAX_FRAMES
        self._statistics.traffic()
        self._tree.describe()
        self._listener.tf_sub.callback(cdr.transforms("sound", parent="sound_root"))
        assert "sound" in self._tree or len(self._tree.frames) == MAX_FRAMES

    def close(self) -> None:
        """Leaves the graph."""
        self._listener.unregister()
        self._node.destroy_node()
        rclpy.try_shutdown(context=self._context)


class Sensors:
    """Messages of sensors: an input is a type, a line feed, and the message."""

    burst = 50

    def __init__(self, folder: Path) -> None:
        self._decoders = {type: Decoder(BagTopic("/topic", type, 0)) for type in cdr.samples()}
        self._viewer = Viewer(0)
        self._frames = FrameTable(("map",), np.array([-1], np.int32), np.array([True]))
        self._number = 0
        self._reads: dict[str, Read] = {}
        types = {type: type for type in cdr.samples() if type in READERS}
        self._viewer.set_scene(self._frames, _POSE[None].copy(), sources=types)

    def seeds(self) -> Sequence[bytes]:
        """Of each type but transforms."""
        return [type.encode() + b"\n" + data for type, all in cdr.samples().items() if type != cdr.TF for data in all]

    def mutate(self, rng: Random, seed: bytes) -> bytes:
        """As CDR."""
        type, _, data = seed.partition(b"\n")
        return type + b"\n" + cdr.broken_cdr(data, rng)

    def feed(self, data: bytes) -> str:
        """Its stamp is read, it is decoded as of a bag, and shown as by `view --live`."""
        head, _, message = data.partition(b"\n")
        type = head.decode()
        try:
            first_stamp(message)
        except ValueError:
            return "no stamp"
        with suppress(UnreadableMessage):
            list(leaves(self._decoders[type](message)))
        try:
            received: Any = deserialize_message(message, message_class(type))
        except Exception as refused:  # of rclpy's own, which has no class for it: the middleware leaves these out
            if "rcl" not in type_name(refused) and "RMW" not in type_name(refused):
                raise
            return "not a message"
        if type not in READERS:
            return "read"
        if type not in self._reads:
            self._reads[type] = READERS[type].open(ReaderContext(type))
        try:
            drawing = self._reads[type](received)
        except ValueError:
            return "unreadable"
        self._number += 1
        if any(frame != "map" for frame in drawing.frames):
            return "of a frame without a transform"
        self._viewer.show(Instant(self._number, _POSE[None].copy(), {type: (drawing, _POSE[None].copy())}))
        return "shown"

    def settle(self) -> None:
        """The page is still there."""
        self._viewer.idle()

    def close(self) -> None:
        """Ends the page."""
        self._viewer.close()


def type_name(value: object) -> str:
    """Return module and name of a value's class."""
    return f"{type(value).__module__}.{type(value).__qualname__}"
