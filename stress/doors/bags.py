"""Bags in MCAP and SQLite: shown and checked as by `info --check`, decoded, searched for transforms, repaired."""

from __future__ import annotations

import argparse
import contextlib
import io
import shutil
import sqlite3
import struct
import tempfile
import zlib
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from random import Random

import lz4.frame
import zstandard
from mcap.writer import CompressionType, IndexType, Writer
from rosbags.interfaces import Connection
from rosbags.rosbag2 import StoragePlugin
from rosbags.rosbag2 import Writer as Rosbag2Writer

from sim_node.cli import info
from sim_node.recording.bag import Bag, BagError
from sim_node.recording.changes import recorded_worlds
from sim_node.recording.decoding import Decoder, leaves
from sim_node.recording.definitions import definition_of
from sim_node.recording.opening import open_bag
from sim_node.recording.repair import repair
from sim_node.recording.transforms import BagTransforms
from sim_node.world import WorldError
from stress import cdr
from stress.door import Stateless
from stress.mutations import EXTREMES, ODD, broken_bytes

# What a bag may take in memory for a chunk here: a hostile one is to reach it soon (bytes).
MOST = 16 << 20
# Messages that are decoded; one bag of so many is, and one of so many is repaired: both take longer than to read it.
DECODED, DECODED_OF, REPAIRED_OF = 20, 8, 8
_QOS = "- history: 1\n  depth: 7\n  reliability: 2\n  durability: 1\n  deadline: {sec: 9, nsec: 0}\n  liveliness: 1\n"
_WORLD = b"world: yard\nfixed_frame: map\nframes: [{name: pad}]\n"
_RECORD, _LENGTH = struct.Struct("<BQ"), struct.Struct("<Q")
_CHUNK = 6
_TIMES = (0, 1, -1, 2**63 - 1, -(2**63), 2**62, 10**18)


