"""Show a world, a bag, the running graph or several of them in the browser until Ctrl-C."""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from sim_node.assembly import assemble
from sim_node.cli.arguments import UsageError, seconds
from sim_node.cli.bags import add_chunk_limit
from sim_node.cli.colours import print_error
from sim_node.cli.commands import command
from sim_node.cli.parser import goes_with, refuse
from sim_node.cli.views import (
    add_foxglove,
    add_ghost,
    add_look_back,
    ghosts_of,
    opened,
    port_number,
    print_page,
    refuse_taken_ports,
    session_faults,
)
from sim_node.cli.world_arguments import (
    OF_WORLDS,
    add_network,
    add_randomised,
    add_world,
    drawn,
    loaded,
    needs_no_seed,
)
from sim_node.packages import how_to_install
from sim_node.recording.opening import is_bag, open_bag
from sim_node.session import Session
from sim_node.session.errors import needing
from sim_node.text import did_you_mean
from sim_node.viewing.ports import PagePortInUse
from sim_node.viewing.schematic import Schematic, read_schematic
from sim_node.viewing.schematic.part import unused_origin
from sim_node.world import World
from sim_node.world.locate import DEFAULT_WORLD, LocateError, locate
from sim_node.world.readers.files import Roots
from sim_node.world.triggers import unfollowed

