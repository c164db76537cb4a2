"""Errors of worlds in Python, which point at the line of the user's file that caused them."""

from __future__ import annotations

import inspect
import os
import sys
import sysconfig
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Any

from sim_node.world.problems import NOWHERE, Problem, Where, WorldError

# Packages whose code is not the user's. Worlds shipped with this package run as `__main__` and count as the user's.
_NOT_USERS = frozenset({"sim_node", "jax", "jaxlib", "numpy"})
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_LIBRARY = sysconfig.get_paths()["stdlib"] + os.sep
# Longest part of a foreign message that is shown, characters.
_MAX_MESSAGE = 200
# What to do about values that are known only while the simulation runs, by the name of JAX's error.
_ADVICE = {
    "TracerBoolConversionError": "`if`, `and`, `while` and bool() cannot use a value that is known only while the "
    "simulation runs; use jnp.where or jax.lax.cond, and & and | between conditions",
    "TracerArrayConversionError": "NumPy cannot use a value that is known only while the simulation runs; "
    "use jax.numpy",
    "TracerIntegerConversionError": "range() and the index of a list cannot be a value that is known only while the "
    "simulation runs; index an array of jax.numpy, or use jax.lax.fori_loop",
    "NonConcreteBooleanIndexError": "a mask cannot select a number of elements that is known only while the "
    "simulation runs; use jnp.where",
    "ConcretizationTypeError": "int(), float() and shapes cannot use a value that is known only while the simulation "
    "runs; compute with the array itself",
    "UnexpectedTracerError": "a value of another evaluation is used; return it instead of keeping it in a variable "
    "outside of the function",
}


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

    @classmethod
    def of(cls, error: EcsError) -> EcsError:
        """Return the same error without its traceback.

        Args:
            error: The error, with one problem.

        Returns:
            A new error of the same message, place and key.
        """
        (problem,) = error.problems
        return cls(problem.message, problem.where, problem.key)


class TimeTravel(RuntimeError):
    """A component was written at an earlier time than before."""


def shown_path(path: str) -> str:
    """Return a path relative to the working directory if it is below it, and unchanged otherwise."""
    try:
        return str(Path(path).resolve().relative_to(Path.cwd()))
    except (ValueError, OSError):
        return path


def place_of(function: Callable[..., Any]) -> Where:
    """Return where a function is defined: its file and line, or nowhere if it has no source."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if not isinstance(code, CodeType):
        return NOWHERE
    return Where(shown_path(code.co_filename), code.co_firstlineno, 1)


def caller() -> Where:
    """Return the line of the nearest caller outside this package."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if _outside(frame):
            return Where(shown_path(frame.f_code.co_filename), frame.f_lineno, 1)
        frame = frame.f_back
    return NOWHERE


@contextmanager
def user_code(where: Where, name: str) -> Iterator[None]:
    """Turn exceptions of the user's code into an EcsError with the user's line, without the frames of JAX.

    Args:
        where: The location of the called function, used if none of its lines is on the stack.
        name: What is called, such as the name of a system.

    Raises:
        EcsError: The code raised an exception.
    """
    try:
        yield
    except EcsError:
        raise
    except Exception as error:
        raise EcsError(_sentence(error), _raised(error.__traceback__) or where, name) from None


def _sentence(error: Exception) -> str:
    for kind in type(error).__mro__:
        if kind.__name__ in _ADVICE and kind.__module__.startswith("jax"):
            return _ADVICE[kind.__name__]
    text = str(error).strip().partition("\n")[0]
    text = text if len(text) <= _MAX_MESSAGE else text[: _MAX_MESSAGE - 3] + "..."
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _raised(traceback: TracebackType | None) -> Where | None:
    """Return the innermost line of a traceback in the user's own files."""
    found = None
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        installed = file.startswith(_LIBRARY) or any(part in file for part in _INSTALLED)
        if _outside(traceback.tb_frame) and not installed:
            found = Where(shown_path(file), traceback.tb_lineno, 1)
        traceback = traceback.tb_next
    return found


def _outside(frame: FrameType) -> bool:
    """Return whether a frame is outside this package and the packages through which it calls the user's functions."""
    root = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    file = frame.f_code.co_filename
    return root not in _NOT_USERS and (not file.startswith("<") or file in ("<stdin>", "<string>"))
