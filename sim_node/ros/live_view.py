"""The running graph in the viewer: its transforms, robots, and topics that can be drawn."""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack

import numpy as np

from sim_node.rate_limit import RateLimit
from sim_node.ros.graph_clock import GraphClock
from sim_node.ros.live_topics import LiveDrawings, LiveFields, LiveMessages
from sim_node.ros.participant import participant, spinning
from sim_node.ros.tf2 import Buffer, TransformListener
from sim_node.spatial.geometry import poses as pose_math
from sim_node.spatial.tree import TransformError, TransformTree
from sim_node.text import MAX_LINE, shown
from sim_node.viewing.browser.layers import Layer
from sim_node.viewing.browser.stream import RATE, Instant, Latest
from sim_node.viewing.browser.viewer import Viewer
from sim_node.viewing.messages.frames import MAP, without_transforms
from sim_node.world import FrameTable, WorldError
from sim_node.world.frame_table import table_of

# How often to look for new topics and new frames, s.
POLL_S = 1.0


class LiveView:
    """Shows the graph on a viewer's page until it is closed.

    The scene is rebuilt when there are new frames, topics or robots.

    Args:
        viewer: The page, or the layer of the graph on a page of several sources.
    """

    def __init__(self, viewer: Viewer | Layer) -> None:
        self._viewer = viewer
        self._graph = ExitStack()
        self._node, executor = self._graph.enter_context(participant("sim_node_view"))
        self._tree = TransformTree(detect_jumps=True)
        self._clock = GraphClock(self._node)
        listener = TransformListener(Buffer(tree=self._tree), self._node, spin_thread=False)
        self._graph.callback(listener.unregister)
        self._topics = LiveDrawings(self._node, viewer.beside)
        self._limit = RateLimit()
        self._shown: object = None
        self._reported: set[str] = set()
        self._sources: dict[str, str] = {}
        self._frames = FrameTable((MAP,), np.array([-1], np.int32), np.array([True]))
        self._poses = np.array([pose_math.IDENTITY])
        self._fields = LiveFields(self._node, viewer.schematic)
        viewer.fields = self._fields.fields
        self._messages = viewer.texts = LiveMessages(self._node)
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
                self._topics.subscribe()
                self._fields.subscribe()
                self._fields.tell_missing(self._viewer.beside.topics)
                self._messages.find()
                self._update_scene()
            self._messages.subscribe()
            self._read_poses()
            drawings = self._topics.taken(self._frames, self._sources)
            measurements: Latest = {name: (drawing, self._poses) for name, drawing in drawings.items()}
            measurements.update((name, (values, self._poses)) for name, values in self._fields.fields.taken().items())
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
        """Put a new scene on the page if frames, topics or robots have changed."""
        described = self._tree.describe()
        parents = {frame.name: frame.parent for frame in described if frame.parent is not None}
        dynamic = frozenset(frame.name for frame in described if frame.kind == "dynamic")
        named = self._topics.waiting(parents)
        sources = self._topics.types
        fields = self._fields.fields.types()
        now = (parents, dynamic, named, sources, self._topics.robots_so_far, fields)
        if now == self._shown or not (parents or named or fields):
            return
        self._shown = now
        try:
            fixed = table_of(parents, dynamic).names[0] if parents else MAP
            placed = without_transforms(named, parents, fixed)
            if parents or placed:
                self._frames = table_of({**parents, **{name: each.parent for name, each in placed.items()}}, dynamic)
        except ValueError as fault:  # the newest parents of frames, at different times, may form a loop
            text = f"the scene is not updated: {shown(str(fault), MAX_LINE)}"
            if line := self._limit.admit("scene", text, time.monotonic_ns()):
                self._node.get_logger().warning(line)
            return
        self._poses = np.tile(pose_math.IDENTITY, (len(self._frames), 1))
        for name, each in placed.items():
            self._poses[self._frames.index(name)] = each.pose
            if name not in self._reported and name not in self._viewer.beside.frames:
                self._reported.add(name)
                self._node.get_logger().warning(shown(each.remark, MAX_LINE))
        self._read_poses()
        self._viewer.placed = tuple(placed)
        shapes = self._topics.robots(self._frames)
        try:
            self._viewer.set_scene(self._frames, self._poses, shapes, sources=sources)
        except WorldError as fault:  # a topic has come whose fields do not fit a formula
            self._node.get_logger().warning(shown(f"schematic: {fault}", MAX_LINE))
        self._sources = sources
