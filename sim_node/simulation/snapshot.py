"""Snapshot: one instant of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from sim_node import html
from sim_node.simulation.columns import Array
from sim_node.simulation.sensors import NO_MEASUREMENTS, Measurements
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import did_you_mean

NO_COLUMNS: Mapping[str, Array] = MappingProxyType({})


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot(Mapping[str, Array]):
    """One instant of a run: a mapping from the names of columns to arrays, either the run's own or copies of some.

    Two snapshots are equal only if they are the same object.

    Attributes:
        time_ns: Simulation time, ns.
        poses: Pose (N, 7) [x y z qx qy qz qw] of each frame of the run's FrameTable in its parent, m; also
            `snapshot["pose"]`.
        measurements: The measurements published in the step that led here.
        columns: The other columns by name.
    """

    time_ns: int
    poses: FloatArray
    measurements: Measurements = NO_MEASUREMENTS
    columns: Mapping[str, Array] = field(default_factory=lambda: NO_COLUMNS, repr=False)

    # The equality of mappings would compare arrays.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        more = f", {len(self.measurements)} measurements" if self.measurements else ""
        return f"Snapshot({self.time_ns / 1e9:.9g} s: {len(self.poses)} poses, {len(self)} columns{more})"

    def _repr_html_(self) -> str:
        """Return the columns with their shapes, for notebooks."""
        rows = [(name, str(self[name].shape), str(self[name].dtype)) for name in self]
        return html.table(repr(self), ("column", "shape", "type"), rows)

    def __iter__(self) -> Iterator[str]:
        """Return the names of the columns, `pose` first."""
        yield "pose"
        yield from (name for name in self.columns if name != "pose")

    def __len__(self) -> int:
        """Return the number of columns."""
        return len(self.columns) + ("pose" not in self.columns)

    def __getitem__(self, column: str) -> Array:
        """Return the array of a column.

        Args:
            column: Its name, for example "rotor_speed".

        Returns:
            The array, one row for each entity of the column.

        Raises:
            KeyError: The snapshot has no such column; the message names the nearest.
        """
        if column == "pose":
            return self.poses
        if column not in self.columns:
            hint = did_you_mean(column, self.columns)
            raise KeyError(f"this snapshot has no column {column!r}{hint}; snapshot(NAME, ...) keeps columns by name")
        return self.columns[column]
