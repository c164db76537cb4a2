"""The FrameTable: every frame of a run by index, parents before children, constant during the run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sim_node.names import hierarchical_path
from sim_node.spatial.geometry import poses as pose_math
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import did_you_mean
from sim_node.world.problems import quoted


class FrameNotFound(KeyError):
    """A frame is not in the table. The message names the nearest one."""

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True, eq=False)
class FrameTable:
    """The frames of a run as columns. Row 0 is the fixed frame, and the row of a parent precedes those of its children.

    Attributes:
        names: Names of the N frames.
        parents: Rows (N,) int32 of the parents; -1 for the root.
        static: Whether each frame (N,) is static in its parent.
        scales: Scales (N, 3) along each frame's axes of what is drawn in it; 1 by default. Poses are not scaled.
    """

    names: tuple[str, ...]
    parents: npt.NDArray[np.int32]
    static: npt.NDArray[np.bool_]
    scales: FloatArray = field(default_factory=lambda: np.ones((0, 3)))

    def __post_init__(self) -> None:
        if len(self.scales) != len(self.names):
            object.__setattr__(self, "scales", np.ones((len(self.names), 3)))
            self.scales.setflags(write=False)

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {name: row for row, name in enumerate(self.names)}

    def index(self, name: str) -> int:
        """Return the row of a frame.

        Args:
            name: The frame.

        Returns:
            The row.

        Raises:
            FrameNotFound: The frame does not exist.
        """
        row = self._rows.get(name)
        if row is None:
            raise FrameNotFound(f"no frame {quoted(name)}{did_you_mean(name, self.names)}")
        return row

    def path(self, name: str) -> str:
        """Return the hierarchical path of a frame, as in map/drone/base_link/CAM_FRONT.

        Args:
            name: The frame.

        Returns:
            The path from the root.

        Raises:
            FrameNotFound: The frame does not exist.
        """
        return self._path(self.index(name))

    def parent_path(self, name: str) -> str:
        """Return the hierarchical path of a frame's parent.

        Args:
            name: The frame.

        Returns:
            The path from the root; empty for the root.

        Raises:
            FrameNotFound: The frame does not exist.
        """
        parent = int(self.parents[self.index(name)])
        return self._path(parent) if parent >= 0 else ""

    def chain(self, row: int) -> list[int]:
        """Return the rows from a frame up to the root.

        Args:
            row: The row of the frame.

        Returns:
            The rows, both ends included.
        """
        rows = [row]
        while (row := int(self.parents[row])) >= 0:
            rows.append(row)
        return rows

    def lookup(self, poses: FloatArray, target: str, source: str) -> FloatArray:
        """Return the pose of a frame in another, as tf2's lookup_transform does.

        Args:
            poses: Poses (N, 7) of each frame in its parent, as in a Snapshot, m.
            target: The frame in which the pose is expressed.
            source: The frame whose pose is returned.

        Returns:
            Pose (7,) [x y z qx qy qz qw], m, that maps the source's coordinates into the target's. Only poses between
            the two frames and their nearest common ancestor are used.

        Raises:
            FrameNotFound: A frame does not exist.
        """
        up, down = self.chain(self.index(target)), self.chain(self.index(source))
        while up and down and up[-1] == down[-1]:
            up.pop()
            down.pop()
        return pose_math.compose(pose_math.invert(_product(poses, up)), _product(poses, down))

    def in_root(self, poses: FloatArray) -> FloatArray:
        """Convert the poses of all frames from their parents to the fixed frame.

        Args:
            poses: Poses (..., N, 7) of each frame in its parent, m.

        Returns:
            Poses (..., N, 7) of each frame in the fixed frame, m.
        """
        rooted = np.array(poses)
        for rows in self._levels:
            rooted[..., rows, :] = pose_math.compose(rooted[..., self.parents[rows], :], poses[..., rows, :])
        return rooted

    @cached_property
    def still(self) -> npt.NDArray[np.bool_]:
        """Whether each frame (N,) does not move in the root: it and all its ancestors are static."""
        still = np.array(self.static)
        for row, parent in enumerate(self.parents.tolist()):
            still[row] &= parent < 0 or still[parent]
        return still

    def _path(self, row: int) -> str:
        return hierarchical_path(self.names[above] for above in reversed(self.chain(row)))

    @cached_property
    def _levels(self) -> list[npt.NDArray[np.intp]]:
        """Rows of each depth, from depth 1."""
        depth = np.zeros(len(self), dtype=np.int32)
        for row, parent in enumerate(self.parents.tolist()):
            depth[row] = 0 if parent < 0 else depth[parent] + 1
        return [np.flatnonzero(depth == level) for level in range(1, max(depth.tolist()) + 1)]


def _product(poses: FloatArray, rows_upwards: list[int]) -> FloatArray:
    product = pose_math.IDENTITY
    for row in reversed(rows_upwards):
        product = pose_math.compose(product, poses[row])
    return product


def table_of(parents: Mapping[str, str], dynamic: Collection[str], roots: Iterable[str] = ()) -> FrameTable:
    """Return the table of a tree that does not come from a world.

    Parents come first, siblings in the given order. If there are several roots, the one with the most frames comes
    first. parents: parent of each frame that has one; dynamic: frames that move; roots: frames that may have neither a
    parent nor children. Raises ValueError if no frame is a root.
    """
    children: dict[str, list[str]] = {}
    for child, parent in parents.items():
        children.setdefault(parent, []).append(child)
    orders = [_below(root, children) for root in dict.fromkeys([*parents.values(), *roots]) if root not in parents]
    if not orders:
        raise ValueError("the frames form a loop; no frame is a root")
    orders.sort(key=len, reverse=True)
    names = tuple(name for order in orders for name in order)
    rows = {name: row for row, name in enumerate(names)}
    above = np.array([rows[parents[name]] if name in parents else -1 for name in names], dtype=np.int32)
    return FrameTable(names, above, np.array([name not in dynamic for name in names]))


def _below(root: str, children: dict[str, list[str]]) -> list[str]:
    order, stack = [], [root]
    while stack:
        name = stack.pop()
        order.append(name)
        stack.extend(reversed(children.get(name, ())))
    return order
