"""Commanded bodies and multirotors as parts of a world."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sim_node.world.commands import (
    BodyCommands,
    VehicleCommands,
    body_command_problems,
    vehicle_command_problems,
)
from sim_node.world.model import World
from sim_node.world.part import Kind, Rename, part
from sim_node.world.problems import Problem


@part("body_commands", BodyCommands)
class CommandedBodies(Kind[BodyCommands]):
    """Bodies on which wrenches act that come on topics."""

    def problems(self, world: World) -> Iterator[Problem]:
        """Return every fault of names and numbers."""
        return body_command_problems(world)

    def renamed(self, part: BodyCommands, rename: Rename) -> BodyCommands:
        """Return it on the same body."""
        return replace(part, body=rename.frame(part.body))


@part("vehicle_commands", VehicleCommands)
class CommandedVehicles(Kind[VehicleCommands]):
    """Multirotors that are commanded on topics."""

    def problems(self, world: World) -> Iterator[Problem]:
        """Return every fault of names, words and numbers."""
        return vehicle_command_problems(world)

    def renamed(self, part: VehicleCommands, rename: Rename) -> VehicleCommands:
        """Return it on the same vehicle."""
        return replace(part, vehicle=rename.under(part.vehicle))
