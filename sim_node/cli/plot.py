"""Plot numbers of a bag over time."""

from __future__ import annotations

import argparse
from pathlib import Path

from sim_node.cli.arguments import seconds, span
from sim_node.cli.bags import add_bags, counted_unreadable, report_damage, shown
from sim_node.cli.commands import command
from sim_node.recording.opening import open_bag
from sim_node.recording.series import Read, draw, read_series, signals
from sim_node.world.fields import nanoseconds


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare BAG, SIGNAL..., -o, --start and --duration."""
    add_bags(parser, "bag")
    what = (
        "as in /imu/data.angular_velocity.x, /tf.transforms[0].transform.translation.x, '/*/odom.pose.pose.position.z'"
    )
    parser.add_argument("signals", metavar="SIGNAL", nargs="+", help=what)
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, default=Path("plot.png"), help=".png, .svg or .pdf (plot.png)"
    )
    parser.add_argument("--start", metavar="S", type=seconds, default=0.0, help="seconds after the bag's first message")
    parser.add_argument("--duration", metavar="S", type=span, help="seconds to plot (default: to the end)")


@command("plot", add_arguments)
def run(arguments: argparse.Namespace) -> int:
    """Print what was plotted."""
    with open_bag(arguments.bag, arguments.chunk_limit) as bag:
        start_ns = bag.start_ns + nanoseconds(arguments.start)
        stop_ns = None if arguments.duration is None else start_ns + nanoseconds(arguments.duration)
        found = signals(bag, arguments.signals)
        with counted_unreadable() as unreadable:
            read: Read = lambda topics: shown(bag, "reading", topics, start_ns, stop_ns)  # noqa: E731
            series = read_series(bag, found, read, unreadable)
        draw(series, bag.start_ns / 1e9, arguments.output)
        report_damage(bag)
    for each in series:
        low, high = each.values.min(), each.values.max()
        print(f"{each.signal}: {len(each.values)} values from {low:g} to {high:g}")
    print(arguments.output)
    return 0
