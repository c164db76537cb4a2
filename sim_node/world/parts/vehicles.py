"""Vehicles as parts of a world."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sim_node.world.model import World
from sim_node.world.part import Kind, Rename, part
from sim_node.world.problems import Problem
from sim_node.world.vehicle_checks import vehicle_problems
from sim_node.world.vehicles import Multirotor


@part("vehicles", Multirotor)
class Vehicles(Kind[Multirotor]):
    """Flying bodies."""

    def problems(self, world: World) -> Iterator[Problem]:
        """Return every problem of vehicles and of their pilots and autopilots."""
        return vehicle_problems(world)

    def renamed(self, part: Multirotor, rename: Rename) -> Multirotor:
        """Return it on the same body."""
        return replace(part, name=rename.under(part.name), body=rename.frame(part.body))
