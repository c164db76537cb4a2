"""The FrameTable: every frame of a run by index, parents before children; fixed for the run."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sim_node.geometry import poses as pose_math
from sim_node.geometry.arrays import FloatArray
from sim_node.names import hierarchical_path
from sim_node.text import did_you_mean
from sim_node.world.problems import quoted


class UnknownFrame(KeyError):
    """A frame name that the table does not have; the message names the nearest."""

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True, eq=False)
class FrameTable:
    """Frames as columns: names, parents (N,) int32 with -1 for the root, static (N,) bool.

    Row 0 is the fixed frame. A parent's row is always before its children's.
    """

    names: tuple[str, ...]
    parents: npt.NDArray[np.int32]
    static: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {name: row for row, name in enumerate(self.names)}

    def index(self, name: str) -> int:
        """The row of a frame. Raises UnknownFrame."""
        row = self._rows.get(name)
        if row is None:
            raise UnknownFrame(f"no frame {quoted(name)}{did_you_mean(name, self.names)}")
        return row

    def path(self, name: str) -> str:
        """The hierarchical path of a frame: map/drone/base_link/CAM_FRONT."""
        return self._path(self.index(name))

    def parent_path(self, name: str) -> str:
        """The path of a frame's parent; empty for the root."""
        parent = int(self.parents[self.index(name)])
        return self._path(parent) if parent >= 0 else ""

    def chain(self, row: int) -> list[int]:
        """The rows from `row` up to the root, both included."""
        rows = [row]
        while (row := int(self.parents[row])) >= 0:
            rows.append(row)
        return rows

    def lookup(self, poses: FloatArray, target: str, source: str) -> FloatArray:
        """The pose (7,) that maps coordinates in `source` into `target`, as tf2's lookup_transform does.

        poses (N, 7): each frame in its parent, as a Snapshot holds them. Only what lies between the two
        frames and their nearest common ancestor is composed. Raises UnknownFrame.
        """
        up, down = self.chain(self.index(target)), self.chain(self.index(source))
        while up and down and up[-1] == down[-1]:
            up.pop()
            down.pop()
        return pose_math.compose(pose_math.invert(_product(poses, up)), _product(poses, down))

    def in_root(self, poses: FloatArray) -> FloatArray:
        """Every frame's pose (..., N, 7) in the fixed frame, from its pose in its parent (..., N, 7)."""
        rooted = np.array(poses)
        for rows in self._levels:
            rooted[..., rows, :] = pose_math.compose(rooted[..., self.parents[rows], :], poses[..., rows, :])
        return rooted

    @cached_property
    def still(self) -> npt.NDArray[np.bool_]:
        """Which frames (N,) stand still in the root: they and all that they hang on are static."""
        still = np.array(self.static)
        for row, parent in enumerate(self.parents.tolist()):
            still[row] &= parent < 0 or still[parent]
        return still

    def _path(self, row: int) -> str:
        return hierarchical_path(self.names[above] for above in reversed(self.chain(row)))

    @cached_property
    def _levels(self) -> list[npt.NDArray[np.intp]]:
        """Rows by depth, from depth 1."""
        depth = np.zeros(len(self), dtype=np.int32)
        for row, parent in enumerate(self.parents.tolist()):
            depth[row] = 0 if parent < 0 else depth[parent] + 1
        return [np.flatnonzero(depth == level) for level in range(1, max(depth.tolist()) + 1)]


def _product(poses: FloatArray, rows_upwards: list[int]) -> FloatArray:
    product = pose_math.IDENTITY
    for row in reversed(rows_upwards):
        product = pose_math.compose(product, poses[row])
    return product


def table_of(parents: Mapping[str, str], dynamic: Collection[str]) -> FrameTable:
    """The table of a tree that others made.

    Parents first, siblings as they came; of several roots the one of the most frames is the fixed one.
    parents: of each frame that has one; dynamic: those that move. Raises ValueError where no frame is a root.
    """
    children: dict[str, list[str]] = {}
    for child, parent in parents.items():
        children.setdefault(parent, []).append(child)
    orders = [_below(root, children) for root in dict.fromkeys(parents.values()) if root not in parents]
    if not orders:
        raise ValueError("they go round in a circle, no frame is a root")
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
