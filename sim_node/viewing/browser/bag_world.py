"""The shapes of the world that a bag was recorded in, where it carries the world's files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from sim_node.assembly import assemble
from sim_node.recording.bag import Bag
from sim_node.viewing.shapes import Shape, shapes_of
from sim_node.world import FrameTable, World, load
from sim_node.world.layout import lay_out
from sim_node.world.randomise import randomised

# Where provenance puts a world's files, the one that was loaded first.
_FOLDER = "world/"


@contextmanager
def recorded_shapes(bag: Bag, frames: FrameTable) -> Iterator[tuple[Shape, ...]]:
    """The shapes of the recorded world that are on frames of the table; none of a bag without a world.

    The files that they refer to are there until the end. Raises WorldError where they no longer make a world.
    """
    with TemporaryDirectory(prefix="sim_node_world_") as folder:
        world = _world(bag, Path(folder))
        if world is None:
            yield ()
            return
        theirs = lay_out(world).frames
        rows = {row: frames.index(name) for row, name in enumerate(theirs.names) if name in frames.names}
        yield tuple(replace(each, row=rows[each.row]) for each in shapes_of(world, theirs) if each.row in rows)


def _world(bag: Bag, folder: Path) -> World | None:
    """The world, assembled, its files written out below a folder of their own."""
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
