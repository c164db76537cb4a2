"""Rigid bodies as parts of a world, and constraints between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from sim_node.text import did_you_mean
from sim_node.world.bodies import Body, ContactExclusion, LoopClosure
from sim_node.world.body_checks import body_problems
from sim_node.world.joint_checks import joint_problems
from sim_node.world.model import StaticFrame, World
from sim_node.world.part import PARTS, Entry, Kind, Refer, Rename, part
from sim_node.world.part_checks import entries_of_kind
from sim_node.world.problems import Problem, quoted
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
        """Return its ends, each with the connector's pose in its frame."""
        ends = zip(part.frames, part.poses, strict=True)
        data = {
            "name": part.name,
            "type": part.kind,
            "between": [{"frame": frame, "pose": pose_data(pose)} for frame, pose in ends],
            "distance": part.distance or None,
            "relaxation": part.relaxation or None,
        }
        return given(data)

    def problems(self, world: World) -> Iterator[Problem]:
        """Return every problem of names and frames."""
        closures = self.parts(world)
        kinds = PARTS.values() if closures else ()
        frames = {entry.name for kind in kinds for entry in entries_of_kind(kind, world)} | {world.fixed_frame}
        names: set[str] = set()
        for index, closure in enumerate(closures):
            where, key = closure.place.where, closure.place.key or f"{self.name}[{index}]"
            if closure.name in names:
                yield Problem(where, key, f"a second loop closure {quoted(closure.name)}")
            names.add(closure.name)
            for frame in closure.frames:
                if frame not in frames:
                    yield Problem(where, key, f"no frame {quoted(frame)}{did_you_mean(frame, frames)}")

    def renamed(self, part: LoopClosure, rename: Rename) -> LoopClosure:
        """Return it between the same frames."""
        first, second = map(rename.frame, part.frames)
        return replace(part, name=rename.under(part.name), frames=(first, second))


@part("contact_exclusions", ContactExclusion)
class ContactExclusions(Kind[ContactExclusion]):
    """Pairs of bodies whose contacts are ignored."""

    def write(self, world: World, sections: dict[str, Any], refer: Refer) -> None:
        """Add the pairs."""
        sections[self.name] = [list(pair) for pair in self.parts(world)]

    def renamed(self, part: ContactExclusion, rename: Rename) -> ContactExclusion:
        """Return the same pair."""
        return ContactExclusion(*map(rename.frame, part))
