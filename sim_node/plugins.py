"""Plug-ins: entry points of other packages, and attribution of errors to them."""

from __future__ import annotations

import inspect
import os
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.machinery import PathFinder
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

# Prefix of our entry-point groups.
_PREFIX = "sim_node."


class PluginWarning(UserWarning):
    """A plug-in that could not be loaded; the message names the plug-in, its entry point and the reason."""


class PluginFault(Exception):
    """An error inside a plug-in's code; the message names the plug-in, what it was asked, the error and its line."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """An entry point that another package offers to a registry, and the result of loading it.

    Attributes:
        package, version: The distribution.
        group, name, value: The entry point.
        names: What it added.
        fault: Why it could not be loaded; empty if it was.
    """

    package: str
    version: str
    group: str
    name: str
    value: str
    names: tuple[str, ...] = ()
    fault: str = ""

    def __str__(self) -> str:
        return f"{self.package} {self.version} ({self.group}: {self.name} = {self.value})"


@cache
def offered() -> dict[str, tuple[EntryPoint, ...]]:
    """Return the entry points of all installed packages by group, ordered by package and name."""
    if not any(map(_may_offer, sys.path)) and not _further_finders():
        return {}
    from importlib.metadata import distributions  # here: it takes longer to import than a world takes to load

    groups: dict[str, list[EntryPoint]] = {}
    seen: set[str] = set()  # the first one on the path hides the others, as for imports
    for distribution in distributions():
        # Parsing the metadata of every installed package would take longer than loading a world.
        if f"[{_PREFIX}" not in (distribution.read_text("entry_points.txt") or ""):
            continue
        if distribution.name not in seen:
            for point in distribution.entry_points:
                groups.setdefault(point.group, []).append(point)
        seen.add(distribution.name)
    return {
        group: tuple(sorted(points, key=lambda point: (_package(point), point.name)))
        for group, points in groups.items()
    }


def _may_offer(entry: str) -> bool:
    """Return False for an entry of sys.path that is a folder without entry points of ours."""
    if entry.lower().endswith(".egg"):
        return True
    try:
        with os.scandir(entry or ".") as files:
            found = [file.path for file in files if file.name.lower().endswith((".dist-info", ".egg-info"))]
    except FileNotFoundError:
        return False
    except OSError:  # an archive
        return True
    return any(map(_names_us, found))


def _names_us(metadata: str) -> bool:
    """Return whether the metadata of an installed package have entry points of ours."""
    try:
        with open(os.path.join(metadata, "entry_points.txt"), "rb") as file:
            return f"[{_PREFIX}".encode() in file.read()
    except OSError:  # it has none
        return False


def _further_finders() -> bool:
    """Return whether others than Python's own find installed packages."""
    return any(hasattr(finder, "find_distributions") and finder is not PathFinder for finder in sys.meta_path)


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else ""


def described(point: EntryPoint, names: tuple[str, ...] = (), fault: str = "") -> Plugin:
    """Return an entry point as a Plugin."""
    version = point.dist.version if point.dist is not None else ""
    return Plugin(_package(point), version, point.group, point.name, point.value, names, fault)


def blamed(error: BaseException) -> PluginFault | None:
    """Return an error as the fault of the plug-in in whose code it was raised, or None."""
    if isinstance(error, PluginFault):
        return error
    roots = {_root(point.module) for point in _points()} - {"sim_node"}
    steps = [module for module, _ in _steps(error.__traceback__) if _root(module) in roots]
    return PluginFault(f"plug-in {_owner(steps[-1])}: {error_line(error, _root(steps[-1]))}") if steps else None


def error_line(error: BaseException, root: str, where: str = "") -> str:
    """Return an error on one line, with the line of the package `root` that raised it or called what did.

    where: what replaces that line if the error did not pass through the package.
    """
    reason = " ".join(str(error).split())
    if isinstance(error, SyntaxError):  # no line of the module ran
        where = f" ({error.filename}:{error.lineno})"
    reason = str(error.msg) if isinstance(error, SyntaxError) else reason
    for module, step in _steps(error.__traceback__):
        if _root(module) == root:
            where = f" ({step.filename}:{step.lineno}, in {step.name})"
    return f"{type(error).__name__}{': ' if reason else ''}{reason}{where}"


def defined_at(entry: object) -> str:
    """Return where a function, a class or an object's class is defined, as ` (file:line)`; empty if unknown.

    For an entry that keeps what it runs, it is that function.
    """
    entry = getattr(entry, "run", entry)
    found: Any = inspect.unwrap(entry) if callable(entry) else type(entry)
    found = getattr(found, "func", found)  # of functools.partial
    try:
        return f" ({inspect.getsourcefile(found)}:{inspect.getsourcelines(found)[1]})"
    except (OSError, TypeError):
        return ""


def _steps(trace: TracebackType | None) -> Iterator[tuple[str, traceback.FrameSummary]]:
    """Yield the module and the line of each call that an error passed through, outermost first."""
    modules = [frame.f_globals.get("__name__", "") for frame, _ in traceback.walk_tb(trace)]
    return zip(modules, traceback.extract_tb(trace), strict=True)


def _root(module: str) -> str:
    return module.partition(".")[0]


def _points() -> Iterator[EntryPoint]:
    return (point for group, points in offered().items() if group.startswith(_PREFIX) for point in points)


def _owner(module: str) -> Plugin:
    """Return the plug-in whose entry point is nearest to a module of its package."""
    points = [point for point in _points() if _root(point.module) == _root(module)]
    holding = [point for point in points if f"{module}.".startswith(f"{point.module}.")]
    return described(max(holding, key=lambda point: len(point.module)) if holding else points[0])
