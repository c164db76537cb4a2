"""Mocap bodies: the poses of bodies without joints that are below frames with keyframes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sim_node.simulation.columns import Columns
from sim_node.spatial.geometry import interpolation
from sim_node.spatial.geometry.arrays import FloatArray, IntArray
from sim_node.world.frame_table import FrameTable
from sim_node.world.layout import Layout
from sim_node.world.model import World

if TYPE_CHECKING:
    from mujoco import MjData


def mocap_rows(layout: Layout) -> tuple[int, ...]:
    """Return the rows of the keyframed frames that carry bodies, directly or through static frames."""
    moving = {row for row, _ in layout.moving}
    carriers = moving | {row for row, body in layout.bodies if body.type.parts}
    found = {next((above for above in layout.frames.chain(row) if above in carriers), 0) for row, _ in layout.bodies}
    return tuple(sorted(found & moving))


def place_mocap(data: MjData, poses: FloatArray) -> None:
    """Set the mocap bodies of MuJoCo's data to poses (K, 7)."""
    data.mocap_pos[:] = poses[:, :3]
    data.mocap_quat[:] = poses[:, [6, 3, 4, 5]]


class MocapBodies:
    """Evaluates the poses (K, 7) of keyframed frames in the fixed frame, at any step of the world.

    It evaluates the rows of these frames and of their ancestors in the column `pose`.
    """

    def __init__(self, rows: tuple[int, ...], world: World, layout: Layout, columns: Columns) -> None:
        needed = sorted({above for row in rows for above in layout.frames.chain(row)})
        place = {row: at for at, row in enumerate(needed)}
        parents = [place.get(int(layout.frames.parents[row]), -1) for row in needed]
        names = tuple(layout.frames.names[row] for row in needed)
        self._frames = FrameTable(names, np.array(parents, dtype=np.int32), layout.frames.static[needed])
        moving = [row for row, _ in layout.moving if row in place]
        self._moving, self._instants = [place[row] for row in moving], columns.instants("pose", moving)
        self._time = world.time
        self._poses = np.array(layout.poses[needed])
        self._next = (-1, self._poses)
        self._rows: IntArray = np.array([place[row] for row in rows], dtype=np.int64)

    def at(self, step: int) -> FloatArray:
        """Return the poses (K, 7) at a step."""
        time_ns = self._time.start_ns + step * self._time.step_ns
        self._poses[self._moving] = self._instants(np.array([time_ns]))[0]
        return self._frames.in_root(self._poses)[self._rows]

    def path(self, step: int, parts: int) -> FloatArray:
        """Return the poses (parts, K, 7) at the ends of equal parts of the interval from a step to the next.

        Between the two steps, positions are interpolated linearly and rotations by slerp.
        """
        begins, here = self._next
        if begins != step:
            here = self.at(step)
        there = self.at(step + 1)
        self._next = step + 1, there
        u = np.arange(1, parts + 1)[:, None] / parts
        shape = (parts, *here.shape)
        before, after = (np.ascontiguousarray(np.broadcast_to(poses, shape)) for poses in (here, there))
        return interpolation.interpolate(before, after, np.broadcast_to(u, shape[:2]))
