"""The compiled inner loops: walking the tree, searching a history, interpolating, storing a batch.

Poses travel as tuples (x, y, z, qx, qy, qz, qw), so that they stay in registers. No kernel allocates a history
or raises: each returns a status and leaves the numbers in `report` (see layout.py).
"""

# mypy: allow-untyped-defs, allow-untyped-calls, disable-error-code="untyped-decorator"
# The types are numba's: given for each entry point, inferred for what it calls.

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import carray, types
from numba.extending import intrinsic
from numba.np.numpy_support import from_dtype

from sim_node.geometry.kernel import kernel
from sim_node.geometry.pose_kernels import IDENTITY, as_pose, compose, relative, write_pose
from sim_node.tree import layout

# tf2 takes a quaternion whose squared norm is this close to 1; it is scaled to 1 on its way in.
NORM_TOLERANCE = 1e-2
# Edges that lookup_many evaluates before it hands the lock back: a few milliseconds.
EDGE_BUDGET = 32768
BLOCK = 512

_ENTRY_TYPE = from_dtype(layout.ENTRY)
_FRAMES = types.Array(from_dtype(layout.FRAME), 1, "C")
_I64, _REPORT, _OUT, _POSES = types.int64, types.int64[::1], types.float64[::1], types.float64[:, ::1]
# Read-only types take writeable arrays as well.
_STAMPS_IN = types.Array(types.int64, 1, "C", readonly=True)
_ROWS_IN = types.Array(types.int32, 1, "C", readonly=True)
_POSES_IN = types.Array(types.float64, 2, "C", readonly=True)


# ---------------------------------------------------------------------------------------------- rigid transforms


@kernel()
def _interpolate(a, b, u):
    """Positions along the line, orientations along the shorter arc; see sim_node.geometry.interpolation.slerp."""
    dot = a.qx * b.qx + a.qy * b.qy + a.qz * b.qz + a.qw * b.qw
    cosine = min(abs(dot), 1.0)
    rest = 1.0 - u
    defect = 1.0 - cosine
    if defect < 1e-2:
        # sin(u angle) / sin(angle) as a series in 1 - cos(angle): Eberly, A fast and accurate algorithm for
        # computing SLERP, 2011. Under 0.14 rad the first term left out is below 1e-17.
        weight_a, weight_b = _sine_ratio(rest, defect), _sine_ratio(u, defect)
    else:
        angle = math.acos(cosine)
        sine = math.sqrt((1.0 - cosine) * (1.0 + cosine))
        weight_a, weight_b = math.sin(rest * angle) / sine, math.sin(u * angle) / sine
    if dot < 0.0:
        weight_b = -weight_b
    return (
        a.x + u * (b.x - a.x),
        a.y + u * (b.y - a.y),
        a.z + u * (b.z - a.z),
        weight_a * a.qx + weight_b * b.qx,
        weight_a * a.qy + weight_b * b.qy,
        weight_a * a.qz + weight_b * b.qz,
        weight_a * a.qw + weight_b * b.qw,
    )


@kernel()
def _sine_ratio(u, defect):
    # Term n over term n - 1 is (n^2 - u^2) / (n (2 n + 1)) * defect.
    square = u * u
    total = term = u
    for n in range(1, 8):
        term *= (n * n - square) / (n * (2 * n + 1)) * defect
        total += term
    return total


@kernel()
def _pose(entry):
    return entry.x, entry.y, entry.z, entry.qx, entry.qy, entry.qz, entry.qw


@kernel()
def _write(out, pose):
    """Write a pose, its quaternion scaled to unit norm where a long chain has worn it."""
    x, y, z, qx, qy, qz, qw = pose
    square = qx * qx + qy * qy + qz * qz + qw * qw
    if abs(square - 1.0) > 1e-15:
        scale = 1.0 / math.sqrt(square)
        qx, qy, qz, qw = qx * scale, qy * scale, qz * scale, qw * scale
    write_pose(out, (x, y, z, qx, qy, qz, qw))


# ------------------------------------------------------------------------------------------------- one history


@intrinsic
def _entries_at(typing_context: Any, address: Any) -> Any:
    pointer = types.CPointer(_ENTRY_TYPE)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(pointer))

    return pointer(types.int64), generate


