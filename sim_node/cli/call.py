"""Call a service of a running graph, as `ros2 service call` does."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from sim_node.cli.arguments import span
from sim_node.cli.commands import command
from sim_node.cli.on_graph import add_message, message_of, on_graph

if TYPE_CHECKING:
    from sim_node.ros.tool_graph import ToolGraph


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the service and its request."""
    parser.add_argument("service", metavar="SERVICE")
    add_message(parser, "srv")
    patience = "end with 1 if the service, or then its reply, does not come (s; default: 10 for the service)"
    parser.add_argument("--timeout", metavar="S", type=span, help=patience)


@command("call", add_arguments, until_interrupted=True)
def run(arguments: argparse.Namespace) -> int:
    """Print the request and the reply."""

    def act(graph: ToolGraph) -> None:
        from sim_node.ros.message_values import parsed
        from sim_node.ros.topic_tools import call

        type, values = message_of(arguments)
        call(graph, arguments.service, type, parsed(values), arguments.timeout)

    return on_graph(arguments, act)
