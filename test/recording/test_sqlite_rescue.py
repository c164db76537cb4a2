"""SQLite bags whose writer was killed, and such with damaged pages."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from pathlib import Path

import pytest
from bag_files import Sample, found, read
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
