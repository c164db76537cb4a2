"""List the topics of a running graph, as `ros2 topic list` does."""

from __future__ import annotations

import argparse
import json
import os
from typing import TYPE_CHECKING

from sim_node.cli.arguments import add_json, span
from sim_node.cli.commands import command
from sim_node.cli.on_graph import on_graph
from sim_node.text import printable

if TYPE_CHECKING:
    from sim_node.ros.tool_graph import ToolGraph

# How long to wait for the first topic, s.
PATIENCE_S = 5.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what to show."""
    parser.add_argument("-t", "--show-types", action="store_true", help="show the type of each topic, too")
    parser.add_argument("-c", "--count-topics", action="store_true", help="show the number of topics only")
    parser.add_argument("--include-hidden-topics", action="store_true", help="show names with a leading _, too")
    add_json(parser)
    settled = "how long the list must stay the same to be shown (s; default: 0.5)"
    parser.add_argument("--spin-time", metavar="S", type=span, default=0.5, help=settled)


@command("topics", add_arguments, until_interrupted=True)
def run(arguments: argparse.Namespace) -> int:
    """Print a line for each topic; exit with 1 if there is none."""

    def act(graph: ToolGraph) -> None:
        from sim_node.ros.tool_graph import NotThere

        graph.spin(graph.topics, PATIENCE_S)
        found = graph.discovered_topics(arguments.spin_time)
        if not arguments.include_hidden_topics:
            found = {name: types for name, types in found.items() if "/_" not in name}
        if arguments.json:
            print(json.dumps([{"name": name, "types": list(types)} for name, types in sorted(found.items())]))
        elif arguments.count_topics:
            print(len(found))
        elif not found:
            raise NotThere(f"no topics within {PATIENCE_S:g} s on domain {os.environ.get('ROS_DOMAIN_ID') or 0}")
        else:
            for name, types in sorted(found.items()):
                print(printable(f"{name} [{', '.join(types)}]" if arguments.show_types else name))

    return on_graph(arguments, act)
