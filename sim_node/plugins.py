"""Plug-ins: entry points of other packages, and attribution of errors to them."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.machinery import PathFinder
from types import TracebackType
from typing import Any

# Prefix of our entry-point groups; and our own distribution, whose entry points are those of `extensions/`.
_PREFIX, _OURS = "sim_node.", "sim_node"


class PluginWarning(UserWarning):
    """A plug-in could not be loaded. The message gives the plug-in, its entry point and the reason."""


class PluginFault(Exception):
    """An error inside a plug-in's code. The message gives the plug-in, the operation, the error and its line."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """An entry point that a package provides for a registry, and the result of loading it.

    Attributes:
        package, version: The distribution.
        group, name, value: The entry point.
        names: Names of the entries that it added.
        fault: Why it could not be loaded; empty if it was loaded.
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

    @property
    def module(self) -> str:
        """The module that the entry point names."""
        return self.value.partition(":")[0].strip()

    def load(self) -> Any:
        """Import the object that the entry point refers to, and return it. Raises whatever its code raises."""
        found: Any = importlib.import_module(self.module)
        for name in filter(None, self.value.partition("[")[0].partition(":")[2].strip().split(".")):
            found = getattr(found, name)
        return found


def offered() -> dict[str, tuple[Plugin, ...]]:
    """Return the entry points of other installed packages by group, ordered by package and name."""
    return points()[0]


def extensions(group: str) -> tuple[Plugin, ...]:
    """Return the entry points of the shipped extensions in a group, ordered by name."""
    return points()[1].get(group, ())


@cache
def points() -> tuple[dict[str, tuple[Plugin, ...]], dict[str, tuple[Plugin, ...]]]:
    """Return the entry points of other packages, and those of the shipped extensions, by group."""
    found: dict[str, list[Plugin]] = {}  # the first package with a name on the path hides the others, as for imports
    for package, version, text in _installed():
        found.setdefault(package, list(_points_in(package, version, text)))
    groups: tuple[dict[str, tuple[Plugin, ...]], ...] = ({}, {})
    for package, of_package in sorted(found.items()):
        of = groups[package == _OURS]
        for point in sorted(of_package, key=lambda point: (point.group, point.name)):
            of[point.group] = (*of.get(point.group, ()), point)
    return groups[0], groups[1]


def _points_in(package: str, version: str, text: str) -> Iterator[Plugin]:
    """Yield our entry points in the text of an entry_points.txt."""
    group = ""
    for line in map(str.strip, text.splitlines()):
        name, equals, value = (part.strip() for part in line.partition("="))
        if line.startswith("["):
            group = line.strip("[]").strip()
        elif equals and group.startswith(_PREFIX) and not line.startswith(("#", ";")):
            yield Plugin(package, version, group, name, value)


def _installed() -> Iterator[tuple[str, str, str]]:
    """Yield name, version and entry points of the installed packages that provide some of ours.

    Parsing the metadata of every installed package would take longer than loading a world.
    """
    others = []  # in archives, or of custom finders
    for entry in sys.path:
        try:
            with os.scandir(entry or ".") as files:
                folders = [file.path for file in files if file.name.lower().endswith((".dist-info", ".egg-info"))]
        except FileNotFoundError:
            continue
        except OSError:
            folders = []
            others.append([entry])
        if entry.lower().endswith(".egg"):
            others.append([entry])
        yield from filter(None, map(_of_folder, sorted(folders)))
    if any(hasattr(finder, "find_distributions") and finder is not PathFinder for finder in sys.meta_path):
        others.append(sys.path)
    if others:
        from importlib.metadata import distributions  # here, because importing it takes longer than loading a world

        for each in (each for path in others for each in distributions(path=path)):
            text = each.read_text("entry_points.txt") or ""
            if f"[{_PREFIX}" in text:
                yield each.name, each.version, text


def _of_folder(metadata: str) -> tuple[str, str, str] | None:
    """Return name, version and entry points of a package from its metadata folder, if some are ours."""
    try:
        with open(os.path.join(metadata, "entry_points.txt"), encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:  # no such file
        return None
    if f"[{_PREFIX}" not in text:
        return None
    about = "METADATA" if metadata.lower().endswith(".dist-info") else "PKG-INFO"
    found = {"Name": "", "Version": ""}
    with open(os.path.join(metadata, about), encoding="utf-8", errors="replace") as file:
        for line in iter(lambda: file.readline().strip(), ""):  # the header ends at an empty line
            key, _, value = line.partition(":")
            if key in found:
                found[key] = value.strip()
    return found["Name"], found["Version"], text


def blamed(error: BaseException) -> PluginFault | None:
    """Return an error as a PluginFault if it was raised in a plug-in's code; otherwise None."""
    if isinstance(error, PluginFault):
        return error
    roots = {_root(point.module) for point in _points()} - {"sim_node"}
    steps = [module for module, _ in _steps(error.__traceback__) if _root(module) in roots]
    return PluginFault(f"plug-in {_owner(steps[-1])}: {error_line(error, _root(steps[-1]))}") if steps else None


def error_line(error: BaseException, root: str, where: str = "") -> str:
    """Return an error on one line, with the line of the package `root` that raised it or made the failing call.

    where: replacement for that line if the error did not pass through the package.
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

    For an entry that stores the function that it runs, the location of that function is returned.
    """
    entry = getattr(entry, "run", entry)
    found: Any = inspect.unwrap(entry) if callable(entry) else type(entry)
    found = getattr(found, "func", found)  # for functools.partial
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


def _points() -> Iterator[Plugin]:
    return (point for of_group in offered().values() for point in of_group)


def _owner(module: str) -> Plugin:
    """Return the plug-in whose entry point is closest to a module of its package."""
    of_root = [point for point in _points() if _root(point.module) == _root(module)]
    holding = [point for point in of_root if f"{module}.".startswith(f"{point.module}.")]
    return max(holding, key=lambda point: len(point.module)) if holding else of_root[0]
