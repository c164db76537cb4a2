"""Command-line arguments for the number of cases and the parameters that vary between them."""

from __future__ import annotations

import argparse

from sim_node.cli.arguments import UsageError, whole
from sim_node.extensions.sweep.variations import MAX_CASES, USAGE, Variation, variation
from sim_node.world.problems import Place, Where


def count(text: str) -> int:
    """Return a number of cases or workers.

    Args:
        text: The word.

    Returns:
        The number.

    Raises:
        ArgumentTypeError: It is not a whole number, or is out of range.
    """
    return whole(text, 1, MAX_CASES, f"a whole number from 1 to {MAX_CASES}")


def add_vary(parser: argparse._ActionsContainer, what: str) -> None:
    """Declare the option for varied parameters, which `variation_option` parses.

    Args:
        parser: The parser, or a group of one.
        what: The help text of the option.
    """
    example = f"{what}, as bodies[ball].inertial.mass=uniform(1.2,1.8); SPEC is one of: {USAGE}"
    parser.add_argument("--vary", metavar="PATH=SPEC", action="append", default=[], help=example)


def variation_option(text: str) -> Variation:
    """Parse a variation.

    Args:
        text: The argument, PATH=SPEC.

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
