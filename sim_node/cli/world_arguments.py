"""Worlds on the command line: arguments, loading, and seeking to an instant."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from sim_node.cli.arguments import UsageError, seconds, seed, span
from sim_node.cli.bars import bar
from sim_node.cli.parser import goes_with, refuse
from sim_node.simulation import Simulation, Snapshot
from sim_node.world import World, load
from sim_node.world.fields import nanoseconds, within
from sim_node.world.load import randomised

# Options that only apply to worlds.
OF_WORLDS = ("allow", "allow_fetch", "allow_network", "randomised", "seed")


def add_world(parser: argparse.ArgumentParser, default: str | None = None) -> None:
    """Add --allow DIR, --allow-fetch, and the positional WORLD, which is optional if there is a default."""
    what = "a path, a package:// URI or the name of a shipped world" + (f" (default: {default})" if default else "")
    optional = default is not None
    parser.add_argument("world", metavar="WORLD", nargs="?" if optional else None, default=default, help=what)
    add_allow(parser)


def add_allow(parser: argparse.ArgumentParser) -> None:
    """Add --allow DIR and --allow-fetch, for worlds that refer to files elsewhere."""
    parser.add_argument(
        "--allow",
        metavar="DIR",
        type=Path,
        action="append",
        default=[],
        help="also let the world, and requests to its run, read files below DIR",
    )
    what = "fetch models that the world or its schematic names by URLs, once (default: only what was fetched before)"
    parser.add_argument("--allow-fetch", action="store_true", help=what)


def add_network(parser: argparse.ArgumentParser) -> None:
    """Add --allow-network, for worlds with autopilots or processes that use the network."""
    what = "let the world's autopilots and processes use other addresses than this machine's loopback"
    parser.add_argument("--allow-network", action="store_true", help=what)


def add_randomised(parser: argparse.ArgumentParser) -> None:
    """Add --randomised and --seed, for worlds with values given as ranges."""
    what = "draw the places that the world gives as ranges (pos_min and pos_max of x_xy models) from the seed"
    parser.add_argument("--randomised", action="store_true", help=what)
    parser.add_argument("--seed", metavar="N", type=seed, help="seed of all randomness (default 0)")


def add_at(parser: argparse._ActionsContainer) -> None:
    """Add --at T, an instant of the simulation."""
    parser.add_argument(
        "--at", metavar="T", type=seconds, help="simulation time in seconds (default: a world's start, a bag's end)"
    )


def add_live(parser: argparse.ArgumentParser) -> None:
    """Add --live and --period, to follow a running graph."""
    parser.add_argument("--live", action="store_true", help="listen to /tf and /tf_static instead, until Ctrl-C")
    parser.add_argument(
        "--period", metavar="S", type=span, default=1.0, help="with --live: seconds between two updates (default 1)"
    )


def no_world_beside_live(arguments: argparse.Namespace, worlds: list[str]) -> None:
    """Raise UsageError for a world together with --live."""
    if worlds:
        raise UsageError(f"--live listens to the graph and takes no WORLD, found {worlds[0]!r}")
    refuse(arguments, "--live", (*OF_WORLDS, "at", "chunk_limit"))


def loaded(arguments: argparse.Namespace) -> World:
    """Return the world that the arguments name."""
    return load(arguments.world, allow=arguments.allow, fetch=arguments.allow_fetch)


def needs_no_seed(arguments: argparse.Namespace) -> None:
    """Raise UsageError for a --seed without effect, for commands where only --randomised draws numbers."""
    if not arguments.randomised:
        goes_with(arguments, "--randomised", ["seed"])


def drawn(world: World, arguments: argparse.Namespace) -> World:
    """Return the world, with its ranges drawn if the arguments request it."""
    return randomised(world, arguments.seed or 0) if arguments.randomised else world


def seen_at(world: World, at: float | None) -> tuple[Simulation, Snapshot]:
    """Return a world's simulation and its state at an instant (s), or at its start."""
    simulation = Simulation(world, sensors=False)
    try:
        return simulation, seek(simulation, simulation.time_ns if at is None else nanoseconds(at))
    except UsageError as error:
        raise UsageError(f"--at {at:g}: {error}") from None


# Maximum duration of the computation, h; a longer one is more likely a mistake.
MAX_HOURS = 1.0
# Wall time before the total is estimated, and between readings of the clock, s.
_TRIAL_S, _SLICE_S = 1.0, 0.1


def seek(simulation: Simulation, time_ns: int) -> Snapshot:
    """Return the world at an instant, with a progress bar on a terminal. Ctrl-C cancels it.

    Raises UsageError for an invalid instant, and if it would take more than MAX_HOURS.
    """
    grid = simulation.world.time
    try:
        target = (within(time_ns) - grid.start_ns) // grid.step_ns
        if simulation.steps <= target:
            _approach(simulation, target)
        return simulation.seek(time_ns)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _approach(simulation: Simulation, target: int) -> None:
    """Step to `target` in growing portions, because the cost of a step is not known in advance."""
    # The first step may compile, so its duration is not representative.
    if simulation.steps < target:
        simulation.step()
    begin, began, size = simulation.steps, time.monotonic(), 1
    step_s = simulation.world.time.step_ns / 1e9
    with bar(total=target - begin, unit="step", unit_scale=True, delay=_TRIAL_S, leave=False) as shown:
        while (left := target - simulation.steps) > 0:
            before = time.monotonic()
            simulation.step(min(size, left))
            now = time.monotonic()
            if now - before < _SLICE_S:
                size *= 2
            elif size > 1 and now - before > 4.0 * _SLICE_S:
                size //= 2
            shown.update(simulation.steps - begin - shown.n)
            rate = (simulation.steps - begin) / max(now - began, 1e-9)
            hours = (target - simulation.steps) / rate / 3600.0
            if now - began > _TRIAL_S and hours > MAX_HOURS:
                allowed_s = MAX_HOURS * 3600.0 * rate * step_s
                raise UsageError(
                    f"{target} steps from the start, each of which is integrated, take about {hours:.3g} hours here; "
                    f"allowed: up to {MAX_HOURS:g} hour, about {allowed_s:.2g} s of this world"
                )
