"""The structure of a tree: its frames and their indices, their parents, what is dropped of them, descriptions."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from operator import index as as_int
from typing import Any

import numpy as np

from sim_node import html
from sim_node.names import hierarchical_path
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.spatial.tree import describe
from sim_node.spatial.tree.layout import LATEST, NO_PARENT
from sim_node.spatial.tree.quantised import QuantisedCache
from sim_node.spatial.tree.storage import Indices, Storage

Names = Sequence[str]


class Structure(ABC):
    """The part of TransformTree that is about its frames."""

    tolerance_ns: int
    _storage: Storage
    _cache: QuantisedCache
    _lock: threading.RLock

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
        """Write the pose to `out` and return its stamp. Raises as TransformTree.lookup does."""
