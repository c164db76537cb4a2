"""What a tree says of itself: its frames, who hangs below whom, and pictures of it."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from operator import index as as_int
from typing import Any

import numpy as np

from sim_node.geometry.arrays import FloatArray
from sim_node.names import hierarchical_path
from sim_node.tree import describe
from sim_node.tree.layout import LATEST, NO_PARENT
from sim_node.tree.quantised import QuantisedCache
from sim_node.tree.storage import Storage


class Structure(ABC):
    """The part of TransformTree that reads its structure."""

    tolerance_ns: int
    _storage: Storage
    _cache: QuantisedCache
    _lock: threading.RLock

    @property
    def generation(self) -> int:
        """Counts changes: two equal readings mean that nothing was stored or cleared in between."""
        return self._storage.generation

    @property
    def hits(self) -> int:
        """Quantised lookups answered from memory so far."""
        return self._cache.hits

    @property
    def misses(self) -> int:
        """Quantised lookups that had to be computed so far."""
        return self._cache.misses

    @property
    def frames(self) -> tuple[str, ...]:
        """Names of all frames, in the order in which they came."""
        with self._lock:
            known = self._storage.rings.frames["known"]
            return tuple(name for name, is_known in zip(self._storage.names, known.tolist(), strict=True) if is_known)

    @property
    def nbytes(self) -> int:
        """Bytes that hold the transforms."""
        return self._storage.rings.nbytes

    def __contains__(self, frame: object) -> bool:
        with self._lock:
            row = self._storage.rows.get(frame) if isinstance(frame, str) else None
            return row is not None and bool(self._storage.rings.frames[row]["known"])

    def chain(self, target: str, source: str, stamp_ns: int | None = None) -> tuple[str, ...]:
        """Return the frames on the way from `source` to `target`, both included. Raises as `lookup` does."""
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
        """Return the frame's parent at `stamp_ns`, None for the newest; None for a root. Raises UnknownFrame."""
        with self._lock:
            row = self._storage.parent_at(self._pair(frame, frame)[0], LATEST if stamp_ns is None else as_int(stamp_ns))
        return None if row == NO_PARENT else self._storage.names[row]

    def path(self, frame: str) -> str:
        """Return the hierarchical path of a frame: world/drone/base_link/body_visual. Raises UnknownFrame."""
        with self._lock:
            line = self._storage.line(self._pair(frame, frame)[0], LATEST)
        return hierarchical_path(self._storage.names[row] for row in reversed(line))

    def parent_path(self, frame: str) -> str:
        """Return the path of the frame's parent: world/drone/base_link; empty for a root. Raises UnknownFrame."""
        parent = self.parent(frame)
        return "" if parent is None else self.path(parent)

    def describe(self) -> tuple[describe.FrameInfo, ...]:
        """Return what is known of each frame, in the order in which they came."""
        with self._lock:
            return self._storage.describe()

    def as_dict(self) -> dict[str, dict[str, Any]]:
        """Return the tree as plain values: {name: {parent, kind, stored, oldest_ns, newest_ns, rate_hz}}."""
        return describe.as_dict(self.describe())

    def as_text(self) -> str:
        """Return the tree as text, children indented below their parent."""
        return describe.as_text(self.describe())

    def as_dot(self) -> str:
        """Return the tree as a Graphviz graph."""
        return describe.as_dot(self.describe())

    @abstractmethod
    def _pair(self, target: str, source: str) -> tuple[int, int]:
        """Return the rows of two frames. Raises UnknownFrame."""

    @abstractmethod
    def _lookup(self, target: str, source: str, stamp: int, tolerance: int, out: FloatArray) -> int:
        """Write the pose to `out`, return the stamp it is of. Raises as TransformTree.lookup does."""
