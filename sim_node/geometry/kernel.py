"""The decorator that compiles a function with numba, wherever sim_node is installed. Importing this imports numba."""

from __future__ import annotations

import inspect
import logging
import os
import pickle
from collections.abc import Callable
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache

_told = False


def kernel(*signature: object, **options: object) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function to machine code, kept on disk for the next process where there is a place for it.

    signature: numba's, to compile at once; without one the first call compiles. options: those of numba.njit.
    numba keeps the code in $NUMBA_CACHE_DIR, else in __pycache__ beside the source, else in the user's cache folder
    ($XDG_CACHE_HOME, ~/.cache). Where none can be written, as on a read-only system, each process compiles anew; a
    warning says so once. Every compiled function in sim_node goes through here.
    """

    def compiled(function: Callable[..., Any]) -> Any:
        try:
            if signature:
                return njit(*signature, cache=True, **options)(function)
            lazy = njit(**options)(function)
            lazy._cache = _Cache(function)  # what cache=True sets, but forgiving
            return lazy
        except RuntimeError as refused:
            if "cannot cache function" not in str(refused):
                raise
            folder = os.path.dirname(inspect.getfile(function))
            _tell(f"neither {folder}/__pycache__ nor the user's cache folder can be written")
        except _UNUSABLE as refused:
            _tell(str(refused))
        return njit(*signature, **options)(function)

    return compiled


# What numba raises for a folder or a file that it cannot read or write, or that holds half of what it should.
_UNUSABLE = (OSError, EOFError, pickle.UnpicklingError)


class _Cache(FunctionCache):  # type: ignore[misc]
    """numba's cache of a function, for which a full disk or a damaged file is no reason to fail a call."""

    def load_overload(self, sig: object, target_context: object) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except _UNUSABLE as refused:
            _tell(str(refused))
            return None

    def save_overload(self, sig: object, data: object) -> None:
        try:
            super().save_overload(sig, data)
        except _UNUSABLE as refused:
            _tell(str(refused))


def _tell(why: str) -> None:
    global _told
    if not _told:
        _told = True
        logging.getLogger(__name__).warning(
            "compiled kernels cannot be kept, each process compiles them anew: %s; "
            "set NUMBA_CACHE_DIR to a folder that can",
            why,
        )
