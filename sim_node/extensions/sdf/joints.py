"""Joints of SDF: the links that they connect, their axes, and their motion."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sim_node.extensions.sdf.elements import SdfReading, child, text
from sim_node.extensions.sdf.scopes import (
    MODEL,
    WORLD,
    ScopeEntry,
    ScopeFault,
    SdfScope,
    link_of,
    pose_in,
    scope_pose,
    world_pose,
)
from sim_node.spatial.geometry import poses, quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import did_you_mean
from sim_node.world.joint_motion import Mimic
from sim_node.world.problems import quoted
from sim_node.world.readers.xml_elements import Element

# Limits of at least this size mean no limit. This is SDF's default.
NO_LIMIT = 1e16
# The joint type and the number of axes, by SDF type.
TYPES = {
    "fixed": ("frozen", 0),
    "revolute": ("hinge", 1),
    "continuous": ("hinge", 1),
    "prismatic": ("slide", 1),
    "ball": ("spherical", 0),
    "universal": ("rsaddle", 2),
    "revolute2": ("rsaddle", 2),
    "screw": ("cylindrical", 1),
    "gearbox": ("transmission", 2),
}


@dataclass(eq=False)
class Joint:
    """A joint between two links.

    Attributes:
        scope: The scope that contains it.
        entry: Its entry there.
        kind: Its SDF type.
        parent: The scope and entry of its parent link; None for the world.
        child: The scope and entry of its child link.
        axes: Unit vectors (K, 3) in the world.
        origin: Its pose (7,) in the world.
        damping: Damping of each axis, N s/m or N m s/rad.
        friction: Dry friction of each axis, N or N m.
        stiffness: Spring stiffness of each axis, N/m or N m/rad.
        rest: Spring reference of each axis, m or rad.
        limits: [low, high] of each axis (K, 2), m or rad.
        effort: The largest force or torque of each axis, N or N m; infinite for no limit.
        limit: The <limit> element of each axis, from which actuators read the speed limit.
        pitch: Thread pitch of a screw, m per turn.
        ratio: Ratio of a gearbox: the angle by which its child turns back over the angle of its parent.
        mimics: For each axis, the joint and axis (0 or 1) that it follows, multiplier and offset; None for none.
    """

    scope: SdfScope
    entry: ScopeEntry
    kind: str
    parent: tuple[SdfScope, ScopeEntry] | None
    child: tuple[SdfScope, ScopeEntry]
    origin: FloatArray
    axes: FloatArray
    damping: list[float] = field(default_factory=list)
    friction: list[float] = field(default_factory=list)
    stiffness: list[float] = field(default_factory=list)
    rest: list[float] = field(default_factory=list)
    limits: list[tuple[float, float]] = field(default_factory=list)
    effort: list[float] = field(default_factory=list)
    limit: list[Element | None] = field(default_factory=list)
    pitch: float = 0.0
    ratio: float = 1.0
    mimics: list[tuple[str, int, float, float] | None] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Its name in the frame tree."""
        return self.scope.frame(self.entry.name)


def read_joint(reading: SdfReading, scope: SdfScope, entry: ScopeEntry) -> Joint | None:
    """Return a joint. On errors, report them and return None. Raises ScopeFault."""
    element = entry.element
    kind = element.get("type")
    if kind not in TYPES:
        hint = did_you_mean(kind, TYPES)
        reading.error(element, f"no joint type {quoted(kind)}{hint}; allowed: {', '.join(TYPES)}", "type")
        return None
    ends = {key: text(element, key) for key in ("parent", "child")}
    for key, name in ends.items():
        if not name:
            reading.error(element, f"{key} is missing")
    if not all(ends.values()):
        return None
    parent_element, child_element = child(element, "parent"), child(element, "child")
    assert parent_element is not None
    assert child_element is not None
    parent = link_of(scope, ends["parent"], parent_element)
    moved = link_of(scope, ends["child"], child_element)
    if parent is None and ends["parent"] != WORLD:
        raise ScopeFault(parent_element, f"{quoted(ends['parent'])} is fixed to no link")
    if moved is None:  # the child is the world: swap parent and child
        parent, moved = None, parent
    if moved is None:
        raise ScopeFault(element, "a joint of the world with itself")
    if parent is not None and parent[1] is moved[1]:
        raise ScopeFault(element, f"its parent and its child are the same link, {quoted(moved[1].name)}")
    joint = Joint(scope, entry, kind, parent, moved, world_pose(scope, entry), np.zeros((0, 3)))
    _, count = TYPES[kind]
    axes = [_axis(reading, joint, element, key) for key in ("axis", "axis2")[:count]]
    joint.axes = np.array(axes).reshape(-1, 3)
    if kind == "screw":
        joint.pitch = _pitch(reading, element)
    if kind == "gearbox":
        joint.ratio = reading.number(element, "gearbox_ratio", default=1.0)
        if not math.isfinite(joint.ratio) or not joint.ratio:
            reading.error(element, f"gearbox_ratio {joint.ratio:g} is out of range; it must be finite and not zero")
    return joint


