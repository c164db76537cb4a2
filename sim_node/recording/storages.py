"""The storages of bags: what reads a file of each. A new one is a new file here with one `@storage` entry."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from sim_node.recording.bag import Bag, BagError
from sim_node.registry import registering
from sim_node.text import did_you_mean

# Opens one file. Messages are as they were recorded, compressed one by one where the bag says so.
Opener = Callable[[Path], Bag]
_T = TypeVar("_T", bound=Opener)

# By rosbag2's storage_identifier, and by suffix.
_STORAGES: dict[str, Opener] = {}


def storage(identifier: str, suffix: str) -> Callable[[_T], _T]:
    """Enters what opens a file of a storage."""
    return registering(_STORAGES, "storage", identifier, suffix)


def opener(name: str, where: Path) -> Opener:
    """What opens files of this identifier or suffix. Raises BagError, which `where` is named in."""
    if name not in _STORAGES:
        known = sorted(name for name in _STORAGES if not name.startswith("."))
        said = f"storage {name!r}" if not name.startswith(".") else f"{name} files"
        raise BagError(f"{where}: {said} cannot be read{did_you_mean(name, known)} (known: {', '.join(known)})")
    return _STORAGES[name]


def suffixes() -> tuple[str, ...]:
    """`.mcap`, `.db3`: what files of bags end with."""
    return tuple(name for name in _STORAGES if name.startswith("."))
