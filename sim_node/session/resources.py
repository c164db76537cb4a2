"""Resources that may be spawned or loaded into a run, by URI or as text, and how they are read."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from sim_node import names
from sim_node.formats.urdf import stays
from sim_node.session.entities import Rejected
from sim_node.text import did_you_mean, shown
from sim_node.world.autopilots import autopiloted
from sim_node.world.load import load, loads
from sim_node.world.locate import (
    PACKAGE,
    PROGRAMS,
    LocateError,
    first_comment,
    package_path,
    share,
    shipped_robots,
    shipped_vehicles,
    shipped_worlds,
    world_in,
)
from sim_node.world.model import World
from sim_node.world.problems import Problem, WorldError, WorldWarning
from sim_node.world.readers.registry import READERS
from sim_node.world.readers.yaml_start import set_floating

# Formats by their names in simulation_interfaces, and additional ones.
FORMATS = ("yaml", "mjcf", "urdf", "sdf", "x_xy", "openplx")
MAX_TEXT = 16 * 1024 * 1024
MAX_LISTED = 1000
AUTOPILOTED = "worlds with autopilots are run from the start; name it to `run`"
# How the file reader reports references that cannot be resolved.
_MISSING = re.compile(r"no file '|is outside the world's folder|cannot be read: |is not a file: |no package '")
_UNSUPPORTED = re.compile(r"the root element is <|worlds have the suffix ")
_IS_OPENPLX = re.compile(r"\s*(//[^\n]*\n\s*)*(import\b|[\w.]+\s+is\b)")


class Listed(NamedTuple):
    """An available resource: its URI, its name, and a one-line description."""

    uri: str
    name: str
    description: str


class Resources:
    """Finds and reads resources within the folders that a run may read from.

    A URI is package://PACKAGE/PATH, file:///PATH, a path, or the name of a shipped vehicle, model or world. Files
    outside the allowed folders, and worlds that run as programs, are never opened.

    Args:
        world: The world that the run started with. Its folder is allowed.
        allow: Additional allowed folders.
    """

    def __init__(self, world: World, allow: Sequence[Path] = ()) -> None:
        own = [file.resolve().parent for file in world.files[:1]]
        self._known: dict[tuple[Path, int, int], bool] = {}
        self.folders = tuple(dict.fromkeys((*own, *(folder.resolve() for folder in allow))))

    def locate(self, uri: str, shipped: dict[str, Path]) -> Path:
        """Return the file of a URI.

        Args:
            uri: The URI.
            shipped: Shipped files by name, which is also accepted as a URI.

        Returns:
            The file.

        Raises:
            Rejected: The file does not exist in the allowed folders (NOT_FOUND), or its format is not a world
                format (UNSUPPORTED_FORMAT).
        """
        if uri in shipped:
            return shipped[uri]
        try:
            path = self._path(uri, shipped)
            if path.is_dir() and (inside := world_in(path)) is not None:
                path = self._path(str(inside), shipped)
            if not path.is_file():
                raise Rejected("NOT_FOUND", f"{shown(uri)!r}: no such file{did_you_mean(uri, shipped)}")
            if path.suffix.lower() not in READERS or path.suffix.lower() in PROGRAMS:
                known = ", ".join(suffix for suffix in READERS if suffix not in PROGRAMS)
                raise Rejected("UNSUPPORTED_FORMAT", f"{shown(uri)!r}: supported files end in {known}")
        except (LocateError, OSError, ValueError) as error:
            raise Rejected("NOT_FOUND", shown(str(error), 400)) from None
        return path

    def file(self, uri: str) -> Path:
        """Return a file that is not a world, such as a mission. Raises Rejected (NOT_FOUND)."""
        try:
            path = self._path(uri, {})
        except (LocateError, OSError, ValueError) as error:
            raise Rejected("NOT_FOUND", shown(str(error), 400)) from None
        if not path.is_file():
            raise Rejected("NOT_FOUND", f"{shown(uri)!r}: no such file")
        return path

    def _path(self, uri: str, shipped: dict[str, Path]) -> Path:
        """Return the path of a URI, without checking that the file exists."""
        if uri.startswith("package://"):
            return package_path(uri)
        parts = urlsplit(uri)
        if parts.scheme and parts.scheme != "file":
            raise Rejected("NOT_FOUND", f"{shown(uri)!r}: allowed are package://, file:// and paths")
        text = unquote(parts.path) if parts.scheme else uri
        beside = self.folders[0] if self.folders else Path.cwd()
        path = (beside / text).resolve()
        packaged = share(PACKAGE)
        allowed = self.folders if packaged is None else (*self.folders, packaged.resolve() / "config")
        if not any(path.is_relative_to(folder) for folder in allowed):
            listed = ", ".join(map(str, self.folders)) or "none"
            raise Rejected(
                "NOT_FOUND",
                f"{shown(uri)!r} is outside the folders that this run may read ({listed}); start it with --allow DIR"
                f"{did_you_mean(uri, shipped)}",
            )
        return path

    def spawnable(self, uri: str, text: str, name: str, *, static: bool = False) -> tuple[World, bool]:
        """Read a resource to spawn.

        Args:
            uri: Its URI; empty to read `text`.
            text: Its content, in any supported format.
            name: The name that it will have, for a vehicle.
            static: Whether to fix a URDF model in place. Otherwise it floats free, as in Gazebo, unless its file fixes
                it.

        Returns:
            The world that contains it, and whether its frames already have the name.

        Raises:
            Rejected: With a result code of SpawnEntity.
        """
        if not uri:
            part = self._from_text(text)
            return (_released(part) if text.lstrip().startswith("<") and not static else part), False
        path = self.locate(uri, {**shipped_worlds(), **shipped_robots(), **shipped_vehicles()})
        if path in shipped_vehicles().values():
            # A vehicle file defines part of a world, not a world.
            lines = f"world: {names.last(name)}\nvehicles:\n  - {{name: {name}, model: {path.stem}}}\n"
            return _read(lambda: loads(lines)), True
        part = _read(lambda: load(path, allow=self.folders))
        of_file = any(model.files[:1] == part.files[:1] for model in part.models)
        return (_released(part) if of_file and not static else part), False

    def world(self, uri: str, text: str) -> World:
        """Read a world to load. Raises Rejected with a result code of LoadWorld."""
        world = self._from_text(text) if not uri else self._loaded(self.locate(uri, shipped_worlds()))
        if autopiloted(world):
            raise Rejected("OPERATION_FAILED", AUTOPILOTED)
        return world

    def _loaded(self, path: Path) -> World:
        return _read(lambda: load(path, allow=self.folders))

    def _loadable(self, path: Path) -> bool:
        """Return whether a file is a loadable world. The result is cached until the file changes."""
        try:
            found = path.stat()
            key = (path, found.st_mtime_ns, found.st_size)
            if key not in self._known:
                self._known[key] = not autopiloted(self._loaded(path))
        except OSError:
            return False
        except Rejected:
            self._known[key] = False
        return self._known[key]

    def _from_text(self, text: str) -> World:
        if not text.strip():
            raise Rejected("NO_RESOURCE", "both uri and resource_string are empty")
        if len(text) > MAX_TEXT:
            raise Rejected("RESOURCE_PARSE_ERROR", f"resource_string has {len(text)} characters; allowed: {MAX_TEXT}")
        suffix = ".xml" if text.lstrip().startswith("<") else ".openplx" if _IS_OPENPLX.match(text) else ".yaml"
        return _read(lambda: loads(text, suffix, allow=self.folders))

    def spawnables(self, sources: Sequence[str] = ()) -> tuple[list[Listed], list[str]]:
        """Return what can be spawned: shipped vehicles and models, and files in the world's folder.

        Args:
            sources: Additional folders, within the allowed ones.

        Returns:
            The resources, and the sources that are not readable folders.
        """
        shipped = (("vehicle", shipped_vehicles()), ("model", shipped_robots()))
        found = [
            Listed(_uri(path), name, f"{kind} {name}: {first_comment(path)}")
            for kind, paths in shipped
            for name, path in paths.items()
        ]
        files, unknown = self._searched(sources)
        found += [Listed(_uri(path), path.stem, f"{path.name} in {path.parent}") for path in files]
        return list(dict.fromkeys(found))[:MAX_LISTED], unknown

    def worlds(self, sources: Sequence[str] = ()) -> tuple[list[Listed], list[str]]:
        """Return the worlds that can be loaded: shipped ones, those in the world's folder, and those in `sources`.

        Args:
            sources: Additional folders, within the allowed ones.

        Returns:
            The worlds, and the sources that are not readable folders.
        """
        searched, unknown = self._searched(sources)
        files = [*shipped_worlds().items(), *((path.stem, path) for path in searched)][:MAX_LISTED]
        found = [Listed(_uri(path), name, first_comment(path)) for name, path in files if self._loadable(path)]
        return list(dict.fromkeys(found)), unknown

    def _searched(self, sources: Sequence[str]) -> tuple[list[Path], list[str]]:
        """Return the files in the run's folders and then in the sources, and the sources that cannot be read."""
        folders = {source: self._folder(source) for source in sources}
        files = [path for folder in (*self.folders, *folders.values()) for path in _files(folder)]
        return files, [source for source, folder in folders.items() if folder is None]

    def _folder(self, uri: str) -> Path | None:
        """Return a readable folder by URI, or None."""
        try:
            folder = self._path(uri, {})
            return folder if folder.is_dir() else None
        except (Rejected, LocateError, OSError, ValueError):
            return None


