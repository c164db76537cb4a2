"""The frames of wheeled bases' odometry: where each base began, as its wheels tell it."""

from __future__ import annotations

import numpy as np

from sim_node.simulation.columns import Columns
from sim_node.simulation.physics.bases import ODOMETRY
from sim_node.simulation.physics.engine import engine
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.base_types.motion import advance, arcs
from sim_node.world.bases import Base
from sim_node.world.layout import Layout
from sim_node.world.model import World


@engine("bases")
def open_base_frames(world: World, layout: Layout, columns: Columns) -> BaseFrames | None:
    """Return the engine of the frames NAME/odom."""
    bases = world.of(Base)
    return BaseFrames(tuple(base.odom for base in bases), columns) if bases else None


class BaseFrames:
    """Writes where the frame of each odometry is in its base. The odometry is that of the force element of bases."""

    def __init__(self, names: tuple[str, ...], columns: Columns) -> None:
        self._rows, self._odometry = columns.claim("pose", names), columns[ODOMETRY]

    def reset(self, seed: int) -> None:
        """Do nothing: the odometry is a column of the force element."""

    def step(self, steps: int) -> None:
        """Do nothing: odometry is counted at each timestep of the bodies."""

    def write(self, poses: FloatArray, ahead_ns: int) -> None:
        """Write the inverse of each base's odometry to its row of poses (N, 7)."""
        found = np.array(self._odometry[:, :3])
        if ahead_ns:
            advance(found, arcs(self._odometry[:, 3:6], ahead_ns * 1e-9))
        x, y, yaw = found.T
        cos, sin = np.cos(yaw), np.sin(yaw)
        rows = np.zeros((len(found), 7))
        rows[:, 0], rows[:, 1] = -cos * x - sin * y, sin * x - cos * y
        rows[:, 5], rows[:, 6] = -np.sin(0.5 * yaw), np.cos(0.5 * yaw)
        poses[self._rows] = rows
