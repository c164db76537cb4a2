"""Forces and the wind as parts of a world."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from sim_node.text import did_you_mean
from sim_node.world.declared import data_of, faults
from sim_node.world.forces import Force, Wind
from sim_node.world.model import World
from sim_node.world.part import Kind, Refer, Rename, part
from sim_node.world.problems import NO_PLACE, Place, Problem, Where, quoted, shown_key
from sim_node.world.writers.values import given


@part("forces", Force)
class Forces(Kind[Force]):
    """Forces on bodies."""

    def data(self, part: Force, refer: Refer) -> dict[str, Any]:
        """Return the data of the force."""
        return given(part.data())

    def problems(self, world: World) -> Iterator[Problem]:
        """Return every problem of forces: bodies that do not exist, and numbers."""
        bodies = {body.name for body in world.bodies}
        for force in self.parts(world):
            if force.body not in bodies:
                message = f"no body {quoted(force.body)}{did_you_mean(force.body, bodies)}"
                yield Problem(force.place.where, force.place.key or "forces", message)
            owner = force.place.key.removesuffix(".body") or f"forces: {shown_key(force.body)}"
            for key, message in faults(force):
                yield Problem(force.place.where, f"{owner}.{key}", message)

    def renamed(self, part: Force, rename: Rename) -> Force:
        """Return it on the same body."""
        return replace(part, body=rename.frame(part.body))


@part("wind", Wind)
class TheWind(Kind[Wind]):
    """The wind, at most one in a world."""

    single = True
    section = "forces"
    blank = MappingProxyType({"type": "wind"})

    def data(self, part: Wind, refer: Refer) -> dict[str, Any]:
        """Return it as a type of force, as in world files."""
        return {"type": "wind", **data_of(part)}

    def problems(self, world: World) -> Iterator[Problem]:
        """Return every number out of range."""
        for wind in self.parts(world):
            place = wind.place if wind.place != NO_PLACE else Place(Where(world.source), "wind")
            for key, message in faults(wind):
                yield Problem(place.where, f"{place.key}.{key}", message)

    def renamed(self, part: Wind, rename: Rename) -> None:
        """Return None: the wind of the including world applies."""
