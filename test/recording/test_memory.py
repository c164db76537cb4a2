"""Files that claim more than they hold, or hold more than anybody wants: memory stays flat, the fault is named."""

from __future__ import annotations

import os
import resource
import struct
import subprocess
import sys
import zlib
from functools import cache
from itertools import product
from pathlib import Path

import lz4.frame
import pytest
import zstandard
from bag_files import mcap_bytes, samples
from nightly import only

from sim_node.cli.main import main
from sim_node.recording.bag import BagError
from sim_node.recording.opening import open_bag

SAMPLES = samples(6)
MAGIC_BYTES = 8
# What a command may take for any of these files, Python and its libraries (about 100 MB) included.
MAX_KB = 500_000
# Address space of a command: threads and libraries reserve much that they never touch.
ADDRESSES = 6 << 30
ZEROS = 64 * (16 << 20)


@cache
def packed_zeros(kind: str, count: int = ZEROS) -> bytes:
    """Zeros, compressed: frames that do not say their size."""
    step = bytes(16 << 20)
    if kind == "zstd":
        packer = zstandard.ZstdCompressor(level=3).compressobj()
        parts = [packer.compress(step) for _ in range(count // len(step))]
        return b"".join([*parts, packer.flush()])
    stream = lz4.frame.LZ4FrameCompressor(block_size=lz4.frame.BLOCKSIZE_MAX4MB, block_linked=False)
    parts = [stream.begin()]
    one = stream.compress(step) + stream.flush()
    # The blocks of equal steps are equal, for they are not linked: the first is repeated before the mark of the end.
    assert one.endswith(bytes(4))
    return b"".join([*parts, one[:-4] * (count // len(step)), bytes(4)])


def chunk(kind: str, data: bytes, stated: int, crc: int = 0) -> bytes:
    """A chunk record: start and end time, size, CRC, compression, data."""
    name = kind.encode()
    body = struct.pack("<QQQII", 1, 2, stated, crc, len(name)) + name + struct.pack("<Q", len(data)) + data
    return struct.pack("<BQ", 6, len(body)) + body


def with_chunk(path: Path, record: bytes) -> Path:
    """A sound file, without index, and a chunk before all of its others."""
    whole = mcap_bytes(SAMPLES)
    header_end = MAGIC_BYTES + 9 + struct.unpack_from("<Q", whole, MAGIC_BYTES + 1)[0]
    footer_and_magic = 9 + 20 + MAGIC_BYTES
    path.write_bytes(whole[:header_end] + record + whole[header_end:-footer_and_magic])
    return path


# VmHWM and not ru_maxrss, in which Linux counts what the process that starts a command has in memory.
PEAK_LAST = """
import re, sys
from sim_node.cli.main import main
try:
    code = main(sys.argv[1:])
finally:
    sys.stderr.flush()
    print(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1], flush=True)
sys.exit(code)
"""


def run_limited(*words: str | Path) -> tuple[int, str, int]:
    """The exit code, what was told, and the peak of resident memory (kB) of a command with bounded address space."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))

    command = [sys.executable, "-c", PEAK_LAST, *map(str, words)]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=limit, env=environment
    ) as process:
        assert process.stdout is not None
        *output, peak = process.stdout.read().decode().splitlines(keepends=True)
    return process.returncode, "".join(output), int(peak)


@pytest.mark.parametrize(("kind", "stated"), only(product(("zstd", "lz4"), (100, 200_000_000, ZEROS, 2**40)), 5))
def test_a_chunk_that_lies_is_named_and_skipped(kind: str, stated: int, tmp_path: Path) -> None:
    path = with_chunk(tmp_path / "lies.mcap", chunk(kind, packed_zeros(kind), stated))
    code, output, peak = run_limited("info", path)
    assert code == 1, output
    assert "6 messages on 2 topics" in output
    assert "a chunk of 0.000 s to 0.000 s is left out" in output
    assert peak < MAX_KB
    code, output, peak = run_limited("repair", path, "-o", tmp_path / "mended")
    assert code == 0, output
    assert peak < MAX_KB
    with open_bag(tmp_path / "mended") as bag:
        assert bag.count == len(SAMPLES)


@pytest.mark.parametrize("kind", ["", "zstd", "lz4"])
def test_an_honest_chunk_needs_the_option_where_it_is_large(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Three messages of 2 MB in one chunk; 31 bytes of each are its record."""
    body = 2_000_000
    content = b"".join(struct.pack("<BQHIQQ", 5, 22 + body, 1, 0, time, time) + bytes(body) for time in (1, 2, 3))
    pack = {"": bytes, "zstd": zstandard.compress, "lz4": lz4.frame.compress}[kind]
    path = with_chunk(tmp_path / "large.mcap", chunk(kind, pack(content), len(content), zlib.crc32(content)))
    assert main(["info", "--check", str(path), "--chunk-limit", "5"]) == 1
    output = capsys.readouterr().out
    assert f"{len(content)} bytes" in output or not kind
    assert "more than the limit of 5242880; --chunk-limit MB allows more" in output
    assert "6 messages" in output
    main(["info", "--check", str(path)])
    output = capsys.readouterr().out
    assert "9 messages" in output
    assert "chunk-limit" not in output


def test_a_file_that_is_compressed_as_a_whole_is_bounded(tmp_path: Path) -> None:
    """It goes to the disk; the limit of 1 MB lets it have 32."""
    (tmp_path / "run_0.mcap.zstd").write_bytes(packed_zeros("zstd", 100 << 20))
    with pytest.raises(BagError, match=r"run_0\.mcap\.zstd: cannot be decompressed: .*--chunk-limit"):
        open_bag(tmp_path / "run_0.mcap.zstd", 1 << 20)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run_0.mcap.zstd"]


METADATA = """rosbag2_bagfile_information:
  version: 5
  storage_identifier: mcap
  relative_file_paths: [run_0.mcap]
  topics_with_message_count: []
  compression_format: zstd
  compression_mode: MESSAGE
"""


def test_messages_that_are_compressed_one_by_one_are_bounded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One is 20 MB of zeros, one no zstd at all, one sound: the sound one is read, the others are named."""
    messages = [
        ("/even", 10_000_000, packed_zeros("zstd", 32 << 20)),
        ("/even", 20_000_000, b"no zstd"),
        ("/even", 30_000_000, zstandard.compress(b"\0\1\0\0" + bytes(8))),
    ]
    (tmp_path / "run_0.mcap").write_bytes(mcap_bytes(messages, chunk_size=1 << 20))
    (tmp_path / "metadata.yaml").write_text(METADATA)
    with open_bag(tmp_path, 16 << 20) as bag:
        assert [message.data for message in bag.messages()] == [b"\0\1\0\0" + bytes(8)]
        first, second = bag.damage
        assert "/even at 0.010 s" in first
        assert "limit of 16777216" in first
        assert "/even at 0.020 s" in second
    assert main(["repair", str(tmp_path), "-o", str(tmp_path / "mended"), "--chunk-limit", "16"]) == 0
    assert "1 message on 1 topic" in capsys.readouterr().out
