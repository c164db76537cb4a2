"""Let a body that is attached float free again, in the world of a running node."""

from __future__ import annotations

import argparse

from sim_node.cli.commands import command
from sim_node.cli.world_changes import add_node, ask


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the body."""
    parser.add_argument("name", metavar="NAME", help="a body that is attached")
    add_node(parser)


@command("detach", add_arguments, until_interrupted=True)
def run(arguments: argparse.Namespace) -> int:
    """Ask the node."""
    return ask(arguments, "detach", {"name": arguments.name})
