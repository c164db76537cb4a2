"""The world that a bag was recorded in, where it carries the world's files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from sim_node.assembly import assemble
from sim_node.recording.bag import Attachment, Bag
from sim_node.world import World, WorldError, load
from sim_node.world.problems import Problem, Where, quoted, quoted_path
from sim_node.world.randomise import randomised

# Where provenance puts a world's files, the one that was loaded first.
_FOLDER = "world/"
RUN = "run.json"


@contextmanager
def recorded_world(bag: Bag) -> Iterator[World | None]:
    """The world, assembled; None of a bag without one. The files that it refers to are there until the end.

    Raises WorldError where they no longer make a world.
    """
    with TemporaryDirectory(prefix="sim_node_world_") as folder:
        yield _world(bag, Path(folder))


def _world(bag: Bag, folder: Path) -> World | None:
    """Its files written out below a folder of their own, and read."""
    first: Path | None = None
    seed: int | None = None
    for attachment in bag.attachments():
        if attachment.name == RUN:
            seed = _seed(attachment.data)
        if attachment.name.startswith(_FOLDER):
            path = _written(attachment, folder)
            first = first or path
    if first is None:
        return None
    world = load(first)
    return assemble(world if seed is None else randomised(world, seed))


def _written(attachment: Attachment, folder: Path) -> Path:
    """The file of an attachment. Raises WorldError for one that is none, or that is not below the folder."""
    path = Path(os.path.normpath(folder / attachment.name))
    if not path.is_relative_to(folder / _FOLDER) or path == folder / _FOLDER:
        raise _fault(attachment.name, "leads to no file below world/")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(attachment.data)
    except (OSError, ValueError) as error:
        raise _fault(attachment.name, f"cannot be a file: {getattr(error, 'strerror', None) or error}") from None
    return path


def _seed(data: bytes) -> int | None:
    """What a run's ranges were drawn from; None where they were not. Raises WorldError."""
    try:
        run = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _fault(RUN, f"is no JSON: {error}") from None
    if not isinstance(run, dict):
        raise _fault(RUN, "is no JSON object")
    if run.get("randomised") is not True:
        return None
    seed = run.get("seed", 0)
    if type(seed) is not int or not 0 <= seed < 2**63:
        raise _fault(RUN, f"seed: found {quoted(str(seed))}; a whole number from 0 to 2^63 - 1 is needed")
    return seed


def _fault(name: str, message: str) -> WorldError:
    return WorldError([Problem(Where(f"attachment {quoted_path(name)}"), "", message)])
