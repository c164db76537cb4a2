"""Rigid bodies as parts of a world, and constraints between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from sim_node.text import did_you_mean
from sim_node.world.bodies import Body, ContactExclusion, LoopClosure, Physics
from sim_node.world.body_checks import body_problems
from sim_node.world.declared import BAD, keys_of, plan_of, read
from sim_node.world.model import StaticFrame, World
from sim_node.world.part import PARTS, Entry, Kind, Refer, Rename, part
from sim_node.world.part_checks import entries_of_kind
from sim_node.world.problems import Problem, quoted
from sim_node.world.quantities import FrameName, Pair
from sim_node.world.readers.keys import listing
from sim_node.world.readers.yaml_section import Context, listed, section
from sim_node.world.readers.yaml_values import Value


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

    def problems(self, world: World) -> Iterator[Problem]:
        """Return every problem of physics, bodies and their joints."""
        return body_problems(world)

    def renamed(self, part: Body, rename: Rename) -> Body:
        """Return it under its new name, following the same joint."""
        body = super().renamed(part, rename)
        assert body is not None
        mimic = body.mimic
        return body if mimic is None else replace(body, mimic=replace(mimic, joint=rename.under(mimic.joint)))


@part("loop_closures", LoopClosure)
class LoopClosures(Kind[LoopClosure]):
    """Constraints of bodies besides the joints of the tree."""

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


@section("physics", keys_of(Physics))
def read_physics(value: Value, context: Context) -> None:
    """Read how bodies are simulated."""
    physics = read(Physics, value)
    if physics is BAD:
        return
    context.physics = physics
    table = value.table(keys_of(Physics))
    for key, (name, _) in plan_of(Physics).by_key.items():
        if (part := table.get(key)) is not None:
            part.sets(getattr(physics, name), "physics", name)


_TWO = Pair(FrameName(), noun="bodies")


@section("contact_exclusions", listing("Pairs of bodies that do not touch.", _TWO.form("")))
def read_contact_exclusions(value: Value, context: Context) -> None:
    """Read a list of pairs of bodies."""
    for entry in value.items():
        errors = len(entry.report.errors)
        names = _TWO.read(entry, context)
        if len(entry.report.errors) == errors:
            context.add(ContactExclusion(*names))


listed("bodies", "Rigid bodies.", Body)
listed("loop_closures", "Constraints that close loops of bodies.", LoopClosure)
