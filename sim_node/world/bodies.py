"""Rigid bodies of a World: fields, entries, and checks of numbers, masses, parents and layers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sim_node.spatial.geometry import poses, quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import did_you_mean
from sim_node.world.declared import Fault, Nested, declared, faults, given, place_of, rule, settle
from sim_node.world.fields import NORM, directions, floats
from sim_node.world.joint_fields import Axes, JointPositionField, Limits, PerDof, balls
from sim_node.world.joint_motion import (
    Mimic,
    Stop,
    actuated_joints,
    beyond,
    driven_joints,
    limit_fault,
    limited,
    limits_of,
)
from sim_node.world.joints import JOINTS, JointType, LinkJoint, by_joint, link_pose
from sim_node.world.kinds import Mobility
from sim_node.world.layers import DEFAULT, TooManyLayers, filter_of, masks_of
from sim_node.world.model import Motion, StaticFrame, World
from sim_node.world.part import FrameEntry, Kind, Rename, part
from sim_node.world.physics import Physics, physics_problems, timestep_fault
from sim_node.world.problems import NO_PLACE, Place, Problem, Where, quoted, shown_key
from sim_node.world.quantities import ORIGIN, POINT, Flag, FrameName, ListOf, PartOf, Word
from sim_node.world.readers.yaml_poses import POSE, UNMOVED, Pose
from sim_node.world.readers.yaml_section import listed, setting
from sim_node.world.readers.yaml_values import Value
from sim_node.world.shapes import Geometry, Inertial
from sim_node.world.surfaces import DEFAULT_LAYER, Surface, SurfaceVelocity

# Tolerance between the initial positions of two coupled joints, rad or m.
AGREEMENT = 1e-6


@dataclass(frozen=True, slots=True)
class Marker:
    """An optical motion-capture marker of a body (x_xy's <omc>): its coordinate system, number and position (m)."""

    name: str
    number: int
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)


def _with_axes(found: dict[str, Any], value: Value, context: Any) -> None:
    """Draw random axes if the file gives none and the joint type supports that."""
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
    # Rows: smallest and largest position.
    position_range: FloatArray | None = given(None, "Positions (2, 3) to draw the initial one between", default=None)
    marker: Marker | None = given(None, "An optical marker, or None", default=None)
    anchor: FloatArray = given(POINT, "The point about which the joint turns it", "m", default=ORIGIN, omit=True)
    # For a ball, 0 and the largest angle from its neutral orientation; infinite for no limit.
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
        """Yield a fault if its shapes cannot have the scale."""
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
        """Yield a fault if a kinematic body is not on a free joint."""
        if self.kinematic and self.joint != "free":
            yield "kinematic", f"only a body on a free joint keeps its velocity by itself; its joint is {self.joint}"

    @rule
    def moves_within_limits(self) -> Iterator[Fault]:
        """Yield fields that its joint type does not have, and positions that are not rotations or beyond the limits."""
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
        """The shapes, scaled."""
        if self.scale is None:
            return self.geometry
        return tuple(each if each.scale_fault(self.scale) else each.scaled(self.scale) for each in self.geometry)

    @property
    def joint_frame(self) -> str:
        """The frame relative to which the joint moves the body: NAME/joint, or the parent itself if both coincide."""
        return self.parent if np.array_equal(self.pose, poses.IDENTITY) else f"{self.name}/joint"

    @property
    def joints(self) -> tuple[LinkJoint, ...]:
        """The parts of the joint as joints of a link: NAME#0, NAME#1, ..."""
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


def body_names(world: World) -> tuple[str, ...]:
    """Return the bodies of a world and the links of its models."""
    links = (model.full_name(link.name) for model in world.models for link in model.links)
    return (*(body.name for body in world.bodies), *links)


def simulated_bodies(world: World) -> tuple[str, ...]:
    """Return the bodies of a world, and the links of its models that are MuJoCo bodies."""
    links = (model.full_name(link.name) for model in world.models for link in model.links if link.is_body)
    return (*(body.name for body in world.bodies), *links)


def body_problems(world: World) -> Iterator[Problem]:
    """Yield every problem of a world's physics and bodies; none if it has no bodies."""
    if not world.bodies and not world.models and world.ground is None:
        return
    yield from physics_problems(world.physics, world.time.step_ns, world.source)
    wrong = [_of(body, key.removeprefix("joint."), message) for body in world.bodies for key, message in faults(body)]
    yield from wrong or contact_problems(world)
    if any(body.mimic is not None for body in world.bodies):
        yield from mimic_problems(world)
    yield from _parent_problems(world)
    yield from _mass_problems(world)


def _of(body: Body, key: str, message: str) -> Problem:
    return Problem(body.place.where, f"{body.place.key or shown_key(body.name)}: {key}", message)


