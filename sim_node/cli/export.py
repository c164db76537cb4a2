"""Write a bag's messages as tables, CSV or Parquet, one file per topic; or as a recording of Rerun."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sim_node.cli.arguments import UsageError
from sim_node.cli.bags import add_bags, add_topics, counted_unreadable, fitting, report_damage, shown, warn
from sim_node.cli.commands import command
from sim_node.cli.views import session_faults
from sim_node.recording.bag import Bag, BagError
from sim_node.recording.decoding import Decoder
from sim_node.recording.exporting import export_csv, export_parquet
from sim_node.recording.opening import open_bag
from sim_node.session.errors import needing


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare BAG, --csv or --parquet, --topics."""
    add_bags(parser, "bag")
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument("--csv", metavar="DIR", type=Path, help="write DIR/TOPIC.csv")
    kind.add_argument("--parquet", metavar="DIR", type=Path, help="write DIR/TOPIC.parquet; needs pyarrow")
    kind.add_argument(
        "-o", "--output", metavar="FILE", type=_recording, help="write FILE.rrd for Rerun; needs rerun-sdk"
    )
    add_topics(parser)


@command("export", add_arguments)
def run(arguments: argparse.Namespace) -> int:
    """Print the written files."""
    if arguments.output is not None:
        return _export_rrd(arguments)
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


def _recording(text: str) -> Path:
    path = Path(text)
    if path.suffix != ".rrd":
        raise argparse.ArgumentTypeError(
            f"{text!r}: the file's name must end with .rrd; tables need --csv or --parquet"
        )
    return path


def _export_rrd(arguments: argparse.Namespace) -> int:
    with session_faults(), needing("recordings of Rerun"):
        from sim_node.session.rerun_export import export_rrd
    with open_bag(arguments.bag, arguments.chunk_limit) as bag, counted_unreadable() as unreadable:
        topics = fitting({topic.name for topic in bag.topics}, arguments.topics) if arguments.topics else None
        try:
            print(
                export_rrd(
                    bag, lambda names: shown(bag, "exporting", names), arguments.output, unreadable, warn, topics
                )
            )
        except OSError as fault:
            raise UsageError(f"{arguments.output}: {fault.strerror or fault}") from None
        report_damage(bag)
    return 0


def _readable(bag: Bag) -> list[str]:
    """Return the topics that can be decoded, and report why others are left out."""
    decoders = []
    for topic in bag.topics:
        try:
            decoders.append(Decoder(topic))
        except BagError as error:  # noqa: PERF203  each topic separately
            print(f"warning: left out: {error}", file=sys.stderr)
    return [decoder.topic.name for decoder in decoders]
