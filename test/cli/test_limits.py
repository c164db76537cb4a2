"""Commands under small limits of the shell, and files that are none: one line, and no internal error."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from waiting import PATIENCE

from sim_node.cli.commands import COMMANDS
from sim_node.cli.main import main
from sim_node.cli.views import opened
from sim_node.viewing.ports import DEFAULT_PORT, HOST

FILES = {resource.RLIMIT_NOFILE: 24}
ADDRESSES = {resource.RLIMIT_AS: 150 << 20}
# Commands that start something, by limit, and whether they start ROS 2, which is refused before it waits or aborts. The
# others work with so little, or say what they lack. Commands that are not here start what these do, or nothing.
STARTED = (
    (FILES, True, ("run orbit --duration 0.1", "bridge --url udpin:127.0.0.1:0", "topics", "remove crate")),
    (FILES, False, ("run orbit --no-ros --duration 0.1 --speed max", "view orbit --port 0")),
    (ADDRESSES, True, ("run orbit --duration 0.1", "record {}/bag --live", "tree --live")),
    (ADDRESSES, False, ("check orbit", "view orbit --port 0", "render orbit -o {}/orbit.png")),
)
ROWS = [(limits, ros, words) for limits, ros, of in STARTED for words in of]


def test_small_limits_are_named_on_one_line(tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        for (_, ros, words), (code, errors) in zip(ROWS, pool.map(partial(limited, tmp_path), ROWS), strict=True):
            assert code in ((1, 2) if ros else (0, 1, 2)), (words, errors)
            assert all("internal error" not in line and "Traceback" not in line for line in errors), (words, errors)
            # OpenBLAS has lines of its own about threads that it cannot start.
            errors = [line for line in errors if not line.startswith("OpenBLAS ")]
            if code:
                assert len(errors) == 1, (words, errors)
                assert "ulimit" in errors[0], (words, errors)


def limited(folder: Path, row: tuple[dict[int, int], bool, str]) -> tuple[int, list[str]]:
    """Start one under limits, and stop it at its first line if it runs until then. Returns exit code and lines."""
    limits, _, words = row

    def limit() -> None:
        for what, most in limits.items():
            resource.setrlimit(what, (most, most))

    command = [sys.executable, "-m", "sim_node", *words.format(folder).split()]
    with (folder / f"{ROWS.index(row)}.txt").open("w+", encoding="utf-8") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, preexec_fn=limit)
        assert process.stdout is not None
        if process.stdout.readline() and COMMANDS[words.split()[0]].until_interrupted:
            process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)
        errors.seek(0)
        return process.returncode, errors.read().splitlines()


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


def test_python_m_and_a_terminal_of_ascii(tmp_path: Path) -> None:
    """`python -m sim_node` is the command; trees are drawn in what the terminal can write, and other names escaped."""
    world = tmp_path / "world.yaml"
    bodies = "[{name: tür, joint: free, geometry: [{box: [1, 1, 1], mass: 1}]}]"
    world.write_text(f"bodies: {bodies}\nframes: [{{name: bell, parent: tür}}]\n", encoding="utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "LANG": "C"}
    command = [sys.executable, "-m", "sim_node", "tree", str(world)]
    ran = subprocess.run(command, capture_output=True, env=environment, timeout=PATIENCE, check=False)
    assert (ran.returncode, ran.stderr) == (0, b"")
    lines = ran.stdout.decode("ascii").splitlines()
    assert lines[1] == "map"
    assert lines[2].startswith("`- t\\xfcr ")
    assert lines[3].startswith("   `- bell ")


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


def test_a_page_elsewhere_says_why_if_no_port_was_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with suppress(OSError):  # another program has it, then
            taken.bind((HOST, DEFAULT_PORT))
            taken.listen()
        for port, why in ((None, f" (port {DEFAULT_PORT} is in use)"), (0, "")):
            viewer = opened(port, "page")
            viewer.close()
            assert not viewer.url.endswith(f":{DEFAULT_PORT}")
            assert capsys.readouterr().out == f"viewer: {viewer.url}{why}\n"
