"""Write a configuration of rviz2 for a world's frames, topics and QoS."""

from __future__ import annotations

import argparse

from sim_node.assembly import assemble
from sim_node.cli.output import add_output, put_out
from sim_node.cli.worlds import add_world, loaded


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """WORLD, what the running node has beside it, and where the configuration goes."""
    add_world(parser)
    add_output(parser)
    parser.add_argument("--frame-prefix", metavar="PREFIX", default="", help="the node's parameter frame_prefix")
    parser.add_argument("--namespace", metavar="NS", default="", help="the node's namespace")
    parser.add_argument(
        "--telemetry",
        metavar="VEHICLE",
        action="append",
        default=[],
        help="show the telemetry that the bridge publishes of VEHICLE too",
    )


def run(arguments: argparse.Namespace) -> int:
    """Prints the configuration or writes its file."""
    from sim_node.viewing.rviz import rviz_config

    text = rviz_config(
        assemble(loaded(arguments)),
        prefix=arguments.frame_prefix,
        namespace=arguments.namespace,
        telemetry=arguments.telemetry,
    )
    put_out(text, arguments)
    return 0
