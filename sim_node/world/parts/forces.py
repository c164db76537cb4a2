"""Forces and the wind as parts of a world."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from sim_node.world.force_checks import force_problems
from sim_node.world.forces import Force, Wind
from sim_node.world.model import World
from sim_node.world.part import Kind, Refer, Rename, part
from sim_node.world.problems import Problem
from sim_node.world.writers.values import data_of, given


@part("forces", Force)
class Forces(Kind[Force]):
    """Forces on bodies."""

    def data(self, part: Force, refer: Refer) -> dict[str, Any]:
        """Return the data of the force."""
        return given(part.data())

    def problems(self, world: World) -> Iterator[Problem]:
        """Return every problem of forces and of the wind."""
        return force_problems(world)

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

    def renamed(self, part: Wind, rename: Rename) -> None:
        """Return None: the wind of the including world applies."""
