"""A live scene graph on /tf and in the viewer, from sim_node or from a bridge to AeroSim."""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack

import numpy as np
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String

from sim_node.extensions.aerosim.live import FollowedScene
from sim_node.extensions.aerosim.options import Options
from sim_node.messages.tf_sink import TF, TF_STATIC, SendPoses, TfMessageBytes
from sim_node.messages.topic import Send
from sim_node.rate_limit import RateLimit
from sim_node.ros.participant import participant, spinning
from sim_node.ros.publishers import Publishers
from sim_node.text import MAX_LINE, shown
from sim_node.viewing.browser.stream import RATE, Instant
from sim_node.viewing.browser.viewer import Viewer
from sim_node.viewing.shapes import shapes_of
from sim_node.world.problems import WorldError


class SceneFollower:
    """Follows a topic of scene graphs, and its updates, until it is closed.

    Entities and effectors are published on /tf with every message, and frames that are fixed to them on /tf_static.
    Stamps are the times of the messages, or the node's clock for messages without a time, such as AeroSim's.

    Args:
        topic: The topic of whole graphs; updates are on TOPIC/update.
        options: Conventions and assets.
        viewer: The viewer that shows the scene, or None. It is closed by `close`.

    Attributes:
        topic: The absolute name of the topic.
        scene: The scene so far.
    """

    def __init__(self, topic: str, options: Options | None = None, viewer: Viewer | None = None) -> None:
        self.scene = FollowedScene(options)
        self._viewer, self._drawn = viewer, self.scene.layout
        self._lock, self._ended = threading.Lock(), threading.Event()
        self._limit = RateLimit()
        self._graph = ExitStack()
        node, executor = self._graph.enter_context(participant("sim_node_scene"))
        self._node = node
        outlet = Publishers(node)
        self._sends: tuple[Send, Send] = outlet.advertise(TF), outlet.advertise(TF_STATIC)
        self._moving: SendPoses | None = None
        self._rows: np.ndarray[tuple[int], np.dtype[np.intp]] = np.zeros(0, dtype=np.intp)
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        whole = node.create_subscription(String, topic, self._receive, latched)
        node.create_subscription(String, f"{topic}/update", self._receive, 100)
        self.topic: str = whole.topic_name
        if viewer is not None:
            viewer.set_scene(self.scene.layout.frames, self.scene.poses)
            drawing = threading.Thread(target=self._draw, name="draw", daemon=True)
            drawing.start()
            self._graph.callback(drawing.join, 1.0)
        self._graph.enter_context(spinning(executor))

    def close(self) -> None:
        """Leave the ROS graph, and close the page."""
        self._ended.set()
        self._graph.close()
        if self._viewer is not None:
            self._viewer.close()

    def _receive(self, message: String) -> None:
        with self._lock:
            generation = self.scene.generation
            try:
                used = self.scene.receive(message.data)
            except WorldError as error:
                text = f"{self.topic}: not followed: {shown(str(error), MAX_LINE)}"
                if line := self._limit.admit("message", text, time.monotonic_ns()):
                    self._node.get_logger().warning(line)
                return
            if not used:
                return
            stamp_ns = self.scene.time_ns
            if stamp_ns is None:
                stamp_ns = self._node.get_clock().now().nanoseconds
            if self.scene.generation != generation:
                self._lay_out(stamp_ns)
            if self._moving is not None:
                self._moving(stamp_ns, self.scene.poses[self._rows])

    def _lay_out(self, stamp_ns: int) -> None:
        """Lay out the messages for a new structure, and publish the static frames."""
        frames, poses = self.scene.layout.frames, self.scene.poses
        moving = self.scene.moving
        still = [row for row in range(1, len(frames)) if row not in set(moving)]

        def ends(rows: list[int]) -> tuple[list[str], list[str]]:
            return [frames.names[frames.parents[row]] for row in rows], [frames.names[row] for row in rows]

        self._rows = np.array(moving, dtype=np.intp)
        self._moving = None
        if moving:
            message, send = TfMessageBytes(*ends(moving)), self._sends[0]
            self._moving = lambda at_ns, rows: send(at_ns, message.write(at_ns, rows))
        if still:
            self._sends[1](stamp_ns, TfMessageBytes(*ends(still)).write(stamp_ns, poses[still]))

    def _draw(self) -> None:
        assert self._viewer is not None
        while not self._ended.wait(1.0 / RATE):
            with self._lock:
                world, layout, poses = self.scene.world, self.scene.layout, self.scene.poses.copy()
                time_ns = self.scene.time_ns or 0
            if layout is not self._drawn:
                self._drawn = layout
                self._viewer.set_scene(layout.frames, poses, shapes_of(world, layout.frames))
            elif len(poses) > 1:
                self._viewer.show(Instant(time_ns, poses, {}))
