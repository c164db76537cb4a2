"""Say how many pallets per minute the belts of a world deliver."""

from __future__ import annotations

import argparse

from conveyor.belt import Belt
from sim_node.cli import command
from sim_node.world import load


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("world", metavar="WORLD", help="a world file, or the name of a shipped world")


@command("throughput", add_arguments)
def run(arguments: argparse.Namespace) -> int:
    for belt in load(arguments.world).of(Belt):
        per_minute = 60.0 * abs(belt.speed) * belt.pallets / belt.length
        print(f"{belt.name}: {per_minute:g} pallets/min")
    return 0
