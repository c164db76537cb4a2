"""Bridge autopilots over MAVLink to ENU/FLU topics, services and TF until Ctrl-C."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from sim_node.cli.arguments import UsageError, parameters_of, refuse_twice, speed
from sim_node.cli.commands import command
from sim_node.cli.parser import goes_with, refuse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the links."""
    parser.add_argument(
        "--url",
        metavar="URL",
        action="append",
        help="udpin:HOST:PORT, udpout:HOST:PORT, tcp:HOST:PORT, serial:DEVICE:BAUD or fmu:NAMESPACE; repeat for more "
        "links (default udpin:127.0.0.1:14540)",
    )
    parser.add_argument("--tlog", metavar="FILE", type=Path, help="play a telemetry log instead")
    parser.add_argument("--speed", metavar="X", type=speed, help="with --tlog: playback speed, or max (default 1)")
    parser.add_argument(
        "--names",
        metavar="NAMES",
        help="names of topics and services, separated by commas: enu (ours), mavros, px4 (default enu)",
    )
    parser.epilog = "Arguments after --ros-args are for the node, as in: --ros-args -p takeoff_height:=5.0"


@command("bridge", add_arguments, until_interrupted=True, starts_node=True)
def run(arguments: argparse.Namespace) -> int:
    """Run until Ctrl-C or SIGTERM."""
    if arguments.tlog is None:
        goes_with(arguments, "--tlog", ["speed"])
    else:
        refuse(arguments, "--tlog", ["url"])
    if arguments.tlog is not None and not arguments.tlog.is_file():
        raise UsageError(f"--tlog {str(arguments.tlog)!r}: no such file")
    from sim_node.ros.bridge import BridgeNode
    from sim_node.ros.spin import run_node

    parameters = parameters_of(arguments, urls="url", tlog="tlog", tlog_speed="speed", names="names")
    if arguments.tlog is not None:
        parameters["tlog"] = str(arguments.tlog)
    refuse_twice(arguments, "bridge", parameters)

    def make() -> BridgeNode:
        node = BridgeNode(parameters)
        print("\n".join(_banner(node)), flush=True)
        return node

    return run_node(make, arguments.interrupt, ["sim_node", *arguments.ros_args])


def _banner(node: Any) -> list[str]:
    sources = [connection.name for connection in node.bridge.connections]
    if node.bridge.playback is not None:
        sources = [node.bridge.playback.name]
    name = node.naming.name
    return [
        f"bridge: node {node.get_fully_qualified_name()}",
        *(f"  {'links' if row == 0 else '':12} {source}" for row, source in enumerate(sources)),
        f"  topics       below {name(1)} for system id 1, {name(2)} for 2, ...",
        f"  watch        ros2 topic echo /{name(1)}/local_position/pose",
        "  stop         Ctrl-C",
    ]
