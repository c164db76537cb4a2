"""MCAP files, read by the mcap library with and without their index."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcap.reader import NonSeekingReader, make_reader
from mcap.writer import CompressionType, Writer

from sim_node.recording import mcap_file
from sim_node.recording.mcap_file import McapFile
from sim_node.recording.settings import COMPRESSIONS

ENTRIES = st.lists(st.tuples(st.integers(1, 3), st.integers(0, 2**63 - 1), st.binary(max_size=200)), max_size=60)


def begun(folder: Path, compression: str) -> McapFile:
    file = McapFile(folder / "x.mcap", compression, "test")
    for number in (1, 2, 3):
        schema = file.schema(f"a/msg/T{min(number, 2)}", "ros2msg", b"int32 x")
        assert file.channel(f"/t{number}", schema, {"offered_qos_profiles": "", "key": f"ü{number}"}) == number
    return file


@pytest.mark.parametrize("compression", COMPRESSIONS)
@given(batches=st.lists(ENTRIES, max_size=6), chunk=st.integers(1, 2000))
def test_what_is_written_is_read(
    compression: str, batches: Sequence[Sequence[tuple[Any, Any, Any]]], chunk: int
) -> None:
    """Any messages, in chunks of any size: all there in their order, by index and by stream, checksums right."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(mcap_file, "CHUNK_BYTES", chunk)
        file = begun(Path(folder), compression)
        file.attach("notes.txt", "text/plain", b"hello", 7)
        for batch in batches:
            file.write(batch)
            file.flush()
        file.metadata("rosbag2", {"serialized_metadata": "version: 9"})
        limit = file.size + file.closing_bytes
        file.finish()
        assert file.size == file.path.stat().st_size <= limit
        expected = [(f"/t{channel}", time_ns, data) for batch in batches for channel, time_ns, data in batch]
        with file.path.open("rb") as stream:
            reader = make_reader(stream, validate_crcs=True)
            found = [(c.topic, m.log_time, m.data) for _, c, m in reader.iter_messages(log_time_order=False)]
            assert sorted(found) == sorted(expected)
            in_order = [m.log_time for _, _, m in reader.iter_messages()]
            assert in_order == sorted(time_ns for _, time_ns, _ in expected)
            summary = reader.get_summary()
            assert summary.statistics.message_count == len(expected)
            assert len(summary.schemas) == 2
            if expected:
                times = [time_ns for _, time_ns, _ in expected]
                span = summary.statistics.message_start_time, summary.statistics.message_end_time
                assert span == (min(times), max(times)) == (file.start_ns, file.end_ns)
            assert [(each.name, each.data) for each in reader.iter_attachments()] == [("notes.txt", b"hello")]
            assert [each.metadata for each in reader.iter_metadata()] == [{"serialized_metadata": "version: 9"}]
        with file.path.open("rb") as stream:
            streamed = NonSeekingReader(stream, validate_crcs=True)
            assert [
                (c.topic, m.log_time, m.data) for _, c, m in streamed.iter_messages(log_time_order=False)
            ] == expected


@pytest.mark.parametrize("compression", [CompressionType.NONE, CompressionType.LZ4, CompressionType.ZSTD])
def test_files_are_those_of_the_library_byte_for_byte(tmp_path: Path, compression: CompressionType) -> None:
    """mcap's own writer, given the same, chunk by chunk."""
    file = begun(tmp_path, compression.name.lower())
    with (tmp_path / "library.mcap").open("wb") as stream:
        library = Writer(stream, compression=compression)
        library.start("ros2", "test")
        for number in (1, 2, 3):
            if number < 3:
                library.register_schema(f"a/msg/T{number}", "ros2msg", b"int32 x")
            metadata = {"offered_qos_profiles": "", "key": f"ü{number}"}
            library.register_channel(f"/t{number}", "cdr", min(number, 2), metadata)
        file.attach("notes.txt", "text/plain", b"hello", 7)
        library.add_attachment(0, 7, "notes.txt", "text/plain", b"hello")
        for chunk in range(4):
            entries = [(1 + row % 3, 1000 * chunk + row, bytes(row)) for row in range(100)]
            file.write(entries)
            for channel, time_ns, data in entries:
                library.add_message(channel, time_ns, data, time_ns)
            file.flush()
            library.flush()
        file.metadata("rosbag2", {"serialized_metadata": "version: 9"})
        library.add_metadata("rosbag2", {"serialized_metadata": "version: 9"})
        file.finish()
        library.finish()
    assert file.path.read_bytes() == (tmp_path / "library.mcap").read_bytes()


def test_times_before_zero_are_refused(tmp_path: Path) -> None:
    with pytest.raises(struct.error):
        begun(tmp_path, "none").write([(1, -1, b"")])


def test_a_file_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "x.mcap").write_bytes(b"precious")
    with pytest.raises(FileExistsError):
        McapFile(tmp_path / "x.mcap", "none", "test")
    assert (tmp_path / "x.mcap").read_bytes() == b"precious"
