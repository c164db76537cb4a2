"""Checks that bodies can be simulated: numbers in range, positive masses, suitable parents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sim_node.world.bodies import Body
from sim_node.world.contact_checks import contact_problems
from sim_node.world.declared import faults
from sim_node.world.joint_checks import mimic_problems
from sim_node.world.model import Motion, StaticFrame, World
from sim_node.world.part import FrameEntry, Kind, Rename, part
from sim_node.world.physics import Physics, physics_problems
from sim_node.world.problems import Problem, quoted, shown_key
from sim_node.world.readers.yaml_section import listed, setting


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
    """Yield joints whose parents, through static frames, follow keyframes: they would not feel their acceleration."""
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
    """Return the names of the bodies on joints that have mass, of their own or of bodies that are fixed to them."""
    bodies = {body.name: body for body in world.bodies}
    frames = {frame.name: frame.parent for frame in (*world.frames, *world.sensors)}
    heavy: set[str] = set()
    for body in world.bodies:
        carrier = body.name if body.own_mass() > 0.0 else ""
        # Bodies that are fixed to a body add to the mass on its joint.
        for _ in range(len(bodies) + len(frames)):
            if carrier in bodies and bodies[carrier].type.parts:
                heavy.add(carrier)
                break
            carrier = bodies[carrier].parent if carrier in bodies else frames.get(carrier, "")
    return heavy


def _mass_problems(world: World) -> Iterator[Problem]:
    """Yield joints that move no mass, and joints that need armature.

    A body without mass may carry others that have some, on joints of theirs.
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
        """Return it under its new name, following the same joint."""
        body = super().renamed(part, rename)
        assert body is not None
        mimic = body.mimic
        return body if mimic is None else replace(body, mimic=replace(mimic, joint=rename.under(mimic.joint)))


setting("physics", Physics)
listed("bodies", "Rigid bodies.", Body)
