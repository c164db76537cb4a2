"""Compiled stores: check transforms and insert them into histories, ordered by stamp.

No kernel allocates a history or raises: `store` stops where a history is missing or full (see layout.py).
"""

# mypy: allow-untyped-defs, allow-untyped-calls, disable-error-code="untyped-decorator"
# numba infers the types, except for those of the entry points.

from __future__ import annotations

import math

import numpy as np
from numba import types
from numba.np.numpy_support import from_dtype

from sim_node.spatial.geometry.kernel import kernel
from sim_node.spatial.tree import layout
from sim_node.spatial.tree.history_kernels import locate, pose_of, ring_of, slot_of

# tf2 accepts a quaternion whose squared norm is this close to 1. It is normalised when it is stored.
NORM_TOLERANCE = 1e-2

_FRAMES = types.Array(from_dtype(layout.FRAME), 1, "C")
_I64, _REPORT = types.int64, types.int64[::1]
# Read-only types accept writeable arrays as well.
_STAMPS_IN = types.Array(types.int64, 1, "C", readonly=True)
_ROWS_IN = types.Array(types.int32, 1, "C", readonly=True)
_POSES_IN = types.Array(types.float64, 2, "C", readonly=True)


@kernel()
def _fault(n_frames, parent, child, pose):
    if not (0 <= parent < n_frames and 0 <= child < n_frames):
        return layout.NO_SUCH_FRAME
    if parent == child:
        return layout.SELF_PARENT
    # Zero times anything finite is zero.
    if 0.0 * (pose[0] + pose[1] + pose[2]) + 0.0 * (pose[3] + pose[4] + pose[5] + pose[6]) != 0.0 and not (
        np.isfinite(pose).all()
    ):
        return layout.NOT_FINITE
    square = pose[3] * pose[3] + pose[4] * pose[4] + pose[5] * pose[5] + pose[6] * pose[6]
    if not abs(square - 1.0) < NORM_TOLERANCE:
        return layout.NOT_UNIT
    return layout.VALID


@kernel()
def _holds_already(frame, parent, stamp, static):
    """Return whether this transform does not change the parent of the frame at any time."""
    if frame.count == 0 or frame.parent != parent:
        return False
    return frame.kind >= layout.STATIC or (static == 0 and stamp >= frame.oldest and stamp >= frame.since)


@kernel()
def _span(frame, stamp, static):
    """Return (begin, end): a transform stored at `stamp` determines the frame's parent for stamps in [begin, end)."""
    if static:
        return layout.ALWAYS, layout.NEVER
    if frame.kind != layout.DYNAMIC or frame.count == 0 or stamp >= frame.newest:
        return stamp, layout.NEVER
    if stamp < frame.oldest:
        return stamp, frame.oldest
    ring = ring_of(frame)
    return stamp, ring[slot_of(frame, locate(frame, ring, stamp) + 1)].stamp


@kernel()
def _parent_from(frame, stamp):
    """Return (the frame's parent at `stamp`, the stamp at which it changes). The newest parent stays for ever."""
    if frame.count == 0:
        return layout.NO_PARENT, layout.NEVER
    if frame.kind >= layout.STATIC:
        return frame.parent, layout.NEVER
    if stamp < frame.oldest:
        return layout.NO_PARENT, frame.oldest
    if stamp >= frame.since:
        return frame.parent, layout.NEVER
    ring = ring_of(frame)
    i = locate(frame, ring, stamp)
    parent = ring[slot_of(frame, i)].parent
    while i < frame.count and ring[slot_of(frame, i)].parent == parent:
        i += 1
    return parent, ring[slot_of(frame, i)].stamp if i < frame.count else layout.NEVER


@kernel()
def _moved(entry, pose):
    x, y, z, qx, qy, qz, qw = pose_of(entry)
    if max(abs(x - pose[0]), abs(y - pose[1]), abs(z - pose[2])) > layout.STILL:
        return True
    sign = 1.0 if qx * pose[3] + qy * pose[4] + qz * pose[5] + qw * pose[6] >= 0.0 else -1.0
    turned = max(abs(qx - sign * pose[3]), abs(qy - sign * pose[4]), abs(qz - sign * pose[5]))
    return max(turned, abs(qw - sign * pose[6])) > layout.STILL


@kernel()
def _fill(entry, parent, stamp, pose):
    entry.stamp = stamp
    entry.parent = parent
    square = pose[3] * pose[3] + pose[4] * pose[4] + pose[5] * pose[5] + pose[6] * pose[6]
    # A quaternion that is unit up to rounding is stored unchanged.
    scale = 1.0 / math.sqrt(square) if abs(square - 1.0) > 1e-15 else 1.0
    entry.x, entry.y, entry.z = pose[0], pose[1], pose[2]
    entry.qx, entry.qy, entry.qz, entry.qw = pose[3] * scale, pose[4] * scale, pose[5] * scale, pose[6] * scale


@kernel()
def _forget(frame, history):
    """Drop entries that are older than the newest one by more than `history`.

    Called before an entry is added, as in tf2.
    """
    if frame.count == 0 or frame.oldest >= frame.newest - history:
        return
    ring = ring_of(frame)
    while ring[frame.first].stamp < frame.newest - history:
        frame.first = slot_of(frame, 1)
        frame.count -= 1
    frame.oldest = ring[frame.first].stamp


