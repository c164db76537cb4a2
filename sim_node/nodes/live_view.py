"""The running graph in the viewer: its transforms, and sensor topics that can be shown."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import numpy as np
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import Image, LaserScan, PointCloud2, Range

from sim_node.geometry import poses as pose_math
from sim_node.geometry.arrays import FloatArray
from sim_node.nodes.graph_clock import GraphClock
from sim_node.nodes.participant import participant, spinning
from sim_node.nodes.publishers import publishers_of
from sim_node.nodes.tf2 import Buffer, TransformListener
from sim_node.rate_limit import RateLimit
from sim_node.text import MAX_LINE, shown
from sim_node.tree import TransformError, TransformTree
from sim_node.viewing.browser.sensor_topic_views import SensorTopicView, topic_view_from, values_of
from sim_node.viewing.browser.stream import RATE, Instant, Latest
from sim_node.viewing.browser.viewer import Viewer
from sim_node.wire.tf_message_reader import Unreadable
from sim_node.world import FrameTable
from sim_node.world.frame_table import table_of

TYPES = {f"sensor_msgs/msg/{each.__name__}": each for each in (PointCloud2, LaserScan, Range, Image)}
# How often to look for new topics and new frames, s.
POLL_S = 1.0
# Minimum time between two shown messages of a topic, s.
APART_S = 0.05
ROOT = "map"


class LiveView:
    """Shows the graph on a viewer's page until it is closed.

    The scene is rebuilt when there are new frames or topics.
    """

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer
        self._graph = ExitStack()
        self._node, executor = self._graph.enter_context(participant("sim_node_view"))
        self._tree = TransformTree(detect_jumps=True)
        self._clock = GraphClock(self._node)
        listener = TransformListener(Buffer(tree=self._tree), self._node, spin_thread=False)
        self._graph.callback(listener.unregister)
        self._unreadable = Unreadable(self._node.get_logger().warning)
        self._lock = threading.Lock()
        self._subscribed: dict[str, Any] = {}
        self._due: dict[str, float] = {}
        self._messages: dict[str, Any] = {}
        self._topic_views: dict[str, SensorTopicView] = {}
        self._limit = RateLimit()
        self._shown: tuple[Mapping[str, str], frozenset[str], frozenset[str]] | None = None
        self._frames = FrameTable((ROOT,), np.array([-1], np.int32), np.array([True]))
        self._poses = np.array([pose_math.IDENTITY])
        viewer.set_scene(self._frames, self._poses)
        self._ended = threading.Event()
        self._drawing = threading.Thread(target=self._draw, name="draw", daemon=True)
        self._drawing.start()
        self._graph.enter_context(spinning(executor))

    def close(self) -> None:
        """Leave the graph and close the page."""
        self._ended.set()
        self._drawing.join(1.0)
        self._graph.close()
        self._viewer.close()

    def _draw(self) -> None:
        update_at = time.monotonic()
        while not self._ended.wait(1.0 / RATE):
            if time.monotonic() >= update_at:
                update_at = time.monotonic() + POLL_S
                self._subscribe()
                self._update_scene()
            with self._lock:
                messages, self._messages = self._messages, {}
            self._read_poses()
            measurements: Latest = {name: (values, self._poses) for name, values in messages.items()}
            self._viewer.show(Instant(self._clock.now_ns() or 0, self._poses, measurements))

    def _read_poses(self) -> None:
        """Read the newest pose of each frame in its parent. Frames without one stay where they were."""
        names = self._frames.names
        for row, parent in enumerate(self._frames.parents.tolist()):
            if parent >= 0:
                try:
                    self._poses[row] = self._tree.lookup(names[parent], names[row])
                except TransformError:
                    continue

    def _update_scene(self) -> None:
        """Put a new scene on the page if frames or topics have changed."""
        described = self._tree.describe()
        parents = {frame.name: frame.parent for frame in described if frame.parent is not None}
        if not parents:
            return
        dynamic = frozenset(frame.name for frame in described if frame.kind == "dynamic")
        with self._lock:
            topic_views = {
                topic: each
                for topic, each in self._topic_views.items()
                if each.frame in parents or each.frame in parents.values()
            }
        now = (parents, dynamic, frozenset(topic_views))
        if now == self._shown:
            return
        self._shown = now
        try:
            self._frames = table_of(parents, dynamic)
        except ValueError as fault:  # the newest parents of frames, at different times, may form a loop
            text = f"the scene is not updated: {shown(str(fault), MAX_LINE)}"
            if line := self._limit.admit("scene", text, time.monotonic_ns()):
                self._node.get_logger().warning(line)
            return
        self._poses = np.tile(pose_math.IDENTITY, (len(self._frames), 1))
        self._read_poses()
        self._viewer.set_scene(self._frames, self._poses, topic_views=topic_views)

    def _subscribe(self) -> None:
        for topic, types in self._node.get_topic_names_and_types():
            kind = types[0]
            if topic not in self._subscribed and kind in TYPES:
                self._subscribed[topic] = self._node.create_subscription(
                    TYPES[kind],
                    topic,
                    lambda message, topic=topic, kind=kind: self._receive(topic, kind, message),
                    qos_profile_sensor_data,
                )

    def _receive(self, topic: str, kind: str, message: Any) -> None:
        now = time.monotonic()
        if now < self._due.get(topic, 0.0):
            return
        self._due[topic] = now + APART_S
        try:
            values: FloatArray = values_of(message)
        except ValueError as fault:
            self._unreadable.count(topic, fault, publishers_of(self._node, topic))
            return
        with self._lock:
            if topic not in self._topic_views:
                self._topic_views[topic] = topic_view_from(message, kind)
            self._messages[topic] = values
