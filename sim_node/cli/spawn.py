"""Add a file, such as a world or a model, to the world of a running node."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sim_node.cli.commands import command
from sim_node.cli.world_changes import add_frame, add_node, add_pose, ask


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the file, and where it is put."""
    what = "a path, a package:// URI, the name of a shipped vehicle, model or world, or - for standard input"
    parser.add_argument("file", metavar="FILE", help=what)
    parser.add_argument("--name", metavar="NAME", default="", help="name of the entity (default: that in the file)")
    parser.add_argument("--namespace", metavar="NS", default="", help="goes before the name")
    add_pose(parser, "where it is put (default: the origin)")
    add_frame(parser)
    rename = "give it another name if this one is taken"
    parser.add_argument("--allow-renaming", action="store_true", help=rename)
    static = "fix a URDF model where it is put (default: it floats free, as in Gazebo, unless its root link is world)"
    parser.add_argument("--static", action="store_true", help=static)
    add_node(parser)
    parser.epilog = "The node reads the file, from the folder of its world, from packages and below `run --allow DIR`."


@command("spawn", add_arguments, until_interrupted=True)
def run(arguments: argparse.Namespace) -> int:
    """Ask the node, and print the name of the entity."""
    path = Path(arguments.file)
    from_input = arguments.file == "-"
    values = {
        "uri": "" if from_input else str(path.resolve()) if path.is_file() else arguments.file,
        "text": sys.stdin.read() if from_input else "",
        "name": arguments.name,
        "namespace": arguments.namespace,
        "frame": arguments.frame,
        "pose": arguments.pose,
        "allow_renaming": arguments.allow_renaming or None,
        "static": arguments.static or None,
    }
    return ask(arguments, "spawn", values)
