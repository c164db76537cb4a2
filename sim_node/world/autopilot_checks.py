"""Whether vehicles have what their autopilots take, and each autopilot one vehicle."""

from __future__ import annotations

from collections.abc import Iterator

from sim_node.world.model import Sensor, StaticFrame, World
from sim_node.world.problems import did_you_mean, quoted
from sim_node.world.vehicles import AUTOPILOT_TYPES, Multirotor

# The system ids of MAVLink, which follow from instances, end at 255; ports stay below 65536, too.
MOST_INSTANCES = 255
# Types that listen on the ports of another.
SHARED_PORTS = {"mavlink_builtin": "px4"}


def autopilot_faults(world: World) -> Iterator[tuple[Multirotor, str, str]]:
    """The vehicle, the key and the message of every fault."""
    flying: dict[tuple[str, int], tuple[str, str]] = {}
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
        if not 0 <= autopilot.instance < MOST_INSTANCES:
            message = f"{autopilot.instance} is out of range; allowed: 0 to {MOST_INSTANCES - 1}"
            yield vehicle, "autopilot.instance", message
        ports = SHARED_PORTS.get(autopilot.type, autopilot.type), autopilot.instance
        if ports in flying:
            kind, name = flying[ports]
            yield vehicle, "autopilot.instance", f"{kind} {autopilot.instance} flies {quoted(name)} already"
        flying.setdefault(ports, (autopilot.type, vehicle.name))
        if len(vehicle.rotors) > known.most_rotors:
            message = f"{autopilot.type} commands {known.most_rotors} rotors at most, found {len(vehicle.rotors)}"
            yield vehicle, "autopilot", message
        has = {sensor.type for sensor in sensors_on(world, vehicle.body)}
        missing = [kind for kind in known.sensors if kind not in has]
        if missing:
            message = f"{autopilot.type} needs sensors fixed to {quoted(vehicle.body)}: {', '.join(missing)}"
            yield vehicle, "autopilot", f"{message} {'is' if len(missing) == 1 else 'are'} missing"


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
