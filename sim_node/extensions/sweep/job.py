"""The data exchanged with workers: Job, what they need to run cases of a sweep; Cases; and their Outcomes."""

from __future__ import annotations

import hashlib
import os
import pickle
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sim_node.extensions.sweep.in_place import InPlace
from sim_node.extensions.sweep.measures import Value
from sim_node.world import World, WorldError, load
from sim_node.world.declared import declared, given
from sim_node.world.problems import refuse
from sim_node.world.quantities import Flag, ListOf, Text
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
            refuse("", f"{folder.parent} belongs to another user")
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
    # The pickled world is not used for the digest, because its bytes depend on which objects happen to be shared.
    digest = hashlib.sha256(b"" if script else _text_of(world, pickled))
    for name, data in sorted(files.items()):
        digest.update(f"\0{name}\0".encode())
        digest.update(hashlib.sha256(data).digest())
    return Payload(digest.hexdigest(), pickled, script, files)


def _text_of(world: World, pickled: bytes) -> bytes:
    """Return data that identifies a world besides its files."""
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
    """Write a file unless it exists, because workers on the same machine share it."""
    if path.exists() and path.stat().st_size == len(data):
        return
    path.parent.mkdir(mode=_MODE, parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.write_bytes(data)
    part.replace(path)


# The status of a finished case.
OK, DIVERGED, FAILED, TIMED_OUT, CRASHED = "ok", "diverged", "failed", "timeout", "crashed"
# The columns of each row besides its numbers and measures.
OWN = ("case", "seed", "status", "error", "wall_s")
# The default time limit of a case, s.
TIMEOUT_S = 3600.0


@declared
class Keep:
    """What is kept of each case beside its row."""

    topics: tuple[str, ...] = given(ListOf(Text()), "Patterns of topics to record in a bag", default=())
    columns: tuple[str, ...] = given(ListOf(Text()), "Names of columns to store over time", default=())
    picture: bool = given(Flag(), "Whether to draw the end of the run", default=False)
    failures_only: bool = given(Flag(), "Whether to keep these for failures only", default=False)

    def __bool__(self) -> bool:
        return bool(self.topics or self.columns or self.picture)


@dataclass(frozen=True)
class Job:
    """The settings that all cases of a sweep share.

    Attributes:
        payload: The world.
        duration_ns: Simulated time of each case, ns.
        paths: The paths of the varied numbers.
        measures: The measures, as strings.
        every_ns: Time between two recorded instants, ns; 0 for the world's step.
        keep: What is kept of each case.
        in_place: Where the numbers are in a compiled model, or None to compile the world for each case.
        block: The number of cases in one vmapped batch; 1 for worlds that do not run in batches.
        timeout_s: The longest time that a case may take, s.
    """

    payload: Payload
    duration_ns: int
    paths: tuple[str, ...]
    measures: tuple[str, ...]
    every_ns: int = 0
    keep: Keep = field(default_factory=Keep)
    in_place: InPlace | None = None
    block: int = 1
    timeout_s: float = TIMEOUT_S


class Case(NamedTuple):
    """One case.

    Attributes:
        number: Its number.
        seed: Its seed.
        values: The varied numbers by path.
    """

    number: int
    seed: int
    values: Mapping[str, float]


@dataclass(frozen=True)
class Cases:
    """Some cases of a job, as arrays.

    Attributes:
        numbers: Their numbers (n,).
        seeds: Their seeds (n,).
        values: The numbers of each path (n,).
    """

    numbers: npt.NDArray[np.int64]
    seeds: npt.NDArray[np.int64]
    values: Mapping[str, npt.NDArray[Any]]

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[Case]:
        columns = [values.tolist() for values in self.values.values()]
        for row, (number, seed) in enumerate(zip(self.numbers.tolist(), self.seeds.tolist(), strict=True)):
            yield Case(number, seed, dict(zip(self.values, (column[row] for column in columns), strict=True)))

    def part(self, rows: slice | npt.NDArray[Any]) -> Cases:
        """Return a subset of the cases.

        Args:
            rows: The rows of the cases.

        Returns:
            These cases.
        """
        return Cases(self.numbers[rows], self.seeds[rows], {path: each[rows] for path, each in self.values.items()})


class Outcome(NamedTuple):
    """The result of a case.

    Attributes:
        case: The case.
        status: How it ended: ok, diverged, failed, timeout or crashed.
        error: Why it has no measures, or empty.
        measures: The values of its measures.
        wall_s: Its wall time, s.
        files: Contents of the files that are kept, by path below its folder.
    """

    case: Case
    status: str
    error: str
    measures: Mapping[str, Value]
    wall_s: float
    files: Mapping[str, bytes] = {}
