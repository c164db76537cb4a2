"""Joint types: what a joint lets move, as slides, hinges and balls one after the other. A new one is one entry.

    register(JointType("turret", (hinge(Z), hinge(Y))))

is all that worlds, x_xy models and the physics need to know of a turret's joint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from sim_node.geometry import poses, quaternions
from sim_node.geometry.arrays import FloatArray
from sim_node.registry import Registry, calling_module

Axis = tuple[float, float, float]
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


class Part(NamedTuple):
    """One motion of a joint. axis: in the axes that the parts before it leave; None where each body has its own."""

    kind: Literal["slide", "hinge", "ball"]
    axis: Axis | None = None

    @property
    def q_size(self) -> int:
        """Positions: m, rad, or a quaternion [x y z w]."""
        return 4 if self.kind == "ball" else 1

    @property
    def qd_size(self) -> int:
        """Velocities: m/s, rad/s; a ball's are about the body's axes."""
        return 3 if self.kind == "ball" else 1


def slide(axis: Axis | None = None) -> Part:
    """A translation along an axis."""
    return Part("slide", axis)


def hinge(axis: Axis | None = None) -> Part:
    """A rotation about an axis."""
    return Part("hinge", axis)


BALL = Part("ball")


@dataclass(frozen=True)
class JointType:
    """A joint between a body and its joint frame.

    parts: from the joint frame to the body; q and qd list them in this order. draw: where the axes that parts leave
    open come from if a body does not say them, (K, 3) unit vectors; without it each body must. x_xy_order: the order
    in which x_xy files list the parts, where it is another. redundant: two parts can undo each other, so that the
    mass matrix needs armature.
    """

    name: str
    parts: tuple[Part, ...]
    draw: Callable[[np.random.Generator], FloatArray] | None = None
    x_xy_order: tuple[int, ...] | None = None
    redundant: bool = False

    @property
    def q_size(self) -> int:
        """Length of q."""
        return sum(part.q_size for part in self.parts)

    @property
    def qd_size(self) -> int:
        """Length of qd: the degrees of freedom."""
        return sum(part.qd_size for part in self.parts)

    @property
    def open_axes(self) -> int:
        """How many axes a body has to say, or has drawn."""
        return sum(part.axis is None and part.kind != "ball" for part in self.parts)

    def neutral(self) -> FloatArray:
        """q (q_size,) where body and joint frame coincide."""
        return np.array([x for part in self.parts for x in ((0.0, 0.0, 0.0, 1.0) if part.kind == "ball" else (0.0,))])

    def axes(self, own: FloatArray) -> FloatArray:
        """The axis of each part (P, 3), those left open filled from a body's `own` (K, 3); a ball's is zero."""
        given = iter(own)
        rows = [np.zeros(3) if p.kind == "ball" else p.axis if p.axis is not None else next(given) for p in self.parts]
        return np.array(rows, dtype=np.float64).reshape(-1, 3)

    def pose(self, own_axes: FloatArray, q: FloatArray) -> FloatArray:
        """The body's pose (7,) in its joint frame at q (q_size,)."""
        at, total = 0, np.array(poses.IDENTITY)
        for part, axis in zip(self.parts, self.axes(own_axes), strict=True):
            step = np.array(poses.IDENTITY)
            if part.kind == "slide":
                step[:3] = axis * q[at]
            elif part.kind == "hinge":
                step[3:] = quaternions.from_axis_angle(axis, q[at])
            else:
                step[3:] = q[at : at + 4]
            total = poses.compose(total, step)
            at += part.q_size
        return total


JOINTS: Registry[str, JointType] = Registry(
    "joint type", shipped=("sim_node.world.joints",), group="sim_node.joint_types"
)


def register(*joints: JointType) -> None:
    """Adds joint types. Raises ValueError for a name that is taken."""
    module = calling_module()
    for joint in joints:
        JOINTS.add(joint.name, module=module)(joint)


def _directions(random: np.random.Generator, count: int) -> FloatArray:
    """Unit vectors (count, 3), uniform on the sphere."""
    normal = random.standard_normal((count, 3))
    return np.asarray(normal / np.linalg.norm(normal, axis=1, keepdims=True))


def _perpendicular(random: np.random.Generator) -> FloatArray:
    """A direction uniform on the sphere, and one uniform among those at right angles to it."""
    first, other = _directions(random, 2)
    second = np.cross(first, other)
    return _unit(np.array([first, second / np.linalg.norm(second)]))


def _unit(rows: FloatArray) -> FloatArray:
    """Rows made unit, once more: what was drawn stays the same to the last bit, which bodies no longer see to."""
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def _slides(axes: Iterable[Axis] = (X, Y, Z)) -> tuple[Part, ...]:
    return tuple(map(slide, axes))


register(
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
    # Each slides before it turns; the axes are for whoever builds one to keep parallel, or perpendicular.
    JointType("cylindrical", (slide(), hinge())),
    JointType("planar", (slide(), slide(), hinge())),
    # Free, about a centre of rotation that moves in the body.
    JointType("cor", (*_slides(), BALL, *_slides()), x_xy_order=(3, 0, 1, 2, 4, 5, 6), redundant=True),
)
