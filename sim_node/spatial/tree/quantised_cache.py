"""A cache of lookups at quantised times."""

from __future__ import annotations

from sim_node.spatial.geometry.arrays import FloatArray

MAX_ENTRIES = 16384


class QuantisedCache:
    """Poses by (target, source, bucket). All of them are dropped when the transforms behind them are rewritten.

    bucket_ns: width of a bucket; hits, misses: lookups answered from the cache, and lookups that had to be computed.
    With several threads, the counts may be low by a few.
    """

    def __init__(self, bucket_ns: int) -> None:
        self.bucket_ns = bucket_ns
        self.hits = 0
        self.misses = 0
        self._poses: dict[tuple[str, str, int], FloatArray] = {}
        self._rewrites = 0

    def bucket(self, stamp_ns: int) -> int:
        """Return the number of the bucket whose centre, bucket * bucket_ns, is nearest to a stamp."""
        return (stamp_ns + self.bucket_ns // 2) // self.bucket_ns

    def get(self, target: str, source: str, bucket: int, rewrites: int) -> FloatArray | None:
        """Return the cached pose if the tree has not been rewritten since."""
        if rewrites == self._rewrites:
            pose = self._poses.get((target, source, bucket))
            if pose is not None:
                self.hits += 1
                return pose
        self.misses += 1
        return None

    def put(self, target: str, source: str, bucket: int, rewrites: int, pose: FloatArray) -> None:
        """Cache a pose, which becomes read-only. The caller holds the tree's lock."""
        if rewrites != self._rewrites or len(self._poses) >= MAX_ENTRIES:
            # A new dictionary, so that readers without the lock keep a consistent old one.
            self._poses = {}
            self._rewrites = rewrites
        pose.setflags(write=False)
        self._poses[target, source, bucket] = pose
