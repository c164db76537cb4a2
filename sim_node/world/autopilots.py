"""The vehicles of a world with autopilots, and checks of what these need: rotors, pilots, sensors, links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TypeAlias

from sim_node.text import did_you_mean
from sim_node.world.bases import Base
from sim_node.world.declared import faults
from sim_node.world.model import Sensor, StaticFrame, World
from sim_node.world.part import Kind, Rename, part
from sim_node.world.problems import Place, Problem, Where, quoted, shown_key
from sim_node.world.vehicles import AUTOPILOT_TYPES, BUILTIN, Autopilot, Multirotor

Vehicle: TypeAlias = Multirotor | Base
# The kinds of parts that can have an autopilot.
VEHICLES = ("vehicles", "bases")

# The type of autopilot that can move joints other than rotors and wheels.
SERVO_OUTPUTS = "ardupilot"
# Types of autopilots that listen on the ports of another type.
SHARED_PORTS = {BUILTIN: "px4"}
# Kinds of ground links in world files: KIND:PORT on this machine, or KIND:HOST:PORT.
LINK_KINDS = ("tcp", "udpin", "udpout")
_LINK = re.compile(r"(?P<kind>[a-z]+):(?://)?(?:(?P<host>[A-Za-z0-9.-]+):)?(?P<port>[0-9]{1,5})")


def autopiloted(world: World) -> tuple[tuple[Vehicle, Autopilot], ...]:
    """Return the vehicles with an autopilot, and their autopilots, multirotors before bases."""
    every: tuple[Vehicle, ...] = (*world.of(Multirotor), *world.of(Base))
    return tuple((each, each.autopilot) for each in every if each.autopilot is not None)


def flown_by_builtin(world: World) -> dict[int, str]:
    """Return the names of the vehicles with a built-in autopilot, by instance."""
    return {each.instance: vehicle.name for vehicle, each in autopiloted(world) if each.type == BUILTIN}


def place_of(vehicle: Vehicle) -> Place:
    """Return the location of a vehicle in its file, or its name, for messages."""
    section = "bases" if isinstance(vehicle, Base) else "vehicles"
    return vehicle.place if vehicle.place.key else Place(Where(), f"{section}.{shown_key(vehicle.name)}")


def autopilot_faults(world: World) -> Iterator[tuple[Vehicle, str, str]]:
    """Yield the vehicle, the key and the message of every fault."""
    flying: dict[tuple[str, int], tuple[str, str]] = {}
    listening: dict[str, str] = {}
    for vehicle, autopilot in autopiloted(world):
        known = AUTOPILOT_TYPES.get(autopilot.type)
        if vehicle.pilot is not None and not (known and (known.pilot or autopilot.installed)):
            yield vehicle, "autopilot", "the vehicle also has a pilot; give it one or the other"
        if known is None:
            continue  # reported at the field
        ports = SHARED_PORTS.get(autopilot.type, autopilot.type), autopilot.instance
        if ports in flying:
            kind, name = flying[ports]
            yield vehicle, "autopilot.instance", f"{kind} {autopilot.instance} already flies {quoted(name)}"
        flying.setdefault(ports, (autopilot.type, vehicle.name))
        for url in autopilot.links:
            why = link_fault(url) if known.links else f"{autopilot.type} has no links"
            if why := why or _port_fault(url, vehicle, listening):
                yield vehicle, "autopilot.links", why
        outputs, what = _outputs(vehicle)
        if outputs > known.max_rotors:
            yield vehicle, "autopilot", f"{autopilot.type} supports at most {known.max_rotors} {what}, found {outputs}"
        if isinstance(vehicle, Multirotor):
            yield from _servo_faults(world, vehicle, autopilot)
        has = {sensor.type for sensor in sensors_on(world, vehicle.body)}
        missing = [kind for kind in known.sensors if kind not in has]
        if missing:
            message = f"{autopilot.type} needs sensors fixed to {quoted(vehicle.body)}: {', '.join(missing)}"
            yield vehicle, "autopilot", f"{message} {'is' if len(missing) == 1 else 'are'} missing"


def _servo_faults(world: World, vehicle: Multirotor, autopilot: Autopilot) -> Iterator[tuple[Vehicle, str, str]]:
    """Yield the faults of a multirotor's servos, and of its autopilot's channels."""
    if autopilot.type != SERVO_OUTPUTS:
        key = "autopilot.channels" if autopilot.channels else "servos" if vehicle.servos else ""
        if key:
            message = f"{autopilot.type} commands the rotors in their order, and nothing else"
            yield vehicle, key, f"{message}; allowed with {SERVO_OUTPUTS}"
        return
    allowed = (*vehicle.roles, "none")
    for number, role in enumerate(autopilot.channels):
        key = f"autopilot.channels[{number}]"
        if role not in allowed:
            yield vehicle, key, f"found {quoted(role)}; allowed: {', '.join(allowed)}{did_you_mean(role, allowed)}"
        elif role in autopilot.channels[:number] and role != "none":
            yield vehicle, key, f"a second channel commands {quoted(role)}"
    actuated = {each.joint for each in world.actuators}
    for number, servo in enumerate(vehicle.servos):
        if servo.joint not in actuated:
            message = f"no actuator of a joint {quoted(servo.joint)}{did_you_mean(servo.joint, actuated)}"
            yield vehicle, f"servos[{number}].joint", message


def _port_fault(url: str, vehicle: Vehicle, listening: dict[str, str]) -> str:
    """Return why a vehicle cannot listen on its link, or else an empty text, and reserve the port in `listening`."""
    if not url.startswith("udpin:"):
        return ""
    port = url.rpartition(":")[2]
    if port in listening:
        return f"{quoted(listening[port])} already listens on port {port}"
    listening[port] = vehicle.name
    return ""


def _outputs(vehicle: Vehicle) -> tuple[int, str]:
    plain = isinstance(vehicle, Multirotor) and vehicle.channels == vehicle.roles and not vehicle.servos
    return len(vehicle.channels), "rotors" if plain else "channels"


def link_fault(url: str) -> str:
    """Return why the URL of a ground link is invalid; empty if it is valid."""
    found = _LINK.fullmatch(url)
    if found is None or not 0 < int(found["port"]) < 65536:
        return f"{quoted(url)} is not a link; needs KIND:PORT or KIND:HOST:PORT with KIND tcp, udpin or udpout"
    if found["kind"] not in LINK_KINDS:
        hint = did_you_mean(found["kind"], LINK_KINDS)
        return f"{quoted(url)}: unknown kind {quoted(found['kind'])}{hint} (known: {', '.join(LINK_KINDS)})"
    return ""


def sensors_on(world: World, body: str) -> tuple[Sensor, ...]:
    """Return the sensors that are fixed to a body, directly or through other frames, in the order of the world."""
    fixed: dict[str, StaticFrame] = {frame.name: frame for frame in (*world.frames, *world.sensors)}

    def carrier(name: str) -> str:
        seen = set()
        while name in fixed and name not in seen:
            seen.add(name)
            name = fixed[name].parent
        return name

    return tuple(sensor for sensor in world.sensors if sensor.type and carrier(sensor.name) == body)


def vehicle_problems(world: World) -> Iterator[Problem]:
    """Yield every problem of a world's vehicles."""
    bodies = {body.name: body for body in world.bodies}
    seen: set[str] = set()
    for vehicle in world.vehicles:
        body = bodies.get(vehicle.body)
        if vehicle.name in seen:
            yield _of(vehicle, "name", f"a second vehicle {quoted(vehicle.name)}")
        seen.add(vehicle.name)
        if body is None:
            hint = did_you_mean(vehicle.body, bodies)
            yield _of(vehicle, "body", f"{quoted(vehicle.body)} is not a body of this world{hint}")
        elif body.joint != "free":
            message = f"{quoted(vehicle.body)} has a {body.joint} joint; the body of a vehicle needs a free joint"
            yield _of(vehicle, "body", message)
        for key, message in faults(vehicle):
            yield _of(vehicle, key, message)
        if vehicle.pilot is not None:
            timestep = world.time.step_ns / max(world.physics.substeps(world.time.step_ns), 1) * 1e-9
            if vehicle.pilot.rate * timestep > 1.0 + 1e-9:
                message = f"{vehicle.pilot.rate:g} Hz exceeds the {1.0 / timestep:g} timesteps per second"
                yield _of(vehicle, "pilot.rate", f"{message}; set a shorter physics.timestep")
    yield from (_of(vehicle, key, message) for vehicle, key, message in autopilot_faults(world))


def _of(vehicle: Vehicle, key: str, message: str) -> Problem:
    place = place_of(vehicle)
    return Problem(place.where, f"{place.key}.{key}", message)


@part("vehicles", Multirotor)
class VehicleParts(Kind[Multirotor]):
    """Multirotors."""

    def problems(self, world: World) -> Iterator[Problem]:
        """Return every problem of vehicles and of their pilots and autopilots."""
        return vehicle_problems(world)

    def renamed(self, part: Multirotor, rename: Rename) -> Multirotor:
        """Return the vehicle on the same body."""
        servos = tuple(replace(each, joint=rename.under(each.joint)) for each in part.servos)
        return replace(part, name=rename.under(part.name), body=rename.frame(part.body), servos=servos)
