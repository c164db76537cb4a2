"""Publish messages on a topic of a running graph, as `ros2 topic pub` does."""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING

from sim_node.cli.arguments import positive, since_start, span
from sim_node.cli.commands import command
from sim_node.cli.on_graph import add_message, at_least_one, message_of, not_negative, on_graph

if TYPE_CHECKING:
    from sim_node.ros.tool_graph import ToolGraph

MAX_RATE = 10_000.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the message and how often it is published."""
    parser.add_argument("topic", metavar="TOPIC")
    add_message(parser, "msg")
    rate = partial(positive, limit=MAX_RATE)
    parser.add_argument("-r", "--rate", metavar="N", type=rate, default=1.0, help="messages per second (default: 1)")
    often = parser.add_mutually_exclusive_group()
    often.add_argument("-1", "--once", action="store_true", help="publish one message and end")
    often.add_argument("-t", "--times", metavar="N", type=at_least_one, help="publish so many messages and end")
    # With --rate alone, `ros2 topic pub` does not wait for subscriptions, and does not notice a misspelt topic.
    waited = "subscriptions to wait for; 0: publish at once (default: 1)"
    parser.add_argument("-w", "--wait-matching-subscriptions", metavar="N", type=not_negative, default=1, help=waited)
    patience = "how long to wait for them, and for the type (s; default: 10)"
    parser.add_argument("--max-wait-time-secs", metavar="S", type=span, default=10.0, help=patience)
    alive = "how long to stay after the last message (s; default: 0.1)"
    parser.add_argument("--keep-alive", metavar="S", type=since_start, default=0.1, help=alive)
    every = "print every so many-th message; 0: none (default: 1)"
    parser.add_argument("-p", "--print", metavar="N", type=not_negative, default=1, help=every)
    parser.epilog = "In VALUES, `header: auto` and `stamp: now` are the time of /clock, or else of the wall clock."


@command("pub", add_arguments, until_interrupted=True)
def run(arguments: argparse.Namespace) -> int:
    """Publish until Ctrl-C."""
    times = 1 if arguments.once else arguments.times

    def act(graph: ToolGraph) -> None:
        from sim_node.ros.message_values import parsed
        from sim_node.ros.topic_tools import Publish

        type, values = message_of(arguments)
        publish = Publish(graph, arguments.topic, type, parsed(values), arguments.max_wait_time_secs)
        waited = arguments.wait_matching_subscriptions
        publish.run(arguments.rate, times, waited, arguments.keep_alive, arguments.print)

    return on_graph(arguments, act, endless=times is None)
