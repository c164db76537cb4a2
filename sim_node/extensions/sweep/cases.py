"""`sim_node run --from DIR --case N`: a case of a sweep, run again."""

from __future__ import annotations

import argparse
from pathlib import Path

from sim_node.cli.arguments import UsageError
from sim_node.cli.run import RUN_SOURCES, FindWorld, RunSource
from sim_node.world import World


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare --from and --case."""
    parser.add_argument("--from", metavar="DIR", type=Path, help="repeat a case of a sweep's results")
    parser.add_argument("--case", metavar="N", type=int, help="with --from: the case")


def repeated_world(arguments: argparse.Namespace, find: FindWorld) -> World:
    """Return the world of a case of a sweep, and set its seed, and its duration if none is given."""
    from sim_node.extensions.sweep.about import repeated
    from sim_node.extensions.sweep.dataset import DatasetFault

    if arguments.case is None:
        raise UsageError("--from needs --case N")
    try:
        world, arguments.seed, duration = repeated(vars(arguments)["from"], arguments.case)
    except DatasetFault as fault:
        raise UsageError(str(fault)) from None
    if arguments.duration is None:
        arguments.duration = duration
    return world


_EXCLUDED = ("world", "allow", "allow_fetch", "seed", "randomised")
RUN_SOURCES.add("cases of sweeps")(RunSource("from", add_arguments, repeated_world, ("case",), _EXCLUDED))
