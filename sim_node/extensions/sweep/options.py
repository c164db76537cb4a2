"""Words of the command line that say how many cases there are and what differs between them."""

from __future__ import annotations

import argparse

from sim_node.cli.arguments import UsageError
from sim_node.extensions.sweep.variations import USAGE, Variation, variation
from sim_node.world.problems import Place, Where


def count(text: str) -> int:
    """Return a number of cases or workers.

    Args:
        text: The word.

    Returns:
        The number.

    Raises:
        ArgumentTypeError: It is no whole number, or out of range.
    """
    if not (text.isascii() and text.isdecimal() and 0 < int(text) <= 100_000_000):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to 100000000")
    return int(text)


def seed(text: str) -> int:
    """Return a seed.

    Args:
        text: The word.

    Returns:
        The seed.

    Raises:
        ArgumentTypeError: It is no whole number, or out of range.
    """
    if not (text.isascii() and text.isdecimal() and int(text) < 2**63):
        raise argparse.ArgumentTypeError(f"{text!r} is not a seed; a whole number from 0 to 2^63 - 1 is needed")
    return int(text)


def add_vary(parser: argparse._ActionsContainer, what: str) -> None:
    """Declare the option for what differs between cases, which `variation_option` reads.

    Args:
        parser: The parser, or a group of one.
        what: What an occurrence of the option says.
    """
    example = f"{what}, as bodies[ball].inertial.mass=uniform(1.2,1.8); SPEC is one of: {USAGE}"
    parser.add_argument("--vary", metavar="PATH=SPEC", action="append", default=[], help=example)


def variation_option(text: str) -> Variation:
    """Return what a word varies.

    Args:
        text: The word: PATH=SPEC.

    Returns:
        The variation.

    Raises:
        UsageError: It is not of this form.
        WorldError: The SPEC describes no values.
    """
    path, equals, values = text.rpartition("=")
    if not equals or not path.strip():
        raise UsageError(f"--vary {text}: PATH=SPEC is needed, as bodies[ball].inertial.mass=uniform(1.2,1.8)")
    return variation(path.strip(), values, Place(Where("--vary"), path.strip()))
