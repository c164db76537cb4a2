"""Bags in SQLite, also those that were not closed or have damaged pages."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Collection, Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from sim_node.recording.bag import Attachment, BagError, BagTopic, Message, storage
from sim_node.recording.decompression import MAX_BYTES
from sim_node.wire.topic import INFINITE_NS, Qos

if TYPE_CHECKING:
    from rosbags.interfaces import Connection
    from rosbags.rosbag2 import Reader

# What SQLite keeps beside a database that is being written.
_LOGS = ("-wal", "-journal")
_SMALL_TABLES = ("schema", "metadata", "message_definitions")


def unfinished(path: Path) -> bool:
    """Whether a log beside the file has what is not in it yet."""
    logs = (path.with_name(path.name + suffix) for suffix in _LOGS)
    return any(log.is_file() and log.stat().st_size for log in logs)


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
            _copy_table(source, target, "topics")
            for table in _SMALL_TABLES:
                with suppress(sqlite3.DatabaseError):
                    _copy_table(source, target, table)
            lost = _copy_messages(source, target)
            target.execute("CREATE INDEX timestamp_idx ON messages (timestamp ASC)")
            target.commit()
    except sqlite3.DatabaseError as error:
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
            target.execute("INSERT INTO messages VALUES (?, ?, ?, ?)", row)
            first = first or row[0]
            next_id, copied, step = row[0] + 1, copied + 1, 1
        next_id, step = next_id + step, 2 * step
    return (last or 0) - first + 1 - copied if copied else (last or 0)


def _readable(source: sqlite3.Connection, first: int) -> Iterator[tuple[int, int, int, bytes]]:
    """Rows from a number on, up to the first that cannot be read."""
    with suppress(sqlite3.DatabaseError):
        yield from source.execute(
            "SELECT id, topic_id, timestamp, data FROM messages WHERE id >= ? ORDER BY id", (first,)
        )


_SIGNATURE = b"SQLite format 3\0"


@storage("sqlite3", ".db3")
class SqliteBag:
    """Read in the order of the times; topics of one name and type are one.

    One that was not closed, or that has damaged pages, is read from a copy of what can be read, which goes on closing.
    Nothing in it is compressed but whole messages, which are decompressed elsewhere.
    """

    def __init__(self, path: Path, max_bytes: int = MAX_BYTES) -> None:
        # Here, for it takes longer to import than most bags take to open.
        from rosbags.rosbag2 import Reader

        self._path = path
        with path.open("rb") as file:
            if file.read(len(_SIGNATURE)) != _SIGNATURE:
                raise BagError(f"{path}: is no SQLite file: it does not begin as one")
        self.damage: list[str] = []
        self._owned = ExitStack()
        if unfinished(path):
            self._reader = self._rescued()
        else:
            self._reader = Reader(path)
            try:
                self._reader.open()
            except Exception:
                # Its counts go over all pages, so this is where damage shows.
                self._reader = self._rescued()
        self._connections: list[Connection] = list(self._reader.connections)
        topics: dict[tuple[str, str], BagTopic] = {}
        for connection in self._connections:
            key = (connection.topic, connection.msgtype)
            topic = _topic(connection)
            known = topics.get(key)
            topics[key] = topic if known is None else replace(known, count=known.count + topic.count)
        keys = sorted(topics)
        self.topics = tuple(topics[key] for key in keys)
        self._places = {
            connection.id: keys.index((connection.topic, connection.msgtype)) for connection in self._connections
        }
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
    ) -> Iterator[Message]:
        """One row at a time."""
        names = {one.topic for one in self._connections if topics is None or one.topic in topics}
        told = 0
        try:
            for message in self._read(names, start_ns, stop_ns):
                yield message
                told += 1
            return
        except Exception as error:
            # The reader's own; apsw has a class for each of SQLite's codes.
            if not type(error).__module__.startswith("apsw"):
                raise
        # The index of times was damaged, which opening does not look at.
        self._reader.close()
        self._reader = self._rescued()
        yield from islice(self._read(names, start_ns, stop_ns), told, None)

    def _read(self, names: Collection[str], start_ns: int | None, stop_ns: int | None) -> Iterator[Message]:
        wanted = [one for one in self._reader.connections if one.topic in names]
        places = self._places
        for connection, time_ns, data in self._reader.messages(wanted, start_ns, stop_ns) if wanted else ():
            yield Message(places[connection.id], time_ns, data)

    def attachments(self) -> Iterator[Attachment]:
        """None: SQLite bags have no place for them."""
        return iter(())

    def close(self) -> None:
        """Lets go of the file."""
        if self._reader.is_open:
            self._reader.close()
        self._owned.close()

    def __enter__(self) -> SqliteBag:
        return self

    def __exit__(self, *of: object) -> None:
        self.close()


def _topic(connection: Connection) -> BagTopic:
    extra = connection.ext
    return BagTopic(
        connection.topic,
        connection.msgtype,
        connection.msgcount,
        tuple(_qos(one) for one in extra.offered_qos_profiles),
        connection.msgdef.data,
        connection.digest,
        extra.serialization_format,
    )


def _qos(given: Any) -> Qos:
    default = Qos()

    def word(name: str) -> str:
        said: str = getattr(given, name).name.lower()
        return getattr(default, name) if said in ("unknown", "system_default", "best_available") else said

    def duration(name: str) -> int:
        time = getattr(given, name)
        total: int = time.sec * 1_000_000_000 + time.nsec
        return total if 0 < total < 2_147_483_647 * 1_000_000_000 else INFINITE_NS

    return Qos(
        given.depth or default.depth,
        word("reliability"),
        word("durability"),
        word("history"),
        duration("deadline"),
        duration("lifespan"),
        word("liveliness"),
        duration("liveliness_lease_duration"),
        bool(given.avoid_ros_namespace_conventions),
    )
