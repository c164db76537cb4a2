"""Topics on which bodies and multirotors of a world are commanded: fields, checks and entries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sim_node.text import did_you_mean
from sim_node.world.bodies import simulated_bodies
from sim_node.world.declared import declared, faults, given, place_of
from sim_node.world.model import World
from sim_node.world.part import Kind, Rename, part
from sim_node.world.problems import NO_PLACE, Place, Problem, quoted
from sim_node.world.quantities import FrameName, ListOf, Number, Text, Word
from sim_node.world.readers.yaml_section import listed

# Types of commands that a body and a multirotor can accept.
ACCEPTED_BY_BODIES = ("wrench", "twist")
ACCEPTED = ("rotor_speeds", "attitude")
_SPAN = Number(0.0, 3600.0)


@declared
class BodyCommands:
    """A body that is commanded on topics: pushed by wrenches, or given velocities."""

    body: str = given(FrameName(), "The body, or the link of a model, that is commanded")
    # The velocity of a free-floating body is set once; a kinematic body keeps it.
    accept: tuple[str, ...] = given(
        ListOf(Word(ACCEPTED_BY_BODIES), least=1), "Which commands it takes", default=("wrench",), omit=True
    )
    duration: float = given(_SPAN, "How long a wrench acts, unless another one comes; 0 for ever", "s", default=0.5)
    place: Place = place_of("body", default=NO_PLACE)


@declared
class VehicleCommands:
    """A multirotor, without pilot and autopilot, that is commanded on topics. After the time-out its motors stop."""

    vehicle: str = given(Text(), "The multirotor that is commanded")
    accept: tuple[str, ...] = given(ListOf(Word(ACCEPTED), least=1), "Which commands it takes", default=ACCEPTED)
    timeout: float = given(_SPAN, "How long a command holds; 0 for ever", "s", default=0.5)
    place: Place = place_of("vehicle", default=NO_PLACE)


@part("body_commands", BodyCommands)
class CommandedBodies(Kind[BodyCommands]):
    """Bodies that are commanded on topics."""

    def problems(self, world: World) -> Iterator[Problem]:
        """Return every fault of names and numbers."""
        known = simulated_bodies(world)
        seen: set[str] = set()
        for index, commands in enumerate(self.parts(world)):
            name, where = commands.body, commands.place.where
            key = commands.place.key or f"body_commands[{index}].body"
            if name not in known:
                yield Problem(where, key, f"no body {quoted(name)}{did_you_mean(name, known)}")
            elif name in seen:
                yield Problem(where, key, f"{quoted(name)} is listed twice")
            yield from (Problem(where, key, f"{field}: {message}") for field, message in faults(commands))
            free = [body for body in world.bodies if body.name == name and body.joint != "free"]
            if "twist" in commands.accept and free:
                yield Problem(where, key, f"{quoted(name)} is on a {free[0].joint} joint; a twist needs a free one")
            seen.add(name)

    def renamed(self, part: BodyCommands, rename: Rename) -> BodyCommands:
        """Return the commands on the same body."""
        return replace(part, body=rename.frame(part.body))


@part("vehicle_commands", VehicleCommands)
class CommandedVehicles(Kind[VehicleCommands]):
    """Multirotors that are commanded on topics."""

    def problems(self, world: World) -> Iterator[Problem]:
        """Return every fault of names, words and numbers."""
        known = {vehicle.name: vehicle for vehicle in world.vehicles}
        seen: set[str] = set()
        for index, commands in enumerate(self.parts(world)):
            name, where = commands.vehicle, commands.place.where
            key = commands.place.key or f"vehicle_commands[{index}].vehicle"
            if name not in known:
                yield Problem(where, key, f"no vehicle {quoted(name)}{did_you_mean(name, known)}")
            elif name in seen:
                yield Problem(where, key, f"{quoted(name)} is listed twice")
            elif known[name].autopilot is not None or known[name].pilot is not None:
                flown_by = "autopilot" if known[name].autopilot is not None else "pilot"
                yield Problem(where, key, f"{quoted(name)} is flown by its {flown_by}; leave that out")
            yield from (Problem(where, key, f"{field}: {message}") for field, message in faults(commands))
            seen.add(name)

    def renamed(self, part: VehicleCommands, rename: Rename) -> VehicleCommands:
        """Return the commands on the same vehicle."""
        return replace(part, vehicle=rename.under(part.vehicle))


listed("body_commands", "Bodies that topics push or move.", BodyCommands)
listed("vehicle_commands", "Multirotors that topics fly.", VehicleCommands)