def _axis(reading: SdfReading, joint: Joint, element: Element, key: str) -> FloatArray:
    """Return an axis (3,) of a joint in the world, and add the parameters of the axis to the joint."""
    axis = child(element, key)
    scope = joint.scope
    xyz = child(axis, "xyz")
    direction = reading.vector(axis, "xyz", default=(0.0, 0.0, 1.0))
    frame = "" if xyz is None else xyz.get("expressed_in")
    # Before 1.7, a flag told whether the axis is in the model frame; before 1.5, it always was.
    if axis is not None and scope.version < (1, 7):
        of_model = reading.flag(axis, "use_parent_model_frame", default=scope.version < (1, 5))
        frame = frame or (MODEL if of_model else "")
    turn = joint.origin[3:]
    if frame and xyz is not None:
        turn = poses.compose(scope_pose(scope), pose_in(scope, frame, xyz))[3:]
    length = math.hypot(*direction)  # does not overflow for large numbers
    if not 0.0 < length < math.inf:
        reading.error(xyz or element, "an axis needs a direction")
        direction, length = np.array([0.0, 0.0, 1.0]), 1.0
    dynamics = child(axis, "dynamics")
    limit = child(axis, "limit")
    for name, into in (("damping", joint.damping), ("friction", joint.friction), ("spring_stiffness", joint.stiffness)):
        value = reading.number(dynamics, name, default=0.0)
        if not 0.0 <= value < math.inf:
            assert dynamics is not None
            reading.approximate(dynamics, f"a negative {name.replace('_', ' ')} is treated as zero")
            value = 0.0
        into.append(value)
    joint.rest.append(reading.number(dynamics, "spring_reference", default=0.0))
    low = reading.number(limit, "lower", default=-NO_LIMIT)
    high = reading.number(limit, "upper", default=NO_LIMIT)
    if joint.kind == "continuous":
        low, high = -math.inf, math.inf
    low, high = (-math.inf if low <= -NO_LIMIT else low), (math.inf if high >= NO_LIMIT else high)
    if low > high:
        assert limit is not None
        reading.approximate(limit, f"the lower limit {low:g} is above the upper one, {high:g}; the joint has none")
        low, high = -math.inf, math.inf
    joint.limits.append((low, high))
    effort = reading.number(limit, "effort", default=-1.0)
    joint.effort.append(effort if effort >= 0.0 else math.inf)
    joint.limit.append(limit)
    joint.mimics.append(None if axis is None else _mimic(reading, axis))
    return np.asarray(quaternions.rotate(turn, direction / length))


def _mimic(reading: SdfReading, axis: Element) -> tuple[str, int, float, float] | None:
    mimic = child(axis, "mimic")
    if mimic is None:
        return None
    multiplier = reading.number(mimic, "multiplier", default=1.0)
    offset = reading.number(mimic, "offset", default=0.0) - multiplier * reading.number(mimic, "reference", default=0.0)
    return mimic.get("joint"), int(mimic.get("axis") == "axis2"), multiplier, offset


def _pitch(reading: SdfReading, element: Element) -> float:
    """Return the travel of a screw per turn, m. Older files give thread_pitch, in rad/m and left-handed."""
    given = child(element, "screw_thread_pitch")
    if given is not None:
        return reading.number(element, "screw_thread_pitch", default=1.0)
    old = reading.number(element, "thread_pitch", default=1.0)
    if not old:
        reading.error(element, "the thread_pitch of a screw must not be zero")
        return 1.0
    return -2.0 * math.pi / old


def motion_of(joint: Joint, reading: SdfReading) -> dict[str, Any]:
    """Return the fields of a Body from its joint: type, axes, anchor, springs, limits and initial position."""
    scope, link = joint.child
    at = world_pose(scope, link)
    kind, _ = TYPES[joint.kind]
    count = len(joint.axes)
    if kind == "frozen":
        return {}
    back = quaternions.conjugate(at[3:])
    axes = quaternions.rotate(back, joint.axes) if count else np.zeros((0, 3))
    anchor = poses.relative(at, joint.origin)[:3]
    if kind == "spherical":
        return {"joint": kind, "anchor": anchor}
    if kind == "cylindrical":
        axes = np.repeat(axes, 2, axis=0)
    if count == 1 and joint.limits[0][0] == joint.limits[0][1] and kind in ("hinge", "slide"):
        return _held(joint, reading, axes[0], anchor, kind)
    parts = [0, 0] if kind == "cylindrical" else list(range(count))
    fields: dict[str, Any] = {"joint": kind, "axes": axes, "anchor": anchor}
    for key, values in (("damping", joint.damping), ("friction_loss", joint.friction)):
        if any(values):
            # The rotation of a screw is damped, and with it its translation.
            fields[key] = np.array([0.0, values[0]] if kind == "cylindrical" else [values[k] for k in parts])
    if any(joint.stiffness) and kind != "cylindrical":
        fields["spring_stiff"], fields["spring_zero"] = np.array(joint.stiffness), np.array(joint.rest)
    limits = np.array([(-math.inf, math.inf), joint.limits[0]] if kind == "cylindrical" else joint.limits)
    if np.isfinite(limits).any():
        fields["limits"] = limits
        start = np.clip(np.zeros(len(limits)), limits[:, 0], limits[:, 1])
        if start.any():
            reading.approximate(
                joint.entry.element, f"{joint.name} begins at its limit, because its limits do not contain 0"
            )
            fields["q"] = start
    return fields


def _held(joint: Joint, reading: SdfReading, axis: FloatArray, anchor: FloatArray, kind: str) -> dict[str, Any]:
    """Return the position at which equal limits hold a joint; empty if both limits are zero."""
    value = joint.limits[0][0]
    if value:
        reading.approximate(joint.entry.element, f"{joint.name} does not move, because its limits are one number")
    return {"held": (axis, anchor, kind, value)} if value else {}


def mimic_of(joint: Joint, part: int, names: dict[str, str]) -> Mimic | None:
    """Return the mimic of an axis of a joint, or None. `names` has the simulated joints by their names in the scope."""
    given = joint.mimics[part] if part < len(joint.mimics) else None
    if given is None:
        return None
    leader, axis, multiplier, offset = given
    if leader not in names:
        raise ScopeFault(joint.entry.element, f"no joint {quoted(leader)} to follow{did_you_mean(leader, names)}")
    return Mimic(names[leader] + (f"#{axis}" if axis else ""), multiplier, offset)
