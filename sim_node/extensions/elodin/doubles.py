"""Double precision from a script's first line on: JAX computes with single precision unless it is asked before."""

from __future__ import annotations

import os
import sys
from types import FrameType

_OPTION = "JAX_ENABLE_X64"


def use_doubles() -> None:
    """Let JAX compute with double precision, without importing it."""
    jax = sys.modules.get("jax")
    if jax is not None and hasattr(jax, "config"):
        jax.config.update("jax_enable_x64", True)
    elif _OPTION not in os.environ:
        os.environ[_OPTION] = "1"
        _set_here.append(_OPTION)


def imported() -> None:
    """Note that JAX is imported: programs that this one starts choose for themselves."""
    while _set_here:
        os.environ.pop(_set_here.pop(), None)


def is_user_import(frame: FrameType | None) -> bool:
    """Return whether code outside of this package imports the module that runs in a frame."""
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith("importlib."):
        frame = frame.f_back
    return frame is None or str(frame.f_globals.get("__name__", "")).partition(".")[0] != "sim_node"


# The environment variable, if it was not set before.
_set_here: list[str] = []
