"""Conversion of scopes to bodies: links as a tree of joints, loop closures, frames, and contact exclusions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from sim_node.extensions.sdf.directional_friction import DirectionalFriction
from sim_node.extensions.sdf.elements import SdfReading, child, place_of, text_of
from sim_node.extensions.sdf.friction import directional_friction_of
from sim_node.extensions.sdf.inertias import inertial_of
from sim_node.extensions.sdf.joints import Joint, mimic_of, motion_of, read_joint
from sim_node.extensions.sdf.scopes import (
    MERGED,
    ScopeEntry,
    ScopeFault,
    SdfScope,
    canonical_link,
    link_of,
    scope_pose,
    world_pose,
)
from sim_node.extensions.sdf.shapes import Shapes, z_along
from sim_node.spatial.geometry import poses, quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.bodies import Body
from sim_node.world.forces import ConstantForce
from sim_node.world.loops import ContactExclusion, LoopClosure
from sim_node.world.model import StaticFrame
from sim_node.world.readers.xml_elements import Element
from sim_node.world.transmissions import Transmission

FIXED_FRAME = "world"
# The type of loop closure for each type of joint.
CLOSURES = {"fixed": "lock", "ball": "ball", "revolute": "hinge", "continuous": "hinge"}


@dataclass(eq=False)
class SdfLink:
    """A link: its scope and entry, its frame, its pose (7,) in the world, and the joint that moves it."""

    scope: SdfScope
    entry: ScopeEntry
    frame: str
    pose: FloatArray
    joint: Joint | None = None
    parent: SdfLink | None = None

    @property
    def is_static(self) -> bool:
        """Whether it belongs to a static model."""
        return self.scope.is_fixed

    @property
    def base(self) -> SdfLink:
        """The root of its chain of links, on a free joint or on the world."""
        *_, base = self.above()
        return base

    def above(self) -> Iterator[SdfLink]:
        """Yield the link and its ancestors."""
        at: SdfLink | None = self
        while at is not None:
            yield at
            at = at.parent


@dataclass
class SdfMechanism:
    """The parts of a World made from links and joints.

    Attributes:
        links: The links by their entries.
        joints: The joints by scope and name.
        parts: Parts of a World by kind.
        motors: The motor numbers of each flying body, in the order of its rotors.
        topics: The topics that correspond to each Gazebo topic. Several are commanded together.
        altimeters: The topics of altimeters, of height and vertical speed, by Gazebo topic.
        named: Topics whose names sensors have taken from Gazebo.
        converted: Conversions of the numbers that are sent on Gazebo topics.
        detached: The object that a message on a Gazebo topic detaches.
        pulses: Gazebo topics on which a boolean is sent only once; here, false precedes and follows it.
        loads: Loads of batteries besides their own, W, with the scope and the name of the battery.
    """

    links: dict[ScopeEntry, SdfLink] = field(default_factory=dict)
    joints: dict[tuple[SdfScope, str], Joint] = field(default_factory=dict)
    parts: dict[str, list[Any]] = field(default_factory=dict)
    motors: dict[str, list[int]] = field(default_factory=dict)
    topics: dict[str, tuple[str, ...]] = field(default_factory=dict)
    altimeters: dict[str, tuple[str, str]] = field(default_factory=dict)
    named: set[str] = field(default_factory=set)
    converted: dict[str, Callable[[float], float]] = field(default_factory=dict)
    detached: dict[str, str] = field(default_factory=dict)
    pulses: set[str] = field(default_factory=set)
    loads: list[tuple[SdfScope, str, float]] = field(default_factory=list)

    def add(self, kind: str, *parts: Any) -> None:
        """Add parts of a kind."""
        self.parts.setdefault(kind, []).extend(parts)

    def listen(self, gazebo: str, topic: str) -> None:
        """Add a topic to those that correspond to a Gazebo topic."""
        self.topics[gazebo] = (*self.topics.get(gazebo, ()), topic)

    def body(self, name: str) -> Body:
        """Return a body by name."""
        return self.parts["bodies"][self._rows[name]]  # type: ignore[no-any-return]

    def put(self, body: Body) -> None:
        """Replace the body with the same name."""
        self.parts["bodies"][self._rows[body.name]] = body

    def canonical(self, scope: SdfScope, by: Element, key: str) -> SdfLink:
        """Return the canonical link of a model. Raises ScopeFault (`key` is missing) if there is none."""
        found = canonical_link(scope, by)
        if found is None:
            raise ScopeFault(by, f"{key} is missing")
        return self.links[found[1]]

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {body.name: row for row, body in enumerate(self.parts["bodies"])}


def mechanism_of(reading: SdfReading, world: SdfScope, gravity: FloatArray) -> SdfMechanism:
    """Return the bodies, frames, loop closures and contacts of the models of a world. Faults are recorded."""
    found = SdfMechanism()
    shapes = Shapes(reading)
    gears: list[Joint] = []
    for scope in world.within():
        for entry in scope.of_kind("link"):
            pose = poses.IDENTITY  # placeholder if the link is faulty, for elements that refer to it
            with recording(reading):
                pose = world_pose(scope, entry)
            found.links[entry] = SdfLink(scope, entry, scope.frame(entry.name), pose)
    for scope in world.within():
        for entry in scope.of_kind("joint"):
            with recording(reading):
                joint = read_joint(reading, scope, entry)
                if joint is not None and joint.kind == "gearbox":
                    gears.append(joint)
                elif joint is not None:
                    found.joints[scope, entry.name] = joint
    closing = [joint for joint in found.joints.values() if not _hang(found, joint)]
    for link in found.links.values():
        with recording(reading):
            _add_body(reading, found, link, shapes, gravity)
            continue
        found.add("bodies", Body(link.frame, FIXED_FRAME))  # placeholder if faulty, for elements that refer to it
    bodies = found.parts.get("bodies", [])
    if shapes.masked:
        bodies[:] = [replace(body, geometry=tuple(map(shapes.with_layers, body.geometry))) for body in bodies]
    for joint in closing:
        with recording(reading):
            _close(reading, found, joint)
    for joint in gears:
        with recording(reading):
            _couple(reading, found, joint)
    for scope in world.within():
        _add_frames(reading, found, scope)
    _exclude_contacts(reading, world, found)
    return found


@contextmanager
def recording(reading: SdfReading) -> Iterator[None]:
    """Record a ScopeFault raised in the block, only once if it is raised again, and continue after the block."""
    try:
        yield
    except ScopeFault as fault:
        if fault not in reading.faults:
            reading.faults.append(fault)
            reading.error(fault.element, fault.message)


def _hang(found: SdfMechanism, joint: Joint) -> bool:
    """Attach the child of a joint to the tree, if nothing else carries it. Return False if the joint closes a loop."""
    below = found.links.get(joint.child[1])
    above = None if joint.parent is None else found.links.get(joint.parent[1])
    if below is None:
        return True
    if below.is_static and (above is None or above.is_static):
        return True
    if below.is_static or below.joint is not None or (above is not None and below in above.above()):
        return False
    below.joint, below.parent = joint, above
    return True


def _add_body(reading: SdfReading, found: SdfMechanism, link: SdfLink, shapes: Shapes, gravity: FloatArray) -> None:
    element, scope = link.entry.element, link.scope
    moving = not link.is_static
    collisions = list(shapes.collisions(scope, link.entry, massive=moving))
    geometry = (*(shape for _, shape, _ in collisions), *shapes.visuals(scope, link.entry))
    place = place_of(element, link.frame)
    for index, (collision, shape, solid) in enumerate(collisions):
        given = directional_friction_of(reading, scope, link.frame, collision, shape.pose, solid.pose)
        if given is not None:
            found.add("forces", DirectionalFriction(link.frame, shape=index, **given))
    if not moving:
        found.add("bodies", Body(link.frame, FIXED_FRAME, pose=link.pose, geometry=geometry, place=place))
        for part in element.children:
            if part.tag in ("inertial", "gravity", "kinematic"):
                reading.ignore(part, "a link of a static model does not move")
        return
    inertial = inertial_of(reading, element, collisions)
    fields: dict[str, Any] = {"geometry": geometry, "inertial": inertial, "place": place, "parent_place": place}
    joint, kinematic = link.joint, reading.flag(element, "kinematic")
    if joint is None:
        fields |= {"parent": FIXED_FRAME, "joint": "free", "q": link.pose, "kinematic": kinematic}
    else:
        above = poses.IDENTITY if link.parent is None else link.parent.pose
        fields["parent"] = FIXED_FRAME if link.parent is None else link.parent.frame
        fields["pose"] = poses.relative(above, link.pose)
        motion = motion_of(joint, reading)
        if "held" in motion:
            fields["pose"] = poses.compose(fields["pose"], _held_pose(*motion["held"]))
        else:
            fields |= motion
        if joint.pitch:
            screw = ((f"{link.frame}#0", 1.0), (f"{link.frame}#1", -joint.pitch / (2.0 * np.pi)))
            found.add("transmissions", Transmission(f"{joint.name}/thread", screw, place=place_of(joint.entry.element)))
        fields["mimic"] = mimic_of(joint, 0, _followed(found, joint.scope))
        if kinematic:
            reading.approximate(element, "a kinematic link on a joint moves by forces here")
    found.add("bodies", Body(link.frame, **fields))
    if not reading.flag(element, "gravity", default=True) and gravity.any() and not (kinematic and joint is None):
        found.add(
            "forces", ConstantForce(link.frame, force=-inertial.mass * gravity, place=place_of(element, link.frame))
        )


def _followed(found: SdfMechanism, scope: SdfScope) -> dict[str, str]:
    """Return the simulated names of the joints of a scope: those of the links that they move."""
    return {
        name: found.links[joint.child[1]].frame
        for (of, name), joint in found.joints.items()
        if of is scope and joint.child[1] in found.links
    }


def _held_pose(axis: FloatArray, anchor: FloatArray, kind: str, value: float) -> FloatArray:
    if kind == "slide":
        return np.concatenate([axis * value, poses.IDENTITY[3:]])
    turn = quaternions.from_axis_angle(axis, value)
    return np.concatenate([anchor - quaternions.rotate(turn, anchor), turn])


def _close(reading: SdfReading, found: SdfMechanism, joint: Joint) -> None:
    """Add a loop closure between two links that the tree already carries."""
    kind = CLOSURES.get(joint.kind)
    if kind is None:
        reading.leave_out(
            joint.entry.element,
            f"a {joint.kind} joint closes a loop of joints, which only {', '.join(CLOSURES)} do here",
        )
        return
    below = found.links[joint.child[1]]
    above = None if joint.parent is None else found.links[joint.parent[1]]
    at = joint.origin
    if kind == "hinge":
        at = np.concatenate([at[:3], z_along(joint.axes[0])])
    ends = [
        (FIXED_FRAME, at) if each is None else (each.frame, poses.relative(each.pose, at)) for each in (above, below)
    ]
    frames, places = zip(*ends, strict=True)
    found.add(
        "loop_closures", LoopClosure(joint.name, kind, frames, np.array(places), place=place_of(joint.entry.element))
    )
    if any(np.isfinite(pair).any() for pair in joint.limits) or any(joint.damping + joint.friction + joint.stiffness):
        reading.approximate(joint.entry.element, "a joint that closes a loop has no limits, damping or spring here")


def _couple(reading: SdfReading, found: SdfMechanism, gear: Joint) -> None:
    """Couple the two hinges of a gearbox by its ratio.

    In SDFormat, the angle from the gearbox_reference_body to the child about `axis2` is -gearbox_ratio times the angle
    from the gearbox_reference_body to the parent about `axis`.
    """
    element = gear.entry.element
    named = child(element, "gearbox_reference_body")
    if named is None:
        raise ScopeFault(element, "gearbox_reference_body is missing")
    at = link_of(gear.scope, text_of(named), named)
    reference = None if at is None else found.links.get(at[1])
    terms = []
    for end, axis, factor in ((gear.parent, gear.axes[0], gear.ratio), (gear.child, gear.axes[1], 1.0)):
        link = None if end is None else found.links.get(end[1])
        hinge = _hinge_between(reference, link)
        along = 0.0 if hinge is None else float(hinge[0].joint.axes[0] @ axis) * hinge[1]  # type: ignore[union-attr]
        if hinge is None or abs(along) < 1.0 - 1e-6:
            name = "the world" if link is None else link.frame
            what = "turns about another axis than" if hinge else "needs a hinge between"
            reading.leave_out(element, f"{gear.name}: {what} {name} and its gearbox_reference_body; it couples nothing")
            return
        terms.append((hinge[0].frame, factor * math.copysign(1.0, along)))
    if terms[0][0] == terms[1][0]:
        reading.leave_out(element, f"{gear.name}: its parent and its child turn by one hinge; it couples nothing")
        return
    found.add("transmissions", Transmission(gear.name, tuple(terms), place=place_of(element)))
    if any(np.isfinite(pair).any() for pair in gear.limits) or any(gear.damping + gear.friction + gear.stiffness):
        reading.approximate(element, "a gearbox has no limits, damping or spring here; its hinges have")


def _hinge_between(reference: SdfLink | None, link: SdfLink | None) -> tuple[SdfLink, float] | None:
    """Return the link that turns on the other, and the sign that relates its angle to that of `link`."""
    for moved, other, sign in ((link, reference, 1.0), (reference, link, -1.0)):
        if moved is None or moved.joint is None or moved.parent is not other:
            continue
        low, high = moved.joint.limits[0] if moved.joint.limits else (0.0, 0.0)
        return (moved, sign) if moved.joint.kind in ("revolute", "continuous") and low < high else None
    return None


def _add_frames(reading: SdfReading, found: SdfMechanism, scope: SdfScope) -> None:
    """Add the frames of a model, its <frame>s and its joints, each fixed to the link that carries it."""
    if not scope.is_world and not scope.merged:
        with recording(reading):
            link = canonical_link(scope, scope.element)
            _fix(
                found, scope.path, None if link is None else found.links.get(link[1]), scope_pose(scope), scope.element
            )
    for entry in scope.entries.values():
        if entry.kind not in ("frame", "joint") or entry.name.startswith(MERGED):
            continue
        if entry.kind == "joint" and (scope, entry.name) not in found.joints:
            continue
        with recording(reading):
            on = link_of(scope, entry.attached_to, entry.element)
            carrier = None if on is None else found.links.get(on[1])
            _fix(found, scope.frame(entry.name), carrier, world_pose(scope, entry), entry.element)


def _fix(found: SdfMechanism, name: str, link: SdfLink | None, pose: FloatArray, element: Element) -> None:
    parent, at = (FIXED_FRAME, poses.IDENTITY) if link is None else (link.frame, link.pose)
    place = place_of(element, name)
    found.add("frames", StaticFrame(name, parent, poses.relative(at, pose), place=place, parent_place=place))


def _exclude_contacts(reading: SdfReading, world: SdfScope, found: SdfMechanism) -> None:
    """Exclude contacts between links of the same model, unless self_collide is set."""
    for top in world.of_kind("model"):
        if top.inner is None or top.inner.is_fixed:
            continue
        touching = []
        for scope in top.inner.within():
            own = reading.flag(scope.element, "self_collide")
            for entry in scope.of_kind("link"):
                itself = reading.flag(entry.element, "self_collide", default=own)
                link = found.links.get(entry)
                if link is not None and any(shape.only != "visual" for shape in found.body(link.frame).geometry):
                    touching.append((link, itself))
        for (first, alone), (second, too) in combinations(touching, 2):
            if not (alone and too) and second.parent is not first and first.parent is not second:
                found.add("contact_exclusions", ContactExclusion(first.frame, second.frame))
