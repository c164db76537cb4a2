"""Bags of very many files, topics and values: what is open, held and written at once stays small."""

from __future__ import annotations

import csv
import json
import os
import resource
import struct
import sys
import tracemalloc
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

import pytest
import yaml
from bag_files import mcap_bytes, read, samples
from mcap.reader import make_reader
from mcap.writer import CompressionType, Writer
from nightly import only
from rosbags.rosbag2 import Reader
from test_memory import chunk, with_chunk

from sim_node.cli.main import main
from sim_node.messages.tf_message_reader import Unreadable
from sim_node.messages.topic import Qos, Topic
from sim_node.recording import decoding, mcap_chunk, metadata
from sim_node.recording.bag import BagError
from sim_node.recording.definitions import definition_of
from sim_node.recording.exporting import export_csv
from sim_node.recording.mcap_records import MAX_DESCRIPTORS, RecordFile
from sim_node.recording.opening import open_bag
from sim_node.recording.qos import profiles
from sim_node.recording.recorder import Recorder
from sim_node.recording.repair import repair
from sim_node.recording.settings import RecordingSettings
from sim_node.recording.split_bag import MAX_OPEN

SECOND = 10**9
BYTES = "std_msgs/msg/UInt8MultiArray"


@contextmanager
def few_descriptors() -> Iterator[None]:
    """As `ulimit -n`, with room for what is open already."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + MAX_DESCRIPTORS + 20, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("apart_ns", only([10 * SECOND, 0], 0))
def test_a_bag_may_have_more_files_than_can_be_open(apart_ns: int, tmp_path: Path) -> None:
    """One after another, and all at the same time, as after many resets."""
    count = 2 * MAX_DESCRIPTORS + 40
    written = []
    for number in range(count):
        part = [(topic, time_ns + number * apart_ns, data) for topic, time_ns, data in samples(4)]
        (tmp_path / f"bag_{number}.mcap").write_bytes(mcap_bytes(part))
        written += part
    with few_descriptors():
        found, damage = read(tmp_path)
        assert main(["repair", str(tmp_path), "-o", str(tmp_path / "new")]) == 0
    assert not damage
    assert sorted(found) == sorted(written)
    assert [time_ns for _, time_ns, _ in found] == sorted(time_ns for _, time_ns, _ in written)
    with Reader(tmp_path / "new" / f"new_{count - 1}.mcap") as reader:
        assert reader.message_count == 4


# Takes seconds: make test has bags of more files than can be open.
@pytest.mark.nightly
def test_files_of_a_split_bag_are_opened_no_more_often_than_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To be indexed, for attachments, for /tf_static and for /tf: not again for each frame that is printed."""
    bag = tmp_path / "bag"
    words = ["run", "orbit", "--no-ros", "--speed", "max", "--duration", "2", "--record", str(bag)]
    assert main([*words, "--split-duration", "0.03"]) == 0
    opened: list[str] = []
    open_file = RecordFile.__init__

    def counted(self: RecordFile, path: Path) -> None:
        opened.append(path.name)
        open_file(self, path)

    monkeypatch.setattr(RecordFile, "__init__", counted)
    assert main(["tree", str(bag)]) == 0
    assert MAX_OPEN < len(set(opened)) == len(list(bag.glob("*.mcap")))
    assert len(opened) <= 4 * len(set(opened))


def split(folder: Path, files: int) -> None:
    recorder = Recorder(folder, RecordingSettings(spare_bytes=0, split_ns=SECOND), warn=pytest.fail)
    send = recorder.advertise(Topic("/numbers", "std_msgs/msg/Float64", Qos()))
    recorder.open()
    for number in range(files):
        send(number * SECOND, struct.pack("<4sd", b"\0\1\0\0", number))
        recorder.commit(number * SECOND)
    recorder.close()
    assert recorder.kept == files


# Takes seconds: make test has bags of many files, and metadata that are written anew.
@pytest.mark.nightly
def test_metadata_of_a_split_bag_is_written_in_proportion_to_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    write = metadata.write

    def counted(folder: Path, information: metadata.BagInformation) -> None:
        write(folder, information)
        sizes.append((folder / metadata.FILE).stat().st_size)

    monkeypatch.setattr(metadata, "write", counted)
    totals = []
    for files in (50, 200):
        sizes.clear()
        split(tmp_path / str(files), files)
        totals.append(sum(sizes))
        about = yaml.safe_load((tmp_path / str(files) / "metadata.yaml").read_text())["rosbag2_bagfile_information"]
        assert len(about["files"]) == len(about["relative_file_paths"]) == about["message_count"] == files
    assert totals[1] < 7 * totals[0], "16 times as much where each file has all of it written"


