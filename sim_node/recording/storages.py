"""The storages of bags: what reads a file of each. A new one is a new file here with one `@storage` entry."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sim_node.recording.bag import Bag, BagError
from sim_node.registry import Registry
from sim_node.text import did_you_mean

# Opens one file; the number is how many bytes may be decompressed at once. Messages are as they were recorded,
# compressed one by one where the bag says so.
Opener = Callable[[Path, int], Bag]

# By rosbag2's storage_identifier, and by suffix.
STORAGES: Registry[str, Opener] = Registry(
    "storage", shipped=("sim_node.recording.mcap_bag", "sim_node.recording.sqlite_bag"), group="sim_node.storages"
)
# Registers what opens a file of a storage.
storage = STORAGES.add


def opener(name: str, where: Path) -> Opener:
    """What opens files of this identifier or suffix. Raises BagError, which `where` is named in."""
    if name not in STORAGES:
        known = sorted(name for name in STORAGES if not name.startswith("."))
        said = f"storage {name!r}" if not name.startswith(".") else f"{name} files"
        raise BagError(f"{where}: {said} cannot be read{did_you_mean(name, known)} (known: {', '.join(known)})")
    return STORAGES[name]


def suffixes() -> tuple[str, ...]:
    """`.mcap`, `.db3`: what files of bags end with."""
    return tuple(name for name in STORAGES if name.startswith("."))
