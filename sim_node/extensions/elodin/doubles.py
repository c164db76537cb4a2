"""Double precision from the first line of a script on: JAX uses single precision unless configured beforehand."""

from __future__ import annotations

import os
import sys
from types import FrameType

_OPTION = "JAX_ENABLE_X64"


def use_doubles() -> None:
    """Make JAX use double precision, without importing it."""
    jax = sys.modules.get("jax")
    if jax is not None and hasattr(jax, "config"):
        jax.config.update("jax_enable_x64", True)
    elif _OPTION not in os.environ:
        os.environ[_OPTION] = "1"
        _set_here.append(_OPTION)


def imported() -> None:
    """Note that JAX is imported, and restore the environment, so that child processes choose their own precision."""
    while _set_here:
        os.environ.pop(_set_here.pop(), None)


def is_user_import(frame: FrameType | None) -> bool:
    """Return whether a module is imported by code outside this package, given the frame of the importer."""
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith("importlib."):
        frame = frame.f_back
    return frame is None or str(frame.f_globals.get("__name__", "")).partition(".")[0] != "sim_node"


# The environment variable, if `use_doubles` set it.
_set_here: list[str] = []
