"""Write the JSON Schema of world files, for editors that complete and check YAML."""

from __future__ import annotations

import argparse
import json

from sim_node.cli.arguments import add_output, put_out
from sim_node.cli.commands import command
from sim_node.world.schema import SCHEMAS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare KIND and the file."""
    parser.add_argument(
        "kind", metavar="KIND", nargs="?", choices=tuple(SCHEMAS), default="world", help="world (default) or vehicle"
    )
    add_output(parser)


@command("schema", add_arguments)
def run(arguments: argparse.Namespace) -> int:
    """Print the schema or write it to a file."""
    put_out(json.dumps(SCHEMAS[arguments.kind](), indent=2, ensure_ascii=False) + "\n", arguments)
    return 0