def _parent_problems(world: World) -> Iterator[Problem]:
    """Yield joints whose parents, through static frames, follow keyframes, whose acceleration would not act on them."""
    parents = {frame.name: frame.parent for frame in (*world.frames, *world.sensors)}
    parents |= {body.name: body.parent for body in world.bodies if not body.type.parts}
    motions: dict[str, Motion] = {motion.frame: motion for motion in world.motions}
    for body in world.bodies:
        if not body.type.parts:
            continue
        above = body.parent
        for _ in range(len(parents) + 1):
            if above not in parents:
                break
            above = parents[above]
        if above in motions:
            message = (
                f"{quoted(above)} follows keyframes, and a joint would not feel their acceleration; the parent of a "
                "body with a joint must be the fixed frame or another body with a joint"
            )
            yield Problem(body.parent_place.where, body.parent_place.key or shown_key(body.name), message)


def with_mass(world: World) -> set[str]:
    """Return the names of bodies on joints with mass, either their own or that of bodies fixed to them."""
    bodies = {body.name: body for body in world.bodies}
    frames = {frame.name: frame.parent for frame in (*world.frames, *world.sensors)}
    heavy: set[str] = set()
    for body in world.bodies:
        carrier = body.name if body.own_mass() > 0.0 else ""
        # Bodies that are fixed to a body add to the mass that its joint moves.
        for _ in range(len(bodies) + len(frames)):
            if carrier in bodies and bodies[carrier].type.parts:
                heavy.add(carrier)
                break
            carrier = bodies[carrier].parent if carrier in bodies else frames.get(carrier, "")
    return heavy


def _mass_problems(world: World) -> Iterator[Problem]:
    """Yield joints that move no mass, and joints that need armature.

    A massless body may carry bodies with mass on joints of their own.
    """
    parts: list[StaticFrame | Body] = [*world.frames, *world.sensors, *world.bodies]
    parents = {part.name: part.parent for part in parts}
    heavy = with_mass(world)
    carrying = set(heavy)
    for name in heavy:
        above = parents[name]
        for _ in parents:
            if above in carrying or above not in parents:
                break
            carrying.add(above)
            above = parents[above]
    for body in world.bodies:
        if body.type.parts and body.name not in carrying and not body.kinematic:
            yield _of(body, "mass", "a moving body needs a mass; give its geometry a mass, or the body an inertial")
        armature = world.physics.armature + (0.0 if body.armature is None else min(body.armature.tolist(), default=0.0))
        if body.type.redundant and armature <= 0.0:
            yield _of(
                body, "armature", f"a {body.joint} joint has redundant degrees of freedom and needs an armature above 0"
            )


def _start(body: Body) -> FloatArray:
    return np.asarray(body.type.neutral() if body.q is None else body.q)


def mimic_problems(world: World) -> Iterator[Problem]:
    """Yield mimics of unknown joints, circular mimics, and mimics whose initial position does not match."""
    joints = actuated_joints(world)
    bodies = {body.name: body for body in world.bodies}
    starts = {
        model.full_name(name): q for model in world.models for name, q in model.starts().items() if len(q) == 1
    } | {name: _start(bodies[name]) for name in joints if name in bodies}
    for body in world.bodies:
        mimic = body.mimic
        if mimic is None or body.type.qd_size != 1:
            continue

        def problem(message: str, body: Body = body) -> Problem:
            at = NO_PLACE if body.mimic is None else body.mimic.place
            if at == NO_PLACE:
                at = Place(body.place.where, f"{body.place.key or shown_key(body.name)}: mimic.joint")
            return Problem(at.where, at.key, message)

        if mimic.joint not in joints:
            hint = did_you_mean(mimic.joint, joints)
            yield problem(f"{quoted(mimic.joint)} is no joint with one degree of freedom{hint}")
        elif circle := _circle(body, bodies):
            yield problem(f"the joints follow each other in a circle: {' -> '.join(map(quoted, circle))}")
        else:
            needed = mimic.multiplier * float(starts[mimic.joint][0]) + mimic.offset
            begins = float(_start(body)[0])
            if abs(needed - begins) > AGREEMENT * max(1.0, abs(needed)):
                yield problem(f"{quoted(body.name)} starts at {begins:.9g}, and its mimic at {needed:.9g}; set its q")


def _circle(body: Body, bodies: dict[str, Body]) -> list[str]:
    """Return the names of the joints in a circle of mimics through a body; empty if there is none."""
    names = [body.name]
    for _ in range(len(bodies)):
        follower = bodies.get(names[-1])
        if follower is None or follower.mimic is None:
            return []
        names.append(follower.mimic.joint)
        if names[-1] == body.name:
            return names
    return []


