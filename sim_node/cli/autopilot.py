"""Fly a vehicle of a running simulation by the built-in autopilot, over MAVLink, until Ctrl-C."""

from __future__ import annotations

import argparse
import os
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from sim_node.cli.arguments import UsageError
from sim_node.cli.commands import command
from sim_node.cli.parser import goes_with, refuse
from sim_node.cli.world_arguments import add_network
from sim_node.world.network import is_local, refuse_network
from sim_node.world.vehicles import BUILTIN, LIKE, MAX_INSTANCES

if TYPE_CHECKING:
    from sim_node.autopilots.builtin.vehicle_parameters import VehicleParameters
    from sim_node.mavlink.signing import Signing


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare vehicle, simulator link and ground links."""
    parser.add_argument("--world", metavar="WORLD", help="world of the vehicle, a shipped name or a path")
    parser.add_argument("--vehicle", metavar="NAME", help="which of its vehicles (default: the instance's)")
    parser.add_argument("--craft", metavar="FILE", help="instead: the vehicle as JSON; - for standard input")
    parser.add_argument("--instance", metavar="N", type=int, default=0, help="ports and system id follow (default 0)")
    parser.add_argument("--sim", metavar="URL", help="the simulator (default tcp:127.0.0.1:4560 + N)")
    parser.add_argument(
        "--mavlink",
        metavar="URL",
        action="append",
        help="a ground link (default udpout:127.0.0.1:14540 + N, udpout:127.0.0.1:14550, and those of the world)",
    )
    parser.add_argument(
        "--like", choices=LIKE, help="modes, parameters and texts of this autopilot (default: the world's, or px4)"
    )
    parser.add_argument(
        "--signing-key",
        metavar="FILE",
        help="MAVLink 2 signing key: 32 bytes or 64 hexadecimal digits (default: the world's, if any)",
    )
    parser.add_argument(
        "--signing",
        choices=("required", "accept-unsigned"),
        help="of ground links with a key: whether unsigned frames are refused (default: required)",
    )
    add_network(parser)
    # A file descriptor inherited from the parent process, which outlives this process.
    parser.add_argument("--memory", type=int, default=-1, help=argparse.SUPPRESS)


@command("autopilot", add_arguments, until_interrupted=True)
def run(arguments: argparse.Namespace) -> int:
    """Run until Ctrl-C or SIGTERM, or until standard input ends if the vehicle was read from it."""
    from sim_node.autopilots.builtin.memory import Memory
    from sim_node.autopilots.builtin.program import made_autopilot, usual_links
    from sim_node.autopilots.builtin.simulator import FIRST_PORT
    from sim_node.mavlink.links import EndpointFault, endpoint_of

    instance = arguments.instance
    if not 0 <= instance < MAX_INSTANCES:
        raise UsageError(f"--instance {instance}: allowed are 0 to {MAX_INSTANCES - 1}")
    address = ("127.0.0.1", FIRST_PORT + instance) if arguments.sim is None else _simulator(arguments.sim)
    vehicle = _vehicle(arguments)
    try:
        links = [endpoint_of(url) for url in arguments.mavlink or vehicle.links]
    except EndpointFault as fault:
        raise UsageError(f"--mavlink {fault}") from None
    links, quiet = (links, []) if arguments.mavlink else usual_links(instance, links)
    autopilot = made_autopilot(
        vehicle,
        instance,
        links,
        quiet,
        simulator=address,
        memory=Memory(arguments.memory),
        signing=partial(_signing, arguments, vehicle.signing_key),
        like=arguments.like or "",
        show=partial(print, f"{vehicle.name}:", flush=True),
    )
    ground = ", ".join(link.url for link in links)
    simulator = f"simulator tcp {address[0]}:{address[1]}"
    print(f"{vehicle.name}: system {autopilot.system}, like {autopilot.dialect.name}, {simulator}, ground {ground}")
    sys.stdout.flush()
    failure: list[BaseException] = []

    def fly() -> None:
        try:
            autopilot.run()
        except BaseException as error:  # re-raised in the main thread
            failure.append(error)
        finally:
            arguments.interrupt.wake()

    flying = threading.Thread(target=fly, name="autopilot", daemon=True)
    flying.start()
    if arguments.craft == "-":
        threading.Thread(target=_wake_at_end_of_input, args=(arguments.interrupt.wake,), daemon=True).start()
    arguments.interrupt.wait()
    autopilot.stop()
    flying.join()
    if failure:
        raise failure[0]
    return 0


def _wake_at_end_of_input(wake: Callable[[], object]) -> None:
    while os.read(0, 4096):
        pass
    wake()


def _signing(arguments: argparse.Namespace, key_of_world: str, link_id: int) -> Signing | None:
    """Return the object that checks and signs messages of a ground link. Raises UsageError."""
    key = arguments.signing_key or key_of_world
    if not key:
        goes_with(arguments, "--signing-key", ["signing"])
        return None
    from sim_node.mavlink.signing import SigningFault, owner_of, signing_of

    try:
        return signing_of(Path(key), arguments.signing or "required", link_id, owner_of(arguments.instance))
    except SigningFault as fault:
        raise UsageError(f"--signing-key: {fault}" if arguments.signing_key else str(fault)) from None


def _simulator(url: str) -> tuple[str, int]:
    from sim_node.mavlink.links import EndpointFault, endpoint_of
    from sim_node.mavlink.links.tcp import Tcp

    try:
        link = endpoint_of(url)
    except EndpointFault as fault:
        raise UsageError(f"--sim {fault}") from None
    if not isinstance(link, Tcp):
        raise UsageError(f"--sim {url!r}: the simulator link is tcp:HOST:PORT")
    return link.address


def _vehicle(arguments: argparse.Namespace) -> VehicleParameters:
    from sim_node.autopilots.builtin.vehicle_parameters import from_json

    if arguments.craft is None:
        return _vehicle_of_world(arguments)
    refuse(arguments, "--craft", ("world", "vehicle"))
    try:
        # A single line, because standard input stays open
        text = sys.stdin.readline() if arguments.craft == "-" else Path(arguments.craft).read_text(encoding="utf-8")
        vehicle = from_json(text)
    except (OSError, ValueError) as error:
        raise UsageError(f"--craft {arguments.craft}: {getattr(error, 'strerror', None) or error}") from None
    # From standard input, the vehicle comes from a simulation, which has already checked this.
    remote = [url for url in vehicle.links if not is_local(url)]
    if remote and arguments.craft != "-" and not arguments.allow_network:
        raise UsageError(
            f"--craft {arguments.craft}: the link {remote[0]!r} leads beyond this machine; --allow-network allows it"
        )
    if vehicle.signing_key and arguments.craft != "-":
        raise UsageError(f"--craft {arguments.craft}: signing_key: give the key by --signing-key")
    return vehicle


def _vehicle_of_world(arguments: argparse.Namespace) -> VehicleParameters:
    from sim_node.autopilots.builtin.world import parameters_in
    from sim_node.text import did_you_mean
    from sim_node.world import load
    from sim_node.world.autopilots import autopiloted

    if arguments.world is None:
        raise UsageError("give --world WORLD or --craft FILE, to say which vehicle to fly")
    world = load(arguments.world)
    refuse_network(world, allowed=arguments.allow_network)
    flown = [(vehicle, autopilot) for vehicle, autopilot in autopiloted(world) if autopilot.type == BUILTIN]
    names = [vehicle.name for vehicle, _ in flown]
    if arguments.vehicle is not None and arguments.vehicle not in names:
        hint = did_you_mean(arguments.vehicle, names)
        raise UsageError(f"--vehicle {arguments.vehicle}: no vehicle with the built-in autopilot{hint}")
    for vehicle, autopilot in flown:
        by_name = arguments.vehicle is not None
        own = vehicle.name == arguments.vehicle if by_name else autopilot.instance == arguments.instance
        if own:
            return parameters_in(world, vehicle)
    raise UsageError(f"{world.name} has no vehicle with the built-in autopilot, instance {arguments.instance}")
