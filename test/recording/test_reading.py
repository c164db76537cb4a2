"""Bags that the mcap and rosbags libraries wrote, read back: every message, topic and quality of service."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import yaml
import zstandard
from bag_files import found, mcap_bytes, read, samples
from hypothesis import given
from hypothesis import strategies as st
from mcap.reader import make_reader
from mcap.writer import CompressionType, IndexType, Writer
from mcap_ros2.decoder import DecoderFactory
from robot_bag import STORE, Entry, robot, write
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin

from sim_node.cli.main import main
from sim_node.messages.topic import INFINITE_NS, Qos
from sim_node.recording.bag import BagError
from sim_node.recording.opening import is_bag, open_bag

SAMPLES = samples()
COMPRESSIONS = [CompressionType.NONE, CompressionType.ZSTD, CompressionType.LZ4]


def as_written(entries: list[Entry]) -> list[tuple[str, int, bytes]]:
    return [(topic, time_ns, bytes(STORE.serialize_cdr(message, kind))) for topic, time_ns, (kind, message) in entries]


@pytest.mark.parametrize("compression", COMPRESSIONS, ids=lambda one: one.name)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"use_chunking": False},
        {"index_types": IndexType.NONE},
        {"repeat_channels": False, "repeat_schemas": False},
        {"use_statistics": False},
        {"use_summary_offsets": False, "enable_crcs": False},
        {"enable_data_crcs": True, "index_types": IndexType.NONE},
    ],
    ids=str,
)
def test_an_mcap_file_is_read_whatever_of_its_index_is_left_out(
    compression: CompressionType, options: dict[str, object], tmp_path: Path
) -> None:
    (tmp_path / "bag.mcap").write_bytes(mcap_bytes(SAMPLES, compression, **options))
    with open_bag(tmp_path / "bag.mcap") as bag:
        assert (bag.start_ns, bag.end_ns, bag.count) == (SAMPLES[0][1], SAMPLES[-1][1], len(SAMPLES))
        assert [(topic.name, topic.type, topic.count) for topic in bag.topics] == [
            ("/even", "std_msgs/msg/String", 30),
            ("/odd", "std_msgs/msg/String", 30),
        ]
        assert found(bag) == SAMPLES
        assert found(bag, topics=["/odd"]) == SAMPLES[1::2]
        assert found(bag, start_ns=SAMPLES[7][1], stop_ns=SAMPLES[19][1]) == SAMPLES[7:19]
        assert found(bag, topics=[]) == []
        assert [(one.name, one.media_type, one.time_ns, one.data) for one in bag.attachments()] == [
            ("world.yaml", "application/yaml", 6, b"world: yard\n")
        ]
        assert bag.damage == []


def test_the_quality_of_service_of_a_humble_channel_is_read(tmp_path: Path) -> None:
    """Numbers of rmw/types.h; Fast DDS's and rmw's infinite durations are both infinite."""
    (tmp_path / "bag.mcap").write_bytes(mcap_bytes(SAMPLES))
    with open_bag(tmp_path) as bag:
        assert bag.topics[0].qos == (Qos(7, "best_effort", "transient_local", lifespan_ns=1_500_000_000),)
        assert bag.topics[0].type_hash == "RIHS01_a"
        assert bag.topics[0].qos[0].deadline_ns == INFINITE_NS


@given(st.lists(st.tuples(st.sampled_from(["/a", "/b"]), st.integers(0, 50)), max_size=60), st.integers(60, 400))
def test_messages_come_in_the_order_of_their_times(order: list[tuple[str, int]], chunk_size: int) -> None:
    """However they stand in the file; chunks may overlap in time."""
    import tempfile

    written = [(topic, 10 * when, bytes([i])) for i, (topic, when) in enumerate(order)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "bag.mcap")
        path.write_bytes(mcap_bytes(written, chunk_size=chunk_size))
        got, _ = read(path)
        some, _ = read(path, start_ns=100, stop_ns=300)
    assert [time_ns for _, time_ns, _ in got] == sorted(time_ns for _, time_ns, _ in written)
    assert sorted(got) == sorted(written)
    assert some == [sample for sample in got if 100 <= sample[1] < 300]


@pytest.mark.parametrize("storage", list(StoragePlugin), ids=lambda one: one.name)
@pytest.mark.parametrize("version", [8, 9])
@pytest.mark.parametrize("mode", [None, CompressionMode.FILE, CompressionMode.MESSAGE], ids=str)
def test_bags_of_rosbags_are_read_as_written(
    storage: StoragePlugin, version: int, mode: CompressionMode | None, tmp_path: Path
) -> None:
    entries = robot(1)
    options = {} if mode is None else {"set_compression": (mode, CompressionFormat.ZSTD)}
    write(tmp_path / "bag", entries, storage, version, **options)
    with open_bag(tmp_path / "bag") as bag:
        assert found(bag) == as_written(entries)
        assert found(bag, start_ns=500_000_000) == [each for each in as_written(entries) if each[1] >= 500_000_000]
        topics = {topic.name: topic for topic in bag.topics}
        assert {name: topic.type for name, topic in topics.items()} == {
            "/imu/data": "sensor_msgs/msg/Imu",
            "/status": "std_msgs/msg/String",
            "/tf": "tf2_msgs/msg/TFMessage",
            "/tf_static": "tf2_msgs/msg/TFMessage",
        }
        assert [qos.latched for qos in topics["/tf_static"].qos] == [True]
        assert "geometry_msgs/Transform" in topics["/tf"].definition
        assert topics["/status"].type_hash.startswith("RIHS01_")
        assert bag.damage == []


def test_the_times_and_counts_are_those_of_another_reader(tmp_path: Path) -> None:
    """mcap-ros2-support decodes the same file."""
    write(tmp_path / "bag", robot(1))
    with (tmp_path / "bag" / "bag.mcap").open("rb") as stream:
        decoded = make_reader(stream, decoder_factories=[DecoderFactory()]).iter_decoded_messages()
        theirs = [(channel.topic, message.log_time, message.data) for _, channel, message, _ in decoded]
    with open_bag(tmp_path / "bag") as bag:
        assert found(bag) == theirs


@pytest.mark.parametrize("storage", list(StoragePlugin), ids=lambda one: one.name)
def test_without_metadata_the_files_tell(storage: StoragePlugin, tmp_path: Path) -> None:
    folder = write(tmp_path / "bag", robot(1), storage)
    (folder / "metadata.yaml").unlink()
    (file,) = folder.iterdir()
    for path in (folder, file):
        with open_bag(path) as bag:
            assert found(bag) == as_written(robot(1))


def test_split_files_are_merged_in_the_order_of_time(tmp_path: Path) -> None:
    """Two overlap, one stands apart; their names are in another order than their times."""
    shuffled = random.Random(1).sample(SAMPLES[:40], 40)
    parts = [shuffled[:20], shuffled[20:], SAMPLES[40:]]
    for number, part in zip((2, 3, 1), parts, strict=True):
        (tmp_path / f"bag_{number}.mcap").write_bytes(mcap_bytes(sorted(part, key=lambda sample: sample[1])))
    with open_bag(tmp_path) as bag:
        assert found(bag) == SAMPLES
        assert found(bag, start_ns=SAMPLES[38][1], stop_ns=SAMPLES[42][1]) == SAMPLES[38:42]
        assert bag.count == len(SAMPLES)
        assert len(list(bag.attachments())) == 1


def test_metadata_fills_in_what_the_file_does_not_say(tmp_path: Path) -> None:
    folder = write(tmp_path / "bag", robot(1))
    stream = (folder / "bag.mcap").open("wb")
    writer = Writer(stream)
    writer.start("ros2")
    schema = writer.register_schema("tf2_msgs/msg/TFMessage", "", b"")
    writer.add_message(writer.register_channel("/tf_static", "cdr", schema), 5, b"\0\1\0\0\0\0\0\0", 5)
    writer.finish()
    stream.close()
    with open_bag(folder) as bag:
        (topic,) = bag.topics
        assert topic.qos == (Qos(1, durability="transient_local"),)
        assert topic.type_hash.startswith("RIHS01_")


def test_a_bag_of_ros_1_is_refused_with_what_helps(tmp_path: Path) -> None:
    with (tmp_path / "old.mcap").open("wb") as stream:
        writer = Writer(stream)
        writer.start("ros1")
        writer.finish()
    with pytest.raises(BagError, match=r"old\.mcap: is a ROS 1 recording; .*rosbags-convert"):
        open_bag(tmp_path / "old.mcap")


@pytest.mark.parametrize(
    ("name", "content", "output"),
    [
        ("none.mcap", None, "does not exist"),
        ("empty.mcap", b"", "is empty"),
        ("text.mcap", b"hello, this is a text" * 20, "is not an MCAP file"),
        ("text.db3", b"hello, this is a text" * 20, "is not an SQLite file"),
        ("broken.db3", b"SQLite format 3\0" + b"x" * 500, "too damaged to be read"),
        ("world.bag", b"#ROSBAG V2.0", "bag files cannot be read"),
    ],
)
def test_what_is_no_bag_is_refused_in_one_line(name: str, content: bytes | None, output: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(BagError, match=output) as refused:
        open_bag(tmp_path / name)
    assert str(tmp_path / name) in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_misspelt_bag_is_answered_with_the_nearest_one_beside_it(tmp_path: Path) -> None:
    for name in ("takeoff", "takeoffs", "landing"):
        (tmp_path / name).mkdir()
    (tmp_path / "takeoff" / "metadata.yaml").touch()  # the others are no bags
    with pytest.raises(BagError) as refused:
        open_bag(tmp_path / "takeof")
    assert str(refused.value) == f"{tmp_path}/takeof: does not exist; did you mean {tmp_path}/takeoff?"
    for path in (tmp_path / "landings", tmp_path / "none" / "takeof"):
        with pytest.raises(BagError, match=r"does not exist$"):
            open_bag(path)


@pytest.mark.parametrize(
    ("changes", "output"),
    [
        ({"version": 10}, "has version 10; known: 1 to 9"),
        ({"storage_identifier": "mcab"}, "did you mean mcap"),
        ({"storage_identifier": None}, "'None' cannot be read"),
        ({"relative_file_paths": ["gone.mcap"]}, "gone.mcap, which is missing"),
        ({"relative_file_paths": []}, "names no file"),
        ({"relative_file_paths": 3}, "have the wrong form"),
        ({"compression_mode": "MESSAGE", "compression_format": "rle"}, "known: zstd"),
    ],
    ids=str,
)
def test_metadata_that_is_wrong_is_named(changes: dict[str, object], output: str, tmp_path: Path) -> None:
    folder = write(tmp_path / "bag", robot(1))
    metadata = yaml.safe_load((folder / "metadata.yaml").read_text())
    metadata["rosbag2_bagfile_information"].update(changes)
    (folder / "metadata.yaml").write_text(yaml.safe_dump(metadata))
    with pytest.raises(BagError, match=output) as refused:
        open_bag(folder)
    assert str(folder) in str(refused.value)


@pytest.mark.parametrize("text", ["", "[", "a: b", "rosbag2_bagfile_information: 3", "\0"])
def test_metadata_that_is_none_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / "metadata.yaml").write_text(text)
    with pytest.raises(BagError, match=r"metadata\.yaml:"):
        open_bag(tmp_path)


def test_a_compressed_file_that_is_cut_is_named(tmp_path: Path) -> None:
    folder = write(tmp_path / "bag", robot(1), set_compression=(CompressionMode.FILE, CompressionFormat.ZSTD))
    (file,) = folder.glob("*.zstd")
    file.write_bytes(zstandard.compress(b"no mcap"))
    with pytest.raises(BagError, match="is not an MCAP file"):
        open_bag(folder)


def test_bags_are_reported_from_worlds(tmp_path: Path) -> None:
    folder = write(tmp_path / "bag", robot(1))
    assert is_bag(folder)
    assert is_bag(folder / "bag.mcap")
    assert not is_bag(tmp_path)
    assert not is_bag("orbit")
    assert not is_bag("worlds/yard.yaml")


class Listed(list[str]):
    """Names that are read once: a search in a list for each topic takes the square of their number."""

    def __contains__(self, name: object) -> bool:
        raise AssertionError("the list is searched")


@pytest.mark.parametrize("storage", list(StoragePlugin), ids=lambda one: one.name)
def test_names_of_topics_are_not_searched_for_in_a_list(storage: StoragePlugin, tmp_path: Path) -> None:
    with open_bag(write(tmp_path / "bag", robot(1), storage)) as bag:
        wanted = Listed(["/tf", "/imu/data", "/none"])
        assert {bag.topics[message.topic].name for message in bag.messages(wanted)} == {"/tf", "/imu/data"}


def test_a_check_reads_what_opening_has_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without an index, opening reads every record: a second time would find nothing else."""
    whole, cut, broken = (tmp_path / f"{name}.mcap" for name in ("whole", "cut", "broken"))
    data = mcap_bytes(SAMPLES, compression=CompressionType.NONE)
    spoilt = bytearray(data)
    spoilt[data.index(SAMPLES[-1][2])] ^= 1
    whole.write_bytes(data)
    cut.write_bytes(data[:-8])
    broken.write_bytes(spoilt[:-8])
    for path, verified in ((whole, False), (cut, True), (broken, True)):
        with open_bag(path) as bag:
            assert bag.verified is verified
            known = list(bag.damage)
            list(bag.messages())
            assert bag.damage == known
            assert any("fails the checksum" in line for line in known) is (path == broken)
        assert main(["info", "--check", str(path)]) == int(verified)
    capsys.readouterr()
