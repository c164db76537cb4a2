"""The worlds of a run in its bag, if the world changed: each with the time from which it is valid."""

from __future__ import annotations

import hashlib
import json
import re
import warnings
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sim_node.assembly import assemble
from sim_node.recording.bag import Bag
from sim_node.recording.worlds import (
    MAX_BYTES,
    Attached,
    files_below,
    first_world,
    is_secret,
    media_type,
    unpacked,
)
from sim_node.world import Model, World, WorldError, load
from sim_node.world.writers.yaml import to_yaml

# Attachments for changes: changes/1.json, changes/1.yaml, and folders of the files that the worlds refer to.
_FOLDER = "changes/"
_ABOUT = re.compile(r"changes/([0-9]{1,9})\.json")


class WorldChanges:
    """Creates the attachments of a run's later worlds. A file used by several of them is stored once."""

    def __init__(self) -> None:
        self._count = 0
        self._told_left_out = False
        # Folders of stored files, by the path and the content of the first file.
        self._folders: dict[tuple[Path, bytes], str] = {}

    def attachments(self, world: World) -> tuple[tuple[Attached, ...], list[str]]:
        """Return the attachments of the next world.

        Args:
            world: The world; assembled or not.

        Returns:
            The attachments, and messages for the user: that the world could not be stored, or what it lacks. Features
            that no run uses are reported once.
        """
        self._count += 1
        models = {model.files[0].resolve(): model.files for model in world.of(Model) if model.files}
        stored: list[Attached] = []

        def refer(path: Path) -> str:
            path = path.resolve()
            files = [] if is_secret(path, world) else files_below(models.get(path, (path,)))
            contents = [(name, data) for name, each in files if (data := _content(each)) is not None]
            key = path, hashlib.sha256(b"".join(data for _, data in contents)).digest()
            if key not in self._folders:
                folder = self._folders[key] = str(len(self._folders))
                stored.extend(
                    Attached(f"{_FOLDER}{folder}/{name}", media_type(name), data)
                    for name, data in contents
                    if len(data) <= MAX_BYTES
                )
            return f"{self._folders[key]}/{path.name}"

        facts: dict[str, object] = {"world": world.name}
        worlds = []
        notes = []
        drawn, left_out = _drawn(world)
        try:
            text = to_yaml(drawn, refer).encode()
            worlds.append(Attached(f"{_FOLDER}{self._count}.yaml", media_type(".yaml"), text))
        except WorldError as error:
            facts["unwritten"] = error.lines()
            notes.append(f"is not recorded: {error.lines()[0]}")
        else:
            if left_out:
                facts["left_out"] = left_out
            if left_out and not self._told_left_out:
                self._told_left_out = True
                notes.append(f"is recorded without {', '.join(left_out)}, which no run uses")
        about = Attached(
            f"{_FOLDER}{self._count}.json", "application/json", json.dumps(facts, indent=2).encode() + b"\n"
        )
        return (about, *worlds, *stored), notes


# Features of bodies that no run uses: sources of other seeds' values, and x_xy's markers and outlines.
_UNUSED: dict[str, tuple[Any, str]] = {
    "position_range": (None, "ranges of positions"),
    "draws_axes": (False, "the drawing of axes"),
    "marker": (None, "markers"),
}


def _drawn(world: World) -> tuple[World, list[str]]:
    """Return a world without features that no run uses, and the names of those that it had."""
    plain = {key: value for key, (value, _) in _UNUSED.items()}
    bodies = tuple(
        replace(body, **plain, geometry=tuple(replace(shape, edge_colour=None) for shape in body.geometry))
        for body in world.bodies
    )
    had = [
        name for key, (value, name) in _UNUSED.items() if any(getattr(body, key) is not value for body in world.bodies)
    ]
    if any(shape.edge_colour is not None for body in world.bodies for shape in body.geometry):
        had.append("colours of outlines")
    return replace(world, bodies=bodies), had


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


class RecordedWorlds:
    """The worlds of a bag, in the order of the times from which they are valid. Opened by `recorded_worlds`.

    Attributes:
        times_ns: Start time of each world. The first one begins with the bag.
    """

    def __init__(self, bag: Bag, folder: Path) -> None:
        self._bag, self._folder = bag, folder
        # Time and number of each change
        changes: list[tuple[int, int]] = []
        for attachment in bag.attachments():
            found = _ABOUT.fullmatch(attachment.name)
            if found:
                changes.append((attachment.time_ns, int(found[1])))
            elif attachment.name.startswith(_FOLDER):
                unpacked(attachment, folder, _FOLDER)
        # A reset starts again at an earlier time. Of two changes at the same time, the later one is valid.
        self._changes = sorted(changes)
        self.times_ns: tuple[int, ...] = (bag.start_ns, *(time_ns for time_ns, _ in self._changes))
        self._loaded = cache(self._load)

    def __len__(self) -> int:
        return len(self.times_ns)

    def __getitem__(self, place: int) -> World | None:
        """Return an assembled world, or None if the bag does not have it.

        Args:
            place: Its index in `times_ns`.

        Returns:
            The world.

        Raises:
            WorldError: The recorded files are no longer a valid world.
        """
        return self._loaded(place)

    def place_at(self, time_ns: int) -> int:
        """Return the index of the world at a time of the bag."""
        return max(bisect_right(self.times_ns, time_ns) - 1, 0)

    def _load(self, place: int) -> World | None:
        if place == 0:
            return first_world(self._bag, self._folder)
        path = self._folder / f"{_FOLDER}{self._changes[place - 1][1]}.yaml"
        if not path.is_file():
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings were already shown during the run
            return assemble(load(path))


@contextmanager
def recorded_worlds(bag: Bag) -> Iterator[RecordedWorlds]:
    """Yield the worlds of a bag. Their files exist until the context ends.

    Raises:
        WorldError: An attachment is not a file below changes/.
    """
    with TemporaryDirectory(prefix="sim_node_world_") as folder:
        yield RecordedWorlds(bag, Path(folder))


def change_times(bag: Bag) -> tuple[int, ...]:
    """Return the times at which the world of a recorded run changed, in order (ns)."""
    return tuple(sorted(each.time_ns for each in bag.attachments() if _ABOUT.fullmatch(each.name)))
