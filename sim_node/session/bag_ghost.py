"""A bag as a ghost: its recorded poses, drawn on a page of a run, another bag or the graph at the page's time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from sim_node.messages.tf_message_reader import Unreadable
from sim_node.recording.changes import recorded_worlds
from sim_node.recording.decompression import MAX_BYTES
from sim_node.recording.frames import BagFrames
from sim_node.recording.opening import open_bag
from sim_node.recording.transforms import BagTransforms, first_stamp
from sim_node.session.bag_drawings import BagDrawings
from sim_node.session.bag_world import shapes_on
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import MAX_LINE, shown
from sim_node.viewing.browser.ghosts import GhostScene
from sim_node.viewing.browser.stream import Instant
from sim_node.viewing.meshes import DrawnShape
from sim_node.world import FrameTable, WorldError

# How far to search back for transforms after a seek, how much earlier than the bag the page's clock may begin, and the
# shorter distance that is searched first, ns.
LOOK_BACK_NS, EARLIER_NS, SHORT_NS = 2_000_000_000, 60_000_000_000, 200_000_000


class BagGhost:
    """The moving frames of a bag. Poses are interpolated between transforms.

    If the page begins within the bag, or up to a minute before it, page times are bag times. Otherwise, the start of
    the bag is aligned with the start of the page.

    Args:
        path: The bag.
        report: Called with messages for the user.
        max_bytes: Limit of a chunk in memory, as in open_bag.

    Raises:
        BagError: The bag cannot be read, or has no transforms.
    """

    lives = stale = False

    def __init__(self, path: str | Path, report: Callable[[str], None], max_bytes: int = MAX_BYTES) -> None:
        self._name, self._report = Path(path).resolve().name, report
        with ExitStack() as opened:
            self._bag = opened.enter_context(open_bag(path, max_bytes))
            unreadable = Unreadable(report)
            frames = self._frames = BagFrames(self._bag, unreadable)
            table = frames.table
            drawings = BagDrawings(self._bag, unreadable, report, None)
            shapes: tuple[DrawnShape, ...] = ()
            try:
                shapes = shapes_on(opened.enter_context(recorded_worlds(self._bag))[0], table)
            except WorldError as error:
                report(f"{self._name}: its world is not shown: {shown(str(error), MAX_LINE)}")
            shapes += drawings.robots(table, {shape.row for shape in shapes})
            self.close = opened.pop_all().close
        self._scene = GhostScene(table, frames.poses, shapes or None)
        rows = np.flatnonzero(~table.static & (table.parents >= 0))
        self._rows = rows
        self._pairs = [(table.names[table.parents[row]], table.names[row]) for row in rows.tolist()]
        self._poses: FloatArray = frames.poses.copy()
        self._offset_ns: int | None = None
        self._now_ns = -(2**63)
        self._found: Iterator[FloatArray] = iter(())
        # First transform stamp at or after a time of the bag, by that time.
        self._stamps: dict[int, int | None] = {}

    def scene(self, frames: FrameTable, poses: FloatArray) -> GhostScene:
        """Return the scene to draw: the recorded world's and robots' shapes, or else the page's."""
        return self._scene

    def poses(self, instant: Instant, since_ns: int) -> FloatArray:
        """Return the poses (N, 7) at an instant of the page, held constant outside the recorded span."""
        if self._offset_ns is None:
            first, last = self._frames.first_ns, self._frames.last_ns
            self._offset_ns = 0 if first - EARLIER_NS <= since_ns <= last else first - since_ns
            if self._offset_ns:
                self._report(f"{self._name} has another clock: it begins when the page does")
        shown_ns = instant.time_ns if instant.posed_ns is None else instant.posed_ns
        time_ns = shown_ns + self._offset_ns
        if time_ns != self._now_ns and len(self._pairs):
            goes_on = self._now_ns <= time_ns <= self._now_ns + LOOK_BACK_NS
            self._now_ns = time_ns
            if goes_on:
                found = next(self._found)
            else:
                self._poses = self._frames.poses.copy()
                for begin_ns in self._beginnings():
                    found = self._search(begin_ns)
                    if np.isfinite(found).all():
                        break
            known = np.isfinite(found[:, 0])
            self._poses[self._rows[known]] = found[known]
        return self._poses

    def _beginnings(self) -> list[int]:
        """Return the times of the bag from which to search, ns, in the order to try them.

        The short search comes first: most transforms are frequent, and reading two seconds of them dominates the cost
        of a seek.
        """
        return list(dict.fromkeys(self._recorded_at(self._now_ns - back_ns) for back_ns in (SHORT_NS, LOOK_BACK_NS)))

    def _recorded_at(self, stamp_ns: int) -> int:
        """Return a time of the bag, ns, before transforms reached a given stamp, ns.

        If the stamps are of another clock than the bag, such as that of a slow simulation, they still increase with the
        bag's time, so the time is found by bisection.
        """
        first_ns, last_ns = self._bag.start_ns, self._bag.end_ns
        if abs(self._frames.first_ns - first_ns) <= EARLIER_NS:
            return max(stamp_ns, first_ns)
        while last_ns - first_ns > SHORT_NS:
            middle_ns = (first_ns + last_ns) // 2
            if middle_ns not in self._stamps:
                self._stamps[middle_ns] = first_stamp(self._bag, middle_ns)
            found_ns = self._stamps[middle_ns]
            if found_ns is not None and found_ns <= stamp_ns:
                first_ns = middle_ns
            else:
                last_ns = middle_ns
        return first_ns

    def _search(self, begin_ns: int) -> FloatArray:
        """Return the poses (F, 7) of the moving frames from the transforms after a time of the bag; NaN if unknown."""
        transforms = BagTransforms(self._bag, lambda topics: self._bag.messages(topics, begin_ns, None))
        self._found = transforms.poses(self._pairs, iter(lambda: self._now_ns, None))
        return next(self._found)
