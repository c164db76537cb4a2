"""How the tree lies in memory: one record per frame, one ring of records per frame's history."""

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
#   since     every entry stamped at or after this has the parent `parent`: below it the entry itself is asked
#   parent    parent of the newest entry, or NO_PARENT
#   kind      EMPTY, DYNAMIC, STATIC (sent as such) or PROMOTED (came as dynamic, is kept as static)
#   known     1 once a transform from or to the frame was stored
FRAME = np.dtype(
    [(name, np.int64) for name in ("ring", "oldest", "newest", "since")]
    + [(name, np.int32) for name in ("capacity", "first", "count", "parent", "kind", "known")],
    align=True,
)

NO_PARENT = -1
EMPTY, DYNAMIC, STATIC, PROMOTED = range(4)

# A promoted frame has moved when a component of its pose differs by more, in metres or as a quaternion.
STILL = 1e-9

# As a stamp: the latest time that all frames on the way have in common.
LATEST = -(2**63)
# The ends of time: before all stamps, and after them.
ALWAYS = -(2**63)
NEVER = 2**63 - 1

# What a lookup comes to. FOUND: all data at hand; HELD: an end of the history was held, within the tolerance.
FOUND, HELD, PAST, FUTURE, DISCONNECTED, LOOP, UNKNOWN = range(7)

# Why `store` stopped before the end of a batch: the child's ring is not there or of another kind, is full, or
# a promoted frame has moved.
DONE, RING_MISSING, RING_FULL, PROMOTED_MOVED = range(4)

# What is wrong with a transform.
VALID, NOT_FINITE, NOT_UNIT, SELF_PARENT, CYCLE, EXPIRED, NO_SUCH_FRAME = range(7)

# Cells of the report that a kernel leaves behind. After a lookup: AT is the stamp that was resolved, CULPRIT the
# frame whose history does not reach it (OLDEST, NEWEST), or the two roots; ROW which of many stamps.
# After a store: WHY it stopped, how many rows were STORED, whether what was known has CHANGED_PAST (so that
# cached results are void) and whether a frame got a new parent.
AT, CULPRIT, OTHER, OLDEST, NEWEST, ROW = range(6)
WHY, STORED, CHANGED_PAST, NEW_PARENT = range(4)
REPORT_LENGTH = 6
