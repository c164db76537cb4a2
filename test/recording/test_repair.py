"""What is written from damaged bags, read by the mcap library with its checks on, and by rosbags."""

from __future__ import annotations

from pathlib import Path

import pytest
from bag_files import QOS, mcap_bytes, read, samples
from mcap.reader import make_reader
from mcap.stream_reader import StreamReader
from mcap.writer import CompressionType
from robot_bag import robot, write
from rosbags.highlevel import AnyReader
from rosbags.rosbag2 import CompressionFormat, CompressionMode, Reader, StoragePlugin

from sim_node.recording.bag import BagError
from sim_node.recording.repair import repair

SAMPLES = samples()


def damaged(compression: CompressionType = CompressionType.ZSTD) -> bytes:
    """Without its end, and with a flipped bit in the chunk in the middle."""
    whole = bytearray(mcap_bytes(SAMPLES, compression))
    whole = whole[: whole.rindex(b"\x0f\x04\0\0\0\0\0\0\0")]
    whole[len(whole) // 2] ^= 16
    return bytes(whole)


@pytest.mark.parametrize("compression", list(CompressionType), ids=lambda one: one.name)
def test_a_repaired_bag_holds_what_was_whole(compression: CompressionType, tmp_path: Path) -> None:
    (tmp_path / "bag.mcap").write_bytes(damaged(compression))
    before = (tmp_path / "bag.mcap").read_bytes()
    readable, _ = read(tmp_path / "bag.mcap")
    done = repair(tmp_path / "bag.mcap", tmp_path / "new")
    assert 30 <= len(readable) < len(SAMPLES)
    assert done.counts.total() == len(readable)
    assert done.attachments == 1
    assert len(done.damage) >= 2
    assert (tmp_path / "bag.mcap").read_bytes() == before
    with (tmp_path / "new" / "new_0.mcap").open("rb") as stream:
        reader = make_reader(stream, validate_crcs=True)
        messages = [(channel, message) for _, channel, message in reader.iter_messages()]
        assert [(channel.topic, message.log_time, message.data) for channel, message in messages] == readable
        numbers = [SAMPLES.index(sample) for sample in readable]
        assert [message.sequence for _, message in messages] == numbers
        assert all(message.publish_time == message.log_time + 1 for _, message in messages)
        assert {channel.metadata["offered_qos_profiles"] for channel, _ in messages} == {QOS}
        (attachment,) = reader.iter_attachments()
        assert attachment.data == b"world: yard\n"
        assert [record.name for record in reader.iter_metadata()] == ["rosbag2"]
        stream.seek(0)
        assert list(StreamReader(stream, validate_crcs=True).records)
    with Reader(tmp_path / "new") as theirs:
        assert theirs.message_count == len(readable)


@pytest.mark.parametrize("storage", list(StoragePlugin), ids=lambda one: one.name)
@pytest.mark.parametrize("mode", [None, CompressionMode.FILE, CompressionMode.MESSAGE], ids=str)
def test_a_whole_bag_stays_as_it_is(storage: StoragePlugin, mode: CompressionMode | None, tmp_path: Path) -> None:
    """Of any storage; latched topics stay latched."""
    options = {} if mode is None else {"set_compression": (mode, CompressionFormat.ZSTD)}
    write(tmp_path / "bag", robot(1), storage, **options)
    done = repair(tmp_path / "bag", tmp_path / "new")
    assert done.damage == []
    with AnyReader([tmp_path / "bag"]) as one, AnyReader([tmp_path / "new"]) as other:
        assert [(c.topic, c.msgtype, t, bytes(d)) for c, t, d in one.messages()] == [
            (c.topic, c.msgtype, t, bytes(d)) for c, t, d in other.messages()
        ]
        qos = {c.topic: c.ext.offered_qos_profiles for c in other.connections}
        assert qos["/tf_static"][0].durability.name == "TRANSIENT_LOCAL"
        assert {c.topic: c.digest for c in one.connections} == {c.topic: c.digest for c in other.connections}


def test_nothing_is_overwritten_and_nothing_is_left_behind(tmp_path: Path) -> None:
    (tmp_path / "bag.mcap").write_bytes(damaged())
    (tmp_path / "new").mkdir()
    with pytest.raises(BagError, match="exists"):
        repair(tmp_path / "bag.mcap", tmp_path / "new")
    with pytest.raises(BagError, match="does not exist"):
        repair(tmp_path / "none.mcap", tmp_path / "other")
    with pytest.raises(BagError, match="cannot be written"):
        repair(tmp_path / "bag.mcap", tmp_path / "bag.mcap" / "below")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bag.mcap", "new"]
