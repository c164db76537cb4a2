"""Topics on which bodies and multirotors of a world are commanded, as frozen data, and their checks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sim_node.text import did_you_mean
from sim_node.world.model import World
from sim_node.world.problems import NO_PLACE, Place, Problem, quoted

# What a multirotor can accept.
ACCEPTED = ("rotor_speeds", "attitude")
MAX_TIME_S = 3600.0


@dataclass(frozen=True, slots=True)
class BodyCommands:
    """A body on which wrenches act that come on a topic.

    Attributes:
        body: The name of the body, or of a model's link.
        duration: How long a wrench acts, unless another one comes (s of simulated time); 0 for ever.
        place: Where the file names the body.
    """

    body: str
    duration: float = 0.5
    place: Place = field(default=NO_PLACE, compare=False)


@dataclass(frozen=True, slots=True)
class VehicleCommands:
    """A multirotor that is commanded on topics.

    Attributes:
        vehicle: The name of the vehicle, which has neither a pilot nor an autopilot.
        accept: Which commands; some of ACCEPTED.
        timeout: Simulated time after the last command at which its motors stop (s); 0 for never.
        place: Where the file names the vehicle.
    """

    vehicle: str
    accept: tuple[str, ...] = ACCEPTED
    timeout: float = 0.5
    place: Place = field(default=NO_PLACE, compare=False)


def body_command_problems(world: World) -> Iterator[Problem]:
    """Yield every problem of a world's commanded bodies."""
    known = {body.name for body in world.bodies}
    known.update(model.full_name(link.name) for model in world.models for link in model.links if link.is_body)
    seen: set[str] = set()
    for index, commands in enumerate(world.parts.get("body_commands", ())):
        name, key = commands.body, commands.place.key or f"body_commands[{index}].body"
        if name not in known:
            yield Problem(commands.place.where, key, f"no body {quoted(name)}{did_you_mean(name, known)}")
        elif name in seen:
            yield Problem(commands.place.where, key, f"{quoted(name)} is listed twice")
        yield from _time_problem(commands.duration, "duration", commands.place, key)
        seen.add(name)


def vehicle_command_problems(world: World) -> Iterator[Problem]:
    """Yield every problem of a world's commanded vehicles."""
    known = {vehicle.name: vehicle for vehicle in world.vehicles}
    seen: set[str] = set()
    for index, commands in enumerate(world.parts.get("vehicle_commands", ())):
        name, key = commands.vehicle, commands.place.key or f"vehicle_commands[{index}].vehicle"
        where = commands.place.where
        if name not in known:
            yield Problem(where, key, f"no vehicle {quoted(name)}{did_you_mean(name, known)}")
        elif name in seen:
            yield Problem(where, key, f"{quoted(name)} is listed twice")
        elif known[name].autopilot is not None or known[name].pilot is not None:
            flown_by = "autopilot" if known[name].autopilot is not None else "pilot"
            yield Problem(where, key, f"{quoted(name)} is flown by its {flown_by}; leave that out")
        for word in commands.accept:
            if word not in ACCEPTED:
                yield Problem(where, key, f"accept: found {quoted(word)}; allowed: {', '.join(ACCEPTED)}")
        yield from _time_problem(commands.timeout, "timeout", commands.place, key)
        seen.add(name)


def _time_problem(seconds: float, name: str, place: Place, key: str) -> Iterator[Problem]:
    if not 0.0 <= seconds <= MAX_TIME_S:
        yield Problem(place.where, key, f"{name}: {seconds:g} s is out of range; allowed: 0 to {MAX_TIME_S:g}")
