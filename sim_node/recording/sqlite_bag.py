"""One SQLite file (.db3) as a bag, rosbag2's storage before Iron, read by the rosbags library."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from sim_node.recording.bag import Attachment, BagError, BagTopic, Message
from sim_node.recording.decompression import MAX_BYTES
from sim_node.recording.sqlite_rescue import UNREADABLE, check_tables, lenient, rescued, unfinished, unreadable_profiles
from sim_node.recording.storages import storage
from sim_node.text import printable
from sim_node.wire.qos import INFINITE_NS, Qos

if TYPE_CHECKING:
    from rosbags.interfaces import Connection
    from rosbags.rosbag2 import Reader

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
        # A damaged file is checked again where it is rescued; its log, if there is one, only there.
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
            # The reader's own; apsw has a class for each of SQLite's codes. Text in place of bytes need not be UTF-8.
            if not type(error).__module__.startswith("apsw") and not isinstance(error, UnicodeDecodeError):
                raise
        # The index of times was damaged, which opening does not look at.
        self._reader.close()
        self._reader = self._rescued()
        yield from islice(self._read(names, start_ns, stop_ns), told, None)

    def _read(self, names: Collection[str], start_ns: int | None, stop_ns: int | None) -> Iterator[Message]:
        wanted = [one for one in self._reader.connections if one.topic in names]
        places = self._places
        for connection, time_ns, data in self._reader.messages(wanted, start_ns, stop_ns) if wanted else ():
            # Any column of SQLite takes values of any type.
            if isinstance(data, bytes) and isinstance(time_ns, int) and time_ns >= 0:
                yield Message(places[connection.id], time_ns, data)
            else:
                self._note(f"a row of {connection.topic} has {_kinds(time_ns, data)}; such rows are left out")

    def _note(self, what: str) -> None:
        line = f"{self._path}: {printable(what)}"
        if line not in self.damage:
            self.damage.append(line)

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
