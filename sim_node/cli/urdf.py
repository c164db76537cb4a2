"""Write the URDF of a robot of a world, or of the whole world."""

from __future__ import annotations

import argparse

from sim_node.assembly import assemble
from sim_node.cli.arguments import UsageError, add_output, put_out
from sim_node.cli.commands import command
from sim_node.cli.world_arguments import add_world, loaded
from sim_node.text import did_you_mean
from sim_node.world.layout import lay_out
from sim_node.world.problems import quoted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare WORLD, ROBOT and the file."""
    add_world(parser)
    parser.add_argument("robot", metavar="ROBOT", nargs="?", help="a vehicle or articulated model (default: all)")
    add_output(parser)


@command("urdf", add_arguments)
def run(arguments: argparse.Namespace) -> int:
    """Print the description or write it to a file."""
    from sim_node.viewing.robots import robots_of
    from sim_node.viewing.urdf import UrdfWriter

    world = assemble(loaded(arguments))
    frames = lay_out(world).frames
    robots = {robot.name: robot for robot in robots_of(world, frames)}
    wanted = arguments.robot
    if wanted is not None and wanted not in robots:
        known = f"robots of {world.name}: {', '.join(robots)}" if robots else f"{world.name} has none"
        raise UsageError(f"no robot {quoted(wanted)}{did_you_mean(wanted, robots)} ({known})")
    writer = UrdfWriter(world, frames)
    text = writer.whole() if wanted is None else writer.robot(robots[wanted])
    put_out(text, arguments)
    return 0
