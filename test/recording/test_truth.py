"""A recording says what is in the bag: with disks that fail, deleted bags, signals, power that fails."""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from signal import Signals
from typing import Any

import pytest
from mcap.reader import make_reader
from nightly import only
from waiting import PATIENCE, until

from sim_node.messages.topic import Qos, Send, Topic
from sim_node.recording.bag import RecordingStopped
from sim_node.recording.mcap_file import CHUNK_BYTES
from sim_node.recording.recorder import Recorder
from sim_node.recording.settings import RecordingSettings

NUMBERS = Topic("/numbers", "std_msgs/msg/Float64", Qos())
STEP_NS = 10_000_000
RUN = [sys.executable, "-m", "sim_node.cli.main", "run", "quadrotor", "--no-ros"]


def begun(folder: Path, **settings: Any) -> tuple[Recorder, Send, list[str]]:
    reported: list[str] = []
    made = Recorder(folder, RecordingSettings(spare_bytes=0, compression="none", **settings), warn=reported.append)
    send = made.advertise(NUMBERS)
    made.open()
    return made, send, reported


def sent(made: Recorder, send: Send, count: int, first: int = 0) -> None:
    for number in range(first, first + count):
        send(number * STEP_NS, os.urandom(1000))
        made.commit(number * STEP_NS)


def readable(folder: Path) -> int:
    """How many messages the mcap library reads."""
    count = 0
    for path in folder.glob("*.mcap"):
        with path.open("rb") as stream:
            count += sum(1 for _ in make_reader(stream, validate_crcs=True).iter_messages())
    return count


# Takes seconds: make test has a disk that fails in test_recorder.py.
@pytest.mark.nightly
def test_a_disk_that_fails_is_reported_by_what_is_in_the_bag(tmp_path: Path) -> None:
    """A file that may not grow beyond 256 kB fails as a full disk does, with an error of the system's."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (256 << 10, 256 << 10))

    command = [*RUN, "--speed", "max", "--duration", "6", "--compression", "none", "--record", str(tmp_path / "bag")]
    ran = subprocess.run(command, capture_output=True, text=True, preexec_fn=limit, timeout=PATIENCE)
    assert ran.returncode == 1, ran.stderr
    assert "recording stopped" in ran.stderr
    kept = readable(tmp_path / "bag")
    assert kept > 0
    assert f"recorded {kept} messages" in ran.stdout
    assert re.search(rf"{kept} of \d+ messages are in the bag", ran.stderr)
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize(
    "harm",
    [
        lambda folder: shutil.rmtree(folder),
        lambda folder: (folder / f"{folder.name}_0.mcap").unlink(),
    ],
    ids=["folder", "file"],
)
def test_a_bag_that_is_harmed_underneath_is_no_recording(harm: Callable[[Path], object], tmp_path: Path) -> None:
    made, send, reported = begun(tmp_path / "bag")
    sent(made, send, 200)
    harm(tmp_path / "bag")
    sent(made, send, 3, first=200)
    with pytest.raises(RecordingStopped, match=r"of \d+ messages are in the bag"):
        made.close()
    assert str(tmp_path / "bag") in reported[-1]
    assert made.kept < 203


@pytest.mark.parametrize("number", only([signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT], 0))
def test_a_signal_closes_the_bag(number: Signals, tmp_path: Path) -> None:
    """In a file, as a terminal that is gone takes no more words."""
    folder = tmp_path / "bag"
    with (tmp_path / "said").open("w") as output:
        running = subprocess.Popen(
            [*RUN, "--record", str(folder)], stdout=output, stderr=output, start_new_session=True
        )
        try:
            until(lambda: any(path.stat().st_size > 20_000 for path in folder.glob("*.mcap")), "messages in the bag")
            running.send_signal(number)
            assert running.wait(PATIENCE) == 0
        finally:
            running.kill()
            running.wait()
    [file] = folder.glob("*.mcap")
    with file.open("rb") as stream:
        summary = make_reader(stream).get_summary()
    assert summary is not None
    assert summary.statistics is not None
    assert summary.statistics.message_count == readable(folder) > 0
    assert f"recorded {readable(folder)} messages" in (tmp_path / "said").read_text()


@pytest.mark.parametrize("commit_ns", [6 * STEP_NS, 30 * STEP_NS])
def test_a_clock_that_is_set_back_begins_a_file(commit_ns: int, tmp_path: Path) -> None:
    """Between two messages of a batch, as the wall clock does; in no file does a topic go back."""
    made = Recorder(tmp_path / "bag", RecordingSettings(spare_bytes=0), warn=pytest.fail, patient=False)
    send = made.advertise(NUMBERS)
    made.open()
    for number in (10, 20, 5, 6):
        send(number * STEP_NS, bytes(12))
    made.commit(commit_ns)
    send(31 * STEP_NS, bytes(12))
    made.commit(7 * STEP_NS)
    send(8 * STEP_NS, bytes(12))
    made.close()
    times = []
    for path in sorted((tmp_path / "bag").glob("*.mcap")):
        with path.open("rb") as stream:
            messages = make_reader(stream).iter_messages(log_time_order=False)
            times.append([message.log_time // STEP_NS for _, _, message in messages])
    assert times == [[10, 20], [5, 6, 31], [8]]
    assert made.kept == 6


class Disk:
    """How much of each file was handed to the disk; the real fsync is called."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.safe: dict[int, list[int]] = {}
        self._fsync = os.fsync
        monkeypatch.setattr(os, "fsync", self.sync)

    def sync(self, number: int) -> None:
        self._fsync(number)
        about = os.fstat(number)
        self.safe.setdefault(about.st_ino, []).append(about.st_size)


def test_a_bag_that_was_closed_survives_a_power_loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Disk(monkeypatch)
    made, send, _ = begun(tmp_path / "bag", split_ns=50 * STEP_NS)
    sent(made, send, 120)
    made.close()
    files = list((tmp_path / "bag").iterdir())
    assert len(files) == 4
    for file in files:
        assert disk.safe[file.stat().st_ino][-1] == file.stat().st_size, "all of it"
    assert {(tmp_path / "bag").stat().st_ino, tmp_path.stat().st_ino} <= disk.safe.keys(), "the names in folders, too"


def test_a_durable_bag_survives_one_up_to_its_last_chunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Disk(monkeypatch)
    made, send, _ = begun(tmp_path / "bag", durable=True)
    sent(made, send, 3 * CHUNK_BYTES // 1000)
    made.close()
    [file] = (tmp_path / "bag").glob("*.mcap")
    safe = disk.safe[file.stat().st_ino]
    assert safe[-1] == file.stat().st_size
    steps = [after - before for before, after in pairwise([0, *safe])]
    assert max(steps) < 1.1 * CHUNK_BYTES
    assert len(steps) > 3
