"""Write a configuration of rviz2 for a world's or a bag's frames, topics and QoS."""

from __future__ import annotations

import argparse
import sys

from sim_node.assembly import assemble
from sim_node.cli.arguments import add_output, put_out
from sim_node.cli.bags import add_chunk_limit, tell_damage, told_of
from sim_node.cli.commands import command
from sim_node.cli.parser import goes_with, refuse
from sim_node.cli.worlds import add_world, loaded
from sim_node.recording.opening import is_bag, open_bag


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """WORLD or BAG, what the running node has beside it, and where the configuration goes."""
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
        help="show the telemetry that the bridge publishes of VEHICLE too",
    )
    parser.epilog = "Of a bag (its folder, or an .mcap or .db3 file) it shows what `sim_node replay` plays."


@command("rviz", add_arguments)
def run(arguments: argparse.Namespace) -> int:
    """Prints the configuration or writes its file."""
    put_out(_of_bag(arguments) if is_bag(arguments.world) else _of_world(arguments), arguments)
    return 0


def _of_world(arguments: argparse.Namespace) -> str:
    from sim_node.autopilot.topics import telemetry_of
    from sim_node.viewing.rviz import rviz_config, without_display

    goes_with(arguments, "a bag", ["chunk_limit"])
    world = assemble(loaded(arguments))
    for type, topics in without_display(world, prefix=arguments.frame_prefix).items():
        print(f"sim_node: no display for {type} ({', '.join(topics)})", file=sys.stderr)
    return rviz_config(
        world,
        prefix=arguments.frame_prefix,
        namespace=arguments.namespace,
        telemetry={vehicle: telemetry_of(vehicle) for vehicle in arguments.telemetry},
    )


def _of_bag(arguments: argparse.Namespace) -> str:
    from sim_node.session.rviz_bag import bag_config

    refuse(arguments, "a bag", ("allow", "frame_prefix", "namespace", "telemetry"))
    with open_bag(arguments.world, arguments.chunk_limit) as bag, told_of() as unreadable:
        config = bag_config(bag, unreadable)
        tell_damage(bag)
        return config
