"""The shipped storages, registered without importing their libraries, which commands for worlds do not need."""

from __future__ import annotations

from pathlib import Path

from sim_node.recording.bag import Bag, storage


@storage("mcap", ".mcap")
def open_mcap(path: Path, max_bytes: int) -> Bag:
    """Open an MCAP file."""
    from sim_node.recording.mcap_bag import McapBag

    return McapBag(path, max_bytes)


@storage("sqlite3", ".db3")
def open_sqlite(path: Path, max_bytes: int) -> Bag:
    """Open an SQLite file."""
    from sim_node.recording.sqlite_bag import SqliteBag

    return SqliteBag(path, max_bytes)
