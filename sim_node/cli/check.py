"""Check world files: every fault with its file, line and column."""

from __future__ import annotations

import argparse
import sys

from sim_node.cli.worlds import add_allow
from sim_node.world import WorldError, lay_out, load
from sim_node.world.problems import counted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """FILE... and --allow."""
    parser.add_argument("files", metavar="FILE", nargs="+", help="world files")
    add_allow(parser)


def run(arguments: argparse.Namespace) -> int:
    """0 where all worlds are sound, 2 where one is not."""
    faults = 0
    for file in arguments.files:
        try:
            layout = lay_out(load(file, allow=arguments.allow))
        except WorldError as error:  # noqa: PERF203  each file on its own
            faults += len(error.problems)
            print(error, file=sys.stderr)
        else:
            print(f"{file}: sound, {counted(len(layout.frames), 'frame')}, {len(layout.moving)} moving")
    if faults:
        print(counted(faults, "error"), file=sys.stderr)
    return 2 if faults else 0
