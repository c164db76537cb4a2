"""The running graph as a ghost: bodies of a page at the poses of the graph's transforms."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from sim_node.ros.live_frames import LiveFrames
from sim_node.ros.live_graph import LiveGraph
from sim_node.ros.live_topics import POLL_S, Grace
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import MAX_LINE, shown, some_of
from sim_node.viewing.browser.ghosts import GhostScene
from sim_node.viewing.browser.stream import Instant
from sim_node.world import FrameTable


class LiveGhost:
    """The frames of the graph, drawn with the page's shapes for frames of the same names.

    They are always drawn at their present poses, because the page's clock may differ or its content be recorded.

    Args:
        report: Called with messages for the user.

    Raises:
        RosNotStarted: ROS 2 does not start.
    """

    lives = True

    def __init__(self, report: Callable[[str], object]) -> None:
        self._report, self._opened = report, ExitStack()
        self._frames = LiveFrames(self._opened.enter_context(LiveGraph("sim_node_ghost")).tree)
        self._shown, self._due = self._frames.edges(), 0.0
        self._page: Sequence[str] = ()
        self._grace = Grace()

    @property
    def stale(self) -> bool:
        """Whether the frames of the graph differ from the scene's. Checked every POLL_S."""
        now = time.monotonic()
        if now < self._due:
            return False
        self._due = now + POLL_S
        self._tell_missing()
        return self._frames.edges() != self._shown

    def scene(self, frames: FrameTable, poses: FloatArray) -> GhostScene:
        """Return the frames of the graph so far."""
        self._page = frames.names[1:]
        self._shown = parents, dynamic = self._frames.edges()
        if parents:
            try:
                self._frames.change(parents, dynamic)
            except ValueError as fault:
                self._report(f"--ghost live: the frames of before are shown: {shown(str(fault), MAX_LINE)}")
        self._frames.read()
        return GhostScene(self._frames.table, self._frames.poses.copy(), None)

    def poses(self, instant: Instant, since_ns: int) -> FloatArray:
        """Return the newest poses (N, 7)."""
        self._frames.read()
        return self._frames.poses

    def close(self) -> None:
        """Leave the graph."""
        self._opened.close()

    def _tell_missing(self) -> None:
        """Report once, after a grace period, if the graph has none of the moving frames of the page."""
        if not self._grace.ends():
            return
        names = self._frames.edges()[0]
        if not names:
            self._report("--ghost live: the graph has no transforms yet")
        elif self._page and not names.keys() & {*self._page}:
            self._report(f"--ghost live: the graph has {some_of(names)}, but not {some_of(self._page)} of the page")
