"""Forces and the wind as parts of a world."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from sim_node.world.force_checks import force_problems
from sim_node.world.forces import Force, Wind
from sim_node.world.model import World
from sim_node.world.part import Kind, Refer, Rename, part
from sim_node.world.problems import Problem
from sim_node.world.writers.values import given, words_of


@part("forces", Force)
class Forces(Kind[Force]):
    """What pushes bodies."""

    def data(self, part: Force, refer: Refer) -> dict[str, Any]:
        """Return what a force says of itself."""
        return given(part.data())

    def problems(self, world: World) -> Iterator[Problem]:
        """Return every fault of forces, and of the wind."""
        return force_problems(world)

    def renamed(self, part: Force, rename: Rename) -> Force:
        """Return it on the same body."""
        return replace(part, body=rename.frame(part.body))


@part("wind", Wind)
class TheWind(Kind[Wind]):
    """The air that moves, one for a world."""

    single = True
    section = "forces"

    def data(self, part: Wind, refer: Refer) -> dict[str, Any]:
        """Return it as a type of force, which it is in world files."""
        return {"type": "wind", **words_of(part)}

    def renamed(self, part: Wind, rename: Rename) -> None:
        """Return nothing: it blows as the including world says."""
