"""Set the pose or the twist of an entity, positions of joints, or numbers of the world of a running node."""

from __future__ import annotations

import argparse
from typing import Any

from sim_node.cli.arguments import UsageError
from sim_node.cli.commands import command
from sim_node.cli.world_changes import add_frame, add_node, add_pose, ask, twist


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what is set."""
    what = "an entity, for --pose and --twist; or JOINT=VALUE (m or rad), or PATH=VALUE such as bodies[ball].damping=2"
    parser.add_argument("what", metavar="NAME|KEY=VALUE", nargs="+", help=what)
    add_pose(parser, "pose of the entity")
    add_frame(parser)
    rates = "VX,VY,VZ,WX,WY,WZ along the frame's axes, m/s and rad/s"
    parser.add_argument("--twist", metavar="TWIST", type=twist, help=rates)
    add_node(parser)
    parser.epilog = "A pose without a twist stops the entity. Numbers are addressed as in messages about world files."


@command("set", add_arguments, until_interrupted=True)
def run(arguments: argparse.Namespace) -> int:
    """Ask the node. Raises UsageError for what cannot be set together."""
    values: dict[str, Any] = {}
    names = []
    for word in arguments.what:
        key, equals, number = word.rpartition("=")
        if not equals:
            names.append(word)
            continue
        try:
            values[key] = float(number)
        except ValueError:
            raise UsageError(f"{word!r}: {number!r} is not a number") from None
    moved = arguments.pose is not None or arguments.twist is not None
    if len(names) != int(moved):
        needed = "one entity goes with --pose and --twist" if moved else "KEY=VALUE, or NAME with --pose or --twist"
        raise UsageError(f"found {' '.join(map(repr, names)) or 'no entity'}; {needed}")
    if moved:
        values |= {"name": names[0], "frame": arguments.frame, "pose": arguments.pose, "twist": arguments.twist}
    return ask(arguments, "set", values)
