"""Suction grippers of a World: bodies that hold what they touch. Fields, checks and the section."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sim_node.text import did_you_mean
from sim_node.world.bodies import simulated_bodies
from sim_node.world.bounds import MAX_FORCE
from sim_node.world.declared import declared, faults, given, place_of
from sim_node.world.model import World
from sim_node.world.part import Kind, Rename, part
from sim_node.world.problems import NO_PLACE, Place, Problem, quoted
from sim_node.world.quantities import FrameName, Number, Text
from sim_node.world.readers.yaml_section import listed


@declared
class Suction:
    """A body that pulls at what it touches, as a suction cup or an electromagnet does."""

    name: str = given(Text(), "Its name, by which signals command it")
    body: str = given(FrameName(), "The body whose shapes hold")
    force: float = given(Number(0.0, MAX_FORCE, above=0.0), "Force of all its contacts together", "N")
    reach: float = given(Number(0.0, 1.0), "Gap across which it still pulls", "m", default=0.002, omit=True)
    engagement: float = given(Number(0.0, 1.0), "Fraction of the force at the start", default=0.0, omit=True)
    place: Place = place_of("name", default=NO_PLACE)


@part("suction", Suction)
class Suctions(Kind[Suction]):
    """Suction grippers."""

    def problems(self, world: World) -> Iterator[Problem]:
        """Return every fault of names and numbers."""
        known = simulated_bodies(world)
        names = {actuator.name or actuator.joint for actuator in world.actuators}
        for suction, place in self.located(world):
            if suction.name in names:
                yield place.problem(f"a second actuator {quoted(suction.name)}")
            if suction.body not in known:
                yield place.problem(f"no body {quoted(suction.body)}{did_you_mean(suction.body, known)}", "body")
            yield from (place.problem(message, field) for field, message in faults(suction))
            names.add(suction.name)

    def renamed(self, part: Suction, rename: Rename) -> Suction:
        """Return the gripper on the same body."""
        return replace(part, name=rename.under(part.name), body=rename.frame(part.body))


listed("suction", "Bodies that hold what they touch.", Suction)