class Bags(Stateless):
    """Bytes of one file; `suffix` says of which storage."""

    suffix = ""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / f"bag{self.suffix}"
        self._temporary = folder / "temporary"
        self._temporary.mkdir(exist_ok=True)
        # Copies of damaged bags are made there.
        tempfile.tempdir = str(self._temporary)

    def close(self) -> None:
        """What is temporary goes where it went before."""
        tempfile.tempdir = None

    def feed(self, data: bytes) -> str:
        """All that a person does with a bag; nothing temporary is left of it."""
        self._path.write_bytes(data)
        try:
            chosen = zlib.crc32(data)
            result = self._read(chosen % DECODED_OF == 0, chosen // 8 % REPAIRED_OF == 0)
        except BagError as error:
            result = "refused" if str(error) else "refused without a word"
        left = list(self._temporary.iterdir())
        for each in left:
            shutil.rmtree(each) if each.is_dir() else each.unlink()
        assert not left, f"left behind: {left}"
        return result

    def _read(self, decoded: bool, repaired: bool) -> str:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            options = argparse.Namespace(bag=self._path, chunk_limit=MOST, check=True, json=False)
            damaged = info.run(options)
        with open_bag(self._path, MOST) as bag:
            if decoded:
                _decode(bag)
                with contextlib.suppress(BagError):
                    BagTransforms(bag, bag.messages).fill().describe()
                with contextlib.suppress(WorldError), recorded_worlds(bag) as worlds:
                    _ = worlds[0]
        if repaired:
            target = self._folder / "repaired"
            try:
                with contextlib.suppress(BagError):
                    repair(self._path, target, max_bytes=MOST)
                    assert not list(open_bag(target).damage)
            finally:
                shutil.rmtree(target, ignore_errors=True)
        return "damaged" if damaged else "read"


class Mcap(Bags):
    """MCAP: records with other lengths, chunks with other contents whose sums are right, or just other bytes."""

    suffix = ".mcap"

    def seeds(self) -> Sequence[bytes]:
        """Of each compression, with an index and without."""
        kinds = (CompressionType.NONE, CompressionType.ZSTD, CompressionType.LZ4)
        return [
            *(_mcap(compression=kind, chunk_size=600) for kind in kinds),
            _mcap(compression=CompressionType.NONE, chunk_size=600, index_types=IndexType.NONE),
            _mcap(compression=CompressionType.NONE, use_chunking=False),
        ]

    def mutate(self, rng: Random, seed: bytes) -> bytes:
        """By records, mostly."""
        if rng.random() < 0.25:
            return broken_bytes(seed, rng, 8)
        records = _records(seed[8:-8])
        for _ in range(rng.choice((1, 1, 2, 3))):
            if not records:
                break
            at, what = rng.randrange(len(records)), rng.randrange(7)
            kind, body = records[at]
            if what < 3:
                chunks = [i for i, each in enumerate(records) if each[0] == _CHUNK]
                if chunks and rng.random() < 0.5:
                    at = rng.choice(chunks)
                    kind, body = records[at]
                records[at] = kind, _broken_chunk(body, rng) if kind == _CHUNK else _broken_body(body, rng)
            elif what == 3:
                del records[at]
            elif what == 4:
                records.insert(rng.randrange(len(records)), records[at])
            elif what == 5:
                records[at] = rng.randrange(20), body
            else:
                other = rng.randrange(len(records))
                records[at], records[other] = records[other], records[at]
        lie = rng.randrange(len(records)) if records and rng.random() < 0.2 else -1
        body = b"".join(
            _RECORD.pack(kind, _other_length(len(data), rng) if i == lie else len(data)) + data
            for i, (kind, data) in enumerate(records)
        )  # fmt: skip
        return seed[:8] + body + (seed[-8:] if rng.random() < 0.9 else b"")


class Sqlite(Bags):
    """SQLite: tables and rows that say something else, pages and bytes that are broken."""

    suffix = ".db3"

    def seeds(self) -> Sequence[bytes]:
        """One with few messages, one with some pages of them."""
        return [_sqlite(self._folder, count) for count in (8, 120)]

    def mutate(self, rng: Random, seed: bytes) -> bytes:
        """By statements, by pages, or by bytes."""
        what = rng.randrange(10)
        if what < 6:
            return _other_tables(seed, rng, self._folder / "other.db3")
        data = bytearray(seed)
        if what < 9:
            page = rng.randrange(len(data) // 4096)
            at = page * 4096 + rng.choice((0, 0, 100, rng.randrange(4096)))
            size = rng.choice((1, 2, 4, 8, 100, 4096))
            data[at : at + size] = rng.choice((rng.randbytes(size), (rng.choice(EXTREMES) * size)[:size]))[
                : len(data) - at
            ]
            return bytes(data)
        return broken_bytes(seed, rng, 8)


def _decode(bag: Bag) -> None:
    decoders: dict[int, Decoder | None] = {}
    for message in islice(bag.messages(), DECODED):
        if message.topic not in decoders:
            decoders[message.topic] = None
            with contextlib.suppress(BagError):
                decoders[message.topic] = Decoder(bag.topics[message.topic])
        decoder = decoders[message.topic]
        if decoder is not None:
            with contextlib.suppress(BagError):
                list(islice(leaves(decoder(message.data)), 1000))


def _entries(count: int) -> list[tuple[str, str, int, bytes]]:
    """Topic, type, time and bytes of messages."""
    types = ((cdr.IMU, "/imu"), (cdr.SCAN, "/scan"), (cdr.CLOCK, "/clock"), (cdr.TF, "/tf"))
    entries = [("/tf_static", cdr.TF, 0, cdr.transforms("mast"))]
    for i in range(count):
        type, topic = types[i % len(types)]
        data = cdr.transforms("car", seconds=i, x=float(i)) if type == cdr.TF else cdr.samples()[type][0]
        entries.append((topic, type, i * 10**8, data))
    return entries


def _mcap(**options: object) -> bytes:
    stream = io.BytesIO()
    writer = Writer(stream, **options)
    writer.start("ros2")
    channels: dict[str, int] = {}
    writer.add_attachment(0, 0, "world/yard.yaml", "application/yaml", _WORLD)
    writer.add_attachment(0, 0, "run.json", "application/json", b'{"seed": 3, "randomised": false}')
    writer.add_metadata("rosbag2", {"serialized_metadata": "rosbag2_bagfile_information: {version: 9}"})
    for number, (topic, type, time_ns, data) in enumerate(_entries(16)):
        if topic not in channels:
            schema = writer.register_schema(type, "ros2msg", definition_of(type).text.encode())
            channels[topic] = writer.register_channel(topic, "cdr", schema, {"offered_qos_profiles": _QOS})
        writer.add_message(channels[topic], time_ns, data, time_ns, number)
    writer.finish()
    return stream.getvalue()


def _sqlite(folder: Path, count: int) -> bytes:
    bag = folder / "seed"
    shutil.rmtree(bag, ignore_errors=True)
    connections: dict[str, Connection] = {}
    with Rosbag2Writer(bag, version=8, storage_plugin=StoragePlugin.SQLITE3) as writer:
        for topic, type, time_ns, data in _entries(count):
            if topic not in connections:
                connections[topic] = writer.add_connection(topic, type, typestore=cdr.STORE)
            writer.write(connections[topic], time_ns, data)
    return next(bag.glob("*.db3")).read_bytes()


def _other_length(length: int, rng: Random) -> int:
    return rng.choice((0, length - 1, length + 1, 2**31, 2**63, 2**64 - 1)) % 2**64


def _records(data: bytes) -> list[tuple[int, bytes]]:
    records, at = [], 0
    while at + _RECORD.size <= len(data):
        kind, size = _RECORD.unpack_from(data, at)
        records.append((kind, data[at + _RECORD.size : at + _RECORD.size + size]))
        at += _RECORD.size + size
    return records


def _broken_body(body: bytes, rng: Random) -> bytes:
    data = bytearray(body)
    if len(data) > 8 and rng.random() < 0.6:
        at = rng.randrange(len(data) - 7)
        size = rng.choice((2, 4, 8))
        data[at : at + size] = rng.choice((0, 1, 2**15, 2**31, 2**63, 2**64 - 1, len(body))).to_bytes(8, "little")[
            :size
        ]
        return bytes(data)
    return broken_bytes(body, rng, 3)


def _broken_chunk(body: bytes, rng: Random) -> bytes:
    """A chunk with other records whose sum and sizes are right, or one of these wrong."""
    if len(body) < 40:
        return _broken_body(body, rng)
    start, end, stated, crc = struct.unpack_from("<QQQI", body)
    (length,) = struct.unpack_from("<I", body, 28)
    compression = body[32 : 32 + length]
    packed = body[40 + length :]
    pack: Callable[[bytes], bytes]
    try:
        if compression == b"zstd":
            plain, pack = zstandard.decompress(packed), zstandard.compress
        elif compression == b"lz4":
            plain, pack = lz4.frame.decompress(packed), lz4.frame.compress
        else:
            plain, pack = packed, bytes
    except (RuntimeError, zstandard.ZstdError):  # it is broken already
        return _broken_body(body, rng)
    what = rng.randrange(8)
    records = _records(plain)
    if what < 4 and records:
        at = rng.randrange(len(records))
        kind, inner = records[at]
        inner = (
            inner[:22] + cdr.broken_cdr(inner[22:], rng) if kind == 5 and len(inner) > 30 else _broken_body(inner, rng)
        )
        records[at] = rng.choice((kind, kind, kind, rng.randrange(20))), inner
        plain = b"".join(_RECORD.pack(kind, len(inner)) + inner for kind, inner in records)
    elif what == 4:
        plain = plain * rng.choice((2, 100)) + bytes(rng.choice((0, 1, 10**6, 40 * 10**6)))
    elif what == 5:
        plain = _broken_body(plain, rng)
    packed, stated, crc = pack(plain), len(plain), zlib.crc32(plain)
    if what == 6:
        stated = rng.choice((0, 1, stated - 1, stated + 1, 2**31, 2**40, 2**64 - 1))
    elif what == 7:
        start, end = rng.choice((end, 0, 2**63, 2**64 - 1)), rng.choice((start, 0, 2**63, 2**64 - 1))
        compression = rng.choice((compression, b"", b"zstd", b"lz4", b"none", b"\xff"))
    head = struct.pack("<QQQII", start, end, stated % 2**64, crc, len(compression)) + compression
    return head + _LENGTH.pack(len(packed)) + packed


def _other_tables(seed: bytes, rng: Random, path: Path) -> bytes:
    """The database after statements that no recorder makes."""
    text = rng.choice((*ODD, "", "/", "/tf", "sensor_msgs/msg/Imu", "a/b", "[" * 2000, _QOS, "x" * 5000, "\x1b[2J"))
    number = rng.choice((*_TIMES, None, "text", b"\xff", 1.5, 10**15))
    data = cdr.broken_cdr(rng.choice(rng.choice(list(cdr.samples().values()))), rng)
    row = f"rowid = {rng.randrange(1, 9)}"
    statements: list[tuple[str, tuple[object, ...]]] = [
        (f"UPDATE topics SET name = ? WHERE {row}", (text,)),
        (f"UPDATE topics SET type = ? WHERE {row}", (text,)),
        (f"UPDATE topics SET serialization_format = ? WHERE {row}", (text,)),
        (f"UPDATE topics SET offered_qos_profiles = ? WHERE {row}", (rng.choice((text, number)),)),
        (f"UPDATE OR REPLACE topics SET id = ? WHERE {row}", (number,)),
        (f"UPDATE messages SET timestamp = ? WHERE {row}", (number,)),
        (f"UPDATE messages SET topic_id = ? WHERE {row}", (number,)),
        (f"UPDATE messages SET data = ? WHERE {row}", (rng.choice((data, data, text, number)),)),
        ("UPDATE messages SET timestamp = -timestamp", ()),
        ("DELETE FROM messages", ()),
        ("DELETE FROM topics WHERE id = 2", ()),
        ("DROP TABLE messages", ()),
        ("DROP TABLE topics", ()),
        ("DROP TABLE schema", ()),
        ("UPDATE schema SET schema_version = ?", (number,)),
        ("UPDATE metadata SET metadata = ?", (text,)),
        ("UPDATE message_definitions SET encoded_message_definition = ?", (text,)),
        ("UPDATE message_definitions SET encoding = ?", (text,)),
        ("ALTER TABLE topics RENAME COLUMN name TO title", ()),
        ("ALTER TABLE messages ADD COLUMN more TEXT", ()),
        ("ALTER TABLE topics DROP COLUMN type_description_hash", ()),
        ("DROP INDEX timestamp_idx", ()),
        ("INSERT INTO topics SELECT id + 10, name, type, serialization_format, offered_qos_profiles, "
         "type_description_hash FROM topics", ()),
        ("CREATE TABLE again AS SELECT * FROM messages", ()),
        ("ALTER TABLE messages RENAME TO old", ()),
        ("CREATE VIEW messages AS SELECT 1 AS id, 1 AS topic_id, 2 AS timestamp, x'00' AS data", ()),
        ("CREATE VIEW topics AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
         "SELECT x AS id FROM c", ()),
        ("CREATE VIEW messages AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
         "SELECT x AS id, 1 AS topic_id, x AS timestamp, x'00' AS data FROM c", ()),
        ("CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER, "
         "data BLOB AS (zeroblob(900000000)))", ()),
        ("INSERT INTO messages(id, topic_id, timestamp) VALUES (1, 1, 5), (2, 1, 6)", ()),
        ("PRAGMA user_version = 77", ()),
    ]  # fmt: skip
    path.write_bytes(seed)
    database = sqlite3.connect(path)
    try:
        database.execute("PRAGMA synchronous = OFF")
        database.execute("PRAGMA journal_mode = OFF")
        # A table of computed values may be copied into one that is stored.
        database.execute("PRAGMA max_page_count = 4096")
        for _ in range(rng.choice((1, 1, 2, 3))):
            statement, values = rng.choice(statements)
            # Not every storage version has every table, and one statement may forbid the next.
            with contextlib.suppress(sqlite3.Error, UnicodeEncodeError, OverflowError):
                database.execute(statement, values)
        database.commit()
    finally:
        database.close()
    return path.read_bytes()
