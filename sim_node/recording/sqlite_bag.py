"""Bags in SQLite, including those that were not closed or have damaged pages."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Collection, Iterator
from contextlib import ExitStack, closing, suppress
from enum import Enum
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from sim_node.recording.bag import BagAttachment, BagError, BagMessage, BagTopic
from sim_node.recording.decompression import MAX_BYTES
from sim_node.recording.merging import TopicKey, add_topic, sorted_topics
from sim_node.recording.qos import is_readable, profiles
from sim_node.text import printable

if TYPE_CHECKING:
    from rosbags.interfaces import Connection
    from rosbags.rosbag2 import Reader

# Suffixes of SQLite's logs for a database being written.
_LOGS = ("-wal", "-journal")
# Errors when reading a damaged database. An SQLite message may quote bytes that are not text.
UNREADABLE = (sqlite3.DatabaseError, UnicodeDecodeError)
_SMALL_TABLES = ("schema", "metadata", "message_definitions")


def unfinished(path: Path) -> bool:
    """Return whether a log beside the file contains data that the file lacks."""
    logs = (path.with_name(path.name + suffix) for suffix in _LOGS)
    return any(log.is_file() and log.stat().st_size for log in logs)


def lenient(text: bytes) -> str:
    """Decode text from a database, which may not be valid UTF-8."""
    return text.decode(errors="replace")


def check_tables(path: Path, database: sqlite3.Connection) -> None:
    """Reject a database with computed tables, since a query stored in a file could run forever.

    Raises BagError for views, virtual tables and generated columns; sqlite3.DatabaseError for a damaged file.
    """
    for name in ("topics", "messages", *_SMALL_TABLES):
        found = database.execute("SELECT type, rootpage FROM sqlite_master WHERE name = ?", (name,)).fetchone()
        if found is None:
            continue
        if found[0] != "table" or not found[1]:
            kind = "virtual table" if found[0] == "table" else found[0]
            raise BagError(f"{path}: {name} is a {kind}; a bag must have it as a table")
        for column in database.execute(f"PRAGMA table_xinfo({name})"):
            if column[6] > 1:
                raise BagError(f"{path}: column {column[1]!r} of {name} is generated, which a bag must not contain")


def unreadable_profiles(database: sqlite3.Connection) -> list[Any]:
    """Return the names of topics whose quality of service cannot be parsed."""
    if all(column[1] != "offered_qos_profiles" for column in database.execute("PRAGMA table_info(topics)")):
        return []  # before ROS 2 Foxy
    rows = database.execute("SELECT name, offered_qos_profiles FROM topics")
    return [name for name, text in rows if not is_readable(text)]


def rescued(path: Path, folder: Path) -> tuple[Path, list[str]]:
    """Copy all readable rows to a new file in `folder`. Return it, and the damage.

    Raises BagError if not even the topics can be read.
    """
    source_path, target_path = folder / f"source_{path.name}", folder / path.name
    notes = [f"{path}: was not closed; its log is read as well"] if unfinished(path) else []
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
                notes.append(f"{path}: {printable(str(name))}: its quality of service cannot be read and is left out")
            for table in _SMALL_TABLES:
                with suppress(*UNREADABLE):
                    _copy_table(source, target, table)
            lost = _copy_messages(source, target)
            target.execute("CREATE INDEX timestamp_idx ON messages (timestamp ASC)")
            target.commit()
    except UNREADABLE as error:
        raise BagError(f"{path}: the database is too damaged to be read: {error}") from None
    finally:
        source_path.unlink()
    if lost:
        notes.append(f"{path}: pages of the database are damaged; about {lost} messages are lost")
    return target_path, notes


def _copy_table(source: sqlite3.Connection, target: sqlite3.Connection, table: str) -> None:
    found = source.execute("SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)).fetchone()
    if found is None:
        raise sqlite3.DatabaseError(f"there is no table {table}")
    rows = source.execute(f"SELECT * FROM {table}").fetchall()
    target.execute(found[0])
    if rows:
        target.executemany(f"INSERT INTO {table} VALUES ({','.join('?' * len(rows[0]))})", rows)


def _copy_messages(source: sqlite3.Connection, target: sqlite3.Connection) -> int:
    """Copy messages. Return the number of message ids missing between the first and the last."""
    target.execute("CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER, data BLOB)")
    (last,) = source.execute("SELECT max(id) FROM messages").fetchone()
    copied = 0
    first = next_id = 0
    # After a damaged page, skip in growing steps until a row can be read.
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
    """Yield rows from an id on, up to the first unreadable one.

    This includes rows with ids that do not increase: pages that lead back to earlier ones would be read forever.
    """
    with suppress(*UNREADABLE):
        for row in source.execute(
            "SELECT id, topic_id, timestamp, data FROM messages WHERE id >= ? ORDER BY id", (first,)
        ):
            if row[0] < first:
                return
            first = row[0] + 1
            yield row


_SIGNATURE = b"SQLite format 3\0"


class SqliteBag:
    """Reads messages in time order. Topics with the same name and type are merged.

    A file that was not closed or has damaged pages is read from a copy of its readable content, which is deleted on
    closing. Only individual messages can be compressed; they are decompressed elsewhere.
    """

    def __init__(self, path: Path, max_bytes: int = MAX_BYTES) -> None:
        # Imported here because the import takes longer than opening most bags.
        from rosbags.rosbag2 import Reader

        self._path = path
        with path.open("rb") as file:
            if file.read(len(_SIGNATURE)) != _SIGNATURE:
                raise BagError(f"{path}: is not an SQLite file: its first bytes are wrong")
        # A damaged file is checked again when it is rescued, with its log if there is one.
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?immutable=1", uri=True)) as database:
            database.text_factory = lenient
            try:
                check_tables(path, database)
                is_sound = not unreadable_profiles(database)
            except UNREADABLE:
                is_sound = False
        self.damage: list[str] = []
        self._owned = ExitStack()
        if unfinished(path) or not is_sound:
            self._reader = self._rescued()
        else:
            self._reader = Reader(path)
            try:
                self._reader.open()
            except Exception:
                # Counting reads all pages, which detects damage.
                self._reader = self._rescued()
        topics: dict[TopicKey, BagTopic] = {}
        keys = {each.id: add_topic(topics, _topic(each)) for each in self._reader.connections}
        self.topics, rows = sorted_topics(topics)
        self._places = {number: rows[key] for number, key in keys.items()}
        self.count = self._reader.message_count
        self.start_ns = self._reader.start_time if self.count else 0
        self.end_ns = self._reader.end_time - 1 if self.count else 0

    def _rescued(self) -> Reader:
        from rosbags.rosbag2 import Reader

        folder = Path(self._owned.enter_context(TemporaryDirectory(prefix="sim_node_bag_")))
        try:
            copy, damage = rescued(self._path, folder)
            reader = Reader(copy)
            reader.open()
        except BagError:
            self._owned.close()
            raise
        except Exception as error:
            self._owned.close()
            raise BagError(f"{self._path}: cannot be read: {error}") from None
        self.damage += damage
        return reader

    def messages(
        self, topics: Collection[str] | None = None, start_ns: int | None = None, stop_ns: int | None = None
    ) -> Iterator[BagMessage]:
        """Yield one row at a time."""
        every = {topic.name for topic in self.topics}
        names = every if topics is None else every.intersection(topics)
        yielded = 0
        try:
            for message in self._read(names, start_ns, stop_ns):
                yield message
                yielded += 1
            return
        except Exception as error:
            # apsw has a class for each SQLite error code. Text in place of bytes may not be valid UTF-8.
            if not type(error).__module__.startswith("apsw") and not isinstance(error, UnicodeDecodeError):
                raise
        # The index of times was damaged, which is not checked on opening.
        self._reader.close()
        self._reader = self._rescued()
        yield from islice(self._read(names, start_ns, stop_ns), yielded, None)

    def _read(self, names: Collection[str], start_ns: int | None, stop_ns: int | None) -> Iterator[BagMessage]:
        wanted = [one for one in self._reader.connections if one.topic in names]
        places = self._places
        for connection, time_ns, data in self._reader.messages(wanted, start_ns, stop_ns) if wanted else ():
            # An SQLite column may contain values of any type.
            if isinstance(data, bytes) and isinstance(time_ns, int) and time_ns >= 0:
                yield BagMessage(places[connection.id], time_ns, data)
            else:
                self._note(f"a row of {connection.topic} has {_kinds(time_ns, data)}; such rows are left out")

    def _note(self, what: str) -> None:
        line = f"{self._path}: {printable(what)}"
        if line not in self.damage:
            self.damage.append(line)

    def attachments(self) -> Iterator[BagAttachment]:
        """Return nothing: SQLite bags have no attachments."""
        return iter(())

    def close(self) -> None:
        """Close the file."""
        if self._reader.is_open:
            self._reader.close()
        self._owned.close()


def _kinds(time_ns: object, data: object) -> str:
    if not isinstance(time_ns, int):
        return f"a time of type {type(time_ns).__name__}"
    return f"a message of type {type(data).__name__}" if time_ns >= 0 else "a time before 1970"


def _topic(connection: Connection) -> BagTopic:
    extra = connection.ext
    return BagTopic(
        connection.topic,
        connection.msgtype,
        connection.msgcount,
        profiles([_fields(each) for each in extra.offered_qos_profiles]),
        connection.msgdef.data,
        connection.digest,
        extra.serialization_format,
    )


def _fields(profile: Any) -> dict[str, Any]:
    """Convert a profile parsed by rosbags to the form used in metadata."""
    fields: dict[str, Any] = {}
    for key, value in profile._asdict().items():
        fields[key] = value.name if isinstance(value, Enum) else value._asdict() if hasattr(value, "_asdict") else value
    return fields
