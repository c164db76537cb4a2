"""The vehicles of a world that autopilots fly or drive."""

from __future__ import annotations

from typing import TypeAlias

from sim_node.world.bases import Base
from sim_node.world.model import World
from sim_node.world.problems import Place, Where, shown_key
from sim_node.world.vehicles import BUILTIN, Autopilot, Multirotor

Vehicle: TypeAlias = Multirotor | Base
# The kinds of parts that can have an autopilot.
VEHICLES = ("vehicles", "bases")


def autopiloted(world: World) -> tuple[tuple[Vehicle, Autopilot], ...]:
    """Return the vehicles that have an autopilot, and what they have, multirotors before bases."""
    every: tuple[Vehicle, ...] = (*world.of(Multirotor), *world.of(Base))
    return tuple((each, each.autopilot) for each in every if each.autopilot is not None)


def flown_by_builtin(world: World) -> dict[int, str]:
    """Return the names of the vehicles with a built-in autopilot, by its instances."""
    return {each.instance: vehicle.name for vehicle, each in autopiloted(world) if each.type == BUILTIN}


def place_of(vehicle: Vehicle) -> Place:
    """Return where a vehicle is described, for messages: in a file, or by its name."""
    section = "bases" if isinstance(vehicle, Base) else "vehicles"
    return vehicle.place if vehicle.place.key else Place(Where(), f"{section}.{shown_key(vehicle.name)}")
