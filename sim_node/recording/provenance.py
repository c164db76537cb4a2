"""Where a recording comes from: the files of its world, its seed, the versions of what made it."""

from __future__ import annotations

import hashlib
import json
import mimetypes
import platform
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from sim_node.world import World

# Packages whose versions decide what a run gives.
PACKAGES = ("sim_node", "numpy", "numba", "scipy", "mujoco", "mcap", "zstandard", "lz4")
# Larger files of a world (meshes, clouds) are named with their hash, and left out.
LARGEST = 16 * 1024 * 1024
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
    """run.json (world, seed, versions, files with their SHA-256), and the world's files below world/."""
    contents = [(name, path.read_bytes()) for name, path in _named(world.files) if path.is_file()]
    run = {
        "world": world.name,
        "seed": seed,
        "randomised": randomised,
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in contents},
        "versions": {"python": platform.python_version(), **{name: _version(name) for name in PACKAGES}},
    }
    about = Attached("run.json", "application/json", json.dumps(run, indent=2).encode() + b"\n", everywhere=True)
    files = [Attached(name, _media_type(name), data) for name, data in contents if len(data) <= LARGEST]
    return (about, *files)


def custom_data(world: World, seed: int) -> dict[str, str]:
    """What metadata.yaml says of a run."""
    return {"written_by": library(), "world": world.name, "seed": str(seed)}


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
