"""Show a world, a bag or the running graph in the browser until Ctrl-C."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

from sim_node.cli.arguments import UsageError
from sim_node.cli.bags import add_chunk_limit
from sim_node.cli.commands import command
from sim_node.cli.parser import goes_with, refuse
from sim_node.cli.views import (
    add_foxglove,
    foxglove_of,
    opened,
    port_number,
    print_page,
    refuse_taken_ports,
    session_faults,
)
from sim_node.cli.world_arguments import OF_WORLDS, add_network, add_randomised, add_world, loaded
from sim_node.packages import how_to_install
from sim_node.recording.opening import is_bag
from sim_node.schematic import Schematic, read_schematic
from sim_node.session import Session
from sim_node.session.errors import needing
from sim_node.viewing.ports import PagePortInUse
from sim_node.world.locate import DEFAULT_WORLD
from sim_node.world.readers.files import Roots


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare WORLD, BAG or --live, and the port."""
    add_world(parser, default="")
    parser.add_argument(
        "--port", metavar="PORT", type=port_number, help="of the page (default: 8080, or the next that is free)"
    )
    parser.add_argument("--paused", action="store_true", help="wait for the play button")
    named = "lay out panels as this file in KDL says, instead of the world's own schematic"
    parser.add_argument("--schematic", metavar="FILE", type=Path, help=named)
    parser.add_argument("--live", action="store_true", help="show the transforms and sensors of the running graph")
    add_foxglove(parser, "the world or the bag, instead of a page,")
    add_network(parser)
    add_randomised(parser)
    add_chunk_limit(parser)
    parser.epilog = (
        f"Without WORLD: {DEFAULT_WORLD}. A bag (its folder, or an .mcap or .db3 file) is played instead of a world."
    )


@command("view", add_arguments, until_interrupted=True)
def run(arguments: argparse.Namespace) -> int:
    """Serve the page until Ctrl-C or SIGTERM."""
    if arguments.foxglove is not None and arguments.port is not None:
        raise UsageError("--port is of the page, and --foxglove PORT serves without one; give one of them")
    if arguments.foxglove is not None:
        refuse(arguments, "--foxglove", ["schematic"])
    if arguments.live:
        return _live(arguments)
    if arguments.world and is_bag(arguments.world):
        return _bag(arguments)
    return _world(arguments)


def _world(arguments: argparse.Namespace) -> int:
    goes_with(arguments, "a bag", ["chunk_limit"])
    arguments.world = arguments.world or DEFAULT_WORLD
    refuse_taken_ports(arguments.port, foxglove_of(arguments))
    world = loaded(arguments)
    schematic = _schematic(arguments)
    session = Session(
        world if schematic is None else replace(world, schematic=schematic),
        seed=arguments.seed or 0,
        randomised=arguments.randomised,
        network=arguments.allow_network,
        allow=arguments.allow,
        paused=arguments.paused,
        view=arguments.foxglove is None and (True if arguments.port is None else arguments.port),
        foxglove=foxglove_of(arguments),
        report=partial(print, flush=True),
    )
    with session_faults(), session:
        print_page(session, arguments.port is None or arguments.port)
        session.start(ended=arguments.interrupt.wake)
        arguments.interrupt.wait()
    return 0


def _of_worlds(arguments: argparse.Namespace) -> list[str]:
    """Return the options that bags and the graph do not take: --allow-fetch is of a --schematic, too."""
    return [option for option in OF_WORLDS if arguments.schematic is None or option != "allow_fetch"]


def _schematic(arguments: argparse.Namespace) -> Schematic | None:
    """Return the schematic of --schematic, with what it does not draw printed. Raises UsageError and WorldError."""
    path: Path | None = arguments.schematic
    if path is None:
        return None
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--schematic: {path} cannot be read: {error}") from None
    roots = Roots((Path("/"),), fetch=arguments.allow_fetch)
    schematic = read_schematic(text, str(path), path=path, roots=roots)
    for note in schematic.notes:
        print(f"sim_node: {note}", file=sys.stderr)
    return schematic


def _bag(arguments: argparse.Namespace) -> int:
    refuse(arguments, "a bag", _of_worlds(arguments))
    if arguments.foxglove is not None:
        return _served_bag(arguments)
    schematic = _schematic(arguments)
    viewer = opened(arguments.port, Path(arguments.world).resolve().name)
    viewer.schematic = schematic
    from sim_node.session.bag_view import BagView

    view = BagView(arguments.world, viewer, partial(print, flush=True), arguments.chunk_limit)
    view.start(paused=arguments.paused)
    arguments.interrupt.wait()
    view.close()
    return 0


def _served_bag(arguments: argparse.Namespace) -> int:
    with session_faults(), needing("serving Foxglove"):
        from sim_node.session.bag_server import BagServer
    port, report = foxglove_of(arguments), partial(print, flush=True)
    try:
        server = BagServer(arguments.world, None if port is True else port, report, arguments.chunk_limit)
    except PagePortInUse as fault:
        raise UsageError(f"--foxglove: {fault}") from None
    print(f"foxglove: {server.url}", flush=True)
    server.start(paused=arguments.paused)
    arguments.interrupt.wait()
    server.close()
    return 0


def _live(arguments: argparse.Namespace) -> int:
    if arguments.world:
        raise UsageError(f"--live shows the graph and takes no WORLD, found {arguments.world!r}")
    refuse(arguments, "--live", (*_of_worlds(arguments), "paused", "chunk_limit", "foxglove"))
    try:
        from sim_node.nodes.live_view import LiveView
    except ImportError as error:
        raise UsageError(f"--live needs ROS 2: {how_to_install(error)}; see `sim_node doctor`") from None
    schematic = _schematic(arguments)
    viewer = opened(arguments.port, "live")
    viewer.schematic = schematic
    view = LiveView(viewer)
    arguments.interrupt.wait()
    view.close()
    return 0
