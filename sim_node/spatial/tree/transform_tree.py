"""The time-indexed tree of coordinate frames: store transforms, look up the pose of any frame in any other."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Sequence
from operator import index as as_int
from typing import Any

import numpy as np
import numpy.typing as npt

from sim_node import html
from sim_node.names import SENSOR_PATTERNS, hierarchical_path
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.spatial.geometry.poses import compose
from sim_node.spatial.tree import describe, layout
from sim_node.spatial.tree import lookup_kernels as kernels
from sim_node.spatial.tree.errors import (
    CyclicTree,
    Disconnected,
    FutureExtrapolation,
    InvalidTransform,
    PastExtrapolation,
    TransformError,
    UnknownFrame,
)
from sim_node.spatial.tree.layout import AT, FOUND, HELD, LATEST, NO_PARENT
from sim_node.spatial.tree.quantised_cache import QuantisedCache
from sim_node.spatial.tree.storage import Indices, Storage
from sim_node.spatial.tree.waiting import Wait, Waits

Names = Sequence[str]


class TransformTree:
    """Stores the poses of frames in their parents over time, and looks up the pose of any frame in any other.

    Poses are float64 [x y z qx qy qz qw], m, and map the child's coordinates into the parent's. Stamps are int
    nanoseconds. One thread may store while others look up; a lookup never sees half of a transform.

    Args:
        cache_duration: History to keep per frame, counted back from its newest transform (s).
        tolerance: How far a stamp may lie outside a frame's history, where the nearest end is used (s).
        static_patterns: Frames below a base_link whose last name component matches one of these become static.
        detect_jumps: Whether a batch that is older than the whole history of its frames restarts them, as when a
            recording is played in a loop. Otherwise it is refused.
        bucket: Interval to which a quantised lookup rounds its stamp (s).
        max_frames: Transforms from or to further frames are refused, with one warning in the log.

    Raises:
        ValueError: An argument is out of range.
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
        # Held around each kernel call, never during a wait. Re-entrant: lookups nest, and a signal handler that
        # looks up while its own thread holds the lock must not hang.
        self._lock = threading.RLock()
        self._report = np.zeros(layout.REPORT_LENGTH, np.int64)
        self._one = (np.zeros(1, np.int32), np.zeros(1, np.int32), np.zeros(1, np.int64), np.zeros((1, 7)))
        self._one_fault = np.zeros(1, np.uint8)

    # Storing

    def set_transform(self, parent: str, child: str, stamp_ns: int, pose: npt.ArrayLike, static: bool = False) -> None:
        """Store a transform.

        An equal stamp replaces the stored transform, an older one is inserted in order.

        Args:
            parent: The parent frame. A leading slash is dropped, as in tf2.
            child: The child frame, likewise.
            stamp_ns: The time of the transform (ns).
            pose: Pose (7,) of `child` in `parent` [x y z qx qy qz qw], m. The quaternion is normalised; its squared
                norm must be within 1e-2 of one.
            static: Whether the transform is valid at all times.

        Raises:
            InvalidTransform: A number is not finite, the quaternion is not a rotation, the frame is its own parent or
                its own ancestor, or the stamp is older than the cache duration.
        """
        with self._lock:
            parents, children, stamps, poses = self._one
            parents[0], children[0] = self._storage.register(parent), self._storage.register(child)
            stamps[0] = as_int(stamp_ns)
            poses[0] = pose
            self._one_fault[0] = 0
            error = self._storage.store(parents, children, stamps, poses, static, self._one_fault)
        self._finish(error)

    def set_transforms(
        self,
        parents: Names | Indices,
        children: Names | Indices,
        stamps_ns: npt.ArrayLike,
        poses: npt.ArrayLike,
        static: bool = False,
    ) -> None:
        """Store N transforms at once, such as those of a message.

        Args:
            parents: N names of parent frames, or their `indices`.
            children: N names of child frames, or their `indices`.
            stamps_ns: Times (N,), or one for all (ns).
            poses: Poses (N, 7) of the children in their parents [x y z qx qy qz qw], m.
            static: Whether the transforms are valid at all times.

        Raises:
            InvalidTransform: Rows cannot be stored; the error lists each of them. All others were stored.
            TypeError: The stamps are not integers.
            ValueError: The shapes do not match.
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
        self._finish(error)

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
        """Return the pose of a frame in another.

        Args:
            target: The frame in which the pose is expressed.
            source: The frame whose pose is returned.
            stamp_ns: The time (ns); None for the latest time that all frames in the chain have in common.
            tolerance_ns: How far the stamp may lie outside a history (ns); None for the tolerance of the tree.
            quantised: Whether to look up the nearest multiple of the bucket (10 ms) and to cache the result, which is
                then read-only. It is off by at most half a bucket of motion.
            out: A float64 array (7,) to write to.

        Returns:
            Pose (7,) [x y z qx qy qz qw], m, that maps the source's coordinates into the target's.

        Raises:
            UnknownFrame: A frame does not exist.
            Disconnected: The frames have no common ancestor.
            PastExtrapolation: The stamp is before the history of a frame in the chain.
            FutureExtrapolation: The stamp is after it.
            ValueError: `out` has another shape or type.
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
        """Return the pose of a frame in another, and its stamp.

        Args:
            target: The frame in which the pose is expressed.
            source: The frame whose pose is returned.
            stamp_ns: The time (ns); None for the latest common time.
            tolerance_ns: How far the stamp may lie outside a history (ns); None for the tolerance of the tree.

        Returns:
            The stamp (ns), None if the whole chain is static and no stamp was given; and the pose (7,).

        Raises:
            TransformError: As `lookup` does.
        """
        out = np.empty(7)
        stamp = LATEST if stamp_ns is None else as_int(stamp_ns)
        tolerance = self.tolerance_ns if tolerance_ns is None else as_int(tolerance_ns)
        at = self._lookup(target, source, stamp, tolerance, out)
        return (None if at == LATEST else at), out

    def lookup_many(
        self, target: str, source: str, stamps_ns: npt.ArrayLike, tolerance_ns: int | None = None
    ) -> FloatArray:
        """Return the poses of a frame in another at many times.

        Another thread may store transforms during the call; each row is correct for some moment in the call.

        Args:
            target: The frame in which the poses are expressed.
            source: The frame whose poses are returned.
            stamps_ns: Times (N,), integers in any order (ns).
            tolerance_ns: How far a stamp may lie outside a history (ns); None for the tolerance of the tree.

        Returns:
            Poses (N, 7) [x y z qx qy qz qw], m.

        Raises:
            TransformError: As `lookup` does, for the first stamp that fails.
            TypeError: The stamps are not integers (N,).
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
                row = int(self._report[layout.ROW])
                if status > HELD:
                    raise self._failure(status, target, source, tolerance)
        return out

    def lookup_full(
        self, target: str, target_stamp_ns: int | None, source: str, source_stamp_ns: int | None, fixed: str
    ) -> FloatArray:
        """Return the pose of a frame at one time in another frame at another time, as in tf2.

        Args:
            target: The frame in which the pose is expressed.
            target_stamp_ns: The time of the target (ns); None for the latest.
            source: The frame whose pose is returned.
            source_stamp_ns: The time of the source (ns); None for the latest.
            fixed: A frame that does not move between the two times.

        Returns:
            Pose (7,) [x y z qx qy qz qw], m.

        Raises:
            TransformError: As `lookup` does.
        """
        with self._lock:
            self._pair(target, fixed)  # report an unknown frame before a stamp outside a history
            there = self.lookup(fixed, source, source_stamp_ns)
            back = self.lookup(target, fixed, target_stamp_ns)
        return compose(back, there)

    def can_lookup(
        self, target: str, source: str, stamp_ns: int | None = None, tolerance_ns: int | None = None
    ) -> bool:
        """Return whether `lookup` would succeed now.

        Args:
            target: The target frame.
            source: The source frame.
            stamp_ns: The time (ns); None for the latest common time.
            tolerance_ns: How far the stamp may lie outside a history (ns); None for the tolerance of the tree.

        Returns:
            Whether it would.
        """
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
        """Return the newest stamp for which all frames in a chain have data.

        Args:
            target: The target frame.
            source: The source frame.

        Returns:
            The stamp (ns); None if the chain is static.

        Raises:
            TransformError: As `lookup` does.
        """
        return self.lookup_stamped(target, source)[0]

    # Waiting

    def when(self, is_ready: Callable[[], bool], call: Callable[[], None]) -> Wait:
        """Call a function once, as soon as a condition holds: now, or in the thread that stores the missing transform.

        Args:
            is_ready: The condition, evaluated after each store. It must be short and must not raise.
            call: The function. It must be short and must not raise.

        Returns:
            A handle with `cancel()`.
        """
        return self._waits.add(is_ready, call)

    def when_available(
        self,
        target: str,
        source: str,
        stamp_ns: int | None,
        call: Callable[[], None],
        tolerance_ns: int | None = None,
    ) -> Wait:
        """Call a function once, as soon as a lookup would succeed; see `when`.

        Args:
            target: The target frame.
            source: The source frame.
            stamp_ns: The time (ns); None for the latest common time.
            call: The function. It must be short and must not raise.
            tolerance_ns: How far the stamp may lie outside a history (ns); None for the tolerance of the tree.

        Returns:
            A handle with `cancel()`.
        """
        return self.when(lambda: self.can_lookup(target, source, stamp_ns, tolerance_ns), call)

    def wait_for_transform(
        self,
        target: str,
        source: str,
        stamp_ns: int | None = None,
        timeout: float = 1.0,
        tolerance_ns: int | None = None,
    ) -> FloatArray:
        """Return the pose of a frame in another, waiting for another thread to store what is missing.

        Args:
            target: The frame in which the pose is expressed.
            source: The frame whose pose is returned.
            stamp_ns: The time (ns); None for the latest common time.
            timeout: How long to wait (s).
            tolerance_ns: How far the stamp may lie outside a history (ns); None for the tolerance of the tree.

        Returns:
            Pose (7,) [x y z qx qy qz qw], m.

        Raises:
            TransformError: As `lookup` does, after the timeout.
        """
        ready = threading.Event()
        wait = self.when_available(target, source, stamp_ns, ready.set, tolerance_ns)
        try:
            ready.wait(timeout)
        finally:
            wait.cancel()
        return self.lookup(target, source, stamp_ns, tolerance_ns)

    async def wait_for_transform_async(
        self,
        target: str,
        source: str,
        stamp_ns: int | None = None,
        timeout: float = 1.0,
        tolerance_ns: int | None = None,
    ) -> FloatArray:
        """Return the pose of a frame in another, waiting in an asyncio loop; see `wait_for_transform`.

        Args:
            target: The frame in which the pose is expressed.
            source: The frame whose pose is returned.
            stamp_ns: The time (ns); None for the latest common time.
            timeout: How long to wait (s).
            tolerance_ns: How far the stamp may lie outside a history (ns); None for the tolerance of the tree.

        Returns:
            Pose (7,) [x y z qx qy qz qw], m.

        Raises:
            TransformError: As `lookup` does, after the timeout.
        """
        loop = asyncio.get_running_loop()
        ready = asyncio.Event()

        def call() -> None:
            # The loop may be closed already when the transform comes.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(ready.set)

        wait = self.when_available(target, source, stamp_ns, call, tolerance_ns)
        try:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(ready.wait(), timeout)
        finally:
            wait.cancel()
        return self.lookup(target, source, stamp_ns, tolerance_ns)

    # Frames

    @property
    def generation(self) -> int:
        """Counter of changes: if two values are equal, nothing was stored or cleared in between."""
        return self._storage.generation

    @property
    def hits(self) -> int:
        """Number of quantised lookups answered from the cache."""
        return self._cache.hits

    @property
    def misses(self) -> int:
        """Number of quantised lookups that had to be computed."""
        return self._cache.misses

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.frames)} frames)"

    def _repr_html_(self) -> str:
        """Return the tree as indented text, for notebooks."""
        return html.text_block(repr(self), describe.as_text(self.describe()))

    @property
    def frames(self) -> tuple[str, ...]:
        """Names of all frames, in the order in which they were added."""
        with self._lock:
            known = self._storage.rings.frames["known"]
            return tuple(name for name, is_known in zip(self._storage.names, known.tolist(), strict=True) if is_known)

    @property
    def roots(self) -> tuple[str, ...]:
        """Names of the frames without a parent."""
        with self._lock:
            frames = self._storage.rings.frames
            rows = np.flatnonzero((frames["known"] != 0) & (frames["count"] == 0))
            return tuple(self._storage.names[row] for row in rows.tolist())

    @property
    def nbytes(self) -> int:
        """Bytes of memory for the transforms."""
        return self._storage.rings.nbytes

    def __contains__(self, frame: object) -> bool:
        with self._lock:
            row = self._storage.rows.get(frame) if isinstance(frame, str) else None
            return row is not None and bool(self._storage.rings.frames[row]["known"])

    def indices(self, names: Names | Indices) -> Indices:
        """Return the indices of frames, to use in set_transforms instead of their names.

        They stay valid for the life of the tree, so that a sender of many transforms needs to look them up only once.

        Args:
            names: N names; indices are returned unchanged.

        Returns:
            Indices (N,), int32.

        Raises:
            TypeError: `names` is a single name.
        """
        if isinstance(names, np.ndarray) and names.dtype.kind in "iu" and names.ndim == 1:
            return np.ascontiguousarray(names, dtype=np.int32)
        if isinstance(names, str):
            raise TypeError(f"needs a sequence of names, found the name '{names}'")
        with self._lock:
            return np.array([self._storage.register(name) for name in names], dtype=np.int32)

    def clear(self) -> None:
        """Drop all dynamic transforms. Static and promoted ones stay, as in tf2."""
        with self._lock:
            self._storage.clear()

    def jump_back(self, stamp_ns: int) -> None:
        """Drop all dynamic transforms after a stamp, because time was set back to it.

        Args:
            stamp_ns: The new time (ns).
        """
        with self._lock:
            self._storage.forget_after(as_int(stamp_ns))

    def chain(self, target: str, source: str, stamp_ns: int | None = None) -> tuple[str, ...]:
        """Return the frames between two frames.

        Args:
            target: The last frame of the chain.
            source: The first frame of the chain.
            stamp_ns: The time; None for the latest common time.

        Returns:
            The names from `source` to `target`, both included.

        Raises:
            TransformError: As `lookup` does.
        """
        storage = self._storage
        with self._lock:
            stamp = LATEST if stamp_ns is None else as_int(stamp_ns)
            at = self._lookup(target, source, stamp, self.tolerance_ns, np.empty(7))
            up, down = (storage.line(row, at) for row in self._pair(source, target))
        while len(up) > 1 and len(down) > 1 and up[-2] == down[-2]:
            up.pop()
            down.pop()
        return tuple(storage.names[row] for row in [*up, *reversed(down[:-1])])

    def parent(self, frame: str, stamp_ns: int | None = None) -> str | None:
        """Return the parent of a frame.

        Args:
            frame: The frame.
            stamp_ns: The time; None for the newest transform.

        Returns:
            The name of the parent; None for a root, or if the stamp is outside the history.

        Raises:
            UnknownFrame: The frame does not exist.
        """
        with self._lock:
            row = self._storage.parent_at(self._pair(frame, frame)[0], LATEST if stamp_ns is None else as_int(stamp_ns))
        return None if row == NO_PARENT else self._storage.names[row]

    def path(self, frame: str) -> str:
        """Return the hierarchical path of a frame, as in world/drone/base_link/body_visual.

        Args:
            frame: The frame.

        Returns:
            The path from the root.

        Raises:
            UnknownFrame: The frame does not exist.
        """
        with self._lock:
            line = self._storage.line(self._pair(frame, frame)[0], LATEST)
        return hierarchical_path(self._storage.names[row] for row in reversed(line))

    def parent_path(self, frame: str) -> str:
        """Return the hierarchical path of the parent of a frame, as in world/drone/base_link.

        Args:
            frame: The frame.

        Returns:
            The path from the root; empty for a root.

        Raises:
            UnknownFrame: The frame does not exist.
        """
        parent = self.parent(frame)
        return "" if parent is None else self.path(parent)

    def describe(self) -> tuple[describe.FrameInfo, ...]:
        """Describe each frame, in the order in which they were added."""
        with self._lock:
            return self._storage.describe()

    def as_dict(self) -> dict[str, dict[str, Any]]:
        """Return the tree as plain values: {name: {parent, kind, ..., rate_hz, convention}}."""
        return describe.as_dict(self.describe())

    def as_text(self) -> str:
        """Return the tree as text, children indented below their parent."""
        return describe.as_text(self.describe())

    def as_dot(self) -> str:
        """Return the tree as a Graphviz graph."""
        return describe.as_dot(self.describe())

    # Inside

    def _finish(self, error: InvalidTransform | None) -> None:
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
        """Write the pose to `out` and return its stamp."""
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
                # At the ends of a history the centre of the bucket may lie outside: look up the stamp itself then.
                if status != FOUND:
                    return None
                cache.put(target, source, bucket, storage.rewrites, pose)
        return pose

    def _failure(self, status: int, target: str, source: str, tolerance: int) -> TransformError:
        report = self._report.tolist()
        culprit = self._storage.names[report[layout.CULPRIT]]
        if status == layout.UNKNOWN:
            return UnknownFrame.among(culprit, self.frames)
        if status == layout.DISCONNECTED:
            return Disconnected(target, source, culprit, self._storage.names[report[layout.OTHER]])
        if status == layout.LOOP:
            line = self._storage.line(report[layout.CULPRIT], report[AT])
            return CyclicTree(culprit, tuple(self._storage.names[row] for row in line[line.index(line[-1]) :]))
        kind = PastExtrapolation if status == layout.PAST else FutureExtrapolation
        return kind(target, source, culprit, report[AT], report[layout.OLDEST], report[layout.NEWEST], tolerance)
