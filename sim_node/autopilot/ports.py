"""Ports of autopilots on this machine: which are in use, and instances whose ports are free."""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable, Collection
from dataclasses import replace

from sim_node.world import Autopilot, World
from sim_node.world.autopilots import VEHICLES, Vehicle, autopiloted
from sim_node.world.vehicle_checks import MAX_INSTANCES, SHARED_PORTS

HOST = "127.0.0.1"
# Ports of instance 0. Those of other instances follow.
FIRST_SIMULATOR_PORT, FIRST_GROUND_PORT, FIRST_OWN_PORT = 4560, 14540, 14800


class PortInUse(Exception):
    """A port is in use. The message names it and a solution."""


def is_in_use(error: OSError) -> bool:
    """Return whether an address cannot be bound because it is in use."""
    return error.errno == errno.EADDRINUSE


def with_free_instances(
    world: World, report: Callable[[str], object], *, bridged: bool, but: Collection[str] = ()
) -> World:
    """Return the world with free instances of built-in autopilots whose ports are in use, unless the world sets them.

    Args:
        world: The world.
        report: Called with a line of text for each change.
        bridged: Whether this process will listen on the ground ports, too.
        but: Vehicles that run already, whose ports are in use by themselves.

    Returns:
        The changed world.
    """
    used = {_ports_of(autopilot) for _, autopilot in autopiloted(world)}

    def freed(vehicle: Vehicle) -> Vehicle:
        autopilot = vehicle.autopilot if vehicle.name not in but else None
        if autopilot is not None and autopilot.any_instance and not _is_free(autopilot.instance, bridged=bridged):
            free = (
                replace(autopilot, instance=number)
                for number in range(MAX_INSTANCES)
                if _is_free(number, bridged=bridged)
            )
            found = next((each for each in free if _ports_of(each) not in used), autopilot)
            used.add(_ports_of(found))
            report(_description(vehicle.name, autopilot.instance, found.instance))
            return replace(vehicle, autopilot=found)
        return vehicle

    parts = {kind: tuple(map(freed, world.parts.get(kind, ()))) for kind in VEHICLES}
    return replace(world, **parts)


def _ports_of(autopilot: Autopilot) -> tuple[str, int]:
    return SHARED_PORTS.get(autopilot.type, autopilot.type), autopilot.instance


def _is_free(instance: int, *, bridged: bool) -> bool:
    ports = [(socket.SOCK_STREAM, FIRST_SIMULATOR_PORT), (socket.SOCK_DGRAM, FIRST_OWN_PORT)]
    if bridged:
        ports.append((socket.SOCK_DGRAM, FIRST_GROUND_PORT))
    return all(_can_be_bound(kind, first + instance) for kind, first in ports)


def _can_be_bound(kind: socket.SocketKind, port: int) -> bool:
    with socket.socket(socket.AF_INET, kind) as probe:
        if kind == socket.SOCK_STREAM:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            return not is_in_use(error)
    return True


def _description(name: str, instance: int, found: int) -> str:
    if found == instance:
        return f"autopilot of {name}: no instance has free ports"
    return (
        f"autopilot of {name}: the ports of instance {instance} are in use, so it is instance {found}: system id "
        f"{found + 1}, simulator tcp {FIRST_SIMULATOR_PORT + found}, ground udp {FIRST_GROUND_PORT + found}"
    )
