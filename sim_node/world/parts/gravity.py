"""Gravity towards points as parts of a world."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sim_node.world.declared import data_of
from sim_node.world.gravity import PointGravity, gravity_problems
from sim_node.world.model import World
from sim_node.world.part import Kind, Refer, Rename, part
from sim_node.world.problems import Problem


@part("gravity_fields", PointGravity)
class GravityFields(Kind[PointGravity]):
    """Centres that attract all bodies."""

    section = "forces"

    def data(self, part: PointGravity, refer: Refer) -> dict[str, Any]:
        """Return it as a type of force, as in world files."""
        return {"type": "gravity", **data_of(part)}

    def problems(self, world: World) -> Iterator[Problem]:
        """Return every number out of range."""
        return gravity_problems(world)

    def renamed(self, part: PointGravity, rename: Rename) -> None:
        """Return None: like the uniform gravity, that of the including world applies."""
