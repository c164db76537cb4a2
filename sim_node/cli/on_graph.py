"""Common parts of the commands that list, print, publish or call on a graph."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from sim_node.cli.arguments import UsageError, whole
from sim_node.cli.main import FAILED
from sim_node.command_signals import INTERRUPTED

if TYPE_CHECKING:
    from sim_node.ros.tool_graph import ToolGraph


def on_graph(arguments: argparse.Namespace, act: Callable[[ToolGraph], None], *, endless: bool = False) -> int:
    """Run a function on the graph until it is done or interrupted.

    Args:
        arguments: Arguments of a command registered with until_interrupted.
        act: The function.
        endless: Whether it only ends by an interrupt, which is then its normal end.

    Returns:
        The exit code: 1 if something did not appear in time.

    Raises:
        UsageError: A name, a type or a value is invalid, or ROS 2 is missing.
    """
    # Imported here so that errors in the arguments alone are reported without waiting for rclpy.
    from sim_node.ros.message_values import BadValue
    from sim_node.ros.tool_graph import NotThere, tool_graph

    try:
        with tool_graph(arguments.interrupt) as graph:
            act(graph)
    except KeyboardInterrupt:
        return 0 if endless else INTERRUPTED
    except BadValue as error:
        raise UsageError(str(error)) from None
    except NotThere as error:
        print(f"sim_node: {error}", file=sys.stderr)
        return FAILED
    return 0


def add_message(parser: argparse.ArgumentParser, kind: str) -> None:
    """Declare TYPE and VALUES, both optional."""
    of_graph = "left out: that of the graph"
    example = "std_msgs/msg/String" if kind == "msg" else "std_srvs/srv/Trigger"
    parser.add_argument("type", metavar="TYPE", nargs="?", help=f"such as {example}; {of_graph}")
    parser.add_argument("values", metavar="VALUES", nargs="?", help="fields in YAML, such as '{data: 1.5}'")


def message_of(arguments: argparse.Namespace) -> tuple[str | None, str]:
    """Return the type, if given, and the values as text. A YAML mapping cannot look like a type."""
    from sim_node.ros.message_values import TYPE_NAME

    if arguments.values is None and arguments.type is not None and not TYPE_NAME.fullmatch(arguments.type):
        return None, arguments.type
    return arguments.type, arguments.values or ""


def not_negative(text: str) -> int:
    """Parse an integer of zero or more."""
    return whole(text, 0, math.inf, "an integer of zero or more")


def at_least_one(text: str) -> int:
    """Parse an integer above zero."""
    if (number := not_negative(text)) == 0:
        raise argparse.ArgumentTypeError("0: an integer above zero is needed")
    return number