@kernel()
def _append(frame, parent, stamp, pose, report):
    if frame.count == 0:
        frame.first = 0
        frame.oldest = stamp
        frame.since = layout.ALWAYS
        report[layout.NEW_PARENT] = 1
    elif frame.parent != parent:
        frame.since = stamp
        report[layout.NEW_PARENT] = 1
    frame.parent = parent
    frame.newest = stamp
    _fill(ring_of(frame)[slot_of(frame, frame.count)], parent, stamp, pose)
    frame.count += 1


@kernel()
def _insert(frame, parent, stamp, pose, report):
    """Store an entry that is not the newest, or replace the one of equal stamp. Return False if the ring is full."""
    ring = ring_of(frame)
    if stamp < frame.oldest:
        i = 0
    elif stamp == frame.newest:
        i = frame.count - 1
    else:
        i = locate(frame, ring, stamp)
        if ring[slot_of(frame, i)].stamp != stamp:
            i += 1
    if ring[slot_of(frame, i)].stamp != stamp:
        if frame.count == frame.capacity:
            return False
        for j in range(frame.count, i, -1):
            ring[slot_of(frame, j)] = ring[slot_of(frame, j - 1)]
        frame.count += 1
    _fill(ring[slot_of(frame, i)], parent, stamp, pose)
    frame.oldest = min(frame.oldest, stamp)
    if i == frame.count - 1:
        if parent != frame.parent:
            frame.parent = parent
            frame.since = stamp
            report[layout.NEW_PARENT] = 1
    elif parent != frame.parent:
        frame.since = max(frame.since, ring[slot_of(frame, i + 1)].stamp)
        report[layout.NEW_PARENT] = 1
    report[layout.CHANGED_PAST] = 1
    return True


@kernel(_I64(_FRAMES, _I64, _I64, _I64, _I64))
def closes_loop(frames, parent, child, stamp, static):
    """Return the first stamp at which `parent` is below `child` while this transform is valid, or NEVER.

    A transform is valid until the next one of its child, the newest one for ever: a lookup of the latest time uses the
    end of that. Between two changes of parents in the chain, the chain is the same, so that few stamps are checked: one
    if no frame in it ever changed its parent.
    """
    at, end = _span(frames[child], stamp, static)
    while True:
        frame, until = parent, end
        for _ in range(len(frames)):
            if frame == child:
                return at
            frame, changes = _parent_from(frames[frame], at)
            until = min(until, changes)
            if frame == layout.NO_PARENT:
                break
        if until >= end:
            return layout.NEVER
        at = until


@kernel(
    _I64(_FRAMES, _ROWS_IN, _ROWS_IN, _STAMPS_IN, _POSES_IN, _I64, _I64, _I64, _REPORT, types.uint8[::1]),
)
def store(frames, parents, children, stamps, poses, static, history, begin, report, faults):
    """Store rows from `begin` on. Return the first row that needs preparation, or the number of rows.

    static: 1 for transforms valid at all times; history: how long entries are kept, ns. A row that cannot be stored
    gets its fault and is skipped. report: see layout.py; it accumulates over the calls for one batch.
    """
    report[layout.WHY] = layout.DONE
    for row in range(begin, len(children)):
        parent, child = parents[row], children[row]
        stamp = stamps[row]
        fault = _fault(len(frames), parent, child, poses[row])
        if fault != layout.VALID:
            faults[row] = fault
            continue
        frame = frames[child]
        if static == 0 and frame.kind == layout.DYNAMIC and frame.count > 0 and stamp < frame.newest - history:
            faults[row] = layout.EXPIRED
            continue
        if (
            not _holds_already(frame, parent, stamp, static)
            and closes_loop(frames, parent, child, stamp, static) != layout.NEVER
        ):
            faults[row] = layout.CYCLE
            continue
        if static:
            if frame.kind != layout.STATIC:
                report[layout.WHY] = layout.RING_MISSING
                return row
            frame.count = 0
            _append(frame, parent, stamp, poses[row], report)
            report[layout.CHANGED_PAST] = 1
        elif frame.kind == layout.PROMOTED:
            if frame.parent != parent or _moved(ring_of(frame)[0], poses[row]):
                report[layout.WHY] = layout.PROMOTED_MOVED
                return row
            frame.oldest = min(frame.oldest, stamp)
            frame.newest = max(frame.newest, stamp)
        elif frame.kind == layout.STATIC or frame.kind == layout.EMPTY:
            report[layout.WHY] = layout.RING_MISSING
            return row
        elif frame.count == 0 or stamp > frame.newest:
            _forget(frame, history)
            if frame.count == frame.capacity:
                report[layout.WHY] = layout.RING_FULL
                return row
            _append(frame, parent, stamp, poses[row], report)
        else:
            _forget(frame, history)
            if not _insert(frame, parent, stamp, poses[row], report):
                report[layout.WHY] = layout.RING_FULL
                return row
        frame.known = 1
        frames[parent].known = 1
        report[layout.STORED] += 1
    return len(children)