@kernel()
def _ring(frame):
    return carray(_entries_at(frame.ring), (frame.capacity,))


@kernel()
def _slot(frame, i):
    slot = frame.first + i
    return slot - frame.capacity if slot >= frame.capacity else slot


@kernel()
def _locate(frame, ring, stamp):
    """Return the index of the last entry stamped at or before `stamp`, where oldest <= stamp < newest.

    Entries mostly come at an even rate, so the search starts where an even rate would put the stamp and widens
    from there in doubling steps: two or three entries are touched, and at worst a logarithm of them.
    """
    last = frame.count - 1
    guess = int((stamp - frame.oldest) / (frame.newest - frame.oldest) * last)
    guess = min(max(guess, 0), last - 1)
    step = 1
    if ring[_slot(frame, guess)].stamp <= stamp:
        low, high = guess, guess + 1
        while high < last and ring[_slot(frame, high)].stamp <= stamp:
            low = high
            high += step
            step += step
        high = min(high, last)
    else:
        low, high = guess - 1, guess
        while low > 0 and ring[_slot(frame, low)].stamp > stamp:
            high = low
            low -= step
            step += step
        low = max(low, 0)
    while high - low > 1:
        middle = (low + high) >> 1
        if ring[_slot(frame, middle)].stamp <= stamp:
            low = middle
        else:
            high = middle
    return low


@kernel()
def _edge(frame, stamp, tolerance):
    """Return (status, pose of the frame in its parent at `stamp`)."""
    ring = _ring(frame)
    if frame.kind >= layout.STATIC:
        return layout.FOUND, _pose(ring[0])
    if stamp >= frame.newest:
        newest = _pose(ring[_slot(frame, frame.count - 1)])
        if stamp == frame.newest:
            return layout.FOUND, newest
        return (layout.HELD if stamp - frame.newest <= tolerance else layout.FUTURE), newest
    if stamp < frame.oldest:
        return (layout.HELD if frame.oldest - stamp <= tolerance else layout.PAST), _pose(ring[frame.first])
    i = _locate(frame, ring, stamp)
    before, after = ring[_slot(frame, i)], ring[_slot(frame, i + 1)]
    if before.stamp == stamp or before.parent != after.parent:
        return layout.FOUND, _pose(before)
    return layout.FOUND, _interpolate(before, after, (stamp - before.stamp) / (after.stamp - before.stamp))


# ---------------------------------------------------------------------------------------------------- the walk


@kernel()
def _parent(frame, stamp, tolerance):
    """Return the index of the frame's parent at `stamp`, or NO_PARENT where its history does not reach there."""
    if frame.count == 0:
        return layout.NO_PARENT
    if stamp == layout.LATEST or frame.kind >= layout.STATIC:
        return frame.parent
    if stamp > frame.newest:
        return frame.parent if stamp - frame.newest <= tolerance else layout.NO_PARENT
    if stamp < frame.oldest and frame.oldest - stamp > tolerance:
        return layout.NO_PARENT
    if stamp >= frame.since or frame.oldest >= frame.since:
        return frame.parent
    ring = _ring(frame)
    return ring[frame.first if stamp < frame.oldest else _slot(frame, _locate(frame, ring, stamp))].parent


@kernel()
def _depth(frames, frame, stamp, tolerance):
    """Return (edges up to the root, the root); (-1, frame) where the walk does not end."""
    depth, at = 0, frame
    while True:
        parent = _parent(frames[at], stamp, tolerance)
        if parent == layout.NO_PARENT:
            return depth, at
        at = parent
        depth += 1
        if depth > len(frames):
            return -1, frame


@kernel()
def _blame(frames, frame, stamp, report):
    """Report the frame whose history does not reach `stamp`; return PAST or FUTURE."""
    report[layout.AT], report[layout.CULPRIT] = stamp, frame
    report[layout.OLDEST], report[layout.NEWEST] = frames[frame].oldest, frames[frame].newest
    return layout.PAST if stamp < frames[frame].oldest else layout.FUTURE


