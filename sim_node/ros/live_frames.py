"""The frames of the running graph as a table, with their poses."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sim_node.spatial.geometry import poses as pose_math
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.spatial.tree import TransformError, TransformTree
from sim_node.viewing.messages.frames import MAP
from sim_node.world import FrameTable
from sim_node.world.frame_table import table_of


class LiveFrames:
    """The frames of a transform tree.

    Args:
        tree: The received transforms.

    Attributes:
        table: The frames; initially a root alone.
        poses: (N, 7) each frame in its parent, m. Frames without a transform keep their last pose.
    """

    def __init__(self, tree: TransformTree) -> None:
        self._tree = tree
        self.table = FrameTable((MAP,), np.array([-1], np.int32), np.array([True]))
        self.poses: FloatArray = np.array([pose_math.IDENTITY])

    def edges(self) -> tuple[dict[str, str], frozenset[str]]:
        """Return the newest parent of each frame by name, and the names of the moving frames."""
        described = self._tree.describe()
        parents = {frame.name: frame.parent for frame in described if frame.parent is not None}
        return parents, frozenset(frame.name for frame in described if frame.kind == "dynamic")

    def change(self, parents: Mapping[str, str], dynamic: frozenset[str]) -> None:
        """Replace the table.

        Args:
            parents: Parent of each frame, by name.
            dynamic: The moving frames.

        Raises:
            ValueError: The newest parents, which may be from different times, form a loop.
        """
        self.table = table_of(parents, dynamic)
        self.poses = np.tile(pose_math.IDENTITY, (len(self.table), 1))

    def read(self) -> None:
        """Read the newest poses."""
        names = self.table.names
        for row, parent in enumerate(self.table.parents.tolist()):
            if parent >= 0:
                try:
                    self.poses[row] = self._tree.lookup(names[parent], names[row])
                except TransformError:
                    continue
