"""The result of an assembly and its steps, as frozen records that can be printed or written as JSON."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sim_node.assembly.table import AssemblyTable
from sim_node.spatial.geometry.arrays import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One step of the assembly.

    Kinds:

    solved     the mate determined the frame's pose, by the formula
    identity   more than one frame was open for the mate; this one was placed at its owner's origin
    held       a free position of the mate stays at value, so that a loop is determined
    moved      free positions of the mate changed to value, so that a loop is closed
    closed     the mate, between frames that were placed already, is met; value is its positions
    conflict   the mate cannot be met: distance and angle remain
    limits     the mate is beyond its limits; value is where it stands, and the limits
    others     there are other ways to assemble the mate's mechanism; value is how many, and how many within limits
    singular   the mate's mechanism stands where it has more infinitesimal freedoms than real ones; value is both
    ignored    the mate has no effect: both of its connectors are fixed in the world
    apart      the mate is between frames that move relative to each other in the world

    Attributes:
        kind: One of the kinds above.
        mate: Name of the mate.
        frame: Name of the frame that was placed, if any.
        formula: The product of poses that gave the frame's pose, in names.
        pose: Pose (7,) [x y z qx qy qz qw] of the frame in its parent, m.
        value: Positions of the mate, m and rad; empty where the kind has none.
        distance: Remaining distance between the connectors, m.
        angle: Remaining angle between the connectors, rad.
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
        return f"{self.mate}: {_SENTENCES[self.kind](self)}"

    def as_json(self) -> dict[str, Any]:
        """Return the fields that the step's kind uses, as JSON types."""
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


# Message of each kind of step about its mate.
_SENTENCES: dict[str, Callable[[Step], str]] = {
    "solved": lambda step: f"{step.frame} = {step.formula} = {shown(step.pose)}",
    "identity": lambda step: f"{step.frame} is one of several that are open; the identity",
    "held": lambda step: f"held at {_numbers(step.value)}",
    "moved": lambda step: f"moved to {_numbers(step.value)}",
    "closed": lambda step: f"met to {step.distance:.1e} m, {step.angle:.1e} rad",
    "conflict": lambda step: f"cannot be met, {step.distance:.6g} m and {step.angle:.6g} rad are left",
    "limits": lambda step: "stands at {:.6g}, beyond its limits {:.6g} to {:.6g}".format(*step.value),
    "others": lambda step: _others(*map(int, step.value)),
    "singular": lambda step: "singular here: {:.0f} infinitesimal degrees of freedom, {:.0f} in motion".format(
        *step.value
    ),
    "ignored": lambda step: "ignored, both connectors stand still in the world",
    "apart": lambda step: "not assembled, its connectors are on frames that move against each other",
}


@dataclass(frozen=True, eq=False)
class Alternative:
    """Another way to assemble a mechanism.

    Attributes:
        values: Positions of its mates, by row, m and rad.
        is_within_limits: Whether all positions are within limits.
        in_roots: Poses (N, 7) of all frames in the roots of their trees, with all other mechanisms as chosen.
    """

    values: dict[int, FloatArray]
    is_within_limits: bool
    in_roots: FloatArray = field(default_factory=lambda: np.zeros((0, 7)))


@dataclass(frozen=True, eq=False)
class Assembly:
    """The result of an assembly. Rows are those of its table: N frames, M mates.

    Attributes:
        table: The frames, connectors and mates that were assembled.
        poses: Poses (N, 7) [x y z qx qy qz qw] of all frames in their parents, m; the identity if undetermined.
        in_roots: The same poses in the root of each frame's tree (N, 7).
        solved: Rows of the frames whose pose a mate determined, or that became the identity for one; in order.
        undefined: Rows of the frames whose pose nothing determines.
        values: Positions of each mate that was used, by its row, m and rad.
        tree: Rows of the mates that placed a frame, in order.
        loops: Rows of the mates between frames that were placed already.
        degrees_of_freedom: Degrees of freedom that remain in all, with loops closed.
        rates: Initial velocities of the mates in loops that start in motion, by row, m/s and rad/s.
        steps: What was done, in order.
        others: Other ways to assemble its mechanisms, if requested.
    """

    table: AssemblyTable
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
    others: tuple[Alternative, ...] = ()

    @property
    def conflicts(self) -> tuple[Step, ...]:
        """The mates that could not be met, or not within their limits."""
        return tuple(step for step in self.steps if step.kind in ("conflict", "apart", "limits"))


def as_json(pose: FloatArray) -> dict[str, list[float]]:
    """Return a pose (7,) as in the output of `sim_node snap --json`."""
    return {"position": (pose[:3] + 0.0).tolist(), "quaternion": (pose[3:] + 0.0).tolist()}


def shown(pose: FloatArray | None) -> str:
    """Return a pose (7,) as text; empty for None."""
    if pose is None:
        return ""
    return f"position [{_numbers(pose[:3])}] quaternion [{_numbers(pose[3:])}]"


def _others(number: int, inside: int) -> str:
    found = "at least 1 other assembly exists" if number == 1 else f"at least {number} other assemblies exist"
    outside = "" if inside == number else f", {inside} of them within limits" if inside else ", beyond limits"
    return f"{found}{outside} (snap --all lists them; near chooses)"


def _numbers(values: FloatArray | tuple[float, ...]) -> str:
    return ", ".join(f"{value:.6g}" for value in (np.round(np.asarray(values), 12) + 0.0).tolist())