@kernel()
def _explain_gap(frames, target, source, stamp, tolerance, report):
    """Tell why two frames have no common ancestor at `stamp`: none at all, or a history that is too short."""
    _, report[layout.CULPRIT] = _depth(frames, target, stamp, tolerance)
    _, report[layout.OTHER] = _depth(frames, source, stamp, tolerance)
    target_depth, target_root = _depth(frames, target, layout.LATEST, tolerance)
    source_depth, source_root = _depth(frames, source, layout.LATEST, tolerance)
    if stamp == layout.LATEST or target_depth < 0 or source_depth < 0 or target_root != source_root:
        return layout.DISCONNECTED
    ancestor = _meet(frames, target, target_depth, source, source_depth, layout.LATEST, tolerance)
    for end in (source, target):
        frame = end
        while frame != ancestor:
            if _parent(frames[frame], stamp, tolerance) == layout.NO_PARENT:
                return _blame(frames, frame, stamp, report)
            frame = frames[frame].parent
    for root in (report[layout.OTHER], report[layout.CULPRIT]):
        if frames[root].count > 0:
            return _blame(frames, root, stamp, report)
    return layout.DISCONNECTED


@kernel()
def _meet(frames, target, target_depth, source, source_depth, stamp, tolerance):
    """Return the lowest frame above both, given how deep they lie below their common root."""
    while target_depth > source_depth:
        target = _parent(frames[target], stamp, tolerance)
        target_depth -= 1
    while source_depth > target_depth:
        source = _parent(frames[source], stamp, tolerance)
        source_depth -= 1
    while target != source:
        target = _parent(frames[target], stamp, tolerance)
        source = _parent(frames[source], stamp, tolerance)
    return target


@kernel()
def _common_ancestor(frames, target, source, stamp, tolerance, report):
    """Return (status, frame): the lowest frame that both hang below at `stamp`."""
    target_depth, target_root = _depth(frames, target, stamp, tolerance)
    source_depth, source_root = _depth(frames, source, stamp, tolerance)
    if target_depth < 0 or source_depth < 0:
        report[layout.CULPRIT], report[layout.OTHER] = target, source
        return layout.LOOP, layout.NO_PARENT
    if target_root != source_root:
        return _explain_gap(frames, target, source, stamp, tolerance, report), layout.NO_PARENT
    return layout.FOUND, _meet(frames, target, target_depth, source, source_depth, stamp, tolerance)


@kernel()
def _up(frames, frame, ancestor, stamp, tolerance, report):
    """Return (status, pose of `frame` in `ancestor`)."""
    worst, pose = layout.FOUND, IDENTITY
    while frame != ancestor:
        status, edge = _edge(frames[frame], stamp, tolerance)
        if status > layout.HELD:
            return _blame(frames, frame, stamp, report), pose
        worst = max(worst, status)
        pose = compose(edge, pose)
        frame = _parent(frames[frame], stamp, tolerance)
    return worst, pose


@kernel()
def _latest_common(frames, target, source, report):
    """Return (status, stamp): the oldest of the newest stamps on the way; layout.LATEST where all of it is static."""
    status, ancestor = _common_ancestor(frames, target, source, layout.LATEST, 0, report)
    common, found = np.int64(2**63 - 1), False
    if status == layout.FOUND:
        for end in (target, source):
            at = end
            while at != ancestor:
                if frames[at].kind == layout.DYNAMIC:
                    common, found = min(common, frames[at].newest), True
                at = frames[at].parent
    return status, common if found else np.int64(layout.LATEST)


@kernel()
def _lookup(frames, target, source, stamp, tolerance, report, out):
    report[layout.AT] = stamp
    if target == source:
        _write(out, IDENTITY)
        if stamp == layout.LATEST and frames[source].kind == layout.DYNAMIC and frames[source].count > 0:
            report[layout.AT] = frames[source].newest
        return layout.FOUND
    if stamp == layout.LATEST:
        status, stamp = _latest_common(frames, target, source, report)
        if status != layout.FOUND:
            return status
        report[layout.AT] = stamp
    status, ancestor = _common_ancestor(frames, target, source, stamp, tolerance, report)
    if status != layout.FOUND:
        return status
    source_status, pose = _up(frames, source, ancestor, stamp, tolerance, report)
    if source_status > layout.HELD:
        return source_status
    target_status, base = _up(frames, target, ancestor, stamp, tolerance, report)
    if target_status > layout.HELD:
        return target_status
    _write(out, pose if target == ancestor else relative(base, pose))
    return max(source_status, target_status)


