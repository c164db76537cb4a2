"""What the assembly did, step by step, and what it came to: frozen records, to be printed or written as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sim_node.assembly.table import Table
from sim_node.geometry.arrays import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One step. kind:

    solved     mate gave frame its pose, by formula
    identity   more than one frame was open for mate; this one was put where its owner is
    held       what mate leaves free stays at value, so that a loop is determined
    moved      what mate leaves free went to value, its positions, so that a loop is closed
    closed     mate, between frames that stood already, is met; value is its positions
    conflict   mate cannot be met: distance (m) and angle (rad) are left
    ignored    mate says nothing: both of its connectors stand still in the world
    apart      mate is between frames that move against each other in the world
    """

    kind: str
    mate: str
    frame: str = ""
    formula: str = ""
    pose: FloatArray | None = None
    value: tuple[float, ...] = ()
    distance: float = 0.0
    angle: float = 0.0

    def __str__(self) -> str:
        if self.kind == "solved":
            return f"{self.mate}: {self.frame} = {self.formula} = {shown(self.pose)}"
        if self.kind == "identity":
            return f"{self.mate}: {self.frame} is one of several that are open; the identity"
        if self.kind == "held":
            return f"{self.mate}: held at {_numbers(self.value)}"
        if self.kind == "moved":
            return f"{self.mate}: moved to {_numbers(self.value)}"
        if self.kind == "closed":
            return f"{self.mate}: met to {self.distance:.1e} m, {self.angle:.1e} rad"
        if self.kind == "conflict":
            return f"{self.mate}: cannot be met, {self.distance:.6g} m and {self.angle:.6g} rad are left"
        if self.kind == "ignored":
            return f"{self.mate}: ignored, both connectors stand still in the world"
        return f"{self.mate}: not assembled, its connectors are on frames that move against each other"

    def as_json(self) -> dict[str, Any]:
        """Its fields, those that say something."""
        fields: dict[str, Any] = {"kind": self.kind, "mate": self.mate}
        if self.frame:
            fields["frame"] = self.frame
        if self.formula:
            fields["formula"] = self.formula
        if self.pose is not None:
            fields["pose"] = as_json(self.pose)
        if self.value:
            fields["value"] = list(self.value)
        if self.kind in ("closed", "conflict"):
            fields["residual"] = {"position": self.distance, "angle": self.angle}
        return fields


@dataclass(frozen=True, eq=False)
class Assembly:
    """An assembled table.

    poses (N, 7): every frame in its parent, the identity where it is not determined; in_roots (N, 7): in the root
    of its tree; solved (N,): given by a mate or forced; undefined: rows that nothing determines. values: the positions
    of each mate that placed a frame, by its row; tree: those rows, in order; loops: the rows of mates between frames
    that stood already; degrees_of_freedom: how many are left over all, loops closed; rates: at the
    start, of mates in loops that begin in motion.
    """

    table: Table
    poses: FloatArray
    in_roots: FloatArray
    solved: tuple[int, ...]
    undefined: tuple[int, ...]
    values: dict[int, FloatArray]
    tree: tuple[int, ...]
    loops: tuple[int, ...]
    degrees_of_freedom: int
    rates: dict[int, FloatArray]
    steps: tuple[Step, ...]

    @property
    def conflicts(self) -> tuple[Step, ...]:
        """The mates that could not be met."""
        return tuple(step for step in self.steps if step.kind in ("conflict", "apart"))


def as_json(pose: FloatArray) -> dict[str, list[float]]:
    """A pose as `sim_node snap --json` says it."""
    return {"position": (pose[:3] + 0.0).tolist(), "quaternion": (pose[3:] + 0.0).tolist()}


def shown(pose: FloatArray | None) -> str:
    """A pose (7,) in a line of text."""
    if pose is None:
        return ""
    return f"position [{_numbers(pose[:3])}] quaternion [{_numbers(pose[3:])}]"


def _numbers(values: FloatArray | tuple[float, ...]) -> str:
    return ", ".join(f"{value:.6g}" for value in (np.round(np.asarray(values), 12) + 0.0).tolist())
