"""What `spawn`, `remove`, `attach`, `detach` and `set` share: a node, poses, and the request to the node."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sim_node.cli.arguments import span
from sim_node.cli.on_graph import on_graph
from sim_node.world.readers.numbers import from_euler

if TYPE_CHECKING:
    from sim_node.ros.tool_graph import ToolGraph

POSE = "X,Y,Z in m; X,Y,Z,ROLL,PITCH,YAW with degrees; or X,Y,Z,QX,QY,QZ,QW"


def add_node(parser: argparse.ArgumentParser) -> None:
    """Declare which node is asked, and how long it is waited for."""
    parser.add_argument("--node", metavar="NODE", default="/simulation", help="the node to ask (default: /simulation)")
    patience = "end with 1 if the node, or then its reply, does not come (s; default: 10)"
    parser.add_argument("--timeout", metavar="S", type=span, default=10.0, help=patience)


def add_pose(parser: argparse.ArgumentParser, what: str) -> None:
    """Declare --pose."""
    parser.add_argument("--pose", metavar="POSE", type=pose, help=f"{what}: {POSE}")


def add_frame(parser: argparse.ArgumentParser) -> None:
    """Declare --frame, the frame of a pose."""
    parser.add_argument("--frame", metavar="FRAME", default="", help="frame of the pose (default: the fixed frame)")


def pose(text: str) -> list[float]:
    """Return a pose (7,) [x y z qx qy qz qw]. Raises ArgumentTypeError."""
    given = numbers(text, (3, 6, 7), POSE)
    if len(given) == 3:
        return [*given, 0.0, 0.0, 0.0, 1.0]
    if len(given) == 6:
        return [*given[:3], *from_euler(np.radians(given[3:])).tolist()]
    length = math.hypot(*given[3:])
    if abs(length - 1.0) > 0.01:
        raise argparse.ArgumentTypeError(f"{text!r}: the quaternion's norm is {length:.6g}, a rotation needs 1")
    return [*given[:3], *(part / length for part in given[3:])]


def twist(text: str) -> list[float]:
    """Return a twist (6,) [vx vy vz wx wy wz]. Raises ArgumentTypeError."""
    return numbers(text, (6,), "VX,VY,VZ in m/s, WX,WY,WZ in rad/s")


def numbers(text: str, counts: tuple[int, ...], meaning: str) -> list[float]:
    """Return numbers separated by commas. Raises ArgumentTypeError."""
    try:
        given = [float(part) for part in text.split(",")]
    except ValueError:
        given = []
    if len(given) not in counts or not all(map(math.isfinite, given)):
        raise argparse.ArgumentTypeError(f"{text!r}: needed are {meaning}")
    return given


def ask(arguments: argparse.Namespace, verb: str, values: Mapping[str, Any]) -> int:
    """Ask the node to change its world, and print what it did.

    Args:
        arguments: Those of a command with `add_node`.
        verb: The verb.
        values: What it takes; None and empty texts are left out.

    Returns:
        The exit code: 1 if the node was not there in time.

    Raises:
        UsageError: The node refuses, or ROS 2 is missing.
    """
    given = {name: value for name, value in values.items() if value is not None and value != ""}

    def act(graph: ToolGraph) -> None:
        from sim_node.ros.changes import request_change

        print(request_change(graph, arguments.node, {"verb": verb, **given}, arguments.timeout), flush=True)

    return on_graph(arguments, act)
