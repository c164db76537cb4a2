"""Rigid bodies of a World: their joints, shapes and masses, and how they are simulated, as frozen data."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sim_node.spatial.geometry import poses
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.declared import Fault, Nested, declared, given, place_of, rule, settle
from sim_node.world.fields import NORM, directions, floats
from sim_node.world.joint_fields import Axes, JointPositionField, Limits, PerDof, balls
from sim_node.world.joint_motion import Mimic, Stop, beyond, limit_fault, limited, limits_of
from sim_node.world.joints import JOINTS, JointType, LinkJoint, by_joint, link_pose
from sim_node.world.kinds import Mobility
from sim_node.world.problems import NO_PLACE, Place
from sim_node.world.quantities import (
    ORIGIN,
    POINT,
    Flag,
    FrameName,
    ListOf,
    PartOf,
    Word,
)
from sim_node.world.readers.yaml_poses import POSE, UNMOVED, Pose
from sim_node.world.readers.yaml_values import Value
from sim_node.world.shapes import Geometry, Inertial


@dataclass(frozen=True, slots=True)
class Marker:
    """An optical motion-capture marker of a body (x_xy's <omc>): its coordinate system, number and position (m)."""

    name: str
    number: int
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)


def _with_axes(found: dict[str, Any], value: Value, context: Any) -> None:
    """Draw the axes that a file does not give, if the type of joint can."""
    joint = JOINTS.get(found.get("joint", ""), JOINTS["frozen"])
    if value.get("axis") is not None:
        return
    if joint.draw is not None:
        found["axes"] = joint.draw(context.random)
    elif joint.open_axes:
        value.error(f"a {joint.name} joint needs an axis: {{type: {joint.name}, axis: [0, 0, 1]}}")


JOINT = Nested(
    (
        *("axes", "joint", "anchor", "damping", "armature", "spring_stiff", "friction_loss", "spring_zero", "q", "qd"),
        *("limits", "stop", "mimic"),
    ),
    "How it moves in its parent.",
    short="joint",
    needs={"type is missing": ("type",)},
    then=_with_axes,
    written=lambda given: None if given == {"type": "frozen"} else given,
)


