"""The pose of a mate at given positions, and the positions for a given pose."""

from __future__ import annotations

from functools import cache

import numpy as np

from sim_node.spatial.geometry import poses, quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.joints import JointType, LinkJoint, by_joint, link_pose
from sim_node.world.mate_types import MateType
from sim_node.world.mates import Mate


def at_rest(mate: Mate) -> FloatArray:
    """Return a mate's positions (q_size,): initial values of slides and hinges, or `near` or zero within limits."""
    q = as_joint(mate.type).neutral()
    offsets = part_offsets(mate.type)
    limits = mate.limits or [(-np.inf, np.inf)] * len(mate.type.values)
    nears = mate.near or [0.0] * len(mate.type.values)
    for k, value, near, (low, high) in zip(mate.type.valued, given_values(mate), nears, limits, strict=True):
        q[offsets[k]] = value if value is not None else min(max(near, low), high)
    return q


def given_values(mate: Mate) -> tuple[float | None, ...]:
    """Return a mate's initial values; a distance that is not given is 0."""
    values = mate.values or (None,) * len(mate.type.values)
    return tuple(value or 0.0 for value in values) if mate.type.distance else values


def free_parts(mate: Mate) -> tuple[int, ...]:
    """Return the indices of the parts that the assembly may move: those without an initial value."""
    held = {k for k, value in zip(mate.type.valued, given_values(mate), strict=True) if value is not None}
    return tuple(k for k in range(len(mate.type.parts)) if k not in held)


@cache
def part_offsets(mate: MateType) -> tuple[int, ...]:
    """Return the index of the first position of each part."""
    sizes = [part.q_size for part in mate.parts]
    return tuple(sum(sizes[:k]) for k in range(len(sizes)))


def motion_pose(mate: MateType, q: FloatArray) -> FloatArray:
    """Return the pose (7,) of the second connector in the first at positions q."""
    joints = _joints(mate)
    return link_pose(poses.IDENTITY, joints, by_joint(joints, q))


@cache
def as_joint(mate: MateType) -> JointType:
    """Return a mate's parts as a joint from the first connector's frame to the second one's."""
    return JointType(mate.name, mate.parts)


@cache
def _joints(mate: MateType) -> tuple[LinkJoint, ...]:
    return as_joint(mate).joints(mate.name, np.zeros((0, 3)))


def positions_of(mate: MateType, pose: FloatArray) -> FloatArray:
    """Return the positions q at which a mate is nearest to a pose (7,) of its second connector in its first.

    They are exact if the mate can reach the pose. Slides must precede hinges, and hinges must be about Z, except for
    distance mates.
    """
    q: list[float] = []
    for part in mate.parts:
        if part.kind == "slide":
            assert part.axis is not None
            q.append(float(np.dot(part.axis, pose[:3])))
        elif part.kind == "hinge":
            assert part.axis is not None
            along = float(np.dot(part.axis, pose[3:6]))
            q.append(float(quaternions.wrapped(2.0 * np.arctan2(along, pose[6]))))
        else:
            q.extend(quaternions.normalise(pose[3:]).tolist())
    return np.array(q)
