"""A run as a ROS 2 node: that of `ros2 run sim_node simulation`, with viewer and progress."""

from __future__ import annotations

import argparse
import os
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from sim_node.cli.arguments import UsageError, parameters_of, refuse_twice
from sim_node.cli.recording import options_of, report_recording, snapshots_on_signal
from sim_node.cli.terminal import ProgressSink
from sim_node.cli.views import ghosts_of, print_page, session_faults
from sim_node.packages import how_to_install
from sim_node.start_up import collection_paused
from sim_node.world import World

if TYPE_CHECKING:
    from sim_node.ros.simulation import SimulationNode


def run_as_node(world: World, duration_ns: int | None, arguments: argparse.Namespace) -> int:
    """Run until the duration is over, Ctrl-C or SIGTERM. Raises UsageError without ROS 2."""
    try:
        with collection_paused():
            from sim_node.ros.simulation import SimulationNode, banner
            from sim_node.ros.spin import run_node
    except ImportError as error:
        raise UsageError(f"{how_to_install(error)}; see `sim_node doctor`, or run with --no-ros") from None
    parameters = _parameters(arguments)
    refuse_twice(arguments, "simulation", parameters)
    signals = ExitStack()

    def make() -> SimulationNode:
        with collection_paused():
            node = SimulationNode(
                world,
                parameters,
                sinks=(ProgressSink(duration_ns),),
                view=arguments.view,
                look_back=arguments.look_back,
                ghosts=ghosts_of(arguments),
                foxglove=arguments.foxglove,
                duration_ns=duration_ns,
            )
        print_page(node.session, arguments.view)
        print("\n".join(banner(node)), flush=True)
        signals.callback(report_recording, node.session.recorder)
        signals.enter_context(snapshots_on_signal(node.session.recorder, arguments.interrupt))
        return node

    with session_faults(), signals:
        return run_node(make, arguments.interrupt, ["sim_node", *arguments.ros_args])


def _parameters(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the command line's options as parameters of the node."""
    parameters = parameters_of(
        arguments,
        seed="seed",
        real_time_factor="speed",
        randomised="randomised",
        start_paused="paused",
        processes="processes",
        allow_network="allow_network",
    )
    parameters["world"] = str(arguments.world)
    if arguments.allow:
        parameters["allow"] = os.pathsep.join(str(folder.resolve()) for folder in arguments.allow)
    if arguments.record:
        parameters["record"] = arguments.record
        parameters |= {f"record_{name}": value for name, value in options_of(arguments).items()}
    return parameters
