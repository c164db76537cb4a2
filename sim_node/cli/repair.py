"""Write a valid bag with everything that can be recovered from a damaged one."""

from __future__ import annotations

import argparse
from pathlib import Path

from sim_node.cli.bags import add_bags
from sim_node.cli.bars import bar
from sim_node.cli.commands import command
from sim_node.recording.repair import repair
from sim_node.world.problems import counted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare BAG and -o."""
    add_bags(parser, "bag")
    parser.add_argument("-o", "--output", metavar="DIR", type=Path, help="a new folder (default: BAG_repaired)")


@command("repair", add_arguments)
def run(arguments: argparse.Namespace) -> int:
    """Print the damage, and what was recovered."""
    source: Path = arguments.bag
    name = source.resolve().name if source.is_dir() else source.name.split(".")[0]
    folder: Path = arguments.output or source.parent / f"{name}_repaired"
    with bar(desc="repairing", unit="msg", unit_scale=True, leave=False) as shown:
        done = repair(source, folder, lambda count: shown.update(count - shown.n), arguments.chunk_limit)
    for line in done.damage:
        print(line)
    kept = f"{counted(done.counts.total(), 'message')} on {counted(len(done.counts), 'topic')}"
    attachments = f", {counted(done.attachments, 'attachment')}" if done.attachments else ""
    print(f"{folder}: {kept}{attachments}; {counted(len(done.damage), 'fault')} in {source}")
    return 0
