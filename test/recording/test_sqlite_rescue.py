"""SQLite bags whose writer was killed, and such with damaged pages."""

from __future__ import annotations

import shutil
import sqlite3
import struct
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from bag_files import Sample, found, read
from nightly import only
from robot_bag import robot, write
from rosbags.rosbag2 import StoragePlugin

from sim_node.recording.bag import BagError
from sim_node.recording.opening import open_bag


def in_order(whole: list[Sample], got: list[Sample]) -> bool:
    """Whether `got` are messages of `whole`, none changed, none out of its place."""
    kept = set(got)
    return [sample for sample in whole if sample in kept] == got


@pytest.fixture
def bag(tmp_path: Path) -> Path:
    return write(tmp_path / "bag", robot(40), StoragePlugin.SQLITE3) / "bag.db3"


def test_what_is_only_in_the_log_is_read(bag: Path, tmp_path: Path) -> None:
    """Files copied while the writer still has them open, as a kill -9 leaves them."""
    before, _ = read(bag)
    writer = sqlite3.connect(bag)
    writer.execute("PRAGMA journal_mode = WAL")
    (last,) = writer.execute("SELECT max(timestamp) FROM messages").fetchone()
    writer.execute(
        "INSERT INTO messages (topic_id, timestamp, data) SELECT id, ?, x'00010000' FROM topics", (last + 1,)
    )
    writer.commit()
    killed = tmp_path / "killed"
    killed.mkdir()
    for file in bag.parent.glob("*.db3*"):
        shutil.copy(file, killed)
    writer.close()
    assert (killed / "bag.db3-wal").stat().st_size
    contents = (killed / "bag.db3").read_bytes()
    got, damage = read(killed / "bag.db3")
    assert got[: len(before)] == before
    assert [time_ns for _, time_ns, _ in got[len(before) :]] == [last + 1] * 4
    assert damage == [f"{killed / 'bag.db3'}: was not closed; its log is read as well"]
    assert (killed / "bag.db3").read_bytes() == contents


@pytest.mark.parametrize("page", [20, 60, 110])
def test_a_damaged_page_costs_its_messages_only(bag: Path, page: int) -> None:
    whole, _ = read(bag)
    data = bytearray(bag.read_bytes())
    assert len(data) > 120 * 4096
    data[page * 4096 : (page + 1) * 4096] = b"\xa5" * 4096
    bag.write_bytes(data)
    got, damage = read(bag)
    assert len(damage) == 1
    assert "pages of the database are damaged" in damage[0]
    assert in_order(whole, got)
    assert len(whole) - 120 < len(got) < len(whole)


def test_pages_that_lead_to_earlier_ones_cost_their_messages_only(bag: Path) -> None:
    """An entry of the tree of messages points where the first one does: file format of SQLite 3, section 1.6."""
    whole, _ = read(bag)
    with closing(sqlite3.connect(bag)) as database:
        (root,) = database.execute("SELECT rootpage FROM sqlite_master WHERE name = 'messages'").fetchone()
    data = bytearray(bag.read_bytes())
    page = memoryview(data)[(root - 1) * 4096 : root * 4096]
    assert page[0] == 5, "an inner page of a table"
    (entries,) = struct.unpack_from(">H", page, 3)
    assert entries > 4
    first, other = (struct.unpack_from(">H", page, 12 + 2 * k)[0] for k in (0, entries // 2))
    page[other : other + 4] = page[first : first + 4]
    bag.write_bytes(data)
    got, damage = read(bag)
    assert any("pages of the database are damaged" in note for note in damage)
    assert in_order(whole, got)
    assert len(whole) // 3 < len(got) < len(whole)


def test_any_damaged_page_is_named_or_harmless(bag: Path) -> None:
    """Of tables, of indexes and of the schema alike."""
    whole, _ = read(bag)
    contents = bag.read_bytes()
    for page in range(0, len(contents) // 4096, 13):
        data = bytearray(contents)
        data[page * 4096 + 100 : (page + 1) * 4096] = b"\xa5" * 3996
        bag.write_bytes(data)
        try:
            got, damage = read(bag)
        except BagError as refused:
            got, damage = [], [str(refused)]
        assert got == whole or damage, f"page {page}"
        assert in_order(whole, got), f"page {page}"


def test_the_copy_goes_when_the_bag_is_closed(bag: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    data = bytearray(bag.read_bytes())
    data[60 * 4096 : 61 * 4096] = bytes(4096)
    bag.write_bytes(data)
    with open_bag(bag) as opened:
        assert found(opened)
        assert list(tmp_path.glob("sim_node_bag_*"))
    assert not list(tmp_path.glob("sim_node_bag_*"))


FOREVER = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT"
COMPUTED = {
    "messages is a view": f"CREATE VIEW messages AS {FOREVER} x AS id, 1 AS topic_id, x AS timestamp, "
    "x'00' AS data FROM c",
    "column 'data' of messages is generated": "CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, "
    "timestamp INTEGER, data BLOB AS (zeroblob(900000000)))",
}


@pytest.mark.parametrize("words", COMPUTED)
def test_tables_that_compute_what_they_hold_are_refused(words: str, bag: Path) -> None:
    """A query of a file's own never ends, or takes all memory."""
    database = sqlite3.connect(bag)
    database.execute("DROP TABLE messages")
    database.execute(COMPUTED[words])
    database.commit()
    database.close()
    with pytest.raises(BagError, match=words):
        open_bag(bag)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE messages SET data = 5 WHERE id = 7", "a message of type int"),
        ("UPDATE messages SET data = 'text' WHERE id = 7", "a message of type str"),
        ("UPDATE messages SET timestamp = 'noon' WHERE id = 7", "a time of type str"),
        ("UPDATE messages SET timestamp = -5 WHERE id = 7", "a time before 1970"),
        ("UPDATE messages SET data = CAST(x'ff' AS TEXT) WHERE id = 7", "messages are lost"),
    ],
)
def test_a_row_of_another_type_is_left_out_and_named(statement: str, said: str, bag: Path) -> None:
    whole, _ = read(bag)
    database = sqlite3.connect(bag)
    database.execute(statement)
    database.commit()
    database.close()
    got, damage = read(bag)
    assert in_order(whole, got)
    assert len(got) == len(whole) - 1
    assert len(damage) == 1
    assert said in damage[0]


@pytest.mark.parametrize("text", only(["[" * 20_000, "- {depth: 1}\n" * 20_000, "5", "a: b", "\x1b[2J"], 1, 2))
def test_a_quality_of_service_that_cannot_be_read_is_left_out(text: str, bag: Path) -> None:
    """The parser of the library needs the square of its length for some."""
    whole, _ = read(bag)
    database = sqlite3.connect(bag)
    database.execute("UPDATE topics SET offered_qos_profiles = ? WHERE id = 1", (text,))
    database.commit()
    database.close()
    got, damage = read(bag)
    assert sorted(got) == sorted(whole)
    assert len(damage) == 1
    assert damage[0].endswith("its quality of service cannot be read and is left out")
