"""What several subcommands do with worlds: their arguments, loading them, going to an instant."""

from __future__ import annotations

import argparse
from pathlib import Path

from sim_node.cli.errors import UsageError
from sim_node.cli.far import seek
from sim_node.cli.numbers import seconds, span
from sim_node.cli.parser import goes_with, refuse
from sim_node.simulation import Simulation, Snapshot
from sim_node.world import World, load
from sim_node.world.instants import nanoseconds
from sim_node.world.randomise import randomised

# Options that only a world, and neither a bag nor the graph, makes use of.
OF_WORLDS = ("allow", "allow_network", "randomised", "seed")


def add_world(parser: argparse.ArgumentParser, default: str | None = None) -> None:
    """The positional WORLD, which may be left out where there is a default, and --allow."""
    what = "a path, a package:// URI or the name of a shipped world" + (f" (default: {default})" if default else "")
    optional = default is not None
    parser.add_argument("world", metavar="WORLD", nargs="?" if optional else None, default=default, help=what)
    add_allow(parser)


def add_allow(parser: argparse.ArgumentParser) -> None:
    """--allow DIR, for worlds that lead out of their own folder."""
    parser.add_argument(
        "--allow", metavar="DIR", type=Path, action="append", default=[], help="let the world read files below DIR too"
    )


def add_network(parser: argparse.ArgumentParser) -> None:
    """--allow-network, for worlds whose autopilots or recipes reach beyond this machine."""
    what = "let the world's autopilots and recipes use other addresses than this machine's loopback"
    parser.add_argument("--allow-network", action="store_true", help=what)


def add_randomised(parser: argparse.ArgumentParser) -> None:
    """--randomised and --seed, for worlds that give places as ranges."""
    what = "draw the places that the world gives as ranges (pos_min and pos_max of x_xy models) from the seed"
    parser.add_argument("--randomised", action="store_true", help=what)
    parser.add_argument("--seed", metavar="N", type=_seed, help="seed of all randomness (default 0)")


def add_at(parser: argparse._ActionsContainer) -> None:
    """--at T, an instant of the simulation."""
    parser.add_argument(
        "--at", metavar="T", type=seconds, help="simulation time in seconds (default: a world's start, a bag's end)"
    )


def add_live(parser: argparse.ArgumentParser) -> None:
    """--live and --period, for what follows a running graph."""
    parser.add_argument("--live", action="store_true", help="listen to /tf and /tf_static instead, until Ctrl-C")
    parser.add_argument(
        "--period", metavar="S", type=span, default=1.0, help="with --live: seconds between two looks (default 1)"
    )


def no_world_beside_live(arguments: argparse.Namespace, worlds: list[str]) -> None:
    """Raises UsageError for what makes no sense beside --live."""
    if worlds:
        raise UsageError(f"--live listens to the graph; it takes no WORLD, found {worlds[0]!r}")
    refuse(arguments, "--live", (*OF_WORLDS, "at", "chunk_limit"))


def loaded(arguments: argparse.Namespace) -> World:
    """The world that add_world's arguments name."""
    return load(arguments.world, allow=arguments.allow)


def needs_no_seed(arguments: argparse.Namespace) -> None:
    """Raises UsageError for a --seed that nothing is drawn from, where only --randomised draws."""
    if not arguments.randomised:
        goes_with(arguments, "--randomised", ["seed"])


def drawn(world: World, arguments: argparse.Namespace) -> World:
    """The world with its ranges drawn, if add_randomised's arguments ask for it."""
    return randomised(world, arguments.seed or 0) if arguments.randomised else world


def seen_at(world: World, at: float | None) -> tuple[Simulation, Snapshot]:
    """A world's simulation and its state at an instant (s), or at its start."""
    simulation = Simulation(world, sensors=False)
    try:
        return simulation, seek(simulation, simulation.time_ns if at is None else nanoseconds(at))
    except UsageError as error:
        raise UsageError(f"--at {at:g}: {error}") from None


def _seed(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and int(text) < 2**63):
        raise argparse.ArgumentTypeError(f"{text!r} is no seed; a whole number from 0 to 2^63 - 1 is needed")
    return int(text)
