"""The contents of a tree: names, rings of transforms, and the rules for storing a batch of transforms."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sim_node.names import BASE_LINK, fits, last
from sim_node.rate_limit import RateLimit
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.spatial.tree import layout, store_kernels
from sim_node.spatial.tree.describe import FrameInfo
from sim_node.spatial.tree.errors import InvalidTransform, Refusal, seconds
from sim_node.spatial.tree.rings import Rings
from sim_node.text import shown, shown_chain

Indices = npt.NDArray[np.int32]
Stamps = npt.NDArray[np.int64]
Faults = npt.NDArray[np.uint8]

# Returned instead of the index of a frame if the tree is full, or if the name is too long.
NO_ROOM, NAME_TOO_LONG = -2, -3
# Maximum length of a name, characters, which bounds the memory for the names of a full tree.
MAX_NAME = 1024

_log = logging.getLogger(__name__)
_KINDS = {layout.EMPTY: "root", layout.DYNAMIC: "dynamic", layout.STATIC: "static", layout.PROMOTED: "promoted"}


class Storage:
    """Names and histories. Not thread-safe: the tree holds its lock around every call.

    `generation` counts all changes. `rewrites` counts those that can change the result of an earlier lookup inside the
    histories; a newer transform changes nothing before it. `max_frames` limits all frames that were ever named, because
    indices stay valid.
    """

    def __init__(
        self,
        history_ns: int,
        tolerance_ns: int,
        static_patterns: Sequence[str],
        detect_jumps: bool,
        max_frames: int,
    ) -> None:
        self.history_ns, self.tolerance_ns, self.detect_jumps = history_ns, tolerance_ns, detect_jumps
        self.max_frames = max_frames
        self.is_full = False
        self.generation = 0
        self.rewrites = 0
        self.names: list[str] = []
        self.rows: dict[str, int] = {}
        self.rings = Rings()
        self._promotion = Promotion(tuple(static_patterns))
        self._report = np.zeros(layout.REPORT_LENGTH, np.int64)
        self._limit = RateLimit()

    def register(self, name: str) -> int:
        """Return the row of a frame, adding one if necessary. Drop a leading slash.

        Return NO_PARENT for an empty name, NO_ROOM or NAME_TOO_LONG for a name that cannot be stored.
        """
        row = self.rows.get(name)
        if row is None:
            bare = name.removeprefix("/")
            if not bare:
                return layout.NO_PARENT
            row = self.rows.get(bare)
        if row is None:
            row = len(self.names)
            if len(bare) > MAX_NAME:
                return NAME_TOO_LONG
            if row >= self.max_frames:
                return self._no_room(bare)
            self.rings.add_frames(1)
            self.names.append(bare)
            self.rows[bare] = row
            self._promotion.consider(row, bare)
        return row

    def _no_room(self, name: str) -> int:
        if not self.is_full:
            self.is_full = True
            _log.warning(
                "the tree is full: max_frames is %d; refusing '%s' and all further frames",
                self.max_frames,
                shown(name),
            )
        return NO_ROOM

    def store(
        self, parents: Indices, children: Indices, stamps: Stamps, poses: FloatArray, static: bool, faults: Faults
    ) -> InvalidTransform | None:
        """Store a batch. Return an error to raise if a transform cannot be stored. faults: zeros (N,).

        A batch may invert a chain: a transform that closes a loop with transforms which the batch replaces later is
        tried again after them. If parents come from the root down, only permanent loops are closed, so the order of a
        batch does not matter.
        """
        self._report.fill(0)
        self._store(parents, children, stamps, poses, static, faults)
        while self._report[layout.NEW_PARENT] and (rows := np.flatnonzero(faults == layout.CYCLE)).size:
            before, again = self._report[layout.STORED], np.zeros(len(rows), np.uint8)
            self._store(parents[rows], children[rows], stamps[rows], poses[rows], static, again)
            faults[rows] = again
            if self._report[layout.STORED] == before:
                break
        _, stored, changed_past, new_parent, *_ = self._report.tolist()
        if new_parent and self._promotion.candidates and self._promotion.apply(self.rings, self.names):
            changed_past = 1
        self.rewrites += changed_past
        self.generation += stored > 0
        return None if stored == len(children) else self._refused(parents, children, stamps, poses, static, faults)

    def _store(
        self, parents: Indices, children: Indices, stamps: Stamps, poses: FloatArray, static: bool, faults: Faults
    ) -> None:
        """Store rows, making room for them where necessary."""
        report = self._report
        row, before = 0, int(report[layout.STORED])
        while True:
            row = store_kernels.store(
                self.rings.frames, parents, children, stamps, poses, static,
                self.history_ns, row, report, faults,
            )  # fmt: skip
            if report[layout.WHY] != layout.DONE:
                self._make_room(children[row:], int(report[layout.WHY]), static)
            elif (
                self.detect_jumps and report[layout.STORED] - before < len(children) and self._is_jump(children, faults)
            ):
                self._restart(children, stamps, faults)
                row, before = 0, 0
            else:
                return

    def clear(self) -> None:
        """Drop all dynamic transforms."""
        self.rings.clear()
        self.generation += 1
        self.rewrites += 1

    def forget_after(self, stamp_ns: int) -> None:
        """Drop all dynamic transforms after a stamp."""
        self.rings.forget_after(stamp_ns)
        self.generation += 1
        self.rewrites += 1

    def parent_at(self, row: int, stamp: int) -> int:
        """Return the row of a frame's parent at a stamp (or LATEST), or NO_PARENT for a root or outside the history."""
        record = self.rings.frames[row]
        if record["count"] == 0:
            return layout.NO_PARENT
        if stamp == layout.LATEST or record["kind"] != layout.DYNAMIC:
            return int(record["parent"])
        oldest, newest = int(record["oldest"]), int(record["newest"])
        if not oldest - self.tolerance_ns <= stamp <= newest + self.tolerance_ns:
            return layout.NO_PARENT
        return self._parent_from(row, stamp)

    def _parent_from(self, row: int, stamp: int) -> int:
        """Return the parent of a dynamic frame at a stamp. Outside the history, use the nearest end."""
        entries = self.rings.entries(row)
        return int(entries["parent"][max(0, int(np.searchsorted(entries["stamp"], stamp, "right")) - 1)])

    def line(self, row: int, stamp: int) -> list[int]:
        """Return the rows from a frame up to its root. If they form a loop, go round once."""
        line, seen = [row], {row}
        while (row := self.parent_at(row, stamp)) != layout.NO_PARENT:
            line.append(row)
            if row in seen:
                break
            seen.add(row)
        return line

    def describe(self) -> tuple[FrameInfo, ...]:
        """Describe each frame."""
        known = ((row, record) for row, record in enumerate(self.rings.frames) if record["known"])
        return tuple(self._info(row, record) for row, record in known)

    def _info(self, row: int, record: Any) -> FrameInfo:
        count = int(record["count"])
        if count == 0:
            return FrameInfo(self.names[row], None, "root", 0, None, None, None)
        kind, oldest, newest = int(record["kind"]), int(record["oldest"]), int(record["newest"])
        rate = (count - 1) / (newest - oldest) * 1e9 if kind == layout.DYNAMIC and newest > oldest else None
        return FrameInfo(self.names[row], self.names[record["parent"]], _KINDS[kind], count, oldest, newest, rate)

    def _make_room(self, children: Indices, why: int, static: bool) -> None:
        """Prepare the ring of the first child.

        If it is full, enlarge those of all following children that are full, too.
        """
        if why == layout.RING_FULL:
            self.rings.grow(self._full(children), self.history_ns)
            return
        child = int(children[0])
        if why == layout.PROMOTED_MOVED:
            name = shown(self.names[child])
            self._warn("promoted", f"{name} was stored as static because of its name, but it moves")
            self.rings.demote(child, self.history_ns)
            self._report[layout.CHANGED_PAST] = 1
            return
        before = int(self.rings.frames[child]["kind"])
        if before != layout.EMPTY:
            now = layout.STATIC if static else layout.DYNAMIC
            self._warn("kind", f"{shown(self.names[child])} was {_KINDS[before]} and is now {_KINDS[now]}")
            self._report[layout.CHANGED_PAST] = 1
        self.rings.make(child, layout.STATIC if static else layout.DYNAMIC)

    def _warn(self, about: str, text: str) -> None:
        """Log, at a limited rate for all names together, what any publisher can cause at any rate with any names."""
        if line := self._limit.admit(about, text, time.monotonic_ns()):
            _log.warning("%s", line)

    def _full(self, children: Indices) -> npt.NDArray[np.int64]:
        inside = (children >= 0) & (children < len(self.names))
        records = self.rings.frames[children[inside]]
        full = (records["kind"] == layout.DYNAMIC) & (records["count"] == records["capacity"])
        full &= records["oldest"] >= records["newest"] - self.history_ns
        rows: npt.NDArray[np.int64] = np.unique(children[inside][full]).astype(np.int64)
        return rows

    def _is_jump(self, children: Indices, faults: Faults) -> bool:
        """Return whether some transforms are older than all history, and no other dynamic transform was stored."""
        if not (faults == layout.EXPIRED).any():
            return False
        real = faults != layout.NO_SUCH_FRAME
        moving = self.rings.frames["kind"][children[real]] == layout.DYNAMIC
        return bool((faults[real][moving] != layout.VALID).all())

    def _restart(self, children: Indices, stamps: Stamps, faults: Faults) -> None:
        expired = faults == layout.EXPIRED
        back_to = int(stamps[expired].min())
        self._warn("time", f"time went back to {seconds(back_to)}: restarting {int(expired.sum())} histories")
        self.rings.forget_after(back_to, children[expired].astype(np.int64))
        self._report[:] = 0
        self._report[layout.CHANGED_PAST] = 1
        faults[:] = layout.VALID

    def _refused(
        self, parents: Indices, children: Indices, stamps: Stamps, poses: FloatArray, static: bool, faults: Faults
    ) -> InvalidTransform:
        refusals = []
        for row in np.flatnonzero(faults).tolist():
            parent, child, stamp = self._name(int(parents[row])), self._name(int(children[row])), int(stamps[row])
            fault = int(faults[row])
            missing = min(int(parents[row]), int(children[row]))
            if missing == NO_ROOM:
                reason = f"the tree is full with {self.max_frames} frames (max_frames)"
            elif missing == NAME_TOO_LONG:
                reason = f"the name of a frame is longer than {MAX_NAME} characters"
            elif fault == layout.CYCLE:
                reason = self._loop(int(parents[row]), int(children[row]), stamp, static)
            else:
                norm = math.hypot(*poses[row, 3:].tolist())
                reason = {
                    layout.NO_SUCH_FRAME: "the name of a frame is empty or its index is not one of this tree",
                    layout.SELF_PARENT: "a frame cannot be its own parent",
                    layout.NOT_FINITE: f"the pose {poses[row].tolist()} is not finite",
                    layout.NOT_UNIT: f"the quaternion's norm is {norm:.6g}, a rotation needs 1",
                    layout.EXPIRED: f"older than the cache duration of {seconds(self.history_ns)}",
                }[fault]
            refusals.append(Refusal(row, parent, child, stamp, reason))
        return InvalidTransform(tuple(refusals), len(children))

    def _loop(self, parent: int, child: int, stamp: int, static: bool) -> str:
        """Describe the loop that a refused transform would close, from child to parent and back."""
        at = store_kernels.closes_loop(self.rings.frames, parent, child, stamp, static)
        chain, row = [child, parent], parent
        while row != child:
            dynamic = self.rings.frames[row]["kind"] == layout.DYNAMIC
            row = self._parent_from(row, at) if dynamic else int(self.rings.frames[row]["parent"])
            chain.append(row)
        loop = shown_chain([self.names[each] for each in reversed(chain)])
        return f"closes the loop {loop}" + (f" at {seconds(at)}" if at > layout.ALWAYS and at != stamp else "")

    def _name(self, row: int) -> str:
        return self.names[row] if 0 <= row < len(self.names) else ""


