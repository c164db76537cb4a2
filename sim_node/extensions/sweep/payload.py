"""Payload: a world on its way to the workers of a sweep, with its files as bytes that are named by their contents."""

from __future__ import annotations

import hashlib
import os
import pickle
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sim_node.world import World, WorldError, load
from sim_node.world.problems import NOWHERE, Problem
from sim_node.world.writers.yaml import to_yaml

_MODE = 0o700


@dataclass(frozen=True)
class Payload:
    """A world that workers can open on any machine.

    Attributes:
        digest: SHA-256 of its contents: equal payloads are equal worlds.
        world: The pickled World; empty for a world in Python, which is read from its script.
        script: The name of the script among the files, or empty.
        files: The contents of files by the path that the world has for them.
        local: Whether workers are on this machine and read the files where they are.
    """

    digest: str
    world: bytes
    script: str
    files: Mapping[str, bytes] = field(repr=False)
    local: bool = True

    def open(self) -> World:
        """Return the world. Its files are written to a folder of this user where they are missing.

        Returns:
            The world.

        Raises:
            WorldError: The script of a world in Python does not make a world.
        """
        if self.local:
            return load(self.script) if self.script else _unpickled(self.world)
        folder = self._folder
        folder.mkdir(mode=_MODE, parents=True, exist_ok=True)
        if folder.parent.stat().st_uid != os.getuid():
            raise WorldError([Problem(NOWHERE, "", f"{folder.parent} belongs to another user")])
        for path, data in self.files.items():
            _write(folder / path.lstrip("/"), data)
        if self.script:
            return load(self.place(self.script))
        return _unpickled(self.world, folder)

    def place(self, path: str) -> Path:
        """Return where workers find a file, after `open`.

        Args:
            path: Its absolute path on the machine of the driver.

        Returns:
            Its path.
        """
        return Path(path) if self.local else self._folder / path.lstrip("/")

    @property
    def _folder(self) -> Path:
        return Path(tempfile.gettempdir(), f"sim_node-{os.getuid()}", self.digest)

    def remote(self) -> Payload:
        """Return the payload for workers on other machines."""
        return Payload(self.digest, self.world, self.script, self.files, local=False)


def payload_of(world: World, more: Mapping[str, bytes] | None = None) -> Payload:
    """Pack a world.

    Args:
        world: The world.
        more: Further files that workers need, such as those of measures.

    Returns:
        The payload.
    """
    paths = {path.resolve() for path in world.files if path.is_file()}
    for body in world.bodies:
        paths.update(shape.file.resolve() for shape in body.geometry if shape.file is not None)
    script = ""
    if world.python is not None:
        script = str(Path(world.python.script).resolve())
        paths.add(Path(script))
    files = {str(path): path.read_bytes() for path in sorted(paths) if path.is_file()}
    files.update(more or {})
    pickled = b"" if script else pickle.dumps(world, protocol=5)
    # Not of the pickled world: its bytes depend on which objects happen to be shared.
    digest = hashlib.sha256(b"" if script else _text_of(world, pickled))
    for name, data in sorted(files.items()):
        digest.update(f"\0{name}\0".encode())
        digest.update(hashlib.sha256(data).digest())
    return Payload(digest.hexdigest(), pickled, script, files)


def _text_of(world: World, pickled: bytes) -> bytes:
    """Return what identifies a world beside its files."""
    try:
        return to_yaml(world, str).encode()
    except WorldError:  # world files cannot express it
        return b"" if world.files else pickled


def _unpickled(data: bytes, folder: Path | None = None) -> World:
    world: World = pickle.loads(data)
    if folder is None:
        return world
    from dataclasses import replace

    def moved(path: Path | None) -> Path | None:
        return None if path is None else folder / str(path.resolve()).lstrip("/")

    bodies = tuple(
        replace(body, geometry=tuple(replace(shape, file=moved(shape.file)) for shape in body.geometry))
        if any(shape.file is not None for shape in body.geometry)
        else body
        for body in world.bodies
    )
    files = tuple(folder / str(path.resolve()).lstrip("/") for path in world.files)
    return replace(world, bodies=bodies, files=files)


def _write(path: Path, data: bytes) -> None:
    """Write a file, unless it is there: workers of one machine share it."""
    if path.exists() and path.stat().st_size == len(data):
        return
    path.parent.mkdir(mode=_MODE, parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.write_bytes(data)
    part.replace(path)
