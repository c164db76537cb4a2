"""Commands under small limits of the shell, and files that are none: one line, and no internal error."""

from __future__ import annotations

import os
import resource
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import PATIENCE

from sim_node.cli.main import main

FILES = {resource.RLIMIT_NOFILE: 24}
ADDRESSES = {resource.RLIMIT_AS: 150 << 20}
# Those that need less than the limits work. ROS 2 is refused before it waits or aborts.
COMMANDS = ("check orbit", "run orbit --no-ros --duration 0.1 --speed max")
OF_ROS = ("run orbit --duration 0.1", "topics", "record --live {}/bag")


@pytest.mark.parametrize("limits", [FILES, ADDRESSES], ids=["files", "addresses"])
def test_small_limits_are_named_on_one_line(limits: dict[int, int], tmp_path: Path) -> None:
    def limit() -> None:
        for what, most in limits.items():
            resource.setrlimit(what, (most, most))

    for words in (*COMMANDS, *OF_ROS):
        command = [sys.executable, "-m", "sim_node", *words.format(tmp_path).split()]
        ran = subprocess.run(command, capture_output=True, text=True, preexec_fn=limit, timeout=PATIENCE, check=False)
        assert "internal error" not in ran.stderr, (words, ran.stderr)
        assert "Traceback" not in ran.stderr, (words, ran.stderr)
        if words in OF_ROS:
            assert ran.returncode in (1, 2), (words, ran.stderr)
            assert ran.stderr.count("\n") == 1, (words, ran.stderr)
            assert "ulimit" in ran.stderr, (words, ran.stderr)


@pytest.mark.parametrize("command", ["check", "run", "tree", "view", "info"])
def test_pipes_and_devices_are_called_so(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipe = tmp_path / "pipe.yaml"
    os.mkfifo(pipe)
    for path, kind in ((str(pipe), "a pipe"), ("/dev/zero", "a device")):
        assert main([command, path]) == 2
        error = capsys.readouterr().err
        assert f"is {kind}, not a" in error
        assert "did you mean" not in error


def test_errors_of_arguments_come_first_and_one_line_of_usage_follows(capsys: pytest.CaptureFixture[str]) -> None:
    for words, error, usage in (
        (["check"], "the following arguments are required: FILE", "usage: sim_node check [options] FILE [FILE ...]"),
        (["run", "--durationn", "3"], "unknown option --durationn; did you mean --duration?", "[options] [WORLD]"),
        (
            ["lookup"],
            "the following arguments are required",
            "usage: sim_node lookup [options] WORLD|BAG TARGET SOURCE",
        ),
    ):
        with pytest.raises(SystemExit, match="2"):
            main(words)
        first, second = capsys.readouterr().err.splitlines()
        assert error in first
        assert usage in second


def test_python_m_and_a_terminal_of_ascii() -> None:
    """`python -m sim_node` is the command, and trees are drawn in what the terminal can write."""
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "LANG": "C"}
    command = [sys.executable, "-m", "sim_node", "tree", "orbit"]
    ran = subprocess.run(command, capture_output=True, env=environment, timeout=PATIENCE, check=False)
    assert (ran.returncode, ran.stderr) == (0, b"")
    lines = ran.stdout.decode("ascii").splitlines()
    assert lines[1] == "map"
    assert any(line.lstrip().startswith("|- ") for line in lines)
    assert any(line.lstrip().startswith("`- ") for line in lines)


def doctor(folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    command = [sys.executable, "-m", "sim_node", "doctor"]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=PATIENCE, check=False)


def test_doctor_with_an_rclpy_that_cannot_be_imported(tmp_path: Path) -> None:
    package = tmp_path / "rclpy"
    package.mkdir()
    (package / "__init__.py").write_text("raise ImportError('libfoo.so:\\n cannot open')\n", encoding="utf-8")
    ran = doctor(tmp_path)
    assert ran.returncode == 1
    assert ran.stderr == ""
    assert f"rclpy                 {package} cannot be imported: libfoo.so: cannot open\n" in ran.stdout
    assert "nodes cannot run: rclpy missing" in ran.stdout


def test_doctor_with_the_rclpy_of_another_python(tmp_path: Path) -> None:
    package = tmp_path / "rclpy"
    package.mkdir()
    (package / "__init__.py").write_text("import rclpy._rclpy_pybind11\n", encoding="utf-8")
    (package / "_rclpy_pybind11.cpython-38-x86_64-linux-gnu.so").write_bytes(b"")
    ran = doctor(tmp_path)
    assert ran.returncode == 1
    assert f"{package} is built for Python 3.8, and this is Python 3." in ran.stdout
    shutil.rmtree(package)


def test_a_taken_port_of_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    """One that is given is refused before anything starts."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        for words in (["run", "nowhere", "--view"], ["run", "nowhere", "--foxglove"], ["view", "nowhere", "--port"]):
            assert main([*words, str(port)]) == 2
            assert capsys.readouterr().err == (
                f"sim_node: port {port}: another program listens on it; give another port, or 0 for any\n"
            )
