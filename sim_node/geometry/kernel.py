"""The decorator that compiles a function with numba, wherever sim_node is installed. Importing this imports numba."""

from __future__ import annotations

import hashlib
import inspect
import logging
import os
import pickle
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache
from numba.core.dispatcher import Dispatcher
from numba.core.typeinfer import register_dispatcher

_told = False


def kernel(*signature: object, **options: object) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function to machine code, kept on disk for the next process where there is a place for it.

    signature: numba's, to compile at once; without one the first call compiles. options: those of numba.njit.
    numba keeps the code in $NUMBA_CACHE_DIR, else in __pycache__ beside the source, else in the user's cache folder
    ($XDG_CACHE_HOME, ~/.cache). Where none can be written, as on a read-only system, each process compiles anew; a
    warning says so once. The code is compiled anew when the file of the kernel changes, or one that it takes kernels or
    constants from: import these before the kernels. Every compiled function in sim_node goes through here.
    """

    def compiled(function: Callable[..., Any]) -> Any:
        try:
            dispatcher = njit(**options)(function)
            dispatcher._cache = _Cache(function)  # what cache=True sets, but forgiving
            if signature:  # what njit does with one
                with register_dispatcher(dispatcher):
                    dispatcher.compile(*signature)
                dispatcher.disable_compile()
            return dispatcher
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
    """numba's cache of a function, for which a full disk or a damaged file is no reason to fail a call.

    numba renews it when the function's own file changes, but machine code contains that of the kernels that it calls
    and the constants that it names: the files that these come from count as well.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        file = inspect.getfile(function)
        _stamps[file] = hashlib.sha256("".join(_parts(function, file)).encode()).hexdigest()
        self._cache_file._source_stamp = (self._cache_file._source_stamp, _stamps[file])

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


# By file of kernels: what all that its machine code is made of comes to.
_stamps: dict[str, str] = {}


def _parts(function: Callable[..., Any], file: str) -> Iterator[str]:
    """What stands in the file of a function, and in those of the kernels and modules that it has imported so far."""
    yield _digest(file)
    for name, value in list(function.__globals__.items()):
        if isinstance(value, (Dispatcher, ModuleType)):
            source = inspect.getfile(value.py_func) if isinstance(value, Dispatcher) else value.__dict__.get("__file__")
            if source and source.endswith(".py"):
                yield _stamps.get(source) or _digest(source)
        elif isinstance(value, (int, float, str)) and not name.startswith("__"):
            yield f"{name}={value!r}"


@cache
def _digest(file: str) -> str:
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()


def _tell(why: str) -> None:
    global _told
    if not _told:
        _told = True
        logging.getLogger(__name__).warning(
            "compiled kernels cannot be kept, each process compiles them anew: %s; "
            "set NUMBA_CACHE_DIR to a folder that can",
            why,
        )
