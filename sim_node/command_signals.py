"""SIGINT in a `sim_node` process: quiet before and after its work, KeyboardInterrupt during it.

This module is outside the layers and imported first: importing the command takes a tenth of a second before `main`.
"""

from __future__ import annotations

import _thread
import os
import signal
import sys
import time
from types import FrameType
from typing import Any

# Exit code that shells report for a program ended by SIGINT.
INTERRUPTED = 130
# Modules that `python -m` runs as the command
_MODULES = ("sim_node", "sim_node.cli.main")
# Whether SIGINT arrived during the work. Libraries may convert KeyboardInterrupt to their own errors, for example C
# extensions that import other modules.
_came = False


def begin() -> None:
    """End the process quietly on SIGINT, if it is the command, because nothing has started yet."""
    if _is_command() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)
        sys.unraisablehook = _interrupt_again


def break_in() -> None:
    """Raise KeyboardInterrupt on SIGINT from now on, if this process is the command."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, _raise)


def end() -> None:
    """End the process quietly on SIGINT from now on, if it is the command, because nothing is left to do."""
    if signal.getsignal(signal.SIGINT) is _raise:
        signal.signal(signal.SIGINT, _leave)


def came() -> bool:
    """Return whether SIGINT arrived between `break_in` and `end`."""
    return _came


def _is_command() -> bool:
    """Return whether this process is the command, as a script or by `python -m`, which may not have found it yet.

    Processes started by multiprocessing have the same arguments, but are not the command.
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
    """Raise a KeyboardInterrupt again that could not be raised, such as in a destructor. Report everything else."""
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        # From another thread: here, it would be raised at once in this function, where it would be lost again.
        _thread.start_new_thread(_interrupt_soon, ())
    else:
        sys.__unraisablehook__(unraisable)
