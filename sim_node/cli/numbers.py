"""Numbers on the command line, as types for argparse: what is no such number is told in one line."""

from __future__ import annotations

import argparse
import math

from sim_node.simulation.pacing import MAX_FACTOR
from sim_node.world.instants import nanoseconds


def finite(text: str) -> float:
    """A finite number."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise argparse.ArgumentTypeError(f"{text!r} is no finite number")
    return number


def seconds(text: str) -> float:
    """A time or a span of it that int64 nanoseconds hold."""
    number = finite(text)
    try:
        nanoseconds(number)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return number


def span(text: str) -> float:
    """Seconds, a nanosecond or more."""
    number = seconds(text)
    if nanoseconds(number) <= 0:
        raise argparse.ArgumentTypeError(f"{text}: seconds above zero are needed")
    return number


def since_start(text: str) -> float:
    """Seconds, zero or more."""
    number = seconds(text)
    if number < 0.0:
        raise argparse.ArgumentTypeError(f"{text}: seconds of zero or more are needed")
    return number


def positive(text: str, most: float = 1e12) -> float:
    """A number above zero."""
    number = finite(text)
    if not 0.0 < number <= most:
        raise argparse.ArgumentTypeError(f"{text}: a number above zero, up to {most:g}, is needed")
    return number


def speed(text: str, most: float = MAX_FACTOR) -> float:
    """Seconds per second, or max, which is 0."""
    if text == "max":
        return 0.0
    try:
        return positive(text, most)
    except argparse.ArgumentTypeError:
        needed = f"a number above zero, up to {most:g}, or max, is needed"
        raise argparse.ArgumentTypeError(f"{text!r} is no speed; {needed}") from None
