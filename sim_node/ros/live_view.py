"""The running graph in the viewer: its transforms, robots and drawable topics."""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack

from sim_node.rate_limit import RateLimit
from sim_node.ros.graph_clock import GraphClock
from sim_node.ros.live_frames import LiveFrames
from sim_node.ros.live_topics import POLL_S, Grace, LiveDrawings, LiveFields, LiveMessages
from sim_node.ros.participant import participant, spinning
from sim_node.ros.tf2 import Buffer, TransformListener
from sim_node.spatial.tree import TransformTree
from sim_node.text import MAX_LINE, did_you_mean, shown, some_of
from sim_node.viewing.browser.layers import Layer
from sim_node.viewing.browser.stream import RATE, Instant, Latest
from sim_node.viewing.browser.viewer import Viewer
from sim_node.viewing.messages.frames import MAP, without_transforms
from sim_node.viewing.messages.readers import READERS
from sim_node.world import WorldError
from sim_node.world.frame_table import table_of


class LiveView:
    """Shows the graph on a viewer's page until closed.

    The scene is rebuilt when there are new frames, topics or robots.

    Args:
        viewer: The page, or the layer of the graph on a page of several sources.
    """

    def __init__(self, viewer: Viewer | Layer) -> None:
        self._viewer = viewer
        self._graph = ExitStack()
        self._node, executor = self._graph.enter_context(participant("sim_node_view"))
        tree = TransformTree(detect_jumps=True)
        self._clock = GraphClock(self._node)
        listener = TransformListener(Buffer(tree=tree), self._node, spin_thread=False)
        self._graph.callback(listener.unregister)
        self._topics = LiveDrawings(self._node, viewer.beside)
        self._limit = RateLimit()
        self._shown: object = None
        self._reported: set[str] = set()
        self._sources: dict[str, str] = {}
        self._frames = LiveFrames(tree)
        self._grace = Grace()
        self._fields = LiveFields(self._node, viewer.schematic)
        viewer.fields = self._fields.fields
        self._messages = viewer.texts = LiveMessages(self._node)
        viewer.set_scene(self._frames.table, self._frames.poses)
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
                self._tell_missing()
                self._messages.find()
                self._update_scene()
            self._messages.subscribe()
            self._frames.read()
            poses = self._frames.poses
            drawings = self._topics.taken(self._frames.table, self._sources)
            measurements: Latest = {name: (drawing, poses) for name, drawing in drawings.items()}
            measurements.update((name, (values, poses)) for name, values in self._fields.fields.taken().items())
            self._viewer.show(Instant(self._clock.now_ns() or 0, poses, measurements))

    def _tell_missing(self) -> None:
        """Report once, after a grace period, which ghost topics and frames are missing or have no pose."""
        if not self._grace.ends():
            return
        types = {name: kinds[0] for name, kinds in sorted(self._node.get_topic_names_and_types())}
        drawn = [name for name, kind in types.items() if kind in READERS]
        for topic in self._viewer.missed_by_ghosts(drawn):
            if topic in types:
                text = f"{topic}: a {types[topic]} has no pose"
            else:
                there = f" (topics that can be drawn: {some_of(drawn)})" if drawn else ""
                text = f"there is no topic {topic} yet{did_you_mean(topic, drawn)}{there}"
            self._node.get_logger().warning(shown(f"--ghost: {text}", MAX_LINE))
        for stray in self._viewer.stray_ghosts():
            self._node.get_logger().warning(stray)

    def _update_scene(self) -> None:
        """Rebuild the scene if frames, topics or robots have changed."""
        parents, dynamic = self._frames.edges()
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
                self._frames.change({**parents, **{name: each.parent for name, each in placed.items()}}, dynamic)
        except ValueError as fault:  # the newest parents, from different times, may form a loop
            text = f"the scene is not updated: {shown(str(fault), MAX_LINE)}"
            if line := self._limit.admit("scene", text, time.monotonic_ns()):
                self._node.get_logger().warning(line)
            return
        table = self._frames.table
        for name, each in placed.items():
            self._frames.poses[table.index(name)] = each.pose
            if name not in self._reported and name not in self._viewer.beside.frames:
                self._reported.add(name)
                self._node.get_logger().warning(shown(each.remark, MAX_LINE))
        self._frames.read()
        self._viewer.placed = tuple(placed)
        try:
            self._viewer.set_scene(table, self._frames.poses, self._topics.robots(table), sources=sources)
        except WorldError as fault:  # a new topic's fields do not fit a formula
            self._node.get_logger().warning(shown(f"schematic: {fault}", MAX_LINE))
        self._sources = sources
