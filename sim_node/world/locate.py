"""Locations of worlds and packages: paths, package:// URIs, and the names of shipped worlds."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from sim_node.registry import Registry
from sim_node.text import did_you_mean, shown
from sim_node.world.problems import quoted, quoted_path
from sim_node.world.unsupported import no_such_model

PACKAGE = "sim_node"
# Suffixes of worlds that are run as programs when they are read; only a path that the user gives may refer to one.
PROGRAMS = (".py",)
# Folders that stand for a world: the name of the manifest that identifies them, and a function that finds the world.
MANIFESTS: Registry[str, Callable[[Path], Path]] = Registry("manifest of a folder", group="sim_node.readers")
# Registers a function for the name of a manifest.
manifest = MANIFESTS.add
_COMMENTS = (("<!--", "-->"), ("#", ""), ("//", ""))
_MAX_COMMENT = 1000


# The world to run, view or launch if none is given.
DEFAULT_WORLD = "guided"


class LocateError(Exception):
    """A reference does not resolve to a file. The message gives the reference and similar names."""


class NoSuchFile(LocateError):
    """A reference is allowed, but the file does not exist."""


def locate(reference: str | Path) -> Path:
    """Return the file of a path, a package:// URI or the name of a shipped world. Raises LocateError.

    Only a path may refer to a world that is run as a program.
    """
    text = str(reference)
    try:
        return _package_file(text) if text.startswith("package://") else _file_or_example(text)
    except (OSError, ValueError, RuntimeError) as error:  # invalid file names, unknown users
        reason = error.strerror if isinstance(error, OSError) else error
        raise LocateError(f"no world {quoted_path(text)}: {reason}") from None


def is_program(path: Path) -> bool:
    """Return whether a world in this file is run as a program when it is read."""
    return path.suffix.lower() in PROGRAMS


def _package_file(uri: str) -> Path:
    path = package_path(uri)
    if is_program(path):
        raise LocateError(f"{quoted_path(uri)} would run as a program; give its path: {path}")
    if not path.is_file():
        raise LocateError(f"{quoted_path(uri)} is not a file: {path} does not exist")
    return path


def _file_or_example(text: str) -> Path:
    path = Path(text).expanduser()
    if path.is_file():
        return path
    examples = shipped_worlds()
    if text in examples:
        return examples[text]
    if path.is_dir():
        if (inside := world_in(path)) is not None:
            return inside
        raise LocateError(f"{quoted_path(text)} is a folder; name a world file in it")
    if path.exists():
        raise LocateError(f"{quoted_path(text)} is {special(path)}, not a world file")
    near = did_you_mean(text, examples)
    if not near and path.parent.is_dir():
        near = did_you_mean(path.name, (entry.name for entry in path.parent.iterdir()))
    near = near or no_such_model(path.stem)
    raise LocateError(
        f"no world {quoted_path(text)}{near} (a path, package://PACKAGE/PATH, or one of: {', '.join(examples)})"
    )


def world_in(folder: Path) -> Path | None:
    """Return the world file of a folder, as a manifest in it names it; None without a manifest. Raises LocateError."""
    found = next((name for name in MANIFESTS if (folder / name).is_file()), None)
    return None if found is None else MANIFESTS[found](folder)


def special(path: Path) -> str:
    """Return a description of a path that exists and is neither a file nor a folder."""
    kinds = {"a pipe": Path.is_fifo, "a socket": Path.is_socket}
    return next((kind for kind, is_one in kinds.items() if is_one(path)), "a device")


def shipped_worlds() -> dict[str, Path]:
    """Return the shipped worlds by name, sorted."""
    return _shipped("worlds", ".yaml", ".xml", ".openplx")


def shipped_vehicles() -> dict[str, Path]:
    """Return the files of the shipped vehicle models by name, sorted."""
    return _shipped("vehicles", ".yaml")


def shipped_models() -> dict[str, Path]:
    """Return the files of the shipped models of robots that are worlds, by name, sorted."""
    return _shipped("models", ".yaml")


def shipped_robots() -> dict[str, Path]:
    """Return the files of all shipped models of robots by name, sorted: worlds, and those of other formats."""
    return _shipped("models")


def _shipped(kind: str, *suffixes: str) -> dict[str, Path]:
    """Return the files in a folder of config/ with one of these suffixes, or with any."""
    folder = share(PACKAGE)
    files = sorted((folder / "config" / kind).iterdir()) if folder is not None else ()
    return {path.stem: path for path in files if path.suffix in (suffixes or (path.suffix,)) and path.is_file()}


def first_comment(path: Path) -> str:
    """Return the first sentence of the comment at the beginning of a world file; empty if it has none."""
    found: list[str] = []
    with path.open(encoding="utf-8", errors="replace") as file:
        lines = file.read(_MAX_COMMENT).splitlines()
    for line in lines:
        text = line.strip()
        if text.startswith("<?xml") and not found:
            continue
        mark = next((mark for mark in _COMMENTS if text.startswith(mark[0])), None)
        if mark is None:
            if not found and " # " in text:  # beside the first key
                found.append(text.partition(" # ")[2])
            break
        found.append(text.removeprefix(mark[0]).removesuffix(mark[1]).strip())
        if found[-1].endswith("."):
            break
    sentence, stop, _ = " ".join(found).partition(". ")
    return shown(sentence + stop.strip(), _MAX_COMMENT)


def package_path(uri: str, table: Mapping[str, Path] | None = None, sources: Iterable[Path] = ()) -> Path:
    """Return the file of `package://PACKAGE/PATH` in the package's folder. Raises LocateError.

    The folder is that in the table, or the share folder of the installed package, or a folder with the package's name
    that is one of the sources or directly in one of them.
    """
    # Accept three slashes, which some exporters write.
    package, _, inside = uri.removeprefix("package://").lstrip("/").partition("/")
    folder = (table or {}).get(package) or share(package) or _source(package, sources)
    if folder is None:
        message = f"no package {quoted(package)} is installed (is its workspace sourced?)"
        raise LocateError(f"{quoted_path(uri)}: {message}; --allow DIR finds it in a folder")
    # Do not resolve links before the check of `..`: in a symlink install, a share folder consists of links.
    path = Path(os.path.normpath(folder / inside))
    if not path.is_relative_to(folder):
        raise LocateError(f"{quoted_path(uri)} leaves package {quoted(package)}")
    return path


def _source(package: str, sources: Iterable[Path]) -> Path | None:
    """Return the folder of a package that is not installed, or None."""
    if not package or package in (".", ".."):
        return None
    found = (each for folder in sources for each in (folder, folder / package) if each.name == package)
    return next((each for each in found if each.is_dir()), None)


def is_in_a_package(path: Path) -> bool:
    """Return whether a path (resolved) is in the share folder of a prefix in AMENT_PREFIX_PATH."""
    prefixes = filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep))
    return any(path.is_relative_to(Path(prefix).resolve() / "share") for prefix in prefixes)


def share(package: str) -> Path | None:
    """Return the share folder of an installed package (for sim_node in a checkout, the checkout), or None."""
    for folder in _share_folders(package):
        if folder.is_dir():
            return folder
    return None


def _share_folders(package: str) -> Iterator[Path]:
    if not package or "/" in package or package.startswith("."):
        return
    if package == PACKAGE:
        checkout = Path(__file__).resolve().parents[2]
        if (checkout / "package.xml").is_file():
            yield checkout
        # A colcon or pip install: PREFIX/lib/pythonX.Y/site-packages/sim_node beside PREFIX/share/sim_node.
        for prefix in Path(__file__).resolve().parents[3:6]:
            yield prefix / "share" / package
    for folder in filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)):
        yield Path(folder) / "share" / package
    yield Path(sys.prefix) / "share" / package
