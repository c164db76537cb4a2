"""SIGINT in a process of the command `sim_node`: quiet before and after its work, KeyboardInterrupt during it.

This stands outside the floors and comes first: before `main`, the command is imported for a tenth of a second.
"""

from __future__ import annotations

import _thread
import os
import signal
import sys
import time
from types import FrameType
from typing import Any

# What shells report for a program that SIGINT has ended.
INTERRUPTED = 130
# Modules that `python -m` runs as the command.
_MODULES = ("sim_node", "sim_node.cli.main")
# Whether SIGINT has come during the work. Libraries may turn KeyboardInterrupt into errors of their own, as those in C
# do that import others.
_came = False


def begin() -> None:
    """End the process at once and quietly on SIGINT, if it is one of the command: nothing has begun yet."""
    if _is_command() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)
        sys.unraisablehook = _interrupt_again


def break_in() -> None:
    """Raise KeyboardInterrupt on SIGINT from here on, in a process of the command."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, _raise)


def end() -> None:
    """End the process of the command at once and quietly on SIGINT from here on: nothing is left to do."""
    if signal.getsignal(signal.SIGINT) is _raise:
        signal.signal(signal.SIGINT, _leave)


def came() -> bool:
    """Return whether SIGINT has come between `break_in` and `end`."""
    return _came


def _is_command() -> bool:
    """Return whether this process is the command: as a script, or by `python -m`, which has not found it yet.

    What the command starts by multiprocessing has its arguments, but is not it.
    """
    if "multiprocessing" in sys.modules:
        return False
    if sys.argv[:1] != ["-m"]:
        return os.path.basename(next(iter(sys.argv), "")) == "sim_node"
    words = sys.orig_argv
    return "-m" in words and words[words.index("-m") + 1] in _MODULES


def _leave(number: int, frame: FrameType | None) -> None:
    os._exit(INTERRUPTED)


def _raise(number: int, frame: FrameType | None) -> None:
    global _came
    _came = True
    raise KeyboardInterrupt


def _interrupt_soon() -> None:
    time.sleep(0.01)
    _thread.interrupt_main()


def _interrupt_again(unraisable: Any) -> None:
    """Raise a KeyboardInterrupt later that came where nothing can be raised, as in a destructor; report all else."""
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        # From another thread: here it would be raised at once, in this function, where nothing can be raised either.
        _thread.start_new_thread(_interrupt_soon, ())
    else:
        sys.__unraisablehook__(unraisable)