@declared(
    spread={"pose": POSE, "joint": JOINT},
    bare=("name", "parent", "pose"),
)
class Body:
    """A rigid body and the joint to its parent. Arrays are read-only.

    With neutral q, the pose of the joint frame is the pose of the body. Its shapes determine mass and inertia unless
    `inertial` does.

    Raises:
        ValueError: An array has the wrong shape, or there is no such joint type.
    """

    name: str = given(FrameName(), "Name of the body and its frame, unique in the world")
    parent: str = given(FrameName(), "The frame that its joint is in; empty for the default", default="")
    joint: str = given(Word(JOINTS), "The type of joint", default="frozen", key="type")
    pose: FloatArray = given(Pose(), "Pose (7,) of the joint frame in the parent", "m", default=UNMOVED)
    axes: FloatArray = given(
        Axes(), "The axis, or axes", default_factory=lambda: np.zeros((0, 3)), key="axis", omit=True
    )
    geometry: tuple[Geometry, ...] = given(ListOf(PartOf(Geometry)), "Its shapes", default=(), omit=True)
    inertial: Inertial | None = given(PartOf(Inertial), "Mass and inertia, or None", default=None)
    damping: FloatArray | None = given(PerDof(0.0), "Damping", "N s/m or N m s/rad", default=None)
    armature: FloatArray | None = given(PerDof(0.0), "Added inertia", "kg or kg m^2", default=None)
    spring_stiff: FloatArray | None = given(PerDof(0.0), "Stiffness of a spring", "N/m or N m/rad", default=None)
    spring_zero: FloatArray | None = given(JointPositionField(), "Where the spring rests", "m or rad", default=None)
    # Neutral if not given; quaternions are [x, y, z, w].
    q: FloatArray | None = given(JointPositionField(), "Initial position", "m or rad", default=None)
    qd: FloatArray | None = given(PerDof(quantity="velocity"), "Initial velocity", "m/s or rad/s", default=None)
    # Smallest and largest.
    position_range: FloatArray | None = given(None, "Positions (2, 3) to draw the initial one between", default=None)
    marker: Marker | None = given(None, "An optical marker, or None", default=None)
    anchor: FloatArray = given(POINT, "The point about which the joint turns it", "m", default=ORIGIN, omit=True)
    # For a ball, 0 and the largest angle from neutral; infinite for no limit.
    limits: FloatArray | None = given(Limits(), "[low, high], m or rad, or one for each part", default=None)
    stop: Stop | None = given(PartOf(Stop), "The springs at the limits; hard if not given", default=None)
    friction_loss: FloatArray | None = given(PerDof(0.0), "Dry friction", "N or N m", default=None)
    mimic: Mimic | None = given(PartOf(Mimic), "The joint that this one follows, or None", default=None)
    kinematic: bool = given(
        Flag(), "Whether it keeps its velocity whatever acts on it, on a free joint", default=False, omit=True
    )
    scale: FloatArray | None = given(None, "Scale (3,) of the shapes of a frozen body", default=None)
    draws_axes: bool = given(None, "Whether `axes` were drawn, so that randomised worlds have others", default=False)
    place: Place = place_of("name", default=NO_PLACE)
    parent_place: Place = place_of("parent", default=NO_PLACE)

    def __post_init__(self) -> None:
        if self.joint not in JOINTS:
            raise ValueError(f"{self.name!r}: no joint type {self.joint!r}; allowed: {', '.join(JOINTS)}")
        joint = self.type
        sizes = {
            **dict.fromkeys(("damping", "armature", "spring_stiff", "friction_loss", "qd"), (joint.qd_size,)),
            **dict.fromkeys(("spring_zero", "q"), (joint.q_size,)),
            **{"scale": (3,), "position_range": (2, 3)},
        }
        for what, size in sizes.items():
            if (given := getattr(self, what)) is not None:
                object.__setattr__(self, what, floats(given, size, self.name, what))
        object.__setattr__(self, "axes", directions(self.axes, (joint.open_axes, 3), self.name, "axes"))
        if self.limits is not None:
            object.__setattr__(self, "limits", limits_of(self.limits, joint, self.name))
        settle(self)

    @rule
    def scales(self) -> Iterator[Fault]:
        """Yield that its shapes cannot have the scale."""
        if self.scale is None:
            return
        if not all(0.0 < factor < math.inf for factor in self.scale.tolist()):
            yield "pose", f"{self.scale.tolist()} must be above zero and finite"
        elif self.type.parts:
            yield "pose", "a body on a joint has no scale; set the sizes of its shapes"
        else:
            faults = (fault for shape in self.geometry if (fault := shape.scale_fault(self.scale)))
            yield from (("pose", fault) for fault in faults)

    @rule
    def moves_by_itself(self) -> Iterator[Fault]:
        """Yield that a kinematic body is not on a free joint."""
        if self.kinematic and self.joint != "free":
            yield "kinematic", f"only a body on a free joint keeps its velocity by itself; its joint is {self.joint}"

    @rule
    def moves_within_limits(self) -> Iterator[Fault]:
        """Yield what its type of joint does not have, and a position that is no rotation or beyond the limits."""
        joint, q = self.type, self.type.neutral() if self.q is None else self.q
        for key in ("spring_zero", "q"):
            for at in balls(joint) if getattr(self, key) is not None else ():
                norm = float(np.linalg.norm(getattr(self, key)[at : at + 4]))
                if abs(norm - 1.0) > NORM:
                    yield f"joint.{key}", f"the quaternion's norm is {norm:.7g}, a rotation needs 1"
        if self.limits is not None:
            if fault := limit_fault(joint, self.limits):
                yield "joint.limits", fault
            elif (fault := beyond(joint, self.limits, q)) and self.q is not None:
                yield "joint.q", fault
            elif fault:
                yield "joint.limits", f"do not contain the initial position: {fault}; set q"
        elif self.stop is not None:
            yield "joint.stop", "a joint without limits has no stops; give it limits: [low, high]"
        if self.mimic is not None and joint.qd_size != 1:
            message = f"only a joint with one degree of freedom can follow another one; a {self.joint} joint cannot"
            yield "joint.mimic", message

    @property
    def type(self) -> JointType:
        """The joint type."""
        return JOINTS[self.joint]

    @property
    def shapes(self) -> tuple[Geometry, ...]:
        """The shapes at their scale."""
        if self.scale is None:
            return self.geometry
        return tuple(each if each.scale_fault(self.scale) else each.scaled(self.scale) for each in self.geometry)

    @property
    def joint_frame(self) -> str:
        """The frame in which the joint moves the body: NAME/joint, or the parent itself if both coincide."""
        return self.parent if np.array_equal(self.pose, poses.IDENTITY) else f"{self.name}/joint"

    @property
    def joints(self) -> tuple[LinkJoint, ...]:
        """The joint as joints of a link, one for each part: NAME#0, NAME#1, ..."""
        return limited(self.type.joints(self.name, self.axes, self.anchor), self.limits)

    def start(self) -> FloatArray:
        """Return the initial pose (7,) in the joint frame."""
        joints = self.joints
        return link_pose(poses.IDENTITY, joints, {} if self.q is None else by_joint(joints, self.q))

    @property
    def mobility(self) -> Mobility:
        """Always "dynamic". A frozen body is replaced by the static frame of its pose."""
        return "dynamic"

    def own_mass(self) -> float:
        """Return its mass in kg."""
        return self.inertial.mass if self.inertial is not None else sum(part.mass for part in self.geometry)
