"""A Snapshot: one instant of a run."""

from __future__ import annotations

from dataclasses import dataclass

from sim_node.geometry.arrays import FloatArray
from sim_node.sensors import NO_READINGS, Readings


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """One instant of a run, its rows ordered as the run's FrameTable.

    time_ns: simulation time. poses (N, 7) [x y z qx qy qz qw]: each frame in its parent. readings: what the
    sensors told in the step that led here.
    """

    time_ns: int
    poses: FloatArray
    readings: Readings = NO_READINGS
