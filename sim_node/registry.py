"""Registries: extensions of a package by name, in an order that does not depend on imports."""

from __future__ import annotations

import importlib
import sys
import threading
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import Generic, NoReturn, TypeVar, overload

from sim_node.plugins import Plugin, PluginFault, PluginWarning, defined_at, error_line, extensions, offered
from sim_node.text import shown

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
E = TypeVar("E")
D = TypeVar("D")


class Registry(Mapping[K, T], Generic[K, T]):
    """Entries by name: first the shipped ones, then those of our extensions, of plug-ins, and any others.

    Modules are imported when the registry is first read. Regardless of import order, shipped entries are in the order
    of `shipped`, extensions in the order of entry-point names, plug-ins in the order of package and entry-point names;
    entries of the same module are in file order.

    Args:
        noun: Name for an entry in messages.
        shipped: The modules that add the shipped entries, in order.
        group: The entry-point group for other packages, such as "sim_node.sensors"; each entry point names a module,
            which adds its entries when it is imported.
    """

    def __init__(self, noun: str, shipped: tuple[str, ...] = (), group: str = "") -> None:
        self.noun, self.group = noun, group
        self._core = shipped
        self._entries: dict[K, tuple[str, T]] = {}  # name: the module that added it, the entry
        self._table: dict[K, T] | None = None
        self._own: frozenset[K] = frozenset()  # shipped names in the table, queried often at each load of a world
        self._plugins: tuple[Plugin, ...] | None = None
        self._shipped_loaded = False
        self._loading = threading.RLock()

    @cached_property
    def _shipped(self) -> tuple[str, ...]:
        """The core modules that add entries, and those of the extensions that are installed with it."""
        return (*self._core, *(point.module for point in extensions(self.group)))

    def add(self, *names: K, module: str = "") -> Callable[[E], E]:
        """Return a decorator that registers a function, class or object under `names`.

        module: the module that adds it; by default the caller's. Raises ValueError for a duplicate name, with both
        modules.
        """
        module = module or calling_module()

        def enter(entry: E) -> E:
            self._load_shipped_first(names, module)
            for name in names:
                if name in self._entries:
                    raise ValueError(f"{self.noun} {name!r}: both {self._entries[name][0]} and {module}")
            self._entries.update((name, (module, entry)) for name in names)  # type: ignore[misc]
            self._table = None
            return entry

        return enter

    def is_shipped(self, name: K) -> bool:
        """Return whether an entry is shipped. Raises KeyError."""
        self[name]  # raises KeyError
        return name in self._own

    def shipped(self) -> dict[K, T]:
        """Return the shipped entries, without looking for plug-ins."""
        self._load_shipped()
        return {
            name: entry for name, (module, entry) in self._entries.items() if _rank(module, self._shipped) is not None
        }

    def added(self, name: K) -> bool:
        """Return whether a name is registered so far, without importing anything. For code that adds entries."""
        return name in self._entries

    def copy(self) -> Registry[K, T]:
        """Return an independent registry with the same entries."""
        self.table()
        copied: Registry[K, T] = Registry(self.noun, self._core, self.group)
        copied._entries, copied._plugins, copied._shipped_loaded = dict(self._entries), self._plugins, True
        return copied

    @contextmanager
    def extended(self, entries: Mapping[K, T]) -> Iterator[None]:
        """Add entries while a block runs. At its end, entries added by the block are also removed.

        Raises ValueError for a duplicate name.
        """
        module = calling_module(1)
        self.table()
        before = set(self._entries)
        try:
            for name, entry in entries.items():
                self.add(name, module=module)(entry)
            yield
        finally:
            for name in self._entries.keys() - before:
                del self._entries[name]
            self._table = None

    def table(self) -> dict[K, T]:
        """Return the entries as a plain dict in the order of the registry, for hot paths. Read-only."""
        table = self._table
        if table is None or self._plugins is None:
            with self._loading:
                self._load_shipped()
                self._load_plugins()
                table = self._table = self._in_order()
        return table

    def plugins(self) -> tuple[Plugin, ...]:
        """Return the plug-ins of this registry, with what each one added or why it failed."""
        self.table()
        return tuple(self._plugins or ())

    def module_of(self, name: K) -> str:
        """Return the module that added an entry. Raises KeyError."""
        self.table()
        return self._entries[name][0]

    def plugin_of(self, name: K) -> Plugin | None:
        """Return the plug-in that added an entry; None for shipped entries and those that a program added."""
        return next((plugin for plugin in self.plugins() if str(name) in plugin.names), None)

    def blame(self, name: K, error: Exception | SystemExit) -> None:
        """Raise PluginFault for an error in an entry's code if a plug-in added the entry; otherwise do nothing."""
        plugin = None if isinstance(error, PluginFault) else self.plugin_of(name)
        if plugin is not None:
            reason = error_line(error, self.module_of(name).partition(".")[0], defined_at(self[name]))
            raise PluginFault(f"plug-in {plugin}: {self.noun} {name!r}: {reason}") from error

    def expect(self, name: K, found: object, needed: type | tuple[type, ...], what: str) -> None:
        """Raise PluginFault, or TypeError for a shipped entry, if an entry's result has the wrong type.

        what: the required type, for the message, such as "an Engine or None".
        """
        if not isinstance(found, needed):
            self.refuse(name, f"{what} is needed, found {shown(repr(found), 60)}{_lacking(found, needed)}")

    def refuse(self, name: K, message: str, by: object = None) -> NoReturn:
        """Raise PluginFault, or TypeError for an entry that no plug-in added, about an entry's result.

        by: the object whose line is reported; None for the entry.
        """
        plugin, where = self.plugin_of(name), defined_at(self[name] if by is None else by)
        if plugin is None:
            raise TypeError(f"{self.noun} {name!r}: {message}{where}")
        raise PluginFault(f"plug-in {plugin}: {self.noun} {name!r}: {message}{where}")

    @contextmanager
    def blaming(self, name: K, *passing: type[Exception]) -> Iterator[None]:
        """Attribute errors in a block, except `passing` ones, to the plug-in that added an entry; see `blame`."""
        try:
            yield
        except passing:
            raise
        except (Exception, SystemExit) as error:
            self.blame(name, error)
            raise

    def caller(self, functions: Mapping[K, Callable[..., object]]) -> Callable[..., object]:
        """Return a function that calls several entries' functions with the same arguments, efficiently.

        It raises PluginFault if a plug-in's function fails.
        """
        if len(functions) == 1 and all(self.plugin_of(name) is None for name in functions):
            return next(iter(functions.values()))  # no plug-in to attribute errors to

        def call(*arguments: object) -> None:
            name: K | None = None
            try:
                for name, function in functions.items():  # noqa: B007  used if one fails
                    function(*arguments)
            except Exception as error:
                if name is not None:
                    self.blame(name, error)
                raise

        return call

    def __getitem__(self, name: K) -> T:
        # Without a call once it is loaded, because thousands of mates look up their types.
        return (self._table or self.table())[name]

    @overload
    def get(self, name: K, /) -> T | None: ...
    @overload
    def get(self, name: K, /, default: T | D) -> T | D: ...
    def get(self, name: K, /, default: T | D | None = None) -> T | D | None:
        """Return an entry, or the default. Mapping's own `get` is slower, especially for missing names."""
        return self.table().get(name, default)

    def __iter__(self) -> Iterator[K]:
        return iter(self.table())

    def __len__(self) -> int:
        return len(self.table())

    def __repr__(self) -> str:
        return f"Registry({self.noun!r}: {', '.join(map(str, self.table()))})"

    def _load_shipped_first(self, names: Iterable[K], module: str) -> None:
        """Load the shipped entries first, so that a plug-in that is imported earlier cannot take their names."""
        if _rank(module, self._shipped) is None:
            self._load_shipped()

    def _load_shipped(self) -> None:
        with self._loading:
            if not self._shipped_loaded:
                self._shipped_loaded = True  # set first: shipped modules may read the registry during import
                try:
                    for module in self._shipped:
                        importlib.import_module(module)
                except BaseException:
                    self._shipped_loaded = False
                    raise

    def _load_plugins(self) -> None:
        if self._plugins is not None:
            return
        self._plugins = ()
        loaded = []
        for point in offered().get(self.group, ()):
            plugin = point
            try:
                point.load()
            except (Exception, SystemExit) as error:
                plugin = replace(point, fault=error_line(error, point.module.partition(".")[0]))
                warnings.warn(PluginWarning(f"plug-in {plugin} cannot be loaded: {plugin.fault}"), stacklevel=2)
            else:
                here = (point.module,)
                names = tuple(str(name) for name, (module, _) in self._entries.items() if _rank(module, here) == 0)
                plugin = replace(point, names=names)
            loaded.append(plugin)
        self._plugins = tuple(loaded)

    def _in_order(self) -> dict[K, T]:
        modules = (*self._shipped, *(point.module for point in offered().get(self.group, ())))

        def rank(name: K) -> int:
            found = _rank(self._entries[name][0], modules)
            return len(modules) if found is None else found

        ranks = {name: rank(name) for name in self._entries}
        self._own = frozenset(name for name in ranks if ranks[name] < len(self._shipped))
        return {name: self._entries[name][1] for name in sorted(ranks, key=ranks.__getitem__)}


def calling_module(further: int = 0) -> str:
    """Return the module that called the current function, or one `further` levels up; `__main__` in exec."""
    name: str = sys._getframe(2 + further).f_globals.get("__name__", "__main__")
    return name


def _rank(module: str, among: tuple[str, ...]) -> int | None:
    """Return the index of the listed module that contains `module`, longest name first; None if there is none."""
    holding = [other for other in among if module == other or module.startswith(other + ".")]
    return among.index(max(holding, key=len)) if holding else None


def _lacking(found: object, needed: type | tuple[type, ...]) -> str:
    """Return which members of a protocol an object lacks, for messages."""
    protocol = needed[0] if isinstance(needed, tuple) else needed
    if found is None or not getattr(protocol, "_is_protocol", False):
        return ""
    names = [name for name in vars(protocol) if not name.startswith("_") and not hasattr(found, name)]
    return f", which has no {', '.join(names)}" if names else ""
