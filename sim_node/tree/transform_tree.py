"""The time-indexed tree of coordinate frames: transforms go in, the pose of any frame in any other comes out."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from operator import index as as_int

import numpy as np
import numpy.typing as npt

from sim_node.geometry.arrays import FloatArray
from sim_node.geometry.poses import compose
from sim_node.names import SENSOR_PATTERNS
from sim_node.tree import lookup_kernels as kernels
from sim_node.tree.errors import (
    CyclicTree,
    Disconnected,
    FutureExtrapolation,
    InvalidTransform,
    PastExtrapolation,
    TransformError,
    UnknownFrame,
)
from sim_node.tree.layout import (
    AT,
    CULPRIT,
    DISCONNECTED,
    FOUND,
    HELD,
    LATEST,
    LOOP,
    NEWEST,
    OLDEST,
    OTHER,
    PAST,
    REPORT_LENGTH,
    ROW,
    UNKNOWN,
)
from sim_node.tree.quantised import QuantisedCache
from sim_node.tree.storage import Indices, Storage
from sim_node.tree.structure import Structure
from sim_node.tree.waiting import Waiting, Waits

Names = Sequence[str]


class TransformTree(Structure, Waiting):
    """Stores where frames are in their parents over time, and answers where any frame is in any other.

    cache_duration: seconds of history kept per frame, counted back from its newest transform.
    tolerance: seconds by which a stamp may lie outside a frame's history; its nearest end is held there.
    static_patterns: frames below a base_link whose last name component fits one of these become static.
    detect_jumps: whether a batch that is older than the whole history of its frames restarts them (a recording
    that is played in a loop), where otherwise it is refused.
    bucket: seconds to which a quantised lookup rounds its stamp.
    max_frames: transforms from or to further frames are refused, with one warning in the log.

    Poses are float64 [x y z qx qy qz qw] in metres, mapping the child's coordinates into the parent's; stamps are
    int nanoseconds. One thread may store while others look up; no lookup sees half of a transform.
    """

    def __init__(
        self,
        cache_duration: float = 10.0,
        tolerance: float = 0.1,
        static_patterns: Sequence[str] = SENSOR_PATTERNS,
        *,
        detect_jumps: bool = False,
        bucket: float = 0.01,
        max_frames: int = 100_000,
    ) -> None:
        for name, value, least in (
            ("cache_duration", cache_duration, 0.0),
            ("tolerance", tolerance, 0.0),
            ("bucket", bucket, 1e-9),
        ):
            if not least <= value < 9e9:
                raise ValueError(f"{name} is {value}, needs seconds of {least:g} or more")
        if max_frames < 1:
            raise ValueError(f"max_frames is {max_frames}, needs 1 or more")
        self.cache_duration_ns = round(cache_duration * 1e9)
        self.tolerance_ns = round(tolerance * 1e9)
        self._storage = Storage(self.cache_duration_ns, self.tolerance_ns, static_patterns, detect_jumps, max_frames)
        self._cache = QuantisedCache(round(bucket * 1e9))
        self._waits = Waits()
        # Held around each kernel call and never across a wait. Re-entrant: lookups nest, and a signal handler that
        # looks up while its thread is in here must not hang.
        self._lock = threading.RLock()
        self._report = np.zeros(REPORT_LENGTH, np.int64)
        self._one = (np.zeros(1, np.int32), np.zeros(1, np.int32), np.zeros(1, np.int64), np.zeros((1, 7)))
        self._one_fault = np.zeros(1, np.uint8)

    # Storing

    def set_transform(self, parent: str, child: str, stamp_ns: int, pose: npt.ArrayLike, static: bool = False) -> None:
        """Store the pose (7,) of `child` in `parent` at `stamp_ns`, or for all times if static.

        An equal stamp replaces, an older one lands in its place. A quaternion whose squared norm is within 1e-2 of
        one is scaled to it. A leading slash of a name is dropped, as tf2 does.
        Raises InvalidTransform for what is not finite, a quaternion that is no rotation, a frame that is its own
        parent or below itself, or a stamp older than the history that is kept.
        """
        with self._lock:
            parents, children, stamps, poses = self._one
            parents[0], children[0] = self._storage.register(parent), self._storage.register(child)
            stamps[0] = as_int(stamp_ns)
            poses[0] = pose
            self._one_fault[0] = 0
            error = self._storage.store(parents, children, stamps, poses, static, self._one_fault)
        self._tell(error)

    def set_transforms(
        self,
        parents: Names | Indices,
        children: Names | Indices,
        stamps_ns: npt.ArrayLike,
        poses: npt.ArrayLike,
        static: bool = False,
    ) -> None:
        """Store a message's worth of transforms at once.

        parents, children: N names each, or their `indices`; stamps_ns: (N,) or one for all; poses: (N, 7).
        Raises InvalidTransform, naming each row that was refused, after all the others were stored.
        """
        parent_rows, child_rows = self.indices(parents), self.indices(children)
        poses = np.ascontiguousarray(poses, dtype=np.float64)
        stamps = np.asarray(stamps_ns)
        if stamps.dtype.kind not in "iu" and stamps.size:
            raise TypeError(f"stamps_ns is {stamps.dtype}, needs integers: nanoseconds")
        stamps = np.ascontiguousarray(np.broadcast_to(stamps, child_rows.shape), dtype=np.int64)
        if parent_rows.shape != child_rows.shape or poses.shape != (*child_rows.shape, 7):
            raise ValueError(
                f"shapes differ: {len(parent_rows)} parents, {len(child_rows)} children, poses {poses.shape}, "
                "needs N, N and (N, 7)"
            )
        faults = np.zeros(len(child_rows), np.uint8)
        with self._lock:
            error = self._storage.store(parent_rows, child_rows, stamps, poses, static, faults)
        self._tell(error)

    def indices(self, names: Names | Indices) -> Indices:
        """Return the indices (N,) under which the tree keeps these names, for use in set_transforms.

        They hold for the tree's life: whoever sends the same names again and again asks once.
        """
        if isinstance(names, np.ndarray) and names.dtype.kind in "iu" and names.ndim == 1:
            return np.ascontiguousarray(names, dtype=np.int32)
        if isinstance(names, str):
            raise TypeError(f"needs a sequence of names, found the name '{names}'")
        with self._lock:
            return np.array([self._storage.register(name) for name in names], dtype=np.int32)

    def clear(self) -> None:
        """Forget all dynamic transforms; static and promoted ones stay, as in tf2."""
        with self._lock:
            self._storage.clear()

    def jump_back(self, stamp_ns: int) -> None:
        """Forget all dynamic transforms after `stamp_ns`: time was set back to there."""
        with self._lock:
            self._storage.forget_after(as_int(stamp_ns))

    # Looking up

    def lookup(
        self,
        target: str,
        source: str,
        stamp_ns: int | None = None,
        tolerance_ns: int | None = None,
        quantised: bool = False,
        out: FloatArray | None = None,
    ) -> FloatArray:
        """Return the pose (7,) of `source` in `target`: it maps source's coordinates into target's.

        stamp_ns: None for the latest time that all frames on the way have in common. tolerance_ns: None for the
        tree's. quantised: answer for the nearest multiple of the bucket (10 ms) and remember the answer, which is
        then read-only; off by at most half a bucket of motion. out: a float64 (7,) array to write to.
        Raises UnknownFrame, Disconnected, PastExtrapolation or FutureExtrapolation.
        """
        stamp = LATEST if stamp_ns is None else as_int(stamp_ns)
        tolerance = self.tolerance_ns if tolerance_ns is None else as_int(tolerance_ns)
        if out is not None and (out.shape != (7,) or out.dtype != np.float64 or not out.flags.carray):
            raise ValueError(f"out is {out.dtype} {out.shape}, needs a contiguous, writeable float64 (7,)")
        if quantised and stamp != LATEST:
            pose = self._quantised(target, source, stamp)
            if pose is not None:
                if out is None:
                    return pose
                out[:] = pose
                return out
        if out is None:
            out = np.empty(7)
        self._lookup(target, source, stamp, tolerance, out)
        return out

    def lookup_stamped(
        self, target: str, source: str, stamp_ns: int | None = None, tolerance_ns: int | None = None
    ) -> tuple[int | None, FloatArray]:
        """As `lookup`, with the stamp that the pose is of: None where the whole way is static and no stamp given."""
        out = np.empty(7)
        stamp = LATEST if stamp_ns is None else as_int(stamp_ns)
        tolerance = self.tolerance_ns if tolerance_ns is None else as_int(tolerance_ns)
        at = self._lookup(target, source, stamp, tolerance, out)
        return (None if at == LATEST else at), out

    def lookup_many(
        self, target: str, source: str, stamps_ns: npt.ArrayLike, tolerance_ns: int | None = None
    ) -> FloatArray:
        """Return the poses (N, 7) of `source` in `target` at each of stamps_ns (N,), in any order.

        Raises as `lookup` does, for the first stamp at fault. The tree may be stored to in between; each row is
        right for some time during the call.
        """
        stamps = np.asarray(stamps_ns)
        if stamps.ndim != 1 or (stamps.dtype.kind not in "iu" and stamps.size):
            raise TypeError(f"stamps_ns is {stamps.dtype} of shape {stamps.shape}, needs integers (N,): nanoseconds")
        stamps = np.ascontiguousarray(stamps, dtype=np.int64)
        tolerance = self.tolerance_ns if tolerance_ns is None else as_int(tolerance_ns)
        out = np.empty((len(stamps), 7))
        scratch = np.empty((min(len(stamps), kernels.BLOCK), 7))
        row = 0
        while row < len(stamps):
            with self._lock:
                rows = self._pair(target, source)
                status = kernels.lookup_many(
                    self._storage.rings.frames, *rows, stamps, tolerance, row, self._report, out, scratch
                )
                row = int(self._report[ROW])
                if status > HELD:
                    raise self._failure(status, target, source, tolerance)
        return out

    def lookup_full(
        self, target: str, target_stamp_ns: int | None, source: str, source_stamp_ns: int | None, fixed: str
    ) -> FloatArray:
        """Return the pose (7,) of `source` at one time in `target` at another, `fixed` standing still between."""
        with self._lock:
            self._pair(target, fixed)  # an unknown frame is told before a stamp that another one lacks
            there = self.lookup(fixed, source, source_stamp_ns)
            back = self.lookup(target, fixed, target_stamp_ns)
        return compose(back, there)

    def can_lookup(
        self, target: str, source: str, stamp_ns: int | None = None, tolerance_ns: int | None = None
    ) -> bool:
        """Whether `lookup` would answer now."""
        stamp = LATEST if stamp_ns is None else as_int(stamp_ns)
        tolerance = self.tolerance_ns if tolerance_ns is None else as_int(tolerance_ns)
        with self._lock:
            if target not in self._storage.rows or source not in self._storage.rows:
                return False
            rows = self._pair(target, source)
            return bool(
                kernels.lookup(self._storage.rings.frames, *rows, stamp, tolerance, self._report, np.empty(7)) <= HELD
            )

    def latest_common_time(self, target: str, source: str) -> int | None:
        """Return the newest stamp for which all frames on the way have data; None where the way is static."""
        return self.lookup_stamped(target, source)[0]

    # Inside

    def _tell(self, error: InvalidTransform | None) -> None:
        if self._waits:
            self._waits.wake()
        if error is not None:
            raise error

    def _pair(self, target: str, source: str) -> tuple[int, int]:
        try:
            return self._storage.rows[target], self._storage.rows[source]
        except KeyError as missing:
            raise UnknownFrame.among(missing.args[0], self.frames) from None

    def _lookup(self, target: str, source: str, stamp: int, tolerance: int, out: FloatArray) -> int:
        """Write the pose to `out`, return the stamp it is of."""
        with self._lock:
            storage = self._storage
            try:
                target_row, source_row = storage.rows[target], storage.rows[source]
            except KeyError:
                self._pair(target, source)
                raise
            report = self._report
            status = kernels.lookup(storage.rings.frames, target_row, source_row, stamp, tolerance, report, out)
            if status > HELD:
                raise self._failure(status, target, source, tolerance)
            return report.item(AT)

    def _quantised(self, target: str, source: str, stamp: int) -> FloatArray | None:
        cache, storage = self._cache, self._storage
        bucket = cache.bucket(stamp)
        pose = cache.get(target, source, bucket, storage.rewrites)
        if pose is None:
            pose = np.empty(7)
            with self._lock:
                rows = self._pair(target, source)
                middle = bucket * cache.bucket_ns
                status = kernels.lookup(storage.rings.frames, *rows, middle, 0, self._report, pose)
                # At the ends of a history the bucket's middle may lie outside: the stamp itself is looked up then.
                if status != FOUND:
                    return None
                cache.put(target, source, bucket, storage.rewrites, pose)
        return pose

    def _failure(self, status: int, target: str, source: str, tolerance: int) -> TransformError:
        report = self._report.tolist()
        culprit = self._storage.names[report[CULPRIT]]
        if status == UNKNOWN:
            return UnknownFrame.among(culprit, self.frames)
        if status == DISCONNECTED:
            return Disconnected(target, source, culprit, self._storage.names[report[OTHER]])
        if status == LOOP:
            line = self._storage.line(report[CULPRIT], report[AT])
            return CyclicTree(culprit, tuple(self._storage.names[row] for row in line[line.index(line[-1]) :]))
        kind = PastExtrapolation if status == PAST else FutureExtrapolation
        return kind(target, source, culprit, report[AT], report[OLDEST], report[NEWEST], tolerance)