if TYPE_CHECKING:
    from sim_node.ros.live_view import LiveView


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare WORLD, BAG, --live and the port."""
    add_world(parser, default="")
    what = "a bag: its folder, or an .mcap or .db3 file; with WORLD, its transforms move what WORLD looks like"
    parser.add_argument("bag", metavar="BAG", nargs="?", default="", help=what)
    parser.add_argument(
        "--port", metavar="PORT", type=port_number, help="of the page (default: 8080, or the next that is free)"
    )
    parser.add_argument("--paused", action="store_true", help="wait for the play button")
    at = "pause a bag at this instant, in seconds of the bag's own clock"
    parser.add_argument("--at", metavar="T", type=seconds, help=at)
    named = "lay out panels as this file in KDL says, instead of the world's own schematic"
    parser.add_argument("--schematic", metavar="FILE", type=Path, help=named)
    add_look_back(parser)
    add_ghost(parser)
    what = "show each of several sources under a prefix of its own: world/, bag/ and live/"
    parser.add_argument("--apart", action="store_true", help=what)
    named = "write the bag as one page (HTML) that plays in a browser without a server, instead of serving a page"
    parser.add_argument("--export", metavar="FILE", type=Path, help=named)
    parser.add_argument("--live", action="store_true", help="show the running graph, also together with WORLD or BAG")
    add_foxglove(parser, "the world or the bag, instead of a page,")
    add_network(parser)
    add_randomised(parser)
    add_chunk_limit(parser)
    parser.epilog = (
        f"Without WORLD, BAG and --live: {DEFAULT_WORLD}. WORLD alone runs. Together they are one scene on one tree of "
        "frames: of a frame that several have, WORLD gives the shapes, and the pose is of the graph, else of BAG. "
        "A second BAG is a --ghost of the first."
    )


@command("view", add_arguments, until_interrupted=True)
def run(arguments: argparse.Namespace) -> int:
    """Serve the page until Ctrl-C or SIGTERM."""
    if arguments.foxglove is not False and arguments.port is not None:
        raise UsageError("--port is of the page, and --foxglove PORT serves without one; give one of them")
    if arguments.foxglove is not False:
        refuse(arguments, "--foxglove", ["schematic", "ghost"])
    _sort(arguments)
    if not arguments.bag or arguments.world or arguments.live:
        goes_with(arguments, "a bag alone", ["export"])
    if sum(map(bool, (arguments.world, arguments.bag, arguments.live))) > 1:
        return _together(arguments)
    refuse(arguments, "a page of one source", ["apart"])
    if arguments.live:
        return _live(arguments)
    return _bag(arguments) if arguments.bag else _world(arguments)


def _sort(arguments: argparse.Namespace) -> None:
    """Assign what is given as WORLD and BAG, in any order, to the right arguments. Raises UsageError and BagError."""
    words = [word for word in (arguments.world, arguments.bag) if word]
    bags = [word for word in words if is_bag(word)]
    worlds = [word for word in words if word not in bags]
    if len(worlds) > 1:
        _refuse_world(worlds[1])
    if len(worlds) > 1:
        raise UsageError(f"shows one WORLD, found two: {words[0]!r} and {words[1]!r}")
    arguments.world, arguments.bag = "".join(worlds), "".join(bags[:1])
    arguments.ghost[:0] = bags[1:]


def _refuse_world(word: str) -> None:
    """Raise BagError for a word that is neither a world nor a bag. Beside a world, it was meant as a bag."""
    try:
        locate(word)
    except LocateError:
        open_bag(word).close()


def _world(arguments: argparse.Namespace) -> int:
    goes_with(arguments, "a bag", ["chunk_limit", "at"])
    arguments.world = arguments.world or DEFAULT_WORLD
    refuse_taken_ports(arguments.port, arguments.foxglove)
    world = loaded(arguments)
    schematic = _schematic(arguments, world)
    for line in unfollowed(world):
        print_error(line)
    session = Session(
        world if schematic is None else replace(world, schematic=schematic),
        seed=arguments.seed or 0,
        randomised=arguments.randomised,
        network=arguments.allow_network,
        allow=arguments.allow,
        paused=arguments.paused,
        view=arguments.foxglove is False and (True if arguments.port is None else arguments.port),
        look_back=arguments.look_back,
        ghosts=ghosts_of(arguments),
        foxglove=arguments.foxglove,
        report=partial(print, flush=True),
    )
    with session_faults(), session:
        print_page(session, arguments.port is None or arguments.port)
        session.start(ended=arguments.interrupt.wake)
        arguments.interrupt.wait()
    return 0


def _of_worlds(arguments: argparse.Namespace) -> list[str]:
    """Return the options that bags and the graph do not accept. --allow-fetch also applies to a --schematic."""
    return [option for option in OF_WORLDS if arguments.schematic is None or option != "allow_fetch"]


def _schematic(arguments: argparse.Namespace, world: World | None = None) -> Schematic | None:
    """Return the schematic of --schematic, and print its parts without effect. Raises UsageError and WorldError."""
    path: Path | None = arguments.schematic
    if path is None:
        return None
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--schematic: {path} cannot be read: {error}") from None
    roots = Roots((Path("/"),), fetch=arguments.allow_fetch)
    schematic = read_schematic(text, str(path), path=path, roots=roots)
    unused = () if world is None else map(str, unused_origin(schematic, world))
    for note in (*schematic.notes, *unused):
        print(f"sim_node: {note}", file=sys.stderr)
    return schematic


def _bag(arguments: argparse.Namespace) -> int:
    refuse(arguments, "a bag", (*_of_worlds(arguments), "look_back"))
    if arguments.export is not None:
        return _exported(arguments)
    if arguments.foxglove is not False:
        refuse(arguments, "--foxglove", ["at"])
        return _served_bag(arguments)
    _check_instant(arguments.bag, arguments.at)
    _check_ghosts(arguments)
    schematic = _schematic(arguments)
    bags = [arguments.bag, *(word for word in arguments.ghost if Path(word).exists())]
    viewer = opened(arguments.port, " + ".join(Path(each).resolve().name for each in bags), ghosts_of(arguments))
    viewer.schematic = schematic
    from sim_node.session.bag_view import BagView

    view = BagView(arguments.bag, viewer, partial(print, flush=True), arguments.chunk_limit)
    view.start(paused=arguments.paused or arguments.at is not None)
    if arguments.at is not None:
        view.seek(round(arguments.at * 1e9))
    arguments.interrupt.wait()
    view.close()
    return 0


def _check_instant(path: str, at: float | None) -> None:
    """Raise UsageError for a time (s) outside of a bag."""
    if at is None:
        return
    with open_bag(path) as bag:
        first, last = bag.start_ns, bag.end_ns
    if not first <= round(at * 1e9) <= last:
        raise UsageError(f"--at {at:g}: the bag has {first * 1e-9:.9g} s to {last * 1e-9:.9g} s")


def _check_ghosts(arguments: argparse.Namespace) -> None:
    """Raise UsageError for a --ghost with a topic that the bag lacks."""
    with open_bag(arguments.bag) as bag:
        names = [topic.name for topic in bag.topics]
    for word in arguments.ghost:
        topic = word.partition("=")[0]
        if topic.startswith("/") and topic not in names and not Path(topic).exists():
            raise UsageError(f"--ghost: the bag has no topic {topic!r}{did_you_mean(topic, names)}")


def _exported(arguments: argparse.Namespace) -> int:
    refuse(arguments, "--export", ["at", "port", "foxglove", "paused", "schematic"])
    from sim_node.session.bag_page import page_of

    ghosts, report = ghosts_of(arguments), partial(print, flush=True)
    page = page_of(arguments.bag, report, arguments.chunk_limit, lambda: arguments.interrupt.asked, ghosts)
    if page is None:
        return 0
    try:
        arguments.export.write_text(page, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--export: {arguments.export} cannot be written: {error}") from None
    print(f"wrote {arguments.export}: {len(page) / 1e6:.1f} MB", flush=True)
    return 0


def _served_bag(arguments: argparse.Namespace) -> int:
    with session_faults(), needing("serving Foxglove"):
        from sim_node.session.bag_server import BagServer
    port, report = arguments.foxglove, partial(print, flush=True)
    try:
        server = BagServer(arguments.bag, None if port is True else port, report, arguments.chunk_limit)
    except PagePortInUse as fault:
        raise UsageError(f"--foxglove: {fault}") from None
    print(f"foxglove: {server.url}", flush=True)
    server.start(paused=arguments.paused)
    arguments.interrupt.wait()
    server.close()
    return 0


def _live(arguments: argparse.Namespace) -> int:
    refuse(arguments, "--live", (*_of_worlds(arguments), "paused", "chunk_limit", "foxglove", "at", "look_back"))
    live_view = _live_view()
    schematic = _schematic(arguments)
    viewer = opened(arguments.port, "live", ghosts_of(arguments))
    viewer.schematic = schematic
    view = live_view(viewer)
    arguments.interrupt.wait()
    view.close()
    return 0


def _live_view() -> type[LiveView]:
    try:
        from sim_node.ros.live_view import LiveView
    except ImportError as error:
        raise UsageError(f"--live needs ROS 2: {how_to_install(error)}; see `sim_node doctor`") from None
    return LiveView


def _together(arguments: argparse.Namespace) -> int:
    """Show two or all of WORLD, BAG and the graph, without running WORLD."""
    refuse(arguments, "a page of several sources", ["allow_network", "foxglove", "at", "look_back"])
    if not arguments.world:
        refuse(arguments, "a view without WORLD", _of_worlds(arguments))
    if not arguments.bag:
        goes_with(arguments, "a bag", ["paused", "chunk_limit"])
    needs_no_seed(arguments)
    world = assemble(drawn(loaded(arguments), arguments)) if arguments.world else None
    live_view = _live_view() if arguments.live else None
    schematic = _schematic(arguments, world)
    report = partial(print, flush=True)
    names = [Path(name).resolve().name for name in (arguments.world, arguments.bag) if name]
    names += ["the graph"] * arguments.live
    viewer = opened(arguments.port, " + ".join(names), ghosts_of(arguments))
    viewer.schematic = world.schematic if schematic is None and world is not None else schematic
    from sim_node.viewing.browser.layers import Layers

    prefixes = ["world/"] * bool(arguments.world) + ["bag/"] * bool(arguments.bag) + ["live/"] * arguments.live
    layers = list(Layers(viewer, names, report, world, prefixes if arguments.apart else ()).layers[world is not None :])
    with ExitStack() as opened_views:
        if arguments.bag:
            from sim_node.session.bag_view import BagView

            bag = BagView(arguments.bag, layers.pop(0), report, arguments.chunk_limit)
            opened_views.callback(bag.close)
        if live_view is not None:
            opened_views.callback(live_view(layers.pop(0)).close)
        if arguments.bag:
            bag.start(paused=arguments.paused)
        arguments.interrupt.wait()
    return 0
