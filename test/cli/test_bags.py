"""The subcommands that take bags: what they print, their exit codes, and how they end when they are stopped."""

from __future__ import annotations

import contextlib
import csv
import fcntl
import json
import math
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import threading
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from in_process import exit_code
from mcap.writer import Writer
from nightly import only
from robot_bag import imu, robot, write
from rosbags.rosbag2 import StoragePlugin
from scipy.spatial.transform import Rotation
from waiting import PATIENCE, until

from sim_node.cli.main import main

COMMANDS = ("info", "repair", "diff", "export", "plot", "lookup", "tree")


@pytest.fixture(scope="module")
def bag(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write(tmp_path_factory.mktemp("cli") / "bag", robot(4)))


def printed(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert main(arguments) == code
    return capsys.readouterr().out


def test_info_tells_what_was_written(bag: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "info", bag).splitlines()
    assert lines[0] == f"{bag}: 405 messages on 4 topics, 0.000 s to 4.000 s, 4.000 s"
    assert [line.split() for line in lines[2:]] == [
        ["/imu/data", "sensor_msgs/msg/Imu", "201", "50.0", "unknown"],
        ["/status", "std_msgs/msg/String", "1", "-", "unknown"],
        ["/tf", "tf2_msgs/msg/TFMessage", "201", "50.0", "unknown"],
        ["/tf_static", "tf2_msgs/msg/TFMessage", "2", "0.2", "reliable,", "transient_local,", "depth", "1"],
    ]
    found = json.loads(printed(capsys, "info", bag, "--json", "--check"))
    assert (found["count"], found["end_ns"], found["damage"]) == (405, 4 * 10**9, [])
    assert found["topics"][3]["qos"][0]["durability"] == "transient_local"


def test_info_of_a_bag_of_the_wall_clock_tells_the_date(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """1700000000 s after the epoch was 2023-11-14 22:13:20 UTC."""
    path = write(tmp_path / "bag", robot(1, 1_700_000_000 * 10**9))
    assert "2023-11-14 22:13:20.000 UTC to 2023-11-14 22:13:21.000 UTC, 1.000 s" in printed(capsys, "info", str(path))


def test_a_damaged_bag_is_reported_repaired_and_whole(
    bag: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = Path(bag, "bag.mcap").read_bytes()
    (tmp_path / "cut.mcap").write_bytes(whole[: len(whole) // 2])
    assert "damage: " in printed(capsys, "info", str(tmp_path / "cut.mcap"), code=1)
    out = printed(capsys, "repair", str(tmp_path / "cut.mcap"))
    assert f"{tmp_path / 'cut_repaired'}: " in out
    kept = json.loads(printed(capsys, "info", str(tmp_path / "cut_repaired"), "--json", "--check"))
    assert 100 < kept["count"] < 405
    assert main(["repair", str(tmp_path / "cut.mcap")]) == 2
    assert "exists and is not overwritten" in capsys.readouterr().err


def test_diff_ends_with_1_where_bags_differ(bag: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entries = robot(4)
    place = next(i for i, entry in enumerate(entries) if entry[0] == "/imu/data" and entry[1] == 10**9)
    entries[place] = ("/imu/data", 10**9, imu(10**9, math.sin(1.0), 0.05 + 2.0))
    other = str(write(tmp_path / "other", entries, StoragePlugin.SQLITE3))
    assert printed(capsys, "diff", bag, bag).splitlines()[-1] == "equal: 4 topics, 405 messages"
    out = printed(capsys, "diff", bag, other, code=1)
    assert "/imu/data: first difference in message 50 at 1.000000000 s: linear_acceleration.x: 0.05 and 2.05" in out
    assert "/imu/data: largest difference 2 at 1.000000000 s: linear_acceleration.x" in out
    assert out.splitlines()[-1] == "different: 1 of 4 topics"
    assert "equal: 2 topics" in printed(capsys, "diff", bag, other, "--topics", "/tf*")
    assert "equal: 4 topics" in printed(capsys, "diff", bag, other, "--tolerance", "2.1")
    assert main(["diff", bag, other, "--topics", "/imu/dat"]) == 2
    assert "did you mean /imu/data?" in capsys.readouterr().err


def test_lookup_of_a_bag_is_that_of_its_transforms(bag: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A quarter turn of odom in map at (1, 2, 3), the vehicle on its circle in it, the lidar half a metre above."""
    quarter = Rotation.from_euler("z", 90, degrees=True)
    found = json.loads(printed(capsys, "lookup", bag, "map", "lidar", "--at", "2", "--json"))
    expected = np.array([1, 2, 3]) + quarter.apply([2 * math.cos(2), 2 * math.sin(2), 0.5])
    np.testing.assert_allclose(found["translation"], expected, atol=1e-12)
    turned = quarter * Rotation.from_euler("z", 2 + math.pi / 2)
    assert (Rotation.from_quat(found["rotation"]).inv() * turned).magnitude() < 1e-9
    assert found["stamp_ns"] == 2 * 10**9
    rows = list(csv.DictReader(StringIO(printed(capsys, "lookup", bag, "map", "lidar", "--every", "0.5"))))
    assert [float(row["time_s"]) for row in rows] == [i / 2 for i in range(9)]
    for row in rows:
        t = float(row["time_s"])
        expected = np.array([1, 2, 3]) + quarter.apply([2 * math.cos(t), 2 * math.sin(t), 0.5])
        np.testing.assert_allclose([float(row[axis]) for axis in "xyz"], expected, atol=1e-9)
        assert (row["target_convention"], row["source_convention"]) == ("ENU", "FLU")
    assert "lidar in base_link at all times" in printed(capsys, "lookup", bag, "base_link", "lidar")
    assert main(["lookup", bag, "map", "lidr"]) == 2
    assert "did you mean lidar?" in capsys.readouterr().err


def test_times_of_a_bag_of_the_wall_clock_count_from_its_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(write(tmp_path / "bag", robot(2, 1_700_000_000 * 10**9)))
    found = json.loads(printed(capsys, "lookup", path, "odom", "base_link", "--at", "1", "--json"))
    np.testing.assert_allclose(found["translation"], [2 * math.cos(1), 2 * math.sin(1), 0], atol=1e-12)
    assert found["stamp_ns"] == 1_700_000_001 * 10**9


def test_tree_of_a_bag_has_its_frames_with_their_last_poses(bag: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "tree", bag, "--at", "0").splitlines()
    assert lines[0] == f"{bag} at 0.000 s: 4 frames"
    assert [line.strip("└─│├ ").split()[0] for line in lines[1:]] == ["map", "odom", "base_link", "lidar"]
    assert "position [2.000, 0.000, 0.000]  rpy_deg [0.0, 0.0, 90.0]" in lines[3]
    assert json.loads(printed(capsys, "tree", bag, "--json"))["lidar"]["parent"] == "base_link"


def test_export_and_plot_write_what_they_say(bag: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, "export", bag, "--csv", str(tmp_path), "--topics", "/imu/*", "/status")
    assert out.splitlines() == [str(tmp_path / "imu_data.csv"), str(tmp_path / "status.csv")]
    picture = tmp_path / "a.png"
    out = printed(
        capsys, "plot", bag, "/imu/data.linear_acceleration.x", "-o", str(picture), "--start", "1", "--duration", "1"
    )
    assert out.splitlines() == ["/imu/data.linear_acceleration.x: 50 values from 0.05 to 0.099", str(picture)]
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_topics_that_cannot_be_decoded_are_left_out_and_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As Foxglove writes them: JSON beside CDR."""
    with (tmp_path / "mixed.mcap").open("wb") as stream:
        writer = Writer(stream)
        writer.start("")
        text = writer.register_schema("std_msgs/msg/String", "ros2msg", b"string data")
        channels = writer.register_channel("/json", "json", 0), writer.register_channel("/text", "cdr", text)
        for channel, data in zip(channels, (b'{"a": 1}', b"\0\1\0\0\3\0\0\0up\0"), strict=True):
            writer.add_message(channel, 1, data, 1)
        writer.finish()
    bag, out = str(tmp_path / "mixed.mcap"), str(tmp_path / "out")
    assert main(["export", bag, "--csv", out]) == 0
    output = capsys.readouterr()
    assert output.out == f"{tmp_path / 'out' / 'text.csv'}\n"
    assert "left out: /json: messages are encoded as 'json'; known: cdr" in output.err
    assert main(["export", bag, "--csv", out, "--topics", "/json"]) == 2
    assert main(["info", bag]) == 0


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_no_bag_is_one_line_and_exit_code_2(
    command: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "none.mcap"
    path.write_bytes(b"no bag at all" * 9)
    more = {"diff": [str(path)], "export": ["--csv", str(tmp_path / "out")], "plot": ["/a.b"], "lookup": ["a", "b"]}
    assert exit_code([command, str(path), *more.get(command, [])]) == 2
    out, error = capfd.readouterr()
    assert out == ""
    assert error.startswith(f"sim_node: {path}: is not an MCAP file")
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == [path]


@pytest.fixture(scope="module")
def long_bag(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Whose table of poses does not fit into a pipe."""
    return str(write(tmp_path_factory.mktemp("long") / "bag", robot(60)))


def test_a_pipe_that_closes_is_a_good_end(long_bag: str) -> None:
    ran = subprocess.run(
        f"{sys.executable} -m sim_node.cli.main lookup {long_bag} map lidar --every 0.01 | head -2",
        shell=True, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (ran.stdout.splitlines()[0], ran.stderr) == (
        "time_s,x,y,z,qx,qy,qz,qw,target_convention,source_convention",
        "",
    )


def fill(its_end: int) -> None:
    """Write to a terminal that nobody reads until no more fits.

    The kernel moves what is written to the reader's end in the background, which makes room again: it is full if
    nothing fits for a while.
    """
    os.set_blocking(its_end, False)
    refused = 0
    while refused < 20:
        size = 4096 if refused == 0 else 1
        try:
            os.write(its_end, b"#" * size)
        except BlockingIOError:
            refused += 1
            threading.Event().wait(0.005)
        else:
            refused = min(refused, 1)
    os.set_blocking(its_end, True)


def writes_to_terminal(process: subprocess.Popen[bytes]) -> bool:
    """Whether it is blocked in a system call whose first argument is standard error."""
    return Path(f"/proc/{process.pid}/syscall").read_text().split()[1:2] == ["0x2"]


def rest_of(terminal: int) -> bytes:
    """What is written to a terminal until the last process has closed it."""
    shown = b""
    with contextlib.suppress(OSError):
        while part := os.read(terminal, 4096):
            shown += part
    return shown


# Both have the same bar and write in the same way.
@pytest.mark.parametrize(
    "command", only([["export", "--csv", "out"], ["repair", "-o", "out"]], 1), ids=lambda one: one[0]
)
def test_ctrl_c_at_the_progress_bar_leaves_nothing(command: list[str], long_bag: str, tmp_path: Path) -> None:
    """On a terminal, where there is a bar and nothing else. It is full, so that the command waits at its bar."""
    terminal, its_end = pty.openpty()
    fcntl.ioctl(its_end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    fill(its_end)
    process = subprocess.Popen(
        [sys.executable, "-m", "sim_node.cli.main", command[0], long_bag, *command[1:]],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=its_end,
    )  # fmt: skip
    os.close(its_end)
    until(lambda: writes_to_terminal(process) or process.poll() is not None, "the bar")
    process.send_signal(signal.SIGINT)
    shown = rest_of(terminal)
    os.close(terminal)
    assert process.communicate(timeout=PATIENCE)[0] == b""
    assert process.returncode == 130, shown
    assert shown.strip(b"#") == b""
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