def test_a_file_that_is_named_often_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "a.mcap").write_bytes(mcap_bytes(samples(6)))
    names = ", ".join(["a.mcap"] * 3000)
    (tmp_path / "metadata.yaml").write_text(
        f"rosbag2_bagfile_information:\n  version: 5\n  storage_identifier: mcap\n  relative_file_paths: [{names}]\n"
        "  topics_with_message_count: []\n  message_count: 6\n"
    )
    found, damage = read(tmp_path)
    assert len(found) == 6
    assert damage == [f"{tmp_path}: metadata.yaml names 3000 files, but 1 different ones"]


@pytest.mark.parametrize(
    "whole", only([b"", b"rosbag2_bagfile_information:\n  version: 9\n", b"{", b"[" * 1000, b"\xff"], 1, 3)
)
def test_bad_metadata_is_written_anew_from_the_files(
    whole: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    split(tmp_path / "bag", 12)
    (tmp_path / "bag" / "metadata.yaml").write_bytes(whole)
    assert main(["info", str(tmp_path / "bag")]) == 2
    assert "`sim_node repair` writes it anew from the files" in capsys.readouterr().err
    assert main(["repair", str(tmp_path / "bag"), "-o", str(tmp_path / "new")]) == 0
    assert "12 messages on 1 topic; 1 fault in" in capsys.readouterr().out
    with Reader(tmp_path / "new") as reader:
        assert reader.message_count == 12
        assert [time_ns for _, time_ns, _ in reader.messages()] == [number * SECOND for number in range(12)]


def test_metadata_of_a_writer_that_was_stopped_is_told_of(tmp_path: Path) -> None:
    """As it is after kill -9: without messages, and without the last files, of which one has no bytes yet."""
    split(tmp_path / "bag", 12)
    (tmp_path / "bag" / "bag_12.mcap").touch()
    path = tmp_path / "bag" / "metadata.yaml"
    about = yaml.safe_load(path.read_text())
    about["rosbag2_bagfile_information"]["message_count"] = 0
    about["rosbag2_bagfile_information"]["relative_file_paths"].pop()
    path.write_text(yaml.safe_dump(about))
    found, damage = read(tmp_path / "bag")
    assert len(found) == 12
    assert damage == [
        f"{tmp_path / 'bag' / 'bag_12.mcap'}: the file is empty",
        f"{path}: states 0 of 12 messages: its writer was stopped",
    ]
    assert repair(tmp_path / "bag", tmp_path / "new").damage == damage
    with Reader(tmp_path / "new") as reader:
        assert reader.message_count == 12


def test_a_chunk_in_a_chunk_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """MCAP allows schemas, channels and messages only. What is around it is read."""
    message = struct.pack("<BQHIQQ", 5, 22 + 4, 1, 0, 7, 7) + b"data"
    content = message + chunk("", message, len(message), zlib.crc32(message)) + message
    path = with_chunk(tmp_path / "nested.mcap", chunk("zstd", zstd(content), len(content), zlib.crc32(content)))
    found, damage = read(path)
    assert [data for _, time_ns, data in found if time_ns == 7] == [b"data", b"data"]
    assert len([line for line in damage if "a chunk contains 1 chunk inside, which MCAP does not allow" in line]) == 1
    assert main(["repair", str(path), "-o", str(tmp_path / "new")]) == 0
    assert "1 chunk inside" in capsys.readouterr().out


def zstd(data: bytes) -> bytes:
    import zstandard

    return zstandard.compress(data)


# Takes seconds: make test has bags of many files, and metadata that are written anew.
@pytest.mark.nightly
def test_a_large_chunk_is_read_in_parts_and_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With times that go back within it; the objects of all messages at once would take several times its size."""
    monkeypatch.setattr(mcap_chunk, "PART_BYTES", 1 << 14)
    count = 60_000
    stream = BytesIO()
    writer = Writer(stream, compression=CompressionType.ZSTD, chunk_size=1 << 30)
    writer.start("ros2")
    channel = writer.register_channel("/t", "cdr", writer.register_schema("std_msgs/msg/Empty", "ros2msg", b""))
    for number in range(count):
        writer.add_message(channel, number ^ 1, b"\0\1\0\0\0", number)
    writer.finish()
    (tmp_path / "a.mcap").write_bytes(stream.getvalue())
    with open_bag(tmp_path / "a.mcap") as bag:
        tracemalloc.start()
        for expected, message in enumerate(bag.messages()):
            assert message.time_ns == expected
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    size = 36 * count
    assert peak < 3 * size, "all at once, the objects take another four times as much"


def bytes_bag(path: Path, lengths: list[int]) -> Path:
    with path.open("wb") as stream:
        writer = Writer(stream, compression=CompressionType.ZSTD)
        writer.start("ros2")
        schema = writer.register_schema(BYTES, "ros2msg", definition_of(BYTES).text.encode())
        channel = writer.register_channel("/t", "cdr", schema)
        for number, length in enumerate(lengths):
            data = b"\0\1\0\0" + struct.pack("<III", 0, 0, length) + bytes(length)
            writer.add_message(channel, number, data, number)
        writer.finish()
    return path


# Takes seconds: make test has bags of many files, and metadata that are written anew.
@pytest.mark.nightly
@pytest.mark.parametrize("lengths", only([[500_000], [10, 500_000]], 1))
def test_long_sequences_are_exported_in_parts(lengths: list[int], tmp_path: Path) -> None:
    """As JSON lists, also where a shorter one had a column for each element."""
    path = bytes_bag(tmp_path / "a.mcap", lengths)
    with open_bag(path) as bag:
        export_csv(bag, (), tmp_path / "none", Unreadable(pytest.fail))
        decoding.Decoder(bag.topics[0])  # imports what decodes
        tracemalloc.start()
        (table,) = export_csv(bag, bag.messages(), tmp_path / "csv", Unreadable(pytest.fail))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 8 * lengths[-1], "as a list of Python's numbers, and its text, it takes more than 12 times as much"
    limit = csv.field_size_limit(sys.maxsize)
    try:
        with table.open(newline="") as file:
            rows = list(csv.DictReader(file))
    finally:
        csv.field_size_limit(limit)
    assert json.loads(rows[-1]["data"]) == [0] * lengths[-1]
    if len(lengths) > 1:
        assert [rows[0][f"data[{i}]"] for i in range(10)] == ["0"] * 10
        assert rows[0]["data"] == rows[-1]["data[0]"] == ""


def test_a_message_of_countless_objects_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each byte of it is a message."""
    monkeypatch.setattr(decoding, "MAX_VALUES", 10_000)
    definition = b"Y[] items\n" + b"=" * 80 + b"\nMSG: std_msgs/Y\nuint8 a\n"
    with (tmp_path / "a.mcap").open("wb") as stream:
        writer = Writer(stream, compression=CompressionType.ZSTD)
        writer.start("ros2")
        channel = writer.register_channel("/t", "cdr", writer.register_schema("std_msgs/msg/X", "ros2msg", definition))
        for number, count in enumerate((3, 10_001)):
            writer.add_message(channel, number, b"\0\1\0\0" + struct.pack("<I", count) + bytes(count), number)
        writer.finish()
    skipped: list[str] = []
    with open_bag(tmp_path / "a.mcap") as bag:
        (table,) = export_csv(bag, bag.messages(), tmp_path / "csv", Unreadable(skipped.append))
    assert "10009 bytes of std_msgs/msg/X have more than 10000 values" in skipped[0]
    assert table.read_text().splitlines() == ["time_ns,items[0].a,items[1].a,items[2].a", "0,0,0,0"]


def test_many_topics_take_no_more_than_their_number(tmp_path: Path) -> None:
    """One definition of all of them is held once, and so are equal profiles."""
    text = b"uint8 a\n#" + b"x" * 50_000
    with (tmp_path / "a.mcap").open("wb") as stream:
        writer = Writer(stream)
        writer.start("ros2")
        schema = writer.register_schema("std_msgs/msg/A", "ros2msg", text)
        for number in range(500):
            offered = {"offered_qos_profiles": f"[{{depth: {number % 10 + 1}}}]"}
            writer.register_channel(f"/topic_{number}", "cdr", schema, offered)
        writer.finish()
    tracemalloc.start()
    with open_bag(tmp_path / "a.mcap") as bag:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert len(bag.topics) == 500
        assert {topic.definition for topic in bag.topics} == {text.decode()}
    assert peak < 8 * 2**20, "25 MB with a copy each"
    done = repair(tmp_path / "a.mcap", tmp_path / "new")
    assert not done.damage
    with (tmp_path / "new" / "new_0.mcap").open("rb") as stream:
        summary = make_reader(stream).get_summary()
    assert summary is not None
    assert len(summary.channels) == 500


@pytest.mark.parametrize("text", ["[" * 1000, "{a: " * 1000, "- " * 1000, "? " * 1000])
def test_profiles_that_are_nested_too_deeply_are_none(text: str) -> None:
    assert profiles(text) == ()


def test_metadata_of_any_size_is_refused_before_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.mcap").write_bytes(mcap_bytes(samples(2)))
    with (tmp_path / "metadata.yaml").open("wb") as file:
        file.truncate(metadata.MAX_SIZE + 1)
    with pytest.raises(BagError, match=r"metadata\.yaml: has 16777217 bytes, more than the limit"):
        open_bag(tmp_path)
