"""The subcommands that make a request to a running node, one for each of the table `sim_node.simulation.requests`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sim_node.cli.arguments import UsageError, span
from sim_node.cli.commands import COMMANDS, Command
from sim_node.cli.on_graph import on_graph
from sim_node.cli.parser import flag_of
from sim_node.simulation.requests import NEEDED, REQUESTS, Argument, ContentOf, FileArgument, Request
from sim_node.world.quantities import Word

if TYPE_CHECKING:
    from sim_node.ros.tool_graph import ToolGraph


def add_arguments(request: Request, parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of a request, the node to ask, and the time to wait."""
    for each in request.arguments:
        about, options = each.about, dict[str, Any](metavar=each.name.upper(), type=_read(each))
        if isinstance(each.holds, ContentOf):
            continue
        if each.kind is bool:
            options = {"action": "store_true", "default": None}
        elif each.kind == list[str]:
            options |= {"type": str, "nargs": "+"}
        elif isinstance(each.holds, Word):
            options["choices"] = each.holds.allowed
        if isinstance(each.holds, FileArgument):
            about += "; or - for standard input"
        elif each.is_positional and each.default is not NEEDED:
            options["nargs"] = "?"
        parser.add_argument(each.name if each.is_positional else flag_of(each.name), help=about, **options)
    parser.add_argument("--node", metavar="NODE", default="/simulation", help="the node to ask (default: /simulation)")
    patience = "end with 1 if the node, or then its reply, does not come (s; default: 10)"
    parser.add_argument("--timeout", metavar="S", type=span, default=10.0, help=patience)
    parser.epilog = request.note or None


def _read(argument: Argument) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        try:
            return argument.read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return read


def given(request: Request, arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of a request that were given on the command line. Raises UsageError."""
    try:
        found: dict[str, Any] = {}
        for each in request.arguments:
            if (value := getattr(arguments, each.name, None)) is None:
                continue
            if isinstance(each.holds, FileArgument) and value == "-":
                found["text"] = sys.stdin.read()
            elif isinstance(each.holds, FileArgument) and Path(value).is_file():
                found[each.name] = str(Path(value).resolve())
            elif value != "":
                found[each.name] = value
        return request.checked(found)
    except ValueError as error:
        raise UsageError(str(error)) from None


def run(request: Request, arguments: argparse.Namespace) -> int:
    """Make a request, and print what the node did. Raises UsageError if it is rejected, or ROS 2 is missing."""
    values = given(request, arguments)

    def act(graph: ToolGraph) -> None:
        from sim_node.ros.changes import request_change

        print(request_change(graph, arguments.node, request.name, values, arguments.timeout), flush=True)

    return on_graph(arguments, act)


for _each in REQUESTS.values():
    with REQUESTS.blaming(_each.name):
        _run, _add = partial(run, _each), partial(add_arguments, _each)
        COMMANDS.add(_each.name)(Command(_each.name, _run, _add, _each.summary, until_interrupted=True))
