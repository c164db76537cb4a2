"""Scenarios flown by the PX4 or the ArduPilot of this machine, instead of the autopilot that their world names."""

from __future__ import annotations

import os
from dataclasses import replace

from sim_node.autopilots.installed import ARDUPILOT, NotInstalled, find
from sim_node.world import World
from sim_node.world.autopilots import VEHICLES, Vehicle, autopiloted
from sim_node.world.problems import refuse
from sim_node.world.vehicles import Autopilot

# ArduCopter does not arm with a gyroscope that is read less often.
_ARDUPILOT_STEP_NS = 1_000_000


def flown_by(world: World, kind: str) -> World:
    """Return a world whose autopilots are PX4 or ArduPilot of this machine, started by its runs.

    Args:
        world: The world.
        kind: PX4 or ARDUPILOT; empty for the world as it is.

    Returns:
        The world.

    Raises:
        WorldError: It has no autopilots, or the kind is not installed.
    """
    if not kind:
        return world
    if not autopiloted(world):
        refuse("autopilot", f"the world has no vehicle with an autopilot that {kind} could fly")
    try:
        find(kind, os.environ)
    except NotInstalled as error:
        refuse("autopilot", str(error))

    def flown(vehicle: Vehicle) -> Vehicle:
        if vehicle.autopilot is None:
            return vehicle
        instance = vehicle.autopilot.instance
        return replace(vehicle, autopilot=Autopilot(kind, instance, any_instance=True, installed=True))

    parts = {each: tuple(map(flown, world.parts.get(each, ()))) for each in VEHICLES}
    time = world.time
    if kind == ARDUPILOT and time.step_ns > _ARDUPILOT_STEP_NS:
        time = replace(time, step_ns=_ARDUPILOT_STEP_NS)
    return replace(world, time=time, **parts)


def autopilot_version(kind: str) -> dict[str, str]:
    """Return the version of an installed autopilot for certificates, by its name; nothing for no kind."""
    if not kind:
        return {}
    version = find(kind, os.environ).version
    return {kind: "unknown" if version is None else ".".join(map(str, version))}
