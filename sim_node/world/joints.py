"""Joint types: the motion that a joint allows, as a sequence of slides, hinges and balls. A new type is one entry.

    register_joint_types(JointType("turret", (hinge(Z), hinge(Y))))

is all that worlds, x_xy models and the physics need to know of a turret's joint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from sim_node.registry import Registry, calling_module
from sim_node.spatial.geometry import poses, quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import did_you_mean
from sim_node.world.fields import compared

Axis = tuple[float, float, float]
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
# Size of q and of qd by kind, in the order of MuJoCo's mjtJoint.
Q_SIZES = {"free": 7, "ball": 4, "slide": 1, "hinge": 1}
QD_SIZES = {"free": 6, "ball": 3, "slide": 1, "hinge": 1}
_ORIGIN, _UNTURNED = np.zeros(3), poses.IDENTITY[3:]


class JointPart(NamedTuple):
    """One motion of a joint. axis: along the axes as moved by the preceding parts; None if each body has its own."""

    kind: Literal["slide", "hinge", "ball"]
    axis: Axis | None = None

    @property
    def q_size(self) -> int:
        """Positions: m, rad, or a quaternion [x y z w]."""
        return Q_SIZES[self.kind]

    @property
    def qd_size(self) -> int:
        """Velocities: m/s, rad/s; a ball's are about the body's axes."""
        return QD_SIZES[self.kind]


def slide(axis: Axis | None = None) -> JointPart:
    """A translation, as a part of a joint type.

    Args:
        axis: Its direction (3,) in the axes that the parts before it leave; None where each body has its own.

    Returns:
        The part.
    """
    return JointPart("slide", axis)


def hinge(axis: Axis | None = None) -> JointPart:
    """A rotation, as a part of a joint type.

    Args:
        axis: Its axis (3,) in the axes that the parts before it leave; None where each body has its own.

    Returns:
        The part.
    """
    return JointPart("hinge", axis)


BALL = JointPart("ball")


@compared
class LinkJoint:
    """A joint of a link, as in MuJoCo. The links of a world are its bodies and those of its models.

    kind: a key of Q_SIZES; axis (3,), anchor (3,): in the link, m. neutral (q_size,): q at which the link is at its
    pose; q of a ball is [x y z w], that of a free joint a pose (7,) in the frame that the model is attached to. limits:
    smallest and largest q of a slide or hinge, or None.
    """

    name: str
    kind: str
    axis: FloatArray
    anchor: FloatArray
    neutral: FloatArray
    limits: tuple[float, float] | None = None

    @property
    def is_scalar(self) -> bool:
        """Whether its position is one number: a hinge's or a slide's."""
        return self.kind in ("slide", "hinge")

    def with_limits(self, limits: tuple[float, float] | None) -> LinkJoint:
        """Return the joint with limits, if it is a slide or a hinge."""
        return replace(self, limits=limits) if self.is_scalar else self


def link_pose(rest: FloatArray, joints: Iterable[LinkJoint], q: Mapping[str, FloatArray]) -> FloatArray:
    """Return the pose of a link in its parent, without a MuJoCo model.

    Each joint moves the link relative to the preceding ones, and rotates it about its anchor.

    Args:
        rest: The pose (7,) with neutral joints.
        joints: The joints of the link, in order.
        q: Positions by name of the joint; joints that are not named are neutral.
    """
    pose = rest
    for joint in joints:
        value = q.get(joint.name, joint.neutral)
        if joint.kind == "free":
            pose = value
        elif joint.kind == "slide":
            pose = poses.compose(pose, np.concatenate([joint.axis * (value - joint.neutral), _UNTURNED]))
        else:
            turn = value
            if joint.kind == "hinge":
                turn = quaternions.from_axis_angle(joint.axis, float((value - joint.neutral)[0]))
            # Mates rotate about their own origin and start from the rest pose: most of them need no arithmetic.
            about = joint.anchor - quaternions.rotate(turn, joint.anchor) if joint.anchor.any() else joint.anchor
            moved = np.concatenate([about, turn])
            pose = moved if pose is poses.IDENTITY else poses.compose(pose, moved)
    return pose


def by_joint(joints: Sequence[LinkJoint], q: FloatArray) -> dict[str, FloatArray]:
    """Return the positions of joints by name, from one array with the positions of all."""
    found, at = {}, 0
    for joint in joints:
        size = len(joint.neutral)
        found[joint.name] = q[at : at + size]
        at += size
    return found


@dataclass(frozen=True)
class JointType:
    """A joint between a body and its joint frame.

    Attributes:
        name: The name in world files.
        parts: The motions from the joint frame to the body; q and qd list them in this order.
        draw: Draws open axes (K, 3), unit vectors, that a body does not give; None if each body has to give them.
        x_xy_order: The order in which x_xy files list the parts, if it differs.
        redundant: Whether two parts can cancel each other, so that the mass matrix needs armature.
    """

    name: str
    parts: tuple[JointPart, ...]
    draw: Callable[[np.random.Generator], FloatArray] | None = None
    x_xy_order: tuple[int, ...] | None = None
    redundant: bool = False

    def __post_init__(self) -> None:
        for k, part in enumerate(self.parts):
            fault = ""
            if part.kind not in ("slide", "hinge", "ball"):
                fault = f"kind {part.kind!r}{did_you_mean(part.kind, QD_SIZES)}; allowed: slide, hinge, ball"
            elif part.axis is not None and np.shape(part.axis) != (3,):
                fault = f"axis {part.axis!r}; three numbers are needed"
            elif part.axis is not None and not 0.0 < np.linalg.norm(part.axis) < np.inf:
                fault = f"axis {part.axis!r}; a direction is needed, finite and not zero"
            if fault:
                raise ValueError(f"joint type {self.name!r}: part {k} has the {fault}")

    @cached_property
    def q_size(self) -> int:
        """Length of q."""
        return sum(part.q_size for part in self.parts)

    @cached_property
    def qd_size(self) -> int:
        """Length of qd: the degrees of freedom."""
        return sum(part.qd_size for part in self.parts)

    @property
    def open_axes(self) -> int:
        """Number of axes that a body has to give or that are drawn."""
        return sum(part.axis is None and part.kind != "ball" for part in self.parts)

    def neutral(self) -> FloatArray:
        """Return q (q_size,) where body and joint frame coincide."""
        return np.array([x for part in self.parts for x in ((0.0, 0.0, 0.0, 1.0) if part.kind == "ball" else (0.0,))])

    def axes(self, own: FloatArray) -> FloatArray:
        """Return the axis of each part.

        Args:
            own: A body's axes (K, 3), for the parts with open axes.

        Returns:
            The axes (P, 3); zero for a ball.
        """
        given = iter(own)
        rows = [np.zeros(3) if p.kind == "ball" else p.axis if p.axis is not None else next(given) for p in self.parts]
        return np.array(rows, dtype=np.float64).reshape(-1, 3)

    def joints(self, name: str, own_axes: FloatArray, anchor: FloatArray = _ORIGIN) -> tuple[LinkJoint, ...]:
        """Return the parts as joints of a body.

        Args:
            name: Name of the body.
            own_axes: The body's axes (K, 3), for the parts with open axes.
            anchor: The point (3,) that the body rotates about, m.

        Returns:
            The joints NAME#0, NAME#1, ...
        """
        neutral = {kind: np.array(_UNTURNED if kind == "ball" else (0.0,)) for kind in Q_SIZES}
        return tuple(
            LinkJoint(f"{name}#{k}", part.kind, axis, anchor, neutral[part.kind])
            for k, (part, axis) in enumerate(zip(self.parts, self.axes(own_axes), strict=True))
        )


JOINTS: Registry[str, JointType] = Registry(
    "joint type", shipped=("sim_node.world.joints",), group="sim_node.joint_types"
)


def register_joint_types(*joints: JointType) -> None:
    """Add joint types, which world files give by their names.

    Args:
        joints: The types.

    Raises:
        ValueError: A name is in use.
    """
    module = calling_module()
    for joint in joints:
        JOINTS.add(joint.name, module=module)(joint)


def _directions(random: np.random.Generator, count: int) -> FloatArray:
    """Return unit vectors (count, 3), uniform on the sphere."""
    normal = random.standard_normal((count, 3))
    return np.asarray(normal / np.linalg.norm(normal, axis=1, keepdims=True))


def _perpendicular(random: np.random.Generator) -> FloatArray:
    """Return a direction uniform on the sphere, and one uniform among those perpendicular to it."""
    first, other = _directions(random, 2)
    second = np.cross(first, other)
    return _unit(np.array([first, second / np.linalg.norm(second)]))


def _unit(rows: FloatArray) -> FloatArray:
    """Return the rows normalised again, which bodies no longer do: drawn axes have to stay the same to the last bit."""
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def _slides(axes: Iterable[Axis] = (X, Y, Z)) -> tuple[JointPart, ...]:
    return tuple(map(slide, axes))


register_joint_types(
    JointType("frozen", ()),
    JointType("free", (*_slides(), BALL), x_xy_order=(3, 0, 1, 2)),
    JointType("free_2d", (slide(Y), slide(Z), hinge(X)), x_xy_order=(2, 0, 1)),
    JointType("spherical", (BALL,)),
    JointType("hinge", (hinge(),)),
    JointType("slide", (slide(),)),
    JointType("px", (slide(X),)),
    JointType("py", (slide(Y),)),
    JointType("pz", (slide(Z),)),
    JointType("rx", (hinge(X),)),
    JointType("ry", (hinge(Y),)),
    JointType("rz", (hinge(Z),)),
    JointType("p3d", _slides()),
    JointType("saddle", (hinge(Y), hinge(Z))),
    JointType("rr", (hinge(),), draw=lambda random: _unit(_directions(random, 1))),
    JointType("rr_imp", (hinge(), hinge()), draw=_perpendicular),
    JointType("rsaddle", (hinge(), hinge()), draw=lambda random: _unit(_directions(random, 2))),
    # Slides come before hinges. Users are responsible for axes that are parallel or perpendicular.
    JointType("cylindrical", (slide(), hinge())),
    JointType("planar", (slide(), slide(), hinge())),
    # A free joint about a centre of rotation that moves in the body.
    JointType("cor", (*_slides(), BALL, *_slides()), x_xy_order=(3, 0, 1, 2, 4, 5, 6), redundant=True),
)
