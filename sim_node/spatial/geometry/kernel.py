"""The decorator that compiles functions with numba. Importing this module imports numba."""

from __future__ import annotations

import hashlib
import inspect
import logging
import os
import pickle
from collections.abc import Callable, Iterator
from copy import copy
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numba import njit, types
from numba.core import event
from numba.core.caching import FunctionCache
from numba.core.dispatcher import Dispatcher
from numba.core.runtime import rtsys
from numba.core.typeinfer import register_dispatcher
from numba.cpython import hashing  # noqa: F401  machine code may refer to its symbols
from numba.extending import intrinsic
from numba.np import linalg

from sim_node.interrupt import held
from sim_node.limits import free_addresses

_warned = False
# Memory that LLVM may map at once for compiled code. It aborts the process if it gets less.
_CODE_BYTES = 16 << 20


class _Compiling(event.Listener):  # type: ignore[misc]
    """Defers KeyboardInterrupt while numba and LLVM compile: their callbacks drop it, which makes the compiler fail."""

    def on_start(self, event: object) -> None:
        free = free_addresses()
        if free is not None and free < _CODE_BYTES:
            raise MemoryError(f"compiled code needs {_CODE_BYTES >> 20} MB, {max(free, 0) >> 20} MB are left")
        held.begin()

    def on_end(self, event: object) -> None:
        held.end()


event.register("numba:compiler_lock", _Compiling())


def _load_array_functions() -> None:
    """Load what numba needs for any kernel with arrays, except scipy.linalg.

    numba imports scipy.linalg, which takes 0.2 s, only to check that it exists; kernels that use it import it again.
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

    signature: numba's signature, to compile immediately; without it, the first call compiles. options: for numba.njit.
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
    """Return a function that calls a kernel with fixed arguments, arrays and numbers. Contents of arrays may change.

    On each call, a kernel determines the types of its arguments and counts references to each array. With a dozen
    arguments, that takes several times as long as the work of most kernels. Here, machine code finds all arguments at
    one address. This does not work for kernels that return one of their arguments.
    """
    block = np.array([word for argument in arguments for word in _words(argument)], dtype=np.int64)
    call = partial(_launcher(function, tuple(map(function.typeof_pyval, arguments))), block.ctypes.data)
    call.__dict__["alive"] = block, arguments
    return call


def _words(argument: Any) -> list[int]:
    """Return the machine representation of an argument in words of 8 bytes, for arrays without reference counting."""
    if isinstance(argument, np.ndarray):
        place = [argument.size, argument.itemsize, argument.ctypes.data]
        return [0, 0, *place, *argument.shape, *argument.strides]
    return [int(np.array(argument).view(np.int64))]


@cache
def _launcher(function: Any, signature: tuple[types.Type, ...]) -> Any:
    """Return machine code that calls a kernel with the arguments at an address, laid out by `_words`."""
    inspect.signature(function.py_func).bind(*signature)  # raises TypeError

    def typed(typing: object, address: types.Type) -> Any:
        values = types.Tuple(signature)

        def generate(context: Any, builder: Any, _: object, words: Any) -> Any:
            found, at = [], 0
            for each in map(context.get_value_type, signature):
                place = builder.add(words[0], words[0].type(at))
                found.append(builder.load(builder.inttoptr(place, each.as_pointer())))
                at += context.get_abi_sizeof(each)
            return context.make_tuple(builder, values, found)

        return values(address), generate

    arguments_at: Any = intrinsic(typed)
    # Other callers use the kernel itself. Compiling wrappers would take longer than compiling most kernels.
    options = {**function.targetoptions, "no_cfunc_wrapper": True, "no_cpython_wrapper": True}
    options.pop("nopython", None)  # njit sets it, and warns of it
    called = njit(**options)(function.py_func)

    @njit(nogil=function.targetoptions.get("nogil", False), no_cfunc_wrapper=True)  # type: ignore[untyped-decorator]
    def launch(address: int) -> Any:
        return called(*arguments_at(address))

    if isinstance(function._cache, _Cache):
        launch._cache = function._cache.of_launcher(signature)
    return launch.compile((types.int64,))


# Exceptions of numba for a cache folder or file that cannot be read or written, or that is incomplete.
_UNUSABLE = (OSError, EOFError, pickle.UnpicklingError)


class _Cache(FunctionCache):  # type: ignore[misc]
    """numba's cache of a function, made robust against a full disk and damaged files.

    numba invalidates it when the function's own file changes. The machine code also includes the kernels that it calls
    and the constants that it uses, so their files count here, too.
    """

    # What the code of a launcher depends on in addition, if it is one.
    _launched: tuple[object, ...] = ()

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        file = inspect.getfile(function)
        _stamps[file] = hashlib.sha256("".join(_parts(function, file)).encode()).hexdigest()
        self._cache_file._source_stamp = (self._cache_file._source_stamp, _stamps[file])

    def of_launcher(self, signature: tuple[types.Type, ...]) -> _Cache:
        """Return the cache for the code of a launcher, next to that of the function."""
        other = copy(self)
        other._launched = (_digest(__file__), *signature)
        return other

    def _index_key(self, sig: object, codegen: object) -> tuple[object, ...]:
        return (*super()._index_key(sig, codegen), *self._launched)

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
