"""A readable copy of a SQLite bag that was not closed, or that has damaged pages."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from sim_node.recording.bag import BagError
from sim_node.recording.qos_profiles import is_readable
from sim_node.text import printable

# What SQLite keeps beside a database that is being written.
_LOGS = ("-wal", "-journal")
# What reading a damaged database raises: an error of SQLite may quote bytes that are no text.
UNREADABLE = (sqlite3.DatabaseError, UnicodeDecodeError)
_SMALL_TABLES = ("schema", "metadata", "message_definitions")


def unfinished(path: Path) -> bool:
    """Whether a log beside the file has what is not in it yet."""
    logs = (path.with_name(path.name + suffix) for suffix in _LOGS)
    return any(log.is_file() and log.stat().st_size for log in logs)


def lenient(text: bytes) -> str:
    """Text of a database, which need not be UTF-8."""
    return text.decode(errors="replace")


def check_tables(path: Path, database: sqlite3.Connection) -> None:
    """Refuse a database whose tables compute what they hold: a query of a file's own can run for ever.

    Raises BagError for views, virtual tables and generated columns; sqlite3.DatabaseError where the file is damaged.
    """
    for name in ("topics", "messages", *_SMALL_TABLES):
        found = database.execute("SELECT type, rootpage FROM sqlite_master WHERE name = ?", (name,)).fetchone()
        if found is None:
            continue
        if found[0] != "table" or not found[1]:
            kind = "virtual table" if found[0] == "table" else found[0]
            raise BagError(f"{path}: {name} is a {kind}; a bag keeps it in a table")
        for column in database.execute(f"PRAGMA table_xinfo({name})"):
            if column[6] > 1:
                raise BagError(f"{path}: column {column[1]!r} of {name} is generated; a bag keeps what was recorded")


def unreadable_profiles(database: sqlite3.Connection) -> list[Any]:
    """The names of topics whose quality of service cannot be read."""
    if all(column[1] != "offered_qos_profiles" for column in database.execute("PRAGMA table_info(topics)")):
        return []  # before ROS 2 Foxy
    rows = database.execute("SELECT name, offered_qos_profiles FROM topics")
    return [name for name, text in rows if not is_readable(text)]


def rescued(path: Path, folder: Path) -> tuple[Path, list[str]]:
    """Copies all rows that can be read into a new file in `folder`; returns it, and what there is to say of that.

    Raises BagError where not even the topics can be read.
    """
    source_path, target_path = folder / f"source_{path.name}", folder / path.name
    said = [f"{path}: was not closed; its log is read too"] if unfinished(path) else []
    shutil.copyfile(path, source_path)
    for suffix in _LOGS:
        with suppress(FileNotFoundError):
            shutil.copyfile(path.with_name(path.name + suffix), source_path.with_name(source_path.name + suffix))
    try:
        with closing(sqlite3.connect(source_path)) as source, closing(sqlite3.connect(target_path)) as target:
            source.text_factory = lenient
            check_tables(path, source)
            _copy_table(source, target, "topics")
            for name in unreadable_profiles(target):
                target.execute("UPDATE topics SET offered_qos_profiles = '' WHERE name = ?", (name,))
                said.append(f"{path}: {printable(str(name))}: its quality of service cannot be read and is left out")
            for table in _SMALL_TABLES:
                with suppress(*UNREADABLE):
                    _copy_table(source, target, table)
            lost = _copy_messages(source, target)
            target.execute("CREATE INDEX timestamp_idx ON messages (timestamp ASC)")
            target.commit()
    except UNREADABLE as error:
        raise BagError(f"{path}: the database is damaged beyond what can be read: {error}") from None
    finally:
        source_path.unlink()
    if lost:
        said.append(f"{path}: pages of the database are damaged; about {lost} messages are lost")
    return target_path, said


def _copy_table(source: sqlite3.Connection, target: sqlite3.Connection, table: str) -> None:
    found = source.execute("SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)).fetchone()
    if found is None:
        raise sqlite3.DatabaseError(f"there is no table {table}")
    rows = source.execute(f"SELECT * FROM {table}").fetchall()
    target.execute(found[0])
    if rows:
        target.executemany(f"INSERT INTO {table} VALUES ({','.join('?' * len(rows[0]))})", rows)


def _copy_messages(source: sqlite3.Connection, target: sqlite3.Connection) -> int:
    """Returns how many numbers of messages are missing between the first and the last."""
    target.execute("CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER, data BLOB)")
    (last,) = source.execute("SELECT max(id) FROM messages").fetchone()
    copied = 0
    first = next_id = 0
    # Behind a damaged page, further and further on until one can be read again.
    step = 1
    while next_id <= (last or 0):
        for row in _readable(source, next_id):
            first = first or row[0]
            next_id, step = row[0] + 1, 1
            if isinstance(row[3], bytes):
                target.execute("INSERT INTO messages VALUES (?, ?, ?, ?)", row)
                copied += 1
        next_id, step = next_id + step, 2 * step
    return (last or 0) - first + 1 - copied if copied else (last or 0)


def _readable(source: sqlite3.Connection, first: int) -> Iterator[tuple[int, int, int, bytes]]:
    """Rows from a number on, up to the first that cannot be read."""
    with suppress(*UNREADABLE):
        yield from source.execute(
            "SELECT id, topic_id, timestamp, data FROM messages WHERE id >= ? ORDER BY id", (first,)
        )
