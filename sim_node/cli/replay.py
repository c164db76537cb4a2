"""Play a bag on its recorded topics until its end or Ctrl-C."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

from sim_node.cli.arguments import UsageError, parameters_of, positive, refuse_twice, since_start, span, speed
from sim_node.cli.bags import add_chunk_limit
from sim_node.cli.commands import command
from sim_node.cli.keyboard import Keyboard
from sim_node.cli.parser import add_list, formerly, goes_with, is_remapping
from sim_node.cli.terminal import ReplayProgress
from sim_node.recording.settings import is_topic_pattern

if TYPE_CHECKING:
    from sim_node.ros.replay import ReplayNode

MAX_TOPICS = 12
# Limits as in the node's parameters
_rate, _clock_rate = partial(speed, limit=1000.0), partial(positive, limit=1000.0)
# Factor by which arrow keys change the rate, as in `ros2 bag play`.
FASTER = 1.1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare BAG and how to play it."""
    parser.add_argument("bag", metavar="BAG", help="a bag's folder, or one .mcap or .db3 file")
    add_chunk_limit(parser)
    rate = "seconds of the bag per second, or max (default 1)"
    formerly(parser, parser.add_argument("--speed", metavar="X", type=_rate, help=rate), "--rate")
    parser.add_argument("--start", metavar="S", type=since_start, help="start S seconds into the bag")
    parser.add_argument("--duration", metavar="S", type=span, help="play S seconds (default: to the end)")
    parser.add_argument("--loop", action="store_true", help="start again at the end; stamps and /clock continue")
    parser.add_argument("--recorded-time", action="store_true", help="let time go back on loops and seeks, as recorded")
    parser.add_argument("--clock", action="store_true", help="publish /clock, instead of a recorded one")
    parser.add_argument("--clock-rate", metavar="HZ", type=_clock_rate, help="with --clock: how often (default 100)")
    add_list(parser, "--topics", "TOPIC", is_topic_pattern, help="play only these: names or patterns ('/drone/*')")
    add_list(parser, "--remap", "FROM:=TO", is_remapping, help="play topics under other names")
    paused = "start paused; the right arrow plays the next message"
    formerly(parser, parser.add_argument("--paused", action="store_true", help=paused), "--step")
    wait = "start when each TOPIC (without names: any) has a subscriber"
    add_list(parser, "--wait", "TOPIC", is_topic_pattern, empty=True, help=wait)
    parser.epilog = (
        "On a terminal: space pauses and resumes, right steps, up and down change the rate. "
        "Arguments after --ros-args are for the node, as in: --ros-args -p step_size:=0.1"
    )


@command("replay", add_arguments, until_interrupted=True, starts_node=True)
def run(arguments: argparse.Namespace) -> int:
    """Run until the end of the bag, Ctrl-C or SIGTERM."""
    if not arguments.clock:
        goes_with(arguments, "--clock", ["clock_rate"])
    rules = arguments.remap or []
    for rule in rules:
        if ":=" not in rule.strip(":="):
            raise UsageError(f"--remap {rule}: FROM:=TO is needed, as in /tf:=/bag/tf")
    from sim_node.ros.replay import ReplayNode, prepare_replay
    from sim_node.ros.spin import run_node

    parameters = {"bag": arguments.bag} | parameters_of(
        arguments,
        rate="speed",
        start="start",
        duration="duration",
        loop="loop",
        clock="clock",
        clock_rate="clock_rate",
        topics="topics",
        start_paused="paused",
        wait_for="wait",
    )
    if "chunk_limit" in arguments.given:
        parameters["chunk_limit"] = arguments.chunk_limit / 2**20
    if arguments.recorded_time:
        parameters["continuous_time"] = False
    if arguments.wait == []:
        parameters["wait_for"] = ["*"]
    refuse_twice(arguments, "replay", parameters)
    remaps = [word for rule in rules for word in ("-r", rule)]
    ros_args = [*arguments.ros_args, *([] if arguments.ros_args or not remaps else ["--ros-args"]), *remaps]
    with ExitStack() as at_end:

        def make() -> ReplayNode:
            progress = at_end.enter_context(ReplayProgress())
            node = ReplayNode(parameters, shown=progress.show)
            print("\n".join(_banner(node)), flush=True)
            at_end.enter_context(Keyboard(_keys(node)))
            return node

        prepare_replay()
        return run_node(make, arguments.interrupt, ["sim_node", *ros_args])


def _keys(node: ReplayNode) -> dict[str, Any]:
    """Return the actions of keys, as in `ros2 bag play`."""
    return {
        " ": node.loop.toggle,
        "right": node.loop.step,
        "up": lambda: node.scale_rate(FASTER),
        "down": lambda: node.scale_rate(1.0 / FASTER),
    }


def _banner(node: ReplayNode) -> list[str]:
    name, bag = node.get_fully_qualified_name(), node.bag
    rate = node.get_parameter("rate").value
    topics = [f"{bag.topics[row].name}   {bag.topics[row].type}" for row in node.target.sends]
    more = [f"... {len(topics) - MAX_TOPICS} more"] if len(topics) > MAX_TOPICS else []
    return [
        f"{node.get_parameter('bag').value}: node {name}, {(bag.end_ns - bag.start_ns) / 1e9:.9g} s, "
        f"{'as fast as possible' if rate == 0.0 else f'{rate:g} x real time'}",
        *(f"  {'topics' if row == 0 else '':12} {topic}" for row, topic in enumerate((*topics[:MAX_TOPICS], *more))),
        f"  services     {name}/pause, resume, toggle, step, seek, stop   (std_srvs/Trigger)",
        f"  seek         ros2 param set {name} position 12.5",
        "  stop         Ctrl-C",
    ]
