"""List the shipped worlds, with a line on each."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import textwrap

from sim_node.cli.arguments import add_json
from sim_node.cli.colours import coloured
from sim_node.cli.commands import command
from sim_node.world.locate import DEFAULT_WORLD, first_comment, shipped_worlds


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare --json."""
    add_json(parser)
    parser.epilog = "Run one by its name, as in sim_node run orbit, or copy its file as the start of your own."


@command("worlds", add_arguments)
def run(arguments: argparse.Namespace) -> int:
    """Print a name and a line for each world."""
    worlds = {name: (path, first_comment(path)) for name, path in shipped_worlds().items()}
    if arguments.json:
        rows = [{"name": name, "file": str(path), "about": about} for name, (path, about) in worlds.items()]
        print(json.dumps(rows, indent=2))
        return 0
    columns = shutil.get_terminal_size().columns
    width = min(max(map(len, worlds)) + 2, columns // 2)
    for name, (_, about) in worlds.items():
        default = " (the default of run and view)" if name == DEFAULT_WORLD else ""
        lines = textwrap.wrap(about + default, max(columns, 40) - width) or [""]
        print(coloured(name, "cyan", sys.stdout) + " " * (width - len(name)) + f"\n{' ' * width}".join(lines))
    return 0
