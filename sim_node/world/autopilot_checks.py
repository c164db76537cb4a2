"""Whether vehicles have what their autopilots take, and each autopilot one vehicle."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sim_node.text import did_you_mean
from sim_node.world.model import Sensor, StaticFrame, World
from sim_node.world.problems import quoted
from sim_node.world.vehicles import AUTOPILOT_TYPES, Multirotor

# The system ids of MAVLink, which follow from instances, end at 255; ports stay below 65536, too.
MAX_INSTANCES = 255
# Types that listen on the ports of another.
SHARED_PORTS = {"mavlink_builtin": "px4"}
# Of ground links in world files: KIND:PORT on this machine, or KIND:HOST:PORT.
LINK_KINDS = ("tcp", "udpin", "udpout")
_LINK = re.compile(r"(?P<kind>[a-z]+):(?://)?(?:(?P<host>[A-Za-z0-9.-]+):)?(?P<port>[0-9]{1,5})")


def autopilot_faults(world: World) -> Iterator[tuple[Multirotor, str, str]]:
    """The vehicle, the key and the message of every fault."""
    flying: dict[tuple[str, int], tuple[str, str]] = {}
    listening: dict[str, str] = {}
    for vehicle in world.vehicles:
        autopilot = vehicle.autopilot
        if autopilot is None:
            continue
        known = AUTOPILOT_TYPES.get(autopilot.type)
        if vehicle.pilot is not None and not (known and known.pilot):
            yield vehicle, "autopilot", "a pilot and an autopilot; only one can fly a vehicle"
        if known is None:
            hint = did_you_mean(autopilot.type, AUTOPILOT_TYPES)
            message = f"{quoted(autopilot.type)} is no autopilot{hint} (known: {', '.join(AUTOPILOT_TYPES)})"
            yield vehicle, "autopilot.type", message
            continue
        if not 0 <= autopilot.instance < MAX_INSTANCES:
            message = f"{autopilot.instance} is out of range; allowed: 0 to {MAX_INSTANCES - 1}"
            yield vehicle, "autopilot.instance", message
        ports = SHARED_PORTS.get(autopilot.type, autopilot.type), autopilot.instance
        if ports in flying:
            kind, name = flying[ports]
            yield vehicle, "autopilot.instance", f"{kind} {autopilot.instance} flies {quoted(name)} already"
        flying.setdefault(ports, (autopilot.type, vehicle.name))
        for url in autopilot.links:
            why = f"{autopilot.type} takes no links" if not known.links else link_fault(url)
            kind, _, port = url.partition(":")
            port = port.rpartition(":")[2]
            if not why and kind == "udpin" and port in listening:
                why = f"{quoted(listening[port])} listens on port {port} already"
            if why:
                yield vehicle, "autopilot.links", why
            elif kind == "udpin":
                listening[port] = vehicle.name
        if len(vehicle.rotors) > known.max_rotors:
            message = f"{autopilot.type} commands {known.max_rotors} rotors at most, found {len(vehicle.rotors)}"
            yield vehicle, "autopilot", message
        has = {sensor.type for sensor in sensors_on(world, vehicle.body)}
        missing = [kind for kind in known.sensors if kind not in has]
        if missing:
            message = f"{autopilot.type} needs sensors fixed to {quoted(vehicle.body)}: {', '.join(missing)}"
            yield vehicle, "autopilot", f"{message} {'is' if len(missing) == 1 else 'are'} missing"


def link_fault(url: str) -> str:
    """What is wrong with the URL of a ground link; empty where nothing is."""
    found = _LINK.fullmatch(url)
    if found is None or not 0 < int(found["port"]) < 65536:
        return f"{quoted(url)} is no link; needs udpout:PORT or udpout:HOST:PORT, or tcp or udpin instead"
    if found["kind"] not in LINK_KINDS:
        hint = did_you_mean(found["kind"], LINK_KINDS)
        return f"{quoted(url)}: unknown kind {quoted(found['kind'])}{hint} (known: {', '.join(LINK_KINDS)})"
    return ""


def sensors_on(world: World, body: str) -> tuple[Sensor, ...]:
    """The sensors that are fixed to a body, frames in between counted, in the order of the world."""
    fixed: dict[str, StaticFrame] = {frame.name: frame for frame in (*world.frames, *world.sensors)}

    def carrier(name: str) -> str:
        seen = set()
        while name in fixed and name not in seen:
            seen.add(name)
            name = fixed[name].parent
        return name

    return tuple(sensor for sensor in world.sensors if sensor.type and carrier(sensor.name) == body)
