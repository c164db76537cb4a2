"""Rigid bodies as parts of a world, and constraints between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sim_node.world.bodies import Body, Physics
from sim_node.world.body_checks import body_problems
from sim_node.world.declared import BAD, keys_of, plan_of, read
from sim_node.world.model import StaticFrame, World
from sim_node.world.part import Entry, Kind, Rename, part
from sim_node.world.problems import Problem
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


listed("bodies", "Rigid bodies.", Body)
