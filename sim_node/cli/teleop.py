"""Drive a base, fly a multirotor or move joints of a running graph by the keyboard."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from sim_node.cli.arguments import UsageError, positive, span
from sim_node.cli.commands import command
from sim_node.cli.keyboard import Keyboard
from sim_node.cli.on_graph import on_graph

if TYPE_CHECKING:
    from sim_node.ros.tool_graph import ToolGraph

HELP = """keys:
  w s  ahead, back        a d  turn           q e  to the left, to the right
  r f  up, down           + -  faster, slower space  stop
  joints: 1 to 9 choose one, w and s move it, space holds it

A press lasts 0.6 s: hold a key, or what moves stops. Ctrl-C ends.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what is driven, and its speed."""
    parser.add_argument("name", metavar="NAME", help="a base, a vehicle of a bridge, or a group of joints")
    parser.add_argument("--speed", metavar="V", type=positive, default=0.5, help="m/s (default: 0.5)")
    parser.add_argument("--turn", metavar="W", type=positive, default=1.0, help="rad/s (default: 1)")
    joints = "speed of joints, rad/s or m/s (default: 0.3)"
    parser.add_argument("--joint-speed", metavar="V", type=positive, default=0.3, help=joints)
    patience = "how long to wait for its topics (s; default: 10)"
    parser.add_argument("--max-wait-time-secs", metavar="S", type=span, default=10.0, help=patience)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = HELP


@command("teleop", add_arguments, until_interrupted=True)
def run(arguments: argparse.Namespace) -> int:
    """Publish until Ctrl-C, then stop all motion. Raises UsageError without a terminal."""
    if not sys.stdin.isatty():
        raise UsageError("teleop needs a terminal as its standard input, to read keys from")

    def act(graph: ToolGraph) -> None:
        from functools import partial

        from sim_node.ros.teleop import ALL_KEYS, driver_of

        driver = driver_of(graph, arguments.name, arguments.max_wait_time_secs)
        print(f"{driver.what}\n{HELP}", flush=True)
        speeds = arguments.speed, arguments.turn, arguments.joint_speed
        with Keyboard({key: partial(driver.press, key) for key in ALL_KEYS}):
            driver.run(graph, *speeds)

    return on_graph(arguments, act, endless=True)
