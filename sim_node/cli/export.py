"""Write a bag's messages as tables: CSV or Parquet, one file per topic."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sim_node.cli.bags import add_bag, add_chunk_limit, add_topics, counted_unreadable, fitting, report_damage, shown
from sim_node.cli.commands import command
from sim_node.recording.bag import Bag, BagError
from sim_node.recording.decoding import Decoder
from sim_node.recording.exporting import export_csv, export_parquet
from sim_node.recording.opening import open_bag


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare BAG, --csv or --parquet, --topics."""
    add_bag(parser)
    add_chunk_limit(parser)
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument("--csv", metavar="DIR", type=Path, help="write DIR/TOPIC.csv")
    kind.add_argument("--parquet", metavar="DIR", type=Path, help="write DIR/TOPIC.parquet; needs pyarrow")
    add_topics(parser)


@command("export", add_arguments)
def run(arguments: argparse.Namespace) -> int:
    """Print the written files."""
    write = export_csv if arguments.csv else export_parquet
    with open_bag(arguments.bag, arguments.chunk_limit) as bag:
        topics = fitting({topic.name for topic in bag.topics}, arguments.topics)
        if not arguments.topics:
            topics = _readable(bag)
        with counted_unreadable() as unreadable:
            paths = write(bag, shown(bag, "exporting", topics), arguments.csv or arguments.parquet, unreadable)
        print("\n".join(map(str, paths)))
        report_damage(bag)
    return 0


def _readable(bag: Bag) -> list[str]:
    """Return the topics that can be decoded; report why others are left out."""
    names = []
    for topic in bag.topics:
        try:
            Decoder(topic)
        except BagError as error:  # noqa: PERF203  each topic on its own
            print(f"warning: left out: {error}", file=sys.stderr)
        else:
            names.append(topic.name)
    return names
