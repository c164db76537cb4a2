"""The world in a bag: store a run's world, and load it again."""

from __future__ import annotations

import hashlib
import json
import mimetypes
import os
import platform
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from sim_node.assembly import assemble
from sim_node.recording.bag import Bag, BagAttachment
from sim_node.world import Model, World, WorldError, WorldWarning, load
from sim_node.world.autopilots import autopiloted
from sim_node.world.fetched import cache_folder
from sim_node.world.load import randomised
from sim_node.world.locate import is_program
from sim_node.world.problems import Problem, Where, quoted, quoted_path
from sim_node.world.writers.yaml import to_yaml

# Packages whose versions affect the result of a run.
PACKAGES = ("sim_node", "numpy", "numba", "scipy", "mujoco", "jax", "jaxlib", "mcap", "zstandard", "lz4")
RUN = "run.json"
# Larger files of a world (meshes, clouds) are left out; only their name and hash are stored.
MAX_BYTES = 16 * 1024 * 1024
_TEXTS = {
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
    ".urdf": "application/xml",
    ".openplx": "text/plain",
    ".py": "text/x-python",
}


@dataclass(frozen=True)
class Attached:
    """A file stored in a bag: in its first file only, or in every file."""

    name: str
    media_type: str
    data: bytes
    everywhere: bool = False


@cache
def library() -> str:
    """Return the name of the writer, for the headers of bags."""
    return f"sim_node/{_version('sim_node')}"


def attachments_of(world: World, seed: int, randomised: bool) -> tuple[Attached, ...]:
    """Return run.json (world, seed, versions, files with their SHA-256), and the world's files below world/.

    A world that was not read from a file is written as YAML, so pass it as it was before assembly. If it cannot be
    written, run.json gives the reason under `unwritten`, and a WorldWarning is issued.
    """
    unwritten: tuple[str, ...] = ()
    if world.files:
        contents = [(f"world/{name}", path.read_bytes()) for name, path in files_below(world.files) if path.is_file()]
    else:
        contents, unwritten = _written(world)
    facts: dict[str, Any] = {"seed": seed, "randomised": randomised}
    if unwritten:
        facts["unwritten"] = unwritten
    return run_attachments(world.name, contents, facts)


def run_attachments(name: str, contents: Sequence[tuple[str, bytes]], facts: Mapping[str, Any]) -> tuple[Attached, ...]:
    """Return run.json and the files to attach.

    Args:
        name: Name of the world.
        contents: The files that define it, by path. Files larger than MAX_BYTES are left out.
        facts: Additional entries of run.json.
    """
    run = {
        "world": name,
        **facts,
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in contents},
        "versions": {"python": platform.python_version(), **{name: _version(name) for name in PACKAGES}},
    }
    about = Attached(RUN, "application/json", json.dumps(run, indent=2).encode() + b"\n", everywhere=True)
    files = [Attached(name, media_type(name), data) for name, data in contents if len(data) <= MAX_BYTES]
    return (about, *files)


def custom_data(world: World, seed: int) -> dict[str, str]:
    """Return the custom data of metadata.yaml for a run."""
    return {"written_by": library(), "world": world.name, "seed": str(seed)}


def _written(world: World) -> tuple[list[tuple[str, bytes]], tuple[str, ...]]:
    """Return a world made in Python as a YAML file with the files that it refers to, or why that is impossible.

    Referenced files keep their folder structure, so that the files of a model still find each other.
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
    files = {path: name for path, name in named.items() if not is_secret(path, world)}
    for model in world.of(Model):
        for part, path in files_below(model.files):
            folder = named[model.files[0].resolve()].partition("/")[0]
            files.setdefault(path, f"{folder}/{part}")
    name = re.sub(r"[^\w.-]", "_", world.name).lstrip(".") or "world"
    contents = [(f"world/{name}.yaml", text.encode())]
    return [*contents, *((f"world/{part}", path.read_bytes()) for path, part in files.items() if path.is_file())], ()


def is_secret(path: Path, world: World) -> bool:
    """Return whether a file that a world refers to is a key, which must never be recorded."""
    return any(each.signing_key.resolve() == path for _, each in autopiloted(world) if each.signing_key)


def files_below(files: tuple[Path, ...]) -> list[tuple[str, Path]]:
    """Return files, the first one first, each with its path relative to the first one's folder, or with its name.

    Fetched files use their name, by which they are found beside a world.
    """
    named: dict[str, Path] = {}
    root, cache = files[0].resolve().parent, cache_folder().resolve()
    for file in dict.fromkeys(path.resolve() for path in files):
        is_below = file.is_relative_to(root) and file.parent != cache
        name = file.relative_to(root).as_posix() if is_below else file.name
        while name in named:
            name = f"_{name}"
        named[name] = file
    return list(named.items())


def media_type(name: str) -> str:
    """Return the MIME type of a file by its suffix."""
    return _TEXTS.get(Path(name).suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"


@cache
def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


# Prefix of a world's files; the main file comes first.
_FOLDER = "world/"


def first_world(bag: Bag, folder: Path) -> World | None:
    """Write the files of a bag's first world to a folder, read them, and assemble it; None for a bag without one.

    A world in Python is not loaded, because that would execute it. Raises WorldError if the files are invalid.
    """
    first: Path | None = None
    seed: int | None = None
    for attachment in bag.attachments():
        if attachment.name == RUN:
            seed = _seed(attachment.data)
        if attachment.name.startswith(_FOLDER):
            path = unpacked(attachment, folder, _FOLDER)
            first = first or path
    if first is None or is_program(first):
        return None
    world = load(first)
    return assemble(world if seed is None else randomised(world, seed))


def unpacked(attachment: BagAttachment, folder: Path, below: str) -> Path:
    """Write an attachment to its file. Raises WorldError if it is invalid or outside of the subfolder `below`."""
    path = Path(os.path.normpath(folder / attachment.name))
    if not path.is_relative_to(folder / below) or path == folder / below:
        raise _fault(attachment.name, f"is not a file below {below}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(attachment.data)
    except (OSError, ValueError) as error:
        raise _fault(attachment.name, f"cannot be a file: {getattr(error, 'strerror', None) or error}") from None
    return path


def _seed(data: bytes) -> int | None:
    """Return the seed of a run's randomised values; None if there are none. Raises WorldError."""
    try:
        run = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _fault(RUN, f"is not JSON: {error}") from None
    if not isinstance(run, dict):
        raise _fault(RUN, "is not a JSON object")
    if run.get("randomised") is not True:
        return None
    seed = run.get("seed", 0)
    if type(seed) is not int or not 0 <= seed < 2**63:
        raise _fault(RUN, f"seed: found {quoted(str(seed))}; a whole number from 0 to 2^63 - 1 is needed")
    return seed


def _fault(name: str, message: str) -> WorldError:
    return WorldError([Problem(Where(f"attachment {quoted_path(name)}"), "", message)])
