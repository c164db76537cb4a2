"""Instances of autopilots whose ports are free on this machine."""

from __future__ import annotations

import socket
import sys
import weakref
from collections.abc import Callable, Collection
from contextlib import ExitStack
from dataclasses import replace

from sim_node.mavlink.ports import (
    ARDUPILOT_APART,
    ARDUPILOT_SERIAL_PORT,
    ARDUPILOT_SIMULATOR_PORT,
    FIRST_GROUND_PORT,
    FIRST_OWN_PORT,
    FIRST_SIMULATOR_PORT,
    FIRST_STATION_PORT,
    HOST,
    is_in_use,
    is_locked,
    px4_lock,
)
from sim_node.world import Autopilot, World
from sim_node.world.autopilots import SHARED_PORTS, VEHICLES, Vehicle, autopiloted
from sim_node.world.vehicles import BUILTIN, MAX_INSTANCES

# Kind of ports that the built-in autopilot uses: those of PX4.
PORTS = SHARED_PORTS[BUILTIN]


class AutopilotInstances:
    """The instances of a run's autopilots, reserved on this machine until it is closed.

    Ports are opened only later, so a free port may belong to an instance that another run has just chosen. On Linux
    each instance is therefore reserved by a Unix socket with an abstract name, which leaves no file and ends with the
    process. Other systems reserve nothing.

    Args:
        report: Called with a line of text for each instance that is changed.
        bridged: Whether this process will listen on the ground ports, too.
    """

    def __init__(self, report: Callable[[str], object], *, bridged: bool) -> None:
        self._report, self._bridged = report, bridged
        self._reserved: set[tuple[str, int]] = set()
        self._held = ExitStack()
        # A run that is never opened is never closed.
        self.close = weakref.finalize(self, self._held.close)

    def choose(self, world: World, but: Collection[str] = ()) -> World:
        """Return the world with other instances for built-in autopilots whose ports are in use, unless it sets them.

        Args:
            world: The world.
            but: Vehicles that run already, and use their ports themselves.

        Returns:
            The changed world.
        """
        used = {_ports_of(autopilot) for _, autopilot in autopiloted(world)}

        def freed(vehicle: Vehicle) -> Vehicle:
            autopilot = vehicle.autopilot
            if autopilot is None or vehicle.name in but:
                return vehicle
            if not autopilot.any_instance:
                if _ports_of(autopilot)[0] == PORTS:
                    self._reserve(*_ports_of(autopilot))
                return vehicle
            if self._is_free(autopilot):
                return vehicle
            others = (replace(autopilot, instance=number) for number in range(MAX_INSTANCES))
            unused = (each for each in others if _ports_of(each) not in used)
            found = next(filter(self._is_free, unused), autopilot)
            used.add(_ports_of(found))
            self._report(_description(vehicle.name, autopilot, found.instance))
            return replace(vehicle, autopilot=found)

        parts = {kind: tuple(map(freed, world.parts.get(kind, ()))) for kind in VEHICLES}
        return replace(world, **parts)

    def _is_free(self, autopilot: Autopilot) -> bool:
        """Return whether the instance of an autopilot is free, and reserve it."""
        return _are_free(autopilot, bridged=self._bridged) and self._reserve(*_ports_of(autopilot))

    def _reserve(self, ports: str, instance: int) -> bool:
        """Reserve an instance, and return whether that succeeded, or is not possible on this system."""
        if (ports, instance) in self._reserved or sys.platform != "linux":
            return True
        held = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            held.bind(f"\0sim_node/{ports}/{instance}")
        except OSError as error:
            held.close()
            return not is_in_use(error)
        self._held.enter_context(held)
        self._reserved.add((ports, instance))
        return True


def _ports_of(autopilot: Autopilot) -> tuple[str, int]:
    return SHARED_PORTS.get(autopilot.type, autopilot.type), autopilot.instance


def _are_free(autopilot: Autopilot, *, bridged: bool) -> bool:
    if autopilot.type == "ardupilot":
        ports = [(socket.SOCK_DGRAM, ARDUPILOT_SIMULATOR_PORT), (socket.SOCK_STREAM, ARDUPILOT_SERIAL_PORT)]
        apart = ARDUPILOT_APART
    else:
        ports, apart = [(socket.SOCK_STREAM, FIRST_SIMULATOR_PORT), (socket.SOCK_DGRAM, FIRST_OWN_PORT)], 1
        if autopilot.installed:
            ports.append((socket.SOCK_DGRAM, FIRST_STATION_PORT))
            if is_locked(px4_lock(autopilot.instance)):
                return False
        if bridged:
            ports.append((socket.SOCK_DGRAM, FIRST_GROUND_PORT))
    return all(_can_be_bound(kind, first + apart * autopilot.instance) for kind, first in ports)


def _can_be_bound(kind: socket.SocketKind, port: int) -> bool:
    with socket.socket(socket.AF_INET, kind) as probe:
        if kind == socket.SOCK_STREAM:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            return not is_in_use(error)
    return True


def _description(name: str, autopilot: Autopilot, found: int) -> str:
    if found == autopilot.instance:
        return f"autopilot of {name}: no instance has free ports"
    ports = f"simulator tcp {FIRST_SIMULATOR_PORT + found}, ground udp {FIRST_GROUND_PORT + found}"
    if autopilot.type == "ardupilot":
        first, apart = (ARDUPILOT_SIMULATOR_PORT, ARDUPILOT_SERIAL_PORT), ARDUPILOT_APART * found
        ports = f"simulator udp {first[0] + apart}, ground tcp {first[1] + apart}"
    return (
        f"autopilot of {name}: the ports of instance {autopilot.instance} are in use, so it is instance {found}: "
        f"system id {found + 1}, {ports}"
    )
