"""Show a world in the browser while it runs, until Ctrl-C, without ROS."""

from __future__ import annotations

import argparse

from sim_node.autopilot.vehicle_peer import attach_autopilots
from sim_node.cli.views import opened, port_number
from sim_node.cli.worlds import add_randomised, add_world, drawn, loaded
from sim_node.simulation import Loop, Simulation

DEMO = "quadrotor"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """WORLD and where to show it."""
    add_world(parser, default=DEMO)
    parser.add_argument(
        "--port", metavar="PORT", type=port_number, help="of the page (default: 8080, or the next that is free)"
    )
    parser.add_argument("--paused", action="store_true", help="wait for the play button")
    add_randomised(parser)


def run(arguments: argparse.Namespace) -> int:
    """Serves the page until Ctrl-C or SIGTERM."""
    world = loaded(arguments)
    simulation = Simulation(drawn(world, arguments), arguments.seed or 0)
    viewer = opened(arguments.port, world.name)
    from sim_node.viewing.browser.sink import ViewSink

    attach_autopilots(simulation, lambda text: print(text, flush=True))
    sink = ViewSink(viewer)
    loop = Loop(simulation, (sink,), paused=arguments.paused)
    sink.steer(loop)
    loop.start(ended=arguments.interrupt.wake)
    arguments.interrupt.wait()
    loop.stop()
    return 0
