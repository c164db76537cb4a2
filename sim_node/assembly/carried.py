"""The joint that a mate becomes: of the body that it carries, at its assembled positions."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from sim_node.assembly.assembly_log import Assembly
from sim_node.assembly.mate_motion import positions_of
from sim_node.spatial.geometry import poses as pose_math
from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.joints import JOINTS
from sim_node.world.mate_types import MateType
from sim_node.world.mates import Mate
from sim_node.world.systems import RigidBody

# Assembled positions may be beyond limits by this much, m or rad.
ROUNDING = 1e-7


class CarriedMate(NamedTuple):
    """A mate between two carriers: rows of bodies, or of the roots that represent the world; its ends in them."""

    mate: int
    carriers: tuple[int, int]
    ends: FloatArray


class TreeEdge(NamedTuple):
    """A body's joint: the carrier's row, and a link that has the body at `side`."""

    carrier: int
    link: CarriedMate
    side: int


def floating(assembly: Assembly, row: int, body: RigidBody) -> dict[str, Any]:
    """Return a free joint in its owner."""
    pose = assembly.poses[row]
    speed = np.zeros(6) if body.speed is None else np.array(body.speed)
    # A ball's velocity is about the body's axes.
    speed[3:] = quaternions.rotate(quaternions.conjugate(pose[3:]), speed[3:])
    return {"parent": owner_of(assembly, row), "joint": "free", "q": pose, "qd": speed}


def jointed(assembly: Assembly, row: int, edge: TreeEdge, roots: list[int]) -> dict[str, Any]:
    """Return the joint of the mate that carries a body: at the mate's end on the body, at its assembled positions.

    With A and B the ends of the mate in the carrier and in the body, the body is at A J B^-1 = (A B^-1) (B J B^-1): in
    a joint frame A B^-1 it moves along and about the axes of B.
    """
    table, on = assembly.table, edge.carrier
    mate = table.mates[edge.link.mate]
    near, far = edge.link.ends[1 - edge.side], edge.link.ends[edge.side]
    mount = pose_math.compose(near, pose_math.invert(far))
    here, there = assembly.in_roots[[on, row]]
    parent = table.names[on]
    if on == roots[row]:  # relative to its owner, which is fixed there as well
        parent = owner_of(assembly, row)
        mount = pose_math.relative(assembly.in_roots[int(table.parents[row])], pose_math.compose(here, mount))
    joint = JOINTS[mate.type.joint]
    if not joint.parts:
        return {"parent": parent, "pose": mount}
    between = pose_math.relative(pose_math.compose(here, near), pose_math.compose(there, far))
    q = _turns_as_given(mate, positions_of(mate.type, between))
    rates = _rates(assembly, edge.link.mate)
    sign = 1.0
    if not edge.side and _goes_back_the_same_way(mate):
        # Carried by its second connector: the same positions along inverted axes.
        q, sign = -q, -1.0
    elif not edge.side:
        rates = _seen_from_the_other(mate, between, rates)
    axes = quaternions.rotate(far[3:], sign * _axes(mate.type))
    if mate.type.parts[-1].kind == "ball":
        # From the connector's axes to the body's.
        q[-4:] = quaternions.multiply(quaternions.multiply(far[3:], q[-4:]), quaternions.conjugate(far[3:]))
        rates[-3:] = quaternions.rotate(far[3:], rates[-3:])
    return {
        "parent": parent,
        "pose": mount,
        "joint": joint.name,
        "axes": axes,
        "anchor": far[:3],
        "q": q,
        "qd": rates,
        "damping": np.full(joint.qd_size, mate.damping) if mate.damping else None,
        "limits": None if mate.limits is None else np.array(mate.limits),
        "stop": mate.stop if mate.limits is not None else None,
        "friction_loss": None if mate.friction_loss is None else np.array(mate.friction_loss),
    }


@cache
def _axes(mate: MateType) -> FloatArray:
    """Return the axes (K, 3) of a mate's slides and hinges."""
    return np.array([part.axis for part in mate.parts if part.axis is not None]).reshape(-1, 3)


def _turns_as_given(mate: Mate, q: FloatArray) -> FloatArray:
    """Return positions with as many turns of hinges as the values that are given, and within limits up to rounding."""
    if mate.type.parts and mate.type.parts[-1].kind == "ball":
        return q
    for k, value in zip(mate.type.valued, mate.values or (), strict=False):
        if value is not None and mate.type.parts[k].kind == "hinge":
            q[k] += 2.0 * np.pi * np.round((value - q[k]) / (2.0 * np.pi))
    for k, (low, high) in enumerate(mate.limits or ()):
        inside = min(max(q[k], low), high)
        if abs(q[k] - inside) < ROUNDING:
            q[k] = inside
    return q


def _goes_back_the_same_way(mate: Mate) -> bool:
    """Return whether the inverse motion is along the same axes: false for two slides that a hinge rotates."""
    return all(part.kind != "ball" for part in mate.type.parts) and len(mate.type.parts) < 3


def _rates(assembly: Assembly, m: int) -> FloatArray:
    """Return a mate's rates at the start, for each of its parts' degrees of freedom."""
    mate = assembly.table.mates[m]
    if m in assembly.rates:
        return np.array(assembly.rates[m])
    rates = np.zeros(mate.type.qd_size)
    sizes = [part.qd_size for part in mate.type.parts]
    for k, speed in zip(mate.type.valued, mate.speeds or (), strict=False):
        rates[sum(sizes[:k])] = speed
    return rates


def _seen_from_the_other(mate: Mate, between: FloatArray, rates: FloatArray) -> FloatArray:
    """Return the rates of a ball or a planar mate with swapped connectors; between (7,): the first in the second."""
    if mate.type.parts[-1].kind == "ball":
        return -quaternions.rotate(quaternions.conjugate(between[3:]), rates)
    spin, (x, y) = rates[2], between[:2]
    back = quaternions.rotate(between[3:], (rates[0], rates[1], 0.0))
    return np.array([spin * y - back[0], -spin * x - back[1], -spin])


def owner_of(assembly: Assembly, row: int) -> str:
    """Return the name of the frame that a row belongs to."""
    return assembly.table.names[int(assembly.table.parents[row])]
