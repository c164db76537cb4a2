"""Fields of joints whose sizes depend on the joint type: axes, values per degree of freedom, positions, limits."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.bounds import fault
from sim_node.world.declared import BAD, Fault, Refer
from sim_node.world.joint_motion import UNLIMITED, limit_fault
from sim_node.world.joints import JOINTS, JointType
from sim_node.world.quantities import Plain, read_pair
from sim_node.world.readers.keys import Form, either, listing, number, one_or_each, vector
from sim_node.world.readers.yaml_nodes import Scalar, Sequence
from sim_node.world.readers.yaml_poses import ROUNDING
from sim_node.world.readers.yaml_values import Value
from sim_node.world.writers.values import one_or_more


def joint_around(value: Value) -> JointType:
    """Return the type of the joint that a value belongs to; `frozen` if it has none."""
    of = None if value.holder is None else value.holder.get("type")
    name = of.node.text if of is not None and isinstance(of.node, Scalar) else ""
    return JOINTS.get(name, JOINTS["frozen"])


class Axes(Plain):
    """The open axes of a joint: an array (K, 3)."""

    is_array = True

    def form(self, about: str) -> Form:
        """Return the form of an axis, or a list of several."""
        return either(f"{about}", vector("", 3), listing("", vector("", 3)))

    def read(self, value: Value, context: Any) -> Any:
        """Read one axis as it is, several as a list."""
        joint = joint_around(value)
        count = joint.open_axes
        if not count:
            known = ", ".join(name for name, each in JOINTS.items() if each.open_axes)
            value.error(f"the axes of a {joint.name} joint are fixed; joints with an axis are {known}")
            return BAD
        axes = [row.vector(3) for row in ([value] if count == 1 else value.items())]
        if len(axes) != count:
            value.error(f"a {joint.name} joint has {count} axes, found {len(axes)}")
        elif all(axis is not None for axis in axes):
            if all(math.hypot(*axis) > 0.0 for axis in axes if axis is not None):
                return np.array(axes, dtype=np.float64)
            value.error("is zero; an axis needs a direction")
        return BAD

    def data(self, found: Any, refer: Refer) -> Any:
        """Return one axis, or a list of several."""
        return one_or_more(found)


@dataclass(frozen=True)
class PerDof(Plain):
    """A number for each degree of freedom of a joint, or one for all: an array. quantity: key of their bounds."""

    low: float = -math.inf
    quantity: str = ""
    is_array = True

    def form(self, about: str) -> Form:
        """Return the form of one number, or a list."""
        return one_or_each(about, number("", self.low))

    def size(self, joint: JointType) -> int:
        """Return how many numbers a joint has."""
        return joint.qd_size

    def read(self, value: Value, context: Any) -> Any:
        """Read one number for all, or a list with one each."""
        size = self.size(joint_around(value))
        if isinstance(value.node, Sequence):
            if len(value.node.items) == size:
                return np.array([item.number(self.low) for item in value.items()])
            value.error(f"a list of {size} numbers is needed, found {value.found()}")
            return BAD
        if size == 0:
            value.error("a frozen joint has no degrees of freedom")
        return np.full(size, value.number(self.low))

    def faults(self, found: Any) -> Iterator[Fault]:
        """Yield a fault if numbers are out of range."""
        if self.quantity:
            if wrong := fault(self.quantity, found):
                yield "", f"{found.tolist()} {wrong}"
        elif not all(self.low <= value < math.inf for value in found.tolist()):
            yield "", f"{found.tolist()} must be zero or more, and finite"

    def data(self, found: Any, refer: Refer) -> Any:
        """Return one number, or a list."""
        return one_or_more(found)


@dataclass(frozen=True)
class JointPositionField(PerDof):
    """The position of a joint, with the quaternions [x, y, z, w] of balls: an array."""

    quantity: str = "position"

    def size(self, joint: JointType) -> int:
        """Return how many numbers a joint has."""
        return joint.q_size

    def read(self, value: Value, context: Any) -> Any:
        """Read numbers, with quaternions normalised."""
        numbers = super().read(value, context)
        if numbers is BAD:
            return BAD
        for at in balls(joint_around(value)):
            norm = math.hypot(*numbers[at : at + 4])
            if abs(norm - 1.0) > 1e-3:
                value.error(f"the quaternion's norm is {norm:.4g}, a rotation needs 1")
                return BAD
            if abs(norm - 1.0) > ROUNDING:
                numbers[at : at + 4] /= norm
        return numbers


def balls(joint: JointType) -> Iterator[int]:
    """Yield the indices in q at which the quaternions of a joint start."""
    at = 0
    for part in joint.parts:
        if part.kind == "ball":
            yield at
        at += part.q_size


# Limits may be infinite, which a range in JSON Schema cannot express.
_PAIR = listing("", {"type": "number"}, 2, 2)


class Limits(Plain):
    """The limits of each part of a joint: an array (P, 2)."""

    is_array = True

    def form(self, about: str) -> Form:
        """Return the form of a pair, or of one for each part."""
        return either(about, _PAIR, listing("", either("", _PAIR, {"type": "null"})))

    def read(self, value: Value, context: Any) -> Any:
        """Read [low, high], or a list with that or null for each of several parts."""
        return read_limits(value, joint_around(value))

    def data(self, found: Any, refer: Refer) -> Any:
        """Return [low, high] of a joint, or a list with that or None for each part."""
        rows = [None if tuple(row) == UNLIMITED else list(row) for row in np.asarray(found).tolist()]
        return rows[0] if len(rows) == 1 else rows


def read_limits(value: Value, joint: JointType) -> FloatArray:
    """Read the limits (P, 2) of a joint of a type; return BAD if there is a fault, which is recorded."""
    parts = joint.parts
    if not parts:
        value.error("a frozen joint does not move and has no limits")
        return BAD  # type: ignore[no-any-return]
    rows = [value] if len(parts) == 1 else list(value.items())
    if len(rows) != len(parts):
        kinds = ", ".join(part.kind for part in parts)
        if isinstance(value.node, Sequence):
            value.error(f"a {joint.name} joint has {len(parts)} parts ({kinds}), found limits of {len(rows)}")
        return BAD  # type: ignore[no-any-return]
    pairs = [read_pair(row, optional=len(rows) > 1) for row in rows]
    if None in pairs:
        return BAD  # type: ignore[no-any-return]
    limits = np.array(pairs)
    if wrong := limit_fault(joint, limits):
        value.error(wrong)
        return BAD  # type: ignore[no-any-return]
    return limits
