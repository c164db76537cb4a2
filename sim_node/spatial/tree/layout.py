"""Memory layout of the tree: one record per frame, one ring of records per frame's history."""

from __future__ import annotations

import numpy as np

# One stored transform, 72 bytes: the child's pose in `parent` (an index into the table of frames) at `stamp` ns.
ENTRY = np.dtype(
    [("stamp", np.int64)]
    + [(name, np.float64) for name in ("x", "y", "z", "qx", "qy", "qz", "qw")]
    + [("parent", np.int32)],
    align=True,
)

# One frame, 56 bytes.
#   ring      address of the frame's ENTRY array; entry i, counted from the oldest, is at (first + i) % capacity
#   oldest, newest   stamps of the first and the last entry, ns
#   since     entries stamped at or after this have the parent `parent`; for earlier ones, see the entry itself
#   parent    parent of the newest entry, or NO_PARENT
#   kind      EMPTY, DYNAMIC, STATIC (sent as static) or PROMOTED (sent as dynamic, stored as static)
#   known     1 once a transform from or to the frame has been stored
FRAME = np.dtype(
    [(name, np.int64) for name in ("ring", "oldest", "newest", "since")]
    + [(name, np.int32) for name in ("capacity", "first", "count", "parent", "kind", "known")],
    align=True,
)

NO_PARENT = -1
EMPTY, DYNAMIC, STATIC, PROMOTED = range(4)

# A promoted frame has moved if a component of its pose differs by more than this (m, or quaternion).
STILL = 1e-9

# As a stamp: the latest time that all frames in the chain have in common.
LATEST = -(2**63)
# Before all stamps, and after them.
ALWAYS = -(2**63)
NEVER = 2**63 - 1

# Status of a lookup. FOUND: inside all histories; HELD: the nearest end of a history was used, within the tolerance.
FOUND, HELD, PAST, FUTURE, DISCONNECTED, LOOP, UNKNOWN = range(7)

# Why `store` stopped before the end of a batch: the child's ring is missing or of another kind, is full, or
# a promoted frame has moved.
DONE, RING_MISSING, RING_FULL, PROMOTED_MOVED = range(4)

# Faults of a transform.
VALID, NOT_FINITE, NOT_UNIT, SELF_PARENT, CYCLE, EXPIRED, NO_SUCH_FRAME = range(7)

# Cells of the report that a kernel writes. After a lookup: AT is the resolved stamp, CULPRIT the
# frame whose history does not contain it (OLDEST, NEWEST), or CULPRIT and OTHER the two roots; ROW the index of the
# stamp. After a store: WHY it stopped, how many rows were STORED, whether earlier results have CHANGED_PAST (so that
# cached results are void) and whether a frame has a NEW_PARENT.
AT, CULPRIT, OTHER, OLDEST, NEWEST, ROW = range(6)
WHY, STORED, CHANGED_PAST, NEW_PARENT = range(4)
REPORT_LENGTH = 6
