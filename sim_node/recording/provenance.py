"""Where a recording comes from: the files of its world, its seed, the versions of what made it."""

from __future__ import annotations

import hashlib
import json
import mimetypes
import platform
import re
import warnings
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from sim_node.world import Model, World, WorldError, WorldWarning
from sim_node.world.writers.yaml import to_yaml

# Packages whose versions decide what a run gives.
PACKAGES = ("sim_node", "numpy", "numba", "scipy", "mujoco", "mcap", "zstandard", "lz4")
# Larger files of a world (meshes, clouds) are named with their hash, and left out.
MAX_BYTES = 16 * 1024 * 1024
_TEXTS = {".yaml": "application/yaml", ".yml": "application/yaml", ".urdf": "application/xml", ".openplx": "text/plain"}


@dataclass(frozen=True)
class Attached:
    """A file that goes with a bag: in its first file, or everywhere."""

    name: str
    media_type: str
    data: bytes
    everywhere: bool = False


@cache
def library() -> str:
    """Who writes bags, for their headers."""
    return f"sim_node/{_version('sim_node')}"


def attachments_of(world: World, seed: int, randomised: bool) -> tuple[Attached, ...]:
    """run.json (world, seed, versions, files with their SHA-256), and the world's files below world/.

    A world that was read from no file is written as one: pass it as it was before it was assembled. Where it cannot be
    written, run.json says why under `unwritten`, and a WorldWarning is given.
    """
    unwritten: tuple[str, ...] = ()
    if world.files:
        contents = [(name, path.read_bytes()) for name, path in _named(world.files) if path.is_file()]
    else:
        contents, unwritten = _written(world)
    run: dict[str, Any] = {
        "world": world.name,
        "seed": seed,
        "randomised": randomised,
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in contents},
        "versions": {"python": platform.python_version(), **{name: _version(name) for name in PACKAGES}},
    }
    if unwritten:
        run["unwritten"] = unwritten
    about = Attached("run.json", "application/json", json.dumps(run, indent=2).encode() + b"\n", everywhere=True)
    files = [Attached(name, _media_type(name), data) for name, data in contents if len(data) <= MAX_BYTES]
    return (about, *files)


def custom_data(world: World, seed: int) -> dict[str, str]:
    """What metadata.yaml says of a run."""
    return {"written_by": library(), "world": world.name, "seed": str(seed)}


def _written(world: World) -> tuple[list[tuple[str, bytes]], tuple[str, ...]]:
    """The file that a world made in Python would be, with those that it refers to; or why it cannot be one.

    What a file refers to has a folder of its own, so that the files of a model stand to each other as they did.
    """
    named: dict[Path, str] = {}

    def refer(path: Path) -> str:
        return named.setdefault(path.resolve(), f"{len(named)}/{path.name}")

    try:
        text = to_yaml(world, refer)
    except WorldError as error:
        reasons = tuple(error.lines())
        message = f"world {world.name!r} is not recorded: {reasons[0]}"
        warnings.warn(WorldWarning(message), stacklevel=3)
        return [], reasons
    files = dict(named)
    for model in world.of(Model):
        for part, path in _named(model.files):
            folder = named[model.files[0].resolve()].partition("/")[0]
            files.setdefault(path, part.replace("world", folder, 1))
    name = re.sub(r"[^\w.-]", "_", world.name).lstrip(".") or "world"
    contents = [(f"world/{name}.yaml", text.encode())]
    return [*contents, *((f"world/{part}", path.read_bytes()) for path, part in files.items() if path.is_file())], ()


def _named(files: tuple[Path, ...]) -> list[tuple[str, Path]]:
    """The world's file first, each by its path below the folder of the first, or by its name alone."""
    named: dict[str, Path] = {}
    for file in dict.fromkeys(path.resolve() for path in files):
        root = files[0].resolve().parent
        name = file.relative_to(root).as_posix() if file.is_relative_to(root) else file.name
        while f"world/{name}" in named:
            name = f"_{name}"
        named[f"world/{name}"] = file
    return list(named.items())


def _media_type(name: str) -> str:
    return _TEXTS.get(Path(name).suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"


@cache
def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"
