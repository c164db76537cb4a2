"""The world that a bag was recorded in, where it carries the world's files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from sim_node.assembly import assemble
from sim_node.recording.bag import Bag
from sim_node.world import World, load
from sim_node.world.randomise import randomised

# Where provenance puts a world's files, the one that was loaded first.
_FOLDER = "world/"


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
    run = {}
    for attachment in bag.attachments():
        if attachment.name == "run.json":
            run = json.loads(attachment.data)
        if not attachment.name.startswith(_FOLDER):
            continue
        path = (folder / attachment.name).resolve()
        if not path.is_relative_to(folder.resolve()):
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(attachment.data)
        first = first or path
    if first is None:
        return None
    world = load(first)
    return assemble(randomised(world, int(run.get("seed", 0))) if run.get("randomised") else world)
