"""Joints in world files: limits, stops and mimics, and the sections `actuators` and `joint_commands`."""

from __future__ import annotations

from typing import Any

import numpy as np

from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.declared import keys_of, read
from sim_node.world.joint_commands import JointCommands
from sim_node.world.joint_motion import UNLIMITED, Actuator, Mimic, Stop, beyond, limit_fault
from sim_node.world.joints import JointType
from sim_node.world.quantities import read_pair
from sim_node.world.readers.keys import Keys, either, listing
from sim_node.world.readers.yaml_nodes import Sequence
from sim_node.world.readers.yaml_section import listed
from sim_node.world.readers.yaml_values import Table, Value
from sim_node.world.transmissions import Transmission

# Keys of a joint besides those of its state and of forces per degree of freedom.
# Limits may be infinite, which no range of JSON Schema says.
_BOUND = {"type": "number"}
_LIMITS = listing("", _BOUND, 2, 2)
_PART_LIMITS = listing("", either("", _LIMITS, {"type": "null"}))
LIMITS = either("[low, high], m or rad, or one for each part of the joint.", _LIMITS, _PART_LIMITS)
MOTION_KEYS = Keys(
    {
        "limits": LIMITS,
        "stop": keys_of(Stop),
        "mimic": keys_of(Mimic),
    }
)


def read_motion(table: Table, joint: JointType, q: FloatArray | None) -> dict[str, Any]:
    """Read limits, stop and mimic of a joint, as fields of a Body.

    Args:
        table: The joint's mapping.
        joint: Its type.
        q: The initial position, if the file gives one.

    Returns:
        The fields.
    """
    limits, stop, mimic = (table.get(key) for key in MOTION_KEYS)
    found: dict[str, Any] = {}
    if limits is not None:
        found["limits"] = rows = read_limits(limits, joint)
        start, at = (q, table.get("q")) if q is not None else (joint.neutral(), limits)
        if rows is not None and at is not None and (fault := beyond(joint, rows, start)):
            at.error(fault if q is not None else f"do not contain the initial position: {fault}; set q")
    if stop is not None:
        if limits is None:
            stop.error("a joint without limits has no stops; give it limits: [low, high]")
        found["stop"] = read(Stop, stop)
    if mimic is not None:
        if joint.qd_size != 1:
            mimic.error(f"only a joint with one degree of freedom can follow another one; a {joint.name} joint cannot")
        found["mimic"] = read(Mimic, mimic)
    return found


def read_limits(value: Value, joint: JointType) -> FloatArray | None:
    """Read [low, high], or a list with that or nothing for each of several parts."""
    parts = joint.parts
    if not parts:
        value.error("a frozen joint does not move and has no limits")
        return None
    rows = [value] if len(parts) == 1 else list(value.items())
    if len(rows) != len(parts):
        kinds = ", ".join(part.kind for part in parts)
        if isinstance(value.node, Sequence):
            value.error(f"a {joint.name} joint has {len(parts)} parts ({kinds}), found limits of {len(rows)}")
        return None
    pairs = [read_pair(row, optional=len(rows) > 1) for row in rows]
    limits = np.array([UNLIMITED if pair is None else pair for pair in pairs])
    if None in pairs:
        return None
    if fault := limit_fault(joint, limits):
        value.error(fault)
        return None
    return limits


listed("actuators", "Actuators of joints.", Actuator)
listed("transmissions", "Sums of joint positions: gears, differentials, clutches.", Transmission)
listed("joint_commands", "Topics on which joints are commanded.", JointCommands)
