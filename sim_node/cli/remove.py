"""Remove an entity from the world of a running node, with all that hangs on it."""

from __future__ import annotations

import argparse

from sim_node.cli.commands import command
from sim_node.cli.world_changes import add_node, ask


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the entity."""
    what = "an entity: what was spawned under this name, a vehicle, a model, or a body"
    parser.add_argument("name", metavar="NAME", help=what)
    add_node(parser)


@command("remove", add_arguments, until_interrupted=True)
def run(arguments: argparse.Namespace) -> int:
    """Ask the node."""
    return ask(arguments, "remove", {"name": arguments.name})
