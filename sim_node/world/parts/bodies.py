"""Rigid bodies as parts of a world, and constraints between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from sim_node.world.bodies import Body, ContactExclusion, LoopClosure
from sim_node.world.body_checks import body_problems
from sim_node.world.joint_checks import joint_problems
from sim_node.world.model import StaticFrame, World
from sim_node.world.part import Entry, Kind, Refer, Rename, part
from sim_node.world.problems import Problem
from sim_node.world.writers.systems import geometry_data, inertial_data, joint_data
from sim_node.world.writers.values import given, pose_data


@part("bodies", Body)
class Bodies(Kind[Body]):
    """Rigid bodies, each on its joint."""

    frame = "name"

    def entries(self, world: World) -> Iterator[Entry]:
        """Return each body after its joint frame, if that is a separate frame. A frozen body is a static frame."""
        for body in self.parts(world):
            name, parent, place, parent_place = body.name, body.parent, body.place, body.parent_place
            if not body.type.parts:
                yield Entry(name, parent, StaticFrame(name, parent, body.pose, body.scale), place, parent_place, body)
                continue
            joint_frame = body.joint_frame
            if joint_frame != parent:
                yield Entry(joint_frame, parent, StaticFrame(joint_frame, parent, body.pose), place, parent_place)
            yield Entry(name, joint_frame, body, place, parent_place, body)

    def data(self, part: Body, refer: Refer) -> dict[str, Any]:
        """Return its position in the tree, joint, shapes and mass."""
        data = {
            "name": part.name,
            "parent": part.parent,
            "pose": pose_data(part.pose, part.scale),
            "joint": joint_data(part),
            "geometry": [geometry_data(shape, refer) for shape in part.geometry] or None,
            "inertial": None if part.inertial is None else inertial_data(part.inertial),
        }
        return given(data)

    def problems(self, world: World) -> Iterator[Problem]:
        """Return every problem of physics, bodies and their joints."""
        yield from body_problems(world)
        yield from joint_problems(world)

    def renamed(self, part: Body, rename: Rename) -> Body:
        """Return it under its new name, following the same joint."""
        body = super().renamed(part, rename)
        assert body is not None
        mimic = body.mimic
        return body if mimic is None else replace(body, mimic=replace(mimic, joint=rename.under(mimic.joint)))


@part("loop_closures", LoopClosure)
class LoopClosures(Kind[LoopClosure]):
    """Constraints of bodies besides the joints of the tree."""

    def data(self, part: LoopClosure, refer: Refer) -> dict[str, Any]:
        """Raise NotImplementedError: world files contain the systems that they result from."""
        raise NotImplementedError

    def renamed(self, part: LoopClosure, rename: Rename) -> LoopClosure:
        """Return it between the same frames."""
        first, second = map(rename.frame, part.frames)
        return replace(part, name=rename.under(part.name), frames=(first, second))


@part("contact_exclusions", ContactExclusion)
class ContactExclusions(Kind[ContactExclusion]):
    """Pairs of bodies whose contacts are ignored."""

    def data(self, part: ContactExclusion, refer: Refer) -> dict[str, Any]:
        """Raise NotImplementedError: the systems that they come from are written instead."""
        raise NotImplementedError

    def renamed(self, part: ContactExclusion, rename: Rename) -> ContactExclusion:
        """Return the same pair."""
        return ContactExclusion(*map(rename.frame, part))
