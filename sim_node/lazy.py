"""Lazy public names, for packages that are cheap to import: each name is imported when it is first used."""

from __future__ import annotations

import builtins
import importlib
import sys
from _thread import allocate_lock
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from sim_node.moved import renamed

# Held while `__import__` is replaced, because two threads may import two packages.
_LOCK = allocate_lock()


class public:  # noqa: N801
    """Turn the imports of a block into lazy public names of a package, each imported when it is first used.

    Sets the package's `__all__`, `__getattr__` and `__dir__` (PEP 562). Type checkers and editors see ordinary imports;
    `as` marks a name as public. The block must contain only `from MODULE import NAME as NAME`.

        with public(__name__):
            from sim_node.recording.opening import open_bag as open_bag

    If a name is also that of a module of the package, it must come from this module, and it keeps its meaning when the
    module is imported. Imports from the package itself are its modules.

    Args:
        package: Full name of the package, its `__name__`.
        former: Former names, with the present name of each. They still work, with a warning.
    """

    def __init__(self, package: str, **former: str) -> None:
        self._package, self._module, self._former = package, sys.modules[package], former
        self._sources: dict[str, str] = {}

    def __enter__(self) -> None:
        _LOCK.acquire()
        self._import = builtins.__import__
        builtins.__import__ = self._note

    def __exit__(self, *_: object) -> None:
        builtins.__import__ = self._import
        _LOCK.release()
        names = vars(self._module)
        for name in self._sources:
            del names[name]
        names.update(__all__=sorted(self._sources), __getattr__=self._get, __dir__=self._dir)
        if any(source == f"{self._package}.{name}" for name, source in self._sources.items()):
            self._module.__class__ = _Package

    def _note(
        self,
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> Any:
        if globals is not vars(self._module):  # an import of another thread
            return self._import(name, globals, locals, fromlist, level)
        self._sources.update(dict.fromkeys(fromlist or (), name))
        return _ANYTHING

    def _get(self, name: str) -> Any:
        source = self._sources.get(name)
        if source is None and name in self._former:
            return renamed(self._package, 3, **self._former)(name)
        if source is None:
            raise AttributeError(f"module {self._package!r} has no attribute {name!r}")
        is_module = source == self._package
        found = importlib.import_module(f"{source}.{name}" if is_module else source)
        value = found if is_module else getattr(found, name)
        vars(self._module)[name] = value
        return value

    def _dir(self) -> list[str]:
        return sorted({*vars(self._module), *self._sources})


class _Package(ModuleType):
    """A package with public names that have the same names as modules that define them.

    Importing a module normally sets an attribute of its package; this class prevents that where it would hide the name.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if not (isinstance(value, ModuleType) and name in vars(self)["__all__"]):
            super().__setattr__(name, value)


class _Anything:
    def __getattr__(self, name: str) -> None:
        return None


_ANYTHING = _Anything()
