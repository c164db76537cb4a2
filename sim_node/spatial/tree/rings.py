"""The table of frames and the rings of stored transforms that it points to."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sim_node.spatial.tree.layout import ALWAYS, DYNAMIC, ENTRY, FRAME, NO_PARENT, PROMOTED

Entries = npt.NDArray[Any]

# Capacity of a new ring; frames that never move again need no more.
FIRST_CAPACITY = 1
# Spare room beyond the observed rate, so that jitter does not make a full ring grow for ever.
SPARE = 1.04
# A ring grows by no more than this factor at once, because its rate may not be known well yet.
MAX_GROWTH = 16


class Rings:
    """One record per frame in `frames` (FRAME), and one ring of entries (ENTRY) or none per frame.

    A frame's record holds the address of its ring; this object keeps the ring alive. Not thread-safe: the tree holds
    its lock.
    """

    def __init__(self) -> None:
        self._table = np.zeros(64, FRAME)
        self._rings: list[Entries | None] = []
        self.frames = self._table[:0]

    @property
    def nbytes(self) -> int:
        """Bytes of the table and of all rings."""
        return self._table.nbytes + sum(ring.nbytes for ring in self._rings if ring is not None)

    def add_frames(self, number: int) -> None:
        """Append records of frames without transforms."""
        old, new = len(self._rings), len(self._rings) + number
        if new > len(self._table):
            table = np.zeros(max(new, 2 * len(self._table)), FRAME)
            table[:old] = self._table[:old]
            self._table = table
        self._rings.extend([None] * number)
        self.frames = self._table[:new]
        self.frames["parent"][old:] = NO_PARENT

    def make(self, frame: int, kind: int) -> None:
        """Give a frame an empty ring of a kind. Its previous history is lost."""
        record = self.frames[frame]
        record["kind"], record["count"], record["first"] = kind, 0, 0
        self._put(frame, np.empty(FIRST_CAPACITY if kind == DYNAMIC else 1, ENTRY))

    def grow(self, frames: npt.NDArray[np.int64], history_ns: int) -> None:
        """Enlarge full rings to what `history_ns` needs at the observed rate."""
        table = self.frames
        counts = table["count"][frames].astype(np.int64)
        spans = np.maximum(table["newest"][frames] - table["oldest"][frames], 1)
        needed = np.ceil(np.minimum(SPARE * history_ns * (counts - 1) / spans, 1e9)).astype(np.int64) + 2
        capacities = np.minimum(np.maximum(needed, counts + counts // 8 + 4), MAX_GROWTH * counts)
        addresses = np.empty(len(frames), np.int64)
        # A thousand frames may grow in one message: the loop contains only what numpy cannot do for all at once.
        rows = zip(frames.tolist(), table["first"][frames].tolist(), capacities.tolist(), strict=True)
        for i, (frame, first, capacity) in enumerate(rows):
            old = self._rings[frame]
            assert old is not None
            # As plain integers: numpy copies records field by field.
            words = np.empty((capacity, ENTRY.itemsize // 8), np.int64)
            old_words = old.view(np.int64).reshape(len(old), -1)
            words[: len(old) - first] = old_words[first:]
            if first:
                words[len(old) - first : len(old)] = old_words[:first]
            self._rings[frame] = words.reshape(-1).view(ENTRY)
            addresses[i] = words.__array_interface__["data"][0]
        table["ring"][frames], table["capacity"][frames], table["first"][frames] = addresses, capacities, 0

    def entries(self, frame: int) -> Entries:
        """Copy a frame's entries, oldest first."""
        record, ring = self.frames[frame], self._rings[frame]
        if ring is None:
            return np.empty(0, ENTRY)
        chosen: Entries = ring[(record["first"] + np.arange(record["count"])) % record["capacity"]]
        return chosen

    def refill(self, frame: int, kind: int, entries: Entries) -> None:
        """Replace a frame's history by `entries`, oldest first."""
        self.make(frame, kind)
        ring = self._rings[frame]
        if ring is None or len(entries) > len(ring):
            ring = np.empty(len(entries) + len(entries) // 8 + 4, ENTRY)
            self._put(frame, ring)
        record = self.frames[frame]
        ring[: len(entries)] = entries
        record["count"], record["since"] = len(entries), ALWAYS
        if len(entries):
            record["oldest"], record["newest"] = entries["stamp"][0], entries["stamp"][-1]
            record["parent"] = entries["parent"][-1]
            others = np.flatnonzero(entries["parent"] != entries["parent"][-1])
            if len(others):
                record["since"] = entries["stamp"][others[-1] + 1]

    def promote(self, frame: int) -> None:
        """Keep only the newest pose, for all times.

        The record's oldest and newest are the stamps between which it was observed.
        """
        entries = self.entries(frame)
        self.refill(frame, PROMOTED, entries[-1:])
        self.frames[frame]["oldest"] = entries["stamp"][0]

    def demote(self, frame: int, history_ns: int) -> None:
        """Make a promoted frame dynamic again, with its pose at the first and the last stamp that it was observed."""
        record = self.frames[frame]
        first, last = int(record["oldest"]), int(record["newest"])
        entries = np.repeat(self.entries(frame), 1 if first == last else 2)
        entries["stamp"][0], entries["stamp"][-1] = max(first, last - history_ns), last
        self.refill(frame, DYNAMIC, entries)

    def forget_after(self, stamp_ns: int, frames: npt.NDArray[np.int64] | None = None) -> None:
        """Drop dynamic entries stamped after `stamp_ns`, of all frames or of the given ones."""
        table = self.frames
        chosen = np.arange(len(table)) if frames is None else np.unique(frames)
        chosen = chosen[table["newest"][chosen] > stamp_ns]
        seen = chosen[table["kind"][chosen] == PROMOTED]
        for field in ("oldest", "newest"):
            table[field][seen] = np.minimum(table[field][seen], stamp_ns)
        moving = chosen[table["kind"][chosen] == DYNAMIC]
        emptied = table["oldest"][moving] > stamp_ns
        table["count"][moving[emptied]] = 0
        for frame in moving[~emptied].tolist():
            entries = self.entries(frame)
            self.refill(frame, DYNAMIC, entries[entries["stamp"] <= stamp_ns])

    def clear(self) -> None:
        """Drop all dynamic entries. Static and promoted frames stay."""
        self.frames["count"][self.frames["kind"] == DYNAMIC] = 0

    def _put(self, frame: int, ring: Entries) -> None:
        self._rings[frame] = ring
        self.frames[frame]["ring"] = ring.ctypes.data
        self.frames[frame]["capacity"] = len(ring)
