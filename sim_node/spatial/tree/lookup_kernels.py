"""Compiled lookups: the chain between two frames, and the poses along it.

Poses are passed as tuples (x, y, z, qx, qy, qz, qw), so that they stay in registers. No kernel allocates a history
or raises: each returns a status and writes numbers to `report` (see layout.py).
"""

# mypy: allow-untyped-defs, allow-untyped-calls, disable-error-code="untyped-decorator"
# numba infers the types, except for those of the entry points.

from __future__ import annotations

import math

import numpy as np
from numba import types
from numba.np.numpy_support import from_dtype

from sim_node.spatial.geometry.kernel import kernel
from sim_node.spatial.geometry.pose_kernels import IDENTITY, as_pose, compose, relative, write_pose
from sim_node.spatial.tree import layout
from sim_node.spatial.tree.history_kernels import edge_of, locate, ring_of, slot_of

# Edges that lookup_many evaluates before it releases the lock: a few milliseconds.
EDGE_BUDGET = 32768
BLOCK = 512

_FRAMES = types.Array(from_dtype(layout.FRAME), 1, "C")
_I64, _REPORT, _OUT, _POSES = types.int64, types.int64[::1], types.float64[::1], types.float64[:, ::1]
# Read-only types accept writeable arrays as well.
_STAMPS_IN = types.Array(types.int64, 1, "C", readonly=True)


@kernel()
def _write(out, pose):
    """Write a pose. Normalise its quaternion if rounding in a long chain has changed the norm."""
    x, y, z, qx, qy, qz, qw = pose
    square = qx * qx + qy * qy + qz * qz + qw * qw
    if abs(square - 1.0) > 1e-15:
        scale = 1.0 / math.sqrt(square)
        qx, qy, qz, qw = qx * scale, qy * scale, qz * scale, qw * scale
    write_pose(out, (x, y, z, qx, qy, qz, qw))


@kernel()
def _parent(frame, stamp, tolerance):
    """Return the index of the frame's parent at `stamp`, or NO_PARENT if its history does not reach it."""
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
    ring = ring_of(frame)
    return ring[frame.first if stamp < frame.oldest else slot_of(frame, locate(frame, ring, stamp))].parent


@kernel()
def _depth(frames, frame, stamp, tolerance):
    """Return (number of edges to the root, root), or (-1, frame) in a loop."""
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
    """Report the frame whose history does not reach `stamp`. Return PAST or FUTURE."""
    report[layout.AT], report[layout.CULPRIT] = stamp, frame
    report[layout.OLDEST], report[layout.NEWEST] = frames[frame].oldest, frames[frame].newest
    return layout.PAST if stamp < frames[frame].oldest else layout.FUTURE


@kernel()
def _explain_gap(frames, target, source, stamp, tolerance, report):
    """Find why two frames have no common ancestor at `stamp`: they are disconnected, or a history is too short."""
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
    """Return the lowest common ancestor of two frames, given their depths below a common root."""
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
    """Return (status, frame): the lowest common ancestor at `stamp`."""
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
        status, edge = edge_of(frames[frame], stamp, tolerance)
        if status > layout.HELD:
            return _blame(frames, frame, stamp, report), pose
        worst = max(worst, status)
        pose = compose(edge, pose)
        frame = _parent(frames[frame], stamp, tolerance)
    return worst, pose


@kernel()
def _latest_common(frames, target, source, tolerance, report):
    """Return (status, stamp): the oldest of the newest stamps in the chain, or layout.LATEST if all of it is static."""
    status, ancestor = _common_ancestor(frames, target, source, layout.LATEST, tolerance, report)
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
        status, stamp = _latest_common(frames, target, source, tolerance, report)
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
    """Transform poses from `frame` into its parent, row by row. Return (status, row of a failure)."""
    for row in range(len(stamps)):
        status, edge = edge_of(frame, stamps[row], tolerance)
        if status > layout.HELD:
            return status, row
        write_pose(poses[row], compose(edge, as_pose(poses[row])))
    return layout.FOUND, 0


@kernel(_I64(_FRAMES, _I64, _I64, _I64, _I64, _REPORT, _OUT))
def lookup(frames, target, source, stamp, tolerance, report, out):
    """Write the pose of `source` in `target` at `stamp` ns (or layout.LATEST) to `out` (7,). Return a lookup status.

    The call keeps the GIL: it is so short that releasing the GIL costs more than it gains.
    """
    for frame in (target, source):
        if frames[frame].known == 0:
            report[layout.CULPRIT] = frame
            return layout.UNKNOWN
    return _lookup(frames, target, source, stamp, tolerance, report, out)


@kernel(_I64(_FRAMES, _I64, _I64, _STAMPS_IN, _I64, _I64, _REPORT, _POSES, _POSES), nogil=True)
def lookup_many(frames, target, source, stamps, tolerance, begin, report, out, scratch):
    """Write poses for stamps[begin:] to `out` (N, 7) until the budget is spent. Return a lookup status.

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
                # One edge after the other for the whole block: one history at a time stays in the cache.
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
