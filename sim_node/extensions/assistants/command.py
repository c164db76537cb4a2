"""Offer tools to AI assistants by the Model Context Protocol, over a running graph or a world."""

from __future__ import annotations

import argparse
import os
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sim_node.cli.arguments import UsageError, positive
from sim_node.cli.commands import command
from sim_node.cli.parser import formerly
from sim_node.cli.views import port_number

if TYPE_CHECKING:
    from sim_node.extensions.assistants.graph import Graph

# The environment variable with the token of clients, `Authorization: Bearer TOKEN`; random if it is not set.
TOKEN = "SIM_NODE_MCP_TOKEN"
_END_S = 2.0
# Time that calls wait for a starting run to appear, s.
_START_S = 60.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare WORLD, the transport, and what assistants may do."""
    parser.add_argument("world", metavar="WORLD", nargs="?", help="run this world (default: the running graph)")
    http = "streamable HTTP on this port of 127.0.0.1 instead of standard input and output"
    formerly(parser, parser.add_argument("--port", metavar="PORT", type=port_number, help=http), "--http")
    parser.add_argument(
        "--folder", metavar="DIR", type=Path, default=Path(), help="the only folder that tools read and write (.)"
    )
    parser.add_argument("--log", metavar="FILE", type=Path, help="append each call to this file, as JSON")
    allowed = parser.add_argument_group("what assistants may do")
    allowed.add_argument("--allow-flight", action="store_true", help="fly vehicles of a simulation")
    allowed.add_argument("--allow-real-vehicles", action="store_true", help="also fly real vehicles")
    allowed.add_argument("--allow-code", action="store_true", help="allow worlds in Python, which execute code")
    for name, default, what in (
        ("distance", 100.0, "from home (m)"),
        ("height", 50.0, "above home (m)"),
        ("speed", 5.0, "over ground (m/s)"),
    ):
        allowed.add_argument(
            f"--max-{name}", metavar="N", type=positive, default=default, help=f"limit of flights {what}; {default:g}"
        )


@command("mcp", add_arguments, until_interrupted=True)
def run(arguments: argparse.Namespace) -> int:
    """Serve until the client closes standard input, or until Ctrl-C."""
    if arguments.allow_real_vehicles and not arguments.allow_flight:
        raise UsageError("--allow-real-vehicles needs --allow-flight")
    if not arguments.folder.is_dir():
        raise UsageError(f"--folder {arguments.folder}: no such folder")
    from sim_node.extensions.assistants.access import Access, FlightLimits
    from sim_node.extensions.assistants.journal import Journal
    from sim_node.extensions.assistants.ros_graph import ToolsGraph
    from sim_node.extensions.assistants.server import serving_http, serving_stdio

    limits = FlightLimits(arguments.max_distance, arguments.max_height, arguments.max_speed)
    access = Access(
        arguments.folder.resolve(),
        arguments.allow_flight,
        arguments.allow_real_vehicles,
        arguments.allow_code,
        limits,
    )
    with ExitStack() as stack:
        streams = [sys.stderr]
        if arguments.log is not None:
            try:
                streams.append(stack.enter_context(arguments.log.open("a", encoding="utf-8")))
            except OSError as error:
                raise UsageError(f"--log {arguments.log}: {error.strerror}") from None
        graph = stack.enter_context(ToolsGraph())
        running = (
            stack.enter_context(_world_run(arguments.world, access.folder, graph)) if arguments.world else lambda: graph
        )
        journal = Journal(*streams)
        if arguments.port is None:
            stack.enter_context(serving_stdio(access, running, journal, ended=arguments.interrupt.wake))
        else:
            token = os.environ.get(TOKEN) or secrets.token_urlsafe(24)
            url = stack.enter_context(
                serving_http(access, running, journal, arguments.port, token, ended=arguments.interrupt.wake)
            )
            shown = "as in " + TOKEN if os.environ.get(TOKEN) else token
            print(f"{url}\ntoken: {shown}", file=sys.stderr, flush=True)
        arguments.interrupt.wait()
    return 0


@contextmanager
def _world_run(world: str, folder: Path, graph: Graph) -> Iterator[Callable[[], Graph]]:
    """Run a world, which may read `folder`, as a node in a separate process. Yield a function returning the graph."""
    from sim_node.extensions.assistants.graph import Patience, ToolRefused
    from sim_node.extensions.assistants.requests import simulation_nodes
    from sim_node.simulation.programs import end_session

    process = subprocess.Popen(
        [sys.executable, "-m", "sim_node.cli.main", "run", world, "--allow", str(folder)],
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
        start_new_session=True,
    )

    begun = False

    def running() -> Graph:
        nonlocal begun
        # A client's first call may come before the run is on the graph.
        begun = begun or Patience().until(lambda: process.poll() is not None or simulation_nodes(graph), _START_S)
        if (code := process.poll()) is not None:
            raise ToolRefused(f"the simulation of {world} has ended, with exit code {code}; start sim_node mcp again")
        return graph

    try:
        yield running
    finally:
        end_session(process, _END_S)