@part("bodies", Body)
class BodyParts(Kind[Body]):
    """Rigid bodies, each on its joint."""

    frame = "name"

    def entries(self, world: World) -> Iterator[FrameEntry]:
        """Return each body after its joint frame, if that is a separate frame. A frozen body is a static frame."""
        for body in self.parts(world):
            name, parent, place, parent_place = body.name, body.parent, body.place, body.parent_place
            if not body.type.parts:
                yield FrameEntry(
                    name, parent, StaticFrame(name, parent, body.pose, body.scale), place, parent_place, body
                )
                continue
            joint_frame = body.joint_frame
            if joint_frame != parent:
                yield FrameEntry(joint_frame, parent, StaticFrame(joint_frame, parent, body.pose), place, parent_place)
            yield FrameEntry(name, joint_frame, body, place, parent_place, body)

    def problems(self, world: World) -> Iterator[Problem]:
        """Return every problem of physics, bodies and their joints."""
        return body_problems(world)

    def renamed(self, part: Body, rename: Rename) -> Body:
        """Return the body with its new name, mimicking the same joint under its new name."""
        body = super().renamed(part, rename)
        assert body is not None
        shapes = tuple(_driven_by(shape, rename) for shape in body.geometry)
        mimic = None if body.mimic is None else replace(body.mimic, joint=rename.under(body.mimic.joint))
        return replace(body, geometry=shapes, mimic=mimic)


def _driven_by(shape: Geometry, rename: Rename) -> Geometry:
    """Return the shape with its surface driven by the same joint under its new name."""
    surface = shape.surface
    if surface is None or surface.velocity is None or not surface.velocity.joint:
        return shape
    velocity = replace(surface.velocity, joint=rename.under(surface.velocity.joint))
    return replace(shape, surface=replace(surface, velocity=velocity))


setting("physics", Physics)
listed("bodies", "Rigid bodies.", Body)


def contact_problems(world: World) -> Iterator[Problem]:
    """Yield restitutions that need a smaller timestep, and unknown layers."""
    shapes = _shapes(world)
    touching = [(s.surface, at) for s, at in shapes if s.surface and s.only != "visual" and not s.is_shown_only]
    if not touching:
        return
    for surface, place in touching:
        if message := timestep_fault(world.physics, world.time.step_ns, surface.restitution, surface.contact_time):
            yield _located(surface, place, "restitution", message)
    moved = [(s, s.velocity, at) for s, at in touching if s.velocity is not None and s.velocity.joint]
    joints = driven_joints(world) if moved else {}
    for surface, velocity, place in moved:
        if velocity.joint not in joints:
            message = f"{quoted(velocity.joint)} is no joint{did_you_mean(velocity.joint, joints)}"
            yield _located(surface, place, "surface_velocity", message)
    layers = {DEFAULT_LAYER, *(surface.layer for surface, _ in touching)}
    for surface, place in touching:
        for name in surface.touches or ():
            if name not in layers:
                message = f"no shape is in the layer {quoted(name)}{did_you_mean(name, layers)}"
                yield _located(surface, place, "touches", f"{message} (layers: {', '.join(sorted(layers))})")
    try:
        masks_of(filter_of(surface) for surface, _ in touching)
    except TooManyLayers as error:
        surface, place = next(each for each in reversed(touching) if filter_of(each[0]) != DEFAULT)
        message = f"the world has {error.count} groups of shapes that touch different layers; allowed: {error.allowed}"
        yield _located(surface, place, "layer", f"{message}, the bits of MuJoCo's geometries")


def _shapes(world: World) -> Iterator[tuple[Geometry, Place]]:
    """Yield all shapes and their locations."""
    for body in world.bodies:
        for index, shape in enumerate(body.geometry):
            at = Place(body.place.where, f"{body.place.key or shown_key(body.name)}: geometry[{index}]")
            yield shape, shape.place if shape.place != NO_PLACE else at
    if world.ground is not None:
        ground = world.ground.shape
        yield ground, ground.place if ground.place != NO_PLACE else Place(Where(world.source), "ground")


def moving_surfaces(world: World) -> Iterator[tuple[str, int, FloatArray, SurfaceVelocity]]:
    """Yield the moving surfaces of a world.

    Yields:
        The body, empty for the ground; which of its solid shapes it is; its axis (3,) in the body; and its velocity.
    """
    carriers = [(body.name, body.shapes) for body in world.bodies]
    for name, shapes in (*carriers, ("", () if world.ground is None else (world.ground.shape,))):
        for index, shape in enumerate(each for each in shapes if not each.is_shown_only):
            if shape.surface is not None and shape.surface.velocity is not None:
                velocity = shape.surface.velocity
                yield name, index, quaternions.rotate(shape.pose[3:], velocity.axis), velocity


def _located(surface: Surface, place: Place, key: str, message: str) -> Problem:
    """Return a problem located at a surface's key in its file, or else at the shape."""
    at = surface.places.get(key, Place(place.where, f"{place.key}.{key}"))
    return Problem(at.where, at.key, message)