def uri_of(world: World) -> str:
    """Return the URI of a world's file; empty if it was not read from a file."""
    return _uri(world.files[0].resolve()) if world.files else ""


def _released(part: World) -> World:
    """Put a URDF model on a free joint, unless its file fixes it. Return anything else unchanged.

    Raises Rejected (RESOURCE_PARSE_ERROR) if it cannot move, for example because it has no masses.
    """
    models = part.models
    if len(models) != 1 or not models[0].urdf or stays(models[0]):
        return part
    try:
        return replace(part, parts={**part.parts, "models": (set_floating(models[0], True),)})
    except WorldError as error:
        reason = "; ".join(problem.message for problem in error.problems[:3])
        raise Rejected(
            "RESOURCE_PARSE_ERROR", f"{part.name} cannot float free: {reason}; spawn it as static to fix it in place"
        ) from None


def _uri(path: Path) -> str:
    packaged = share(PACKAGE)
    if packaged is not None and path.resolve().is_relative_to(packaged.resolve() / "config"):
        return f"package://{PACKAGE}/{path.resolve().relative_to(packaged.resolve()).as_posix()}"
    return path.resolve().as_uri()


def _files(folder: Path | None) -> Iterator[Path]:
    """Yield the files of a folder that may be worlds, sorted."""
    if folder is None or not folder.is_dir():
        return
    known = {suffix for suffix in READERS if suffix not in PROGRAMS}
    yield from (path for path in sorted(folder.iterdir()) if path.suffix.lower() in known and path.is_file())


def _read(read: Callable[[], World]) -> World:
    """Call a world reader. Raises Rejected with the first problems."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WorldWarning)
            return read()
    except WorldError as error:
        raise Rejected(_code_of(error.problems), "; ".join(map(str, error.problems[:3]))) from None


def _code_of(problems: Sequence[Problem]) -> str:
    """Return the result code for the problems of a file."""
    messages = [problem.message for problem in problems]
    if any(_UNSUPPORTED.search(message) for message in messages):
        return "UNSUPPORTED_FORMAT"
    if any(_MISSING.search(message) for message in messages):
        return "MISSING_ASSETS"
    return "RESOURCE_PARSE_ERROR"
