"""Fix a body that floats free to a frame, in the world of a running node: a payload, a grasped part."""

from __future__ import annotations

import argparse

from sim_node.cli.commands import command
from sim_node.cli.world_changes import add_node, add_pose, ask


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the body and the frame."""
    parser.add_argument("name", metavar="NAME", help="an entity or a body that floats free")
    parser.add_argument("parent", metavar="PARENT", help="an entity or a frame")
    add_pose(parser, "pose in PARENT (default: where it is)")
    add_node(parser)


@command("attach", add_arguments, until_interrupted=True)
def run(arguments: argparse.Namespace) -> int:
    """Ask the node."""
    values = {"name": arguments.name, "parent": arguments.parent, "pose": arguments.pose}
    return ask(arguments, "attach", values)
