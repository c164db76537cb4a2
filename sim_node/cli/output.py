"""Texts that a subcommand makes: to standard output, or to a file that is asked for."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sim_node.cli.errors import UsageError


def add_output(parser: argparse.ArgumentParser) -> None:
    """-o FILE."""
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="write to FILE instead of standard output")


def put_out(text: str, arguments: argparse.Namespace) -> None:
    """Prints a text or writes the file. Raises UsageError where that cannot be written."""
    if arguments.output is None:
        sys.stdout.write(text)
        return
    try:
        arguments.output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{arguments.output} cannot be written: {error.strerror}") from None