@kernel()
def _had_one_parent(frames, frame):
    for _ in range(len(frames)):
        if frames[frame].count == 0:
            return True
        if frames[frame].kind == layout.DYNAMIC and frames[frame].oldest < frames[frame].since:
            return False
        frame = frames[frame].parent
    return False


@kernel()
def _raise_block(frame, stamps, tolerance, poses):
    """Take poses given in `frame` into its parent, row by row; return (status, row of a failure)."""
    for row in range(len(stamps)):
        status, edge = _edge(frame, stamps[row], tolerance)
        if status > layout.HELD:
            return status, row
        write_pose(poses[row], compose(edge, as_pose(poses[row])))
    return layout.FOUND, 0


# ------------------------------------------------------------------------------------------------------- storing


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
    """Whether lookups at any time see the same parent of the frame with this transform as without it."""
    if frame.count == 0 or frame.parent != parent:
        return False
    return frame.kind >= layout.STATIC or (static == 0 and stamp >= frame.oldest and stamp >= frame.since)


@kernel()
def _span(frame, stamp, static):
    """Return (begin, end): the frame has the parent of a transform that is stored now at `stamp` in [begin, end)."""
    if static:
        return layout.ALWAYS, layout.NEVER
    if frame.kind != layout.DYNAMIC or frame.count == 0 or stamp >= frame.newest:
        return stamp, layout.NEVER
    if stamp < frame.oldest:
        return stamp, frame.oldest
    ring = _ring(frame)
    return stamp, ring[_slot(frame, _locate(frame, ring, stamp) + 1)].stamp


@kernel()
def _parent_from(frame, stamp):
    """Return (the frame's parent at `stamp`, the stamp at which that changes); the newest one stays for ever."""
    if frame.count == 0:
        return layout.NO_PARENT, layout.NEVER
    if frame.kind >= layout.STATIC:
        return frame.parent, layout.NEVER
    if stamp < frame.oldest:
        return layout.NO_PARENT, frame.oldest
    if stamp >= frame.since:
        return frame.parent, layout.NEVER
    ring = _ring(frame)
    i = _locate(frame, ring, stamp)
    parent = ring[_slot(frame, i)].parent
    while i < frame.count and ring[_slot(frame, i)].parent == parent:
        i += 1
    return parent, ring[_slot(frame, i)].stamp if i < frame.count else layout.NEVER


@kernel()
def _moved(entry, pose):
    x, y, z, qx, qy, qz, qw = _pose(entry)
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
    # What is unit to the last place is kept to the last bit.
    scale = 1.0 / math.sqrt(square) if abs(square - 1.0) > 1e-15 else 1.0
    entry.x, entry.y, entry.z = pose[0], pose[1], pose[2]
    entry.qx, entry.qy, entry.qz, entry.qw = pose[3] * scale, pose[4] * scale, pose[5] * scale, pose[6] * scale


@kernel()
def _forget(frame, history):
    """Drop what is more than `history` older than the newest entry; called before one is added, as in tf2."""
    if frame.count == 0 or frame.oldest >= frame.newest - history:
        return
    ring = _ring(frame)
    while ring[frame.first].stamp < frame.newest - history:
        frame.first = _slot(frame, 1)
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
    _fill(_ring(frame)[_slot(frame, frame.count)], parent, stamp, pose)
    frame.count += 1


@kernel()
def _insert(frame, parent, stamp, pose, report):
    """Store an entry that is not the newest, or replace the one of equal stamp; False where the ring is full."""
    ring = _ring(frame)
    if stamp < frame.oldest:
        i = 0
    elif stamp == frame.newest:
        i = frame.count - 1
    else:
        i = _locate(frame, ring, stamp)
        if ring[_slot(frame, i)].stamp != stamp:
            i += 1
    if ring[_slot(frame, i)].stamp != stamp:
        if frame.count == frame.capacity:
            return False
        for j in range(frame.count, i, -1):
            ring[_slot(frame, j)] = ring[_slot(frame, j - 1)]
        frame.count += 1
    _fill(ring[_slot(frame, i)], parent, stamp, pose)
    frame.oldest = min(frame.oldest, stamp)
    if i == frame.count - 1:
        if parent != frame.parent:
            frame.parent = parent
            frame.since = stamp
            report[layout.NEW_PARENT] = 1
    elif parent != frame.parent:
        frame.since = max(frame.since, ring[_slot(frame, i + 1)].stamp)
        report[layout.NEW_PARENT] = 1
    report[layout.CHANGED_PAST] = 1
    return True


