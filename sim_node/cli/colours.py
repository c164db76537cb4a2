"""Colours on a terminal: none in pipes and files, none with NO_COLOR, always with FORCE_COLOR."""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import TextIO


def coloured(text: str, colour: str, stream: TextIO, *, bold: bool = False) -> str:
    """Return a text with colour escapes, if the stream shows colours.

    Args:
        text: The text.
        colour: A termcolor name; empty for the terminal's own colour.
        stream: Where the text goes.
        bold: Whether it is bold.

    Returns:
        The text, unchanged without termcolor.
    """
    if not _shows_colours(stream) or importlib.util.find_spec("termcolor") is None:
        return text
    from termcolor import colored

    attributes = ["bold"] if bold else None
    return str(colored(text, colour or None, attrs=attributes, force_color=True))


def print_error(message: str) -> None:
    """Print an error of the command to standard error."""
    print(f"{coloured('sim_node:', 'red', sys.stderr, bold=True)} {message}", file=sys.stderr)


def print_problems(text: str, count: str = "") -> None:
    """Print the problems of a file to standard error: locations in bold, and their count in red, if given."""
    for line in text.splitlines():
        place, colon, rest = line.partition(": ")
        print(f"{coloured(place + colon, '', sys.stderr, bold=True)}{rest}", file=sys.stderr)
    if count:
        print(coloured(count, "red", sys.stderr), file=sys.stderr)


def _shows_colours(stream: TextIO) -> bool:
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"