class Promotion:
    """Decides which frames that are sent as dynamic are stored as static.

    A frame is a candidate if the last component of its name matches a pattern, case-sensitively. It is promoted once a
    frame whose last component is base_link is among its ancestors, unless its history shows that it moves.
    """

    def __init__(self, patterns: tuple[str, ...]) -> None:
        self.patterns = patterns
        self.candidates: set[int] = set()

    def consider(self, frame: int, name: str) -> None:
        """Add a new frame to the candidates if its name matches."""
        if fits(name, self.patterns):
            self.candidates.add(frame)

    def apply(self, rings: Rings, names: list[str]) -> list[int]:
        """Promote the candidates that have a base_link among their ancestors. Return them."""
        promoted = []
        for frame in sorted(self.candidates):
            record = rings.frames[frame]
            if record["kind"] != layout.DYNAMIC or record["count"] == 0 or not _below_base_link(rings, frame, names):
                continue
            self.candidates.discard(frame)
            if _is_still(rings, frame):
                rings.promote(frame)
                promoted.append(frame)
        return promoted


def _below_base_link(rings: Rings, frame: int, names: list[str]) -> bool:
    for _ in range(len(names)):
        record = rings.frames[frame]
        frame = int(record["parent"])
        if record["count"] == 0 or frame == layout.NO_PARENT:
            return False
        if last(names[frame]) == BASE_LINK:
            return True
    return False


def _is_still(rings: Rings, frame: int) -> bool:
    entries = rings.entries(frame)
    if len(np.unique(entries["parent"])) > 1:
        return False
    q = np.stack([entries[axis] for axis in ("qx", "qy", "qz", "qw")], axis=-1)
    q = np.where((q @ q[0] < 0.0)[:, None], -q, q)
    position = np.stack([entries[axis] for axis in ("x", "y", "z")], axis=-1)
    return bool(np.abs(position - position[0]).max() <= layout.STILL and np.abs(q - q[0]).max() <= layout.STILL)
