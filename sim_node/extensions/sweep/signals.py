"""Signals: one number of a run over time, such as pose[ball].z."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sim_node.simulation.columns import Columns
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import did_you_mean

POSE = ("x", "y", "z", "qx", "qy", "qz", "qw")
TWIST = ("vx", "vy", "vz", "wx", "wy", "wz")
WRENCH = ("fx", "fy", "fz", "tx", "ty", "tz")
# Names of the elements of a row, by column.
PARTS: Mapping[str, tuple[str, ...]] = {"pose": POSE, "twist": TWIST, "wrench": WRENCH}
# Names of the norm of the first three elements, by column.
NORMS = {"pose": "distance", "twist": "speed", "wrench": "force"}
_SIGNAL = re.compile(r"(?P<column>[\w/]+)\[(?P<entity>[^\]]+)\](?:\.(?P<part>[a-z]+)|\[(?P<index>\d+)\])?")
USAGE = "COLUMN[NAME].PART or COLUMN[NAME][INDEX], as in pose[ball].z, twist[ball].speed or qvel[pole][0]"
_OPERATORS: Mapping[str, Callable[[FloatArray, float], npt.NDArray[np.bool_]]] = {
    "<=": np.less_equal,
    ">=": np.greater_equal,
    "<": np.less,
    ">": np.greater,
}
_CONDITION = re.compile(r"(?P<signal>.+?)\s*(?P<operator><=|>=|<|>)\s*(?P<limit>[^<>=]+)")


class MeasureFault(Exception):
    """A measure does not fit the world, or has invalid syntax. The message is for the user."""


@dataclass(frozen=True, slots=True)
class RowSignal:
    """One number of a row of a column, over time.

    Attributes:
        text: As it was given.
        column: The column.
        entity: The name of the row.
        part: The name of the number, or empty.
        index: Its index in the flattened row, or None.
    """

    text: str
    column: str
    entity: str
    part: str = ""
    index: int | None = None

    def reader(self, columns: Columns) -> Callable[[npt.NDArray[Any]], FloatArray]:
        """Return a function that extracts the signal (T,) from its column over time (T, rows, ...).

        Args:
            columns: The columns of the run.

        Returns:
            The function.

        Raises:
            MeasureFault: The run has no such column, row or number; the message has the nearest name.
        """
        if self.column not in columns:
            raise MeasureFault(f"{self.text}: no column {self.column!r}{did_you_mean(self.column, columns)}")
        layout = columns.column(self.column)
        if layout.entities is None:
            raise MeasureFault(f"{self.text}: column {self.column!r} has no fixed rows")
        if self.entity not in layout.entities:
            near = did_you_mean(self.entity, layout.entities)
            raise MeasureFault(f"{self.text}: column {self.column!r} has no row {self.entity!r}{near}")
        row = layout.entities.index(self.entity)
        size = int(np.prod(layout.shape, dtype=int))
        if self.part and self.part == NORMS.get(self.column):
            return lambda rows: np.asarray(np.linalg.norm(rows[:, row, :3], axis=1))
        index = self._index(size)
        return lambda rows: rows[:, row].reshape(len(rows), -1)[:, index]

    def _index(self, size: int) -> int:
        names = PARTS.get(self.column, ())
        if self.part:
            if self.part not in names:
                known = (*names, NORMS[self.column]) if names else ()
                listed = f" (known: {', '.join(known)})" if known else f"; give an index, [0] to [{size - 1}]"
                raise MeasureFault(f"{self.text}: no number {self.part!r}{did_you_mean(self.part, known)}{listed}")
            return names.index(self.part)
        if self.index is None and size != 1:
            raise MeasureFault(f"{self.text}: a row of {self.column!r} has {size} numbers; choose one: {USAGE}")
        index = self.index or 0
        if index >= size:
            raise MeasureFault(f"{self.text}: index {index} is out of range; allowed: 0 to {size - 1}")
        return index


def signal(text: str) -> RowSignal:
    """Return the signal that a text describes.

    Args:
        text: The signal, as in pose[ball].z.

    Returns:
        The signal.

    Raises:
        MeasureFault: The text is not a signal.
    """
    found = _SIGNAL.fullmatch(text.strip())
    if found is None:
        raise MeasureFault(f"{text.strip()!r} is not a signal; {USAGE} is needed")
    index = None if found["index"] is None else int(found["index"])
    return RowSignal(text.strip(), found["column"], found["entity"], found["part"] or "", index)


@dataclass(frozen=True, slots=True)
class Condition:
    """A comparison of a signal with a number."""

    signal: RowSignal
    operator: str
    limit: float

    def holds(self, values: FloatArray) -> npt.NDArray[np.bool_]:
        """Return a mask (T,) of the values of the signal for which the condition holds."""
        return _OPERATORS[self.operator](values, self.limit)


def condition(text: str) -> Condition:
    """Return the condition that a text describes.

    Args:
        text: The condition, as in pose[ball].z < 0.1.

    Returns:
        The condition.

    Raises:
        MeasureFault: The text is not a condition.
    """
    found = _CONDITION.fullmatch(text.strip())
    if found is None:
        raise MeasureFault(f"{text.strip()!r} is not a condition; SIGNAL < NUMBER is needed (or <=, >, >=)")
    try:
        limit = float(found["limit"])
    except ValueError:
        raise MeasureFault(f"{text.strip()}: {found['limit'].strip()!r} is not a number") from None
    return Condition(signal(found["signal"]), found["operator"], limit)
