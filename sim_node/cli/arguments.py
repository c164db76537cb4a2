"""Arguments that several subcommands share, and usage errors."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

from sim_node.world.fields import nanoseconds


class UsageError(Exception):
    """A user error: printed on one line, exit code 2."""


def whole(text: str, least: int, most: float, needed: str) -> int:
    """Parse an integer. needed: description of the accepted values, for the message."""
    if not (text.isascii() and text.isdecimal() and least <= int(text) <= most):
        raise argparse.ArgumentTypeError(f"{text!r} is not {needed}")
    return int(text)


def seed(text: str) -> int:
    """Parse a seed.

    Args:
        text: The word.

    Returns:
        The seed.

    Raises:
        ArgumentTypeError: It is not an integer, or out of range.
    """
    return whole(text, 0, 2**63 - 1, "a seed; a whole number from 0 to 2^63 - 1 is needed")


def finite(text: str) -> float:
    """Parse a finite number."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise argparse.ArgumentTypeError(f"{text!r} is not a finite number")
    return number


def seconds(text: str) -> float:
    """Parse a time or duration that fits into int64 nanoseconds."""
    number = finite(text)
    try:
        nanoseconds(number)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return number


def span(text: str) -> float:
    """Parse a duration of at least one nanosecond, s."""
    number = seconds(text)
    if nanoseconds(number) <= 0:
        raise argparse.ArgumentTypeError(f"{text}: seconds above zero are needed")
    return number


def since_start(text: str) -> float:
    """Parse a time since the start, s, zero or more."""
    number = seconds(text)
    if number < 0.0:
        raise argparse.ArgumentTypeError(f"{text}: seconds of zero or more are needed")
    return number


def positive(text: str, limit: float = 1e12) -> float:
    """Parse a number above zero."""
    number = finite(text)
    if not 0.0 < number <= limit:
        raise argparse.ArgumentTypeError(f"{text}: a number above zero, up to {limit:g}, is needed")
    return number


def not_negative(text: str) -> float:
    """Parse a number of zero or more."""
    number = finite(text)
    if not 0.0 <= number <= 1e12:
        raise argparse.ArgumentTypeError(f"{text}: a number of zero or more, up to 1e+12, is needed")
    return number


def speed(text: str, limit: float | None = None) -> float:
    """Parse a playback speed, or max, which is 0. limit: the maximum; None for that of a run."""
    from sim_node.simulation.pacing import MAX_FACTOR

    limit = MAX_FACTOR if limit is None else limit
    if text == "max":
        return 0.0
    try:
        return positive(text, limit)
    except argparse.ArgumentTypeError:
        needed = f"a number above zero, up to {limit:g}, or max, is needed"
        raise argparse.ArgumentTypeError(f"{text!r} is not a speed; {needed}") from None


def parameters_of(arguments: argparse.Namespace, **options: str) -> dict[str, Any]:
    """Return the node parameters that options give. options: option names by parameter; absent ones are left out."""
    values = {parameter: getattr(arguments, option) for parameter, option in options.items()}
    return {parameter: value for parameter, value in values.items() if value is not None and value is not False}


def refuse_twice(arguments: argparse.Namespace, node: str, parameters: Collection[str]) -> None:
    """Raise UsageError if `-p` sets a parameter that an option also sets. Options override parameter files."""
    from sim_node.ros.ros_arguments import ANY_NODE, overrides

    for each in overrides(arguments.ros_args):
        if not each.is_of_file and each.name in parameters and each.node.strip("/") in (ANY_NODE.strip("/"), node):
            raise UsageError(f"parameter {each.name}: the command's own options set it; leave it out of --ros-args")


def refuse_world(arguments: argparse.Namespace) -> None:
    """Raise UsageError for a world given only in --ros-args, because commands take it as WORLD."""
    from sim_node.ros.ros_arguments import overrides

    for each in overrides(arguments.ros_args):
        if each.name == "world" and "world" not in arguments.given:
            at = f"{each.where}: " if each.is_of_file else ""
            raise UsageError(f"{at}parameter world: name the world before --ros-args, as in sim_node run WORLD")


def add_output(parser: argparse.ArgumentParser) -> None:
    """-o FILE."""
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="write to FILE instead of standard output")


def add_json(parser: argparse.ArgumentParser) -> None:
    """--json."""
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")


def put_out(text: str, arguments: argparse.Namespace) -> None:
    """Print a text or write it to the output file. Raises UsageError if it cannot be written."""
    if arguments.output is None:
        sys.stdout.write(text)
        return
    try:
        arguments.output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{arguments.output} cannot be written: {error.strerror}") from None
