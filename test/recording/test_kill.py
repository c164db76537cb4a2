"""kill -9 at any moment: all but the last simulated second is there."""

from __future__ import annotations

import os
import random
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml
from mcap.exceptions import McapError
from mcap.records import Message
from mcap.stream_reader import StreamReader
from nightly import only

KILLS = 100
PER_SECOND = 100
# For each folder that it is given, a process that records numbers in simulated time, as fast as it can, and writes
# each to its output once it is committed.
WRITERS = f"""
import os, struct, sys
from pathlib import Path
from sim_node.recording.definitions import definition_of
from sim_node.recording.recorder import Recorder
from sim_node.recording.settings import RecordingSettings
from sim_node.messages.topic import LATCHED, Qos
from sim_node.messages.topic import Topic

MAP, NUMBERS = Topic("/map", "std_msgs/msg/String", LATCHED), Topic("/numbers", "std_msgs/msg/UInt64", Qos())
definition_of(MAP.type), definition_of(NUMBERS.type)

def write(folder, compression):
    settings = RecordingSettings(compression=compression, split_ns=3 * 10**9, spare_bytes=0)
    recorder = Recorder(Path(folder), settings, warn=print)
    send_map, send = recorder.advertise(MAP), recorder.advertise(NUMBERS)
    recorder.open()
    send_map(0, b"the map")
    number = 0
    while True:
        time_ns = number * (10**9 // {PER_SECOND})
        send(time_ns, struct.pack("<4sQ", b"", number))
        recorder.commit(time_ns)
        os.write(1, struct.pack("<Q", number))
        number += 1

for line in sys.stdin:
    child = os.fork()
    if child == 0:
        write(*line.split())
    os.write(2, b"%d\\n" % child)
    os.waitpid(child, 0)
    os.write(1, b"\\xff" * 8)
"""


@contextmanager
def writers() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [sys.executable, "-c", WRITERS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def killed_after(process: subprocess.Popen[bytes], folder: Path, compression: str, number: int) -> int:
    """Has a bag written and its writer killed once a number is committed; returns the last that was."""
    assert process.stdin
    assert process.stdout
    assert process.stderr
    process.stdin.write(f"{folder} {compression}\n".encode())
    process.stdin.flush()
    writer = int(process.stderr.readline())
    last = -1
    while (committed := int.from_bytes(process.stdout.read(8), "little")) != 2**64 - 1:
        last = committed
        if last == number:
            os.kill(writer, signal.SIGKILL)
    return last


def survivors(folder: Path) -> list[int]:
    """The numbers that a streaming reader finds in a bag's files, each as far as it is whole."""
    found: list[int] = []
    for path in sorted(folder.glob("*.mcap"), key=lambda path: int(path.stem.rpartition("_")[2])):
        with path.open("rb") as stream:
            try:
                records = StreamReader(stream, validate_crcs=True).records
                numbers = (each.data for each in records if isinstance(each, Message) and len(each.data) == 12)
                found.extend(int.from_bytes(data[4:], "little") for data in numbers)
            except (McapError, struct.error):  # mcap tells of broken ends in either way
                pass
    return found


@pytest.mark.parametrize(("compression", "kills"), only([("zstd", 15), ("zstd", KILLS // 2), ("none", KILLS // 2)], 0))
def test_a_killed_recording_keeps_all_but_its_last_second(tmp_path: Path, compression: str, kills: int) -> None:
    """At random moments; what is there is unbroken from the first message on, and metadata.yaml names the files."""
    moments = random.Random(compression)
    lost = []
    with writers() as process:
        for row in range(kills):
            folder = tmp_path / f"bag{row}"
            last = killed_after(process, folder, compression, moments.randrange(10 * PER_SECOND))
            found = survivors(folder)
            assert found == list(range(len(found)))
            lost.append(last + 1 - len(found))
            about = yaml.safe_load((folder / "metadata.yaml").read_text())["rosbag2_bagfile_information"]
            there = {path.name for path in folder.glob("*.mcap")}
            assert set(about["relative_file_paths"]) <= there
            assert len(there) - len(about["relative_file_paths"]) <= 1
    assert max(lost) <= PER_SECOND
    assert max(lost) > 0, "no kill came between two flushes"
