"""Snapshot: one instant of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from sim_node.columns import Array
from sim_node.geometry.arrays import FloatArray
from sim_node.sensors import NO_MEASUREMENTS, Measurements
from sim_node.text import did_you_mean

NO_COLUMNS: Mapping[str, Array] = MappingProxyType({})


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """One instant of a run: a view of its columns, or copies of some.

    Attributes:
        time_ns: Simulation time.
        poses: (N, 7) [x y z qx qy qz qw], each frame of the run's FrameTable in its parent, m. The column `pose`.
        measurements: What sensors published in the step that led here.
        columns: The columns by name; `snapshot["rotor_speed"]` reads one.
    """

    time_ns: int
    poses: FloatArray
    measurements: Measurements = NO_MEASUREMENTS
    columns: Mapping[str, Array] = field(default_factory=lambda: NO_COLUMNS, repr=False)

    def __getitem__(self, column: str) -> Array:
        """Return the array of a column.

        Raises:
            KeyError: The snapshot has no such column; the message names the nearest.
        """
        if column == "pose":
            return self.poses
        if column not in self.columns:
            hint = did_you_mean(column, self.columns)
            raise KeyError(f"this snapshot has no column {column!r}{hint}; snapshot(NAME, ...) keeps columns by name")
        return self.columns[column]
