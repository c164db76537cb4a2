"""The decorator that compiles functions with numba. Importing this module imports numba."""

from __future__ import annotations

import hashlib
import inspect
import logging
import os
import pickle
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from numba import njit
from numba.core import event
from numba.core.caching import FunctionCache
from numba.core.dispatcher import Dispatcher
from numba.core.runtime import rtsys
from numba.core.typeinfer import register_dispatcher
from numba.cpython import hashing  # noqa: F401  machine code may refer to its symbols
from numba.np import linalg

from sim_node.interrupt import held
from sim_node.limits import free_addresses

_warned = False
# What LLVM may map for compiled code at once. It ends the process where it gets less.
_CODE_BYTES = 16 << 20


class _Compiling(event.Listener):  # type: ignore[misc]
    """Keeps KeyboardInterrupt away from numba and LLVM: their callbacks drop it, and the compiler fails then."""

    def on_start(self, event: object) -> None:
        free = free_addresses()
        if free is not None and free < _CODE_BYTES:
            raise MemoryError(f"compiled code needs {_CODE_BYTES >> 20} MB, {max(free, 0) >> 20} MB are left")
        held.begin()

    def on_end(self, event: object) -> None:
        held.end()


event.register("numba:compiler_lock", _Compiling())


def _load_array_functions() -> None:
    """Load what numba needs for any kernel with arrays, but not scipy.linalg.

    numba imports that, for 0.2 s, only to see that it is there, and again where a kernel uses linear algebra.
    """
    before = getattr(linalg, "ensure_blas", None)
    if before is None or find_spec("scipy") is None:
        return
    linalg.ensure_blas = lambda: None
    try:
        import numba.np.arraymath  # noqa: F401
    finally:
        linalg.ensure_blas = before


_load_array_functions()


def kernel(*signature: object, **options: object) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function to machine code, which is kept on disk for later processes if possible.

    signature: numba's signature, to compile at once; without it, the first call compiles. options: those of numba.njit.
    numba keeps the code in $NUMBA_CACHE_DIR, else in __pycache__ beside the source, else in the user's cache folder
    ($XDG_CACHE_HOME, ~/.cache). If none of them is writable, as on a read-only system, each process compiles the code,
    and one warning is logged. The code is compiled again if the file of the kernel changes, or one from which it uses
    kernels or constants: import these before the kernels. Every compiled function in sim_node uses this decorator.
    """

    def compiled(function: Callable[..., Any]) -> Any:
        try:
            dispatcher = njit(**options)(function)
            dispatcher._cache = _Cache(function)  # what cache=True sets, but tolerant of errors
            if signature:  # what njit does with one
                with register_dispatcher(dispatcher):
                    dispatcher.compile(*signature)
                dispatcher.disable_compile()
            return dispatcher
        except RuntimeError as refused:
            if "cannot cache function" not in str(refused):
                raise
            folder = os.path.dirname(inspect.getfile(function))
            _warn(f"neither {folder}/__pycache__ nor the user's cache folder can be written")
        except _UNUSABLE as refused:
            _warn(str(refused))
        return njit(*signature, **options)(function)

    return compiled


def bound(function: Any, *arguments: object) -> Callable[[], Any]:
    """Return a call of a kernel with arguments that stay the same; what arrays hold may change.

    A kernel looks for the machine code of its arguments' types at each call, which takes a third of the call of one
    with a dozen arrays.
    """
    return partial(function.compile(tuple(map(function.typeof_pyval, arguments))), *arguments)


# What numba raises for a folder or a file that cannot be read or written, or that is incomplete.
_UNUSABLE = (OSError, EOFError, pickle.UnpicklingError)


class _Cache(FunctionCache):  # type: ignore[misc]
    """numba's cache of a function, in which a full disk or a damaged file does not make a call fail.

    numba updates it when the function's own file changes. But machine code also contains that of the kernels that it
    calls and the constants that it uses, so that the files of these count, too.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        file = inspect.getfile(function)
        _stamps[file] = hashlib.sha256("".join(_parts(function, file)).encode()).hexdigest()
        self._cache_file._source_stamp = (self._cache_file._source_stamp, _stamps[file])

    def load_overload(self, sig: object, target_context: object) -> Any:
        """Load machine code without preparing the compiler, which takes numba 0.2 s. Compiling prepares it, too."""
        rtsys.initialize(target_context)  # machine code refers to symbols of numba's runtime
        try:
            return self._load_overload(sig, target_context)
        except _UNUSABLE as refused:
            _warn(str(refused))
            return None

    def save_overload(self, sig: object, data: object) -> None:
        try:
            super().save_overload(sig, data)
        except _UNUSABLE as refused:
            _warn(str(refused))


# For each file of kernels, a digest of everything that its machine code depends on.
_stamps: dict[str, str] = {}


def _parts(function: Callable[..., Any], file: str) -> Iterator[str]:
    """Yield digests of a function's file, and of the kernels and modules that it has imported so far."""
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


def _warn(why: str) -> None:
    global _warned
    if not _warned:
        _warned = True
        logging.getLogger(__name__).warning(
            "compiled kernels cannot be cached, each process compiles them again: %s; "
            "set NUMBA_CACHE_DIR to a writable folder",
            why,
        )
