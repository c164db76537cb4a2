"""Write an rviz2 configuration for a world's or a bag's frames, topics and QoS."""

from __future__ import annotations

import argparse
import sys

from sim_node.assembly import assemble
from sim_node.cli.arguments import add_output, put_out
from sim_node.cli.bags import add_chunk_limit, counted_unreadable, report_damage
from sim_node.cli.commands import command
from sim_node.cli.parser import goes_with, refuse
from sim_node.cli.world_arguments import add_world, loaded
from sim_node.recording.opening import is_bag, open_bag


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare WORLD or BAG, the running node's names, and the file."""
    add_world(parser)
    add_output(parser)
    add_chunk_limit(parser)
    parser.add_argument("--frame-prefix", metavar="PREFIX", default="", help="the node's parameter frame_prefix")
    parser.add_argument("--namespace", metavar="NS", default="", help="the node's namespace")
    parser.add_argument(
        "--telemetry",
        metavar="VEHICLE",
        action="append",
        default=[],
        help="also show the telemetry that the bridge publishes for VEHICLE",
    )
    parser.epilog = "For a bag (its folder, or an .mcap or .db3 file), it shows what `sim_node replay` plays."


@command("rviz", add_arguments)
def run(arguments: argparse.Namespace) -> int:
    """Print the configuration or write it to a file."""
    put_out(_of_bag(arguments) if is_bag(arguments.world) else _of_world(arguments), arguments)
    return 0


def _of_world(arguments: argparse.Namespace) -> str:
    from sim_node.mavlink.topics import BESIDE_SIMULATION, telemetry_of
    from sim_node.viewing.rviz import rviz_config, without_display
    from sim_node.world.autopilots import flown_by_builtin

    goes_with(arguments, "a bag", ["chunk_limit"])
    world = assemble(loaded(arguments))
    beside = flown_by_builtin(world).values()
    for type, topics in without_display(world, prefix=arguments.frame_prefix).items():
        print(f"sim_node: no display for {type} ({', '.join(topics)})", file=sys.stderr)
    return rviz_config(
        world,
        prefix=arguments.frame_prefix,
        namespace=arguments.namespace,
        telemetry={
            vehicle: telemetry_of(vehicle, BESIDE_SIMULATION if vehicle in beside else "")
            for vehicle in arguments.telemetry
        },
    )


def _of_bag(arguments: argparse.Namespace) -> str:
    from sim_node.session.rviz_bag import bag_config

    refuse(arguments, "a bag", ("allow", "allow_fetch", "frame_prefix", "namespace", "telemetry"))
    with open_bag(arguments.world, arguments.chunk_limit) as bag, counted_unreadable() as unreadable:
        config = bag_config(bag, unreadable)
        report_damage(bag)
        return config