# -------------------------------------------------------------------------------------------------- entry points


@kernel(_I64(_FRAMES, _I64, _I64, _I64, _I64, _REPORT, _OUT))
def lookup(frames, target, source, stamp, tolerance, report, out):
    """Write the pose of `source` in `target` at `stamp` ns (or layout.LATEST) to `out` (7,); return a lookup status.

    Keeps the interpreter's lock: for so short a time, giving it up costs more than it frees.
    """
    for frame in (target, source):
        if frames[frame].known == 0:
            report[layout.CULPRIT] = frame
            return layout.UNKNOWN
    return _lookup(frames, target, source, stamp, tolerance, report, out)


@kernel(_I64(_FRAMES, _I64, _I64, _STAMPS_IN, _I64, _I64, _REPORT, _POSES, _POSES), nogil=True)
def lookup_many(frames, target, source, stamps, tolerance, begin, report, out, scratch):
    """Write poses for stamps[begin:] to `out` (N, 7) until the budget is spent; return a lookup status.

    report[layout.ROW] is the row after the last one written, or the row that failed. scratch: (BLOCK, 7).
    """
    report[layout.ROW] = begin
    for frame in (target, source):
        if frames[frame].known == 0:
            report[layout.CULPRIT] = frame
            return layout.UNKNOWN
    if not (_had_one_parent(frames, target) and _had_one_parent(frames, source)):
        end = min(len(stamps), begin + BLOCK)
        for row in range(begin, end):
            status = _lookup(frames, target, source, stamps[row], tolerance, report, out[row])
            if status > layout.HELD:
                report[layout.ROW] = row
                return status
        report[layout.ROW] = end
        return layout.FOUND
    status, ancestor = _common_ancestor(frames, target, source, layout.LATEST, tolerance, report)
    if status != layout.FOUND:
        return status
    spent = 0
    while begin < len(stamps) and spent < EDGE_BUDGET:
        end = min(len(stamps), begin + BLOCK)
        poses, bases = out[begin:end], scratch[: end - begin]
        spent += 1
        for side, first in ((poses, source), (bases, target)):
            for row in range(end - begin):
                side[row, :6] = 0.0
                side[row, 6] = 1.0
            frame = first
            while frame != ancestor:
                # Edge after edge over the whole block: one history at a time stays in the cache.
                status, row = _raise_block(frames[frame], stamps[begin:end], tolerance, side)
                if status > layout.HELD:
                    report[layout.ROW] = begin + row
                    return _blame(frames, frame, stamps[begin + row], report)
                spent += end - begin
                frame = frames[frame].parent
        for row in range(end - begin):
            pose = as_pose(poses[row])
            _write(poses[row], pose if target == ancestor else relative(as_pose(bases[row]), pose))
        begin = end
    report[layout.ROW] = begin
    return layout.FOUND


@kernel(_I64(_FRAMES, _I64, _I64, _I64, _I64))
def closes_loop(frames, parent, child, stamp, static):
    """Return the first stamp at which `parent` hangs below `child` while this transform holds, or NEVER.

    A transform holds until the next one of its child, the newest one for ever: a lookup of the latest sees the end of
    that. From one change of a parent on the way to the next the way is the same, so that few stamps are looked at;
    where no frame on it ever changed its parent, one.
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
    """Store rows from `begin` on; return the row at which something needs doing first, or the number of rows.

    static: 1 for timeless transforms; history: how far back entries are kept, ns. A row that cannot be stored
    gets its fault and is left out. report: see layout.py, added up over the calls for one batch.
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
            if frame.parent != parent or _moved(_ring(frame)[0], poses[row]):
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
