"""Errors of worlds in Python, with the line of the user's file that caused them."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sim_node.world.problems import NOWHERE, Problem, Where, WorldError

_PACKAGE = str(Path(__file__).resolve().parent.parent)


class MissingJax(ImportError):
    """JAX is not installed; the message says how to install it."""


class EcsError(WorldError):
    """A world in Python is invalid. The message has the file and line of the user's code.

    Args:
        message: A sentence: what was found, what is allowed, and the nearest name.
        where: The place in the user's file.
        key: What is wrong there, such as the name of a system or component.
    """

    def __init__(self, message: str, where: Where = NOWHERE, key: str = "") -> None:
        super().__init__([Problem(where, key, message)])


class TimeTravel(RuntimeError):
    """A component was written at an earlier time than before."""


def shown_path(path: str) -> str:
    """Return a path relative to the working folder, if it is below it."""
    try:
        return str(Path(path).resolve().relative_to(Path.cwd()))
    except (ValueError, OSError):
        return path


def place_of(function: Callable[..., Any]) -> Where:
    """Return where a function is defined: its file and line, or nowhere if it has no source."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return Where(shown_path(code.co_filename), code.co_firstlineno, 1) if code is not None else NOWHERE


def caller() -> Where:
    """Return the line of the nearest caller outside this package."""
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not (file.startswith(_PACKAGE) or file.startswith("<")) or file in ("<stdin>", "<string>"):
            return Where(shown_path(file), frame.f_lineno, 1)
        if frame.f_back is None:
            break
        frame = frame.f_back
    return NOWHERE
