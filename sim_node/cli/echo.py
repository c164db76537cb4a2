"""Print the messages of a topic of a running graph, as `ros2 topic echo` does."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from sim_node.cli.arguments import UsageError, span
from sim_node.cli.commands import command
from sim_node.cli.on_graph import at_least_one, on_graph
from sim_node.text import printable

if TYPE_CHECKING:
    from sim_node.ros.tool_graph import ToolGraph

LIMIT = 128


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the topic and how its messages are printed."""
    parser.add_argument("topic", metavar="TOPIC")
    parser.add_argument("type", metavar="TYPE", nargs="?", help="such as std_msgs/msg/String; left out: the graph's")
    parser.add_argument("--field", metavar="FIELD", help="print this field only, such as pose.pose.position")
    parser.add_argument("--once", action="store_true", help="end after one message")
    parser.add_argument("--timeout", metavar="S", type=span, help="end with 1 if no message came by then (s)")
    parser.add_argument("--csv", action="store_true", help="print all values of a message on one line")
    parser.add_argument("--flow-style", action="store_true", help="print each array on one line")
    parser.add_argument("--no-arr", action="store_true", help="print types and lengths of arrays in place of them")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("-f", "--full-length", action="store_true", help="print all of long arrays and texts")
    size.add_argument(
        "-l",
        "--truncate-length",
        metavar="N",
        type=at_least_one,
        default=LIMIT,
        help=f"print so many elements of arrays and characters of texts (default: {LIMIT})",
    )
    parser.epilog = "The QoS is that of the publishers. Without a publisher within 10 s, the exit code is 1."


@command("echo", add_arguments, until_interrupted=True)
def run(arguments: argparse.Namespace) -> int:
    """Print messages until Ctrl-C."""
    if arguments.csv:
        for name in ("flow_style", "no_arr"):
            if name in arguments.given:
                raise UsageError(f"--csv does not support --{name.replace('_', '-')}")
    field = tuple((arguments.field or "").split(".")) if arguments.field is not None else ()
    if arguments.field is not None and not all(field):
        raise UsageError(f"--field {arguments.field!r}: names of fields with dots between them are needed")

    def act(graph: ToolGraph) -> None:
        from sim_node.ros.message_values import as_csv, as_yaml
        from sim_node.ros.topic_tools import Echo

        limit = None if arguments.full_length else arguments.truncate_length

        def show(message: Any) -> None:
            for name in field:
                message = getattr(message, name)
            if not hasattr(message, "SLOT_TYPES"):  # a field that is not a message, as Python prints it
                text = message if isinstance(message, str) else repr(message)
                out = "\n".join(map(printable, text.split("\n"))) + "\n---\n"
            elif arguments.csv:
                out = as_csv(message, limit=limit) + "\n"
            else:
                out = as_yaml(message, limit=limit, arrays=not arguments.no_arr, flow=arguments.flow_style) + "---\n"
            sys.stdout.write(out)
            sys.stdout.flush()

        echo = Echo(graph, arguments.topic, arguments.type, field, show, _warn)
        try:
            echo.run(1 if arguments.once else None, arguments.timeout)
        finally:
            echo.report()

    return on_graph(arguments, act, endless=not arguments.once)


def _warn(line: str) -> None:
    print(f"warning: {line}", file=sys.stderr, flush=True)
