"""Commands under small limits of the shell, and files that are none: one line, and no internal error."""

from __future__ import annotations

import json
import os
import resource
import shutil
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from waiting import PATIENCE

from sim_node.cli.commands import SHIPPED
from sim_node.cli.main import main
from sim_node.cli.views import opened
from sim_node.limits import lack
from sim_node.simulation.requests import REQUESTS
from sim_node.viewing.ports import DEFAULT_PORT, HOST

# What each command does with few files, in a folder with the bag `b`.
WORDS = {
    "run": "run orbit --no-ros --duration 0.1 --speed max",
    "sweep": "sweep orbit --runs 2 --duration 0.1 --workers 1 -o swept",
    "replay": "replay b",
    "record": "record recorded --live",
    "bridge": "bridge --url udpin:127.0.0.1:0",
    "autopilot": "autopilot --world guided --sim tcp:127.0.0.1:9",
    "view": "view orbit --port 0",
    "render": "render orbit --size 64x48 -o orbit.png",
    "rviz": "rviz orbit -o orbit.rviz",
    "tree": "tree orbit",
    "lookup": "lookup orbit map drone/base_link",
    "topics": "topics",
    "echo": "echo /tf",
    "pub": "pub /a std_msgs/msg/String",
    "call": "call /a std_srvs/srv/Trigger",
    "teleop": "teleop amr",
    "mcp": "mcp orbit --port 0",
    "spawn": "spawn box",
    "remove": "remove crate",
    "attach": "attach crate map",
    "detach": "detach crate",
    "set": "set door=1",
    "pause": "pause",
    "resume": "resume",
    "step": "step 2",
    "reset": "reset time",
    "load": "load orbit",
    "unload": "unload",
    "push": "push crate 1,0,0",
    "move": "move crate 1,2,3",
    "drive": "drive 1,0,0,0",
    "joints": "joints slide=1",
    "wind": "wind 1,0,0",
    "gust": "gust 1,0,0",
    "light": "light 1",
    "fail": "fail gps off",
    "disturb": "disturb imu",
    "jam": "jam gps",
    "order": "order arm",
    "parameter": "parameter A 1",
    "battery": "battery drone",
    "fog": "fog 100",
    "mission": "mission plan.yaml",
    "link": "link drone",
    "computer": "computer stop",
    "trigger": "trigger now",
    "test": "test field_flight --list",
    "map": "map lidar_room -o hall.yaml",
    "fly": "fly px4",
    "new": "new world mine",
    "worlds": "worlds",
    "check": "check orbit",
    "schema": "schema",
    "snap": "snap four_bar",
    "convert": "convert --from ENU --to NED 1,2,3",
    "urdf": "urdf guided -o guided.urdf",
    "scene": "scene orbit -o orbit.json",
    "info": "info b --check",
    "plot": "plot b /tf.transforms[0].transform.translation.x",
    "export": "export b --csv tables",
    "diff": "diff b b",
    "repair": "repair b -o repaired",
    "doctor": "doctor",
    "build": "build no_such_package",
    "completion": "completion bash",
}
# What joins a graph is refused before it waits or aborts.
GRAPH = {
    *("replay", "record", "bridge", "topics", "echo", "pub", "call", "teleop", "mcp"),
    *REQUESTS.shipped(),
}
# What they refuse has nothing to do with limits.
REFUSED = {"teleop", "build", "fly"}


# Those that open most; the night has each command that is registered.
OPENING = ("run", "replay", "view", "export")


@pytest.mark.parametrize("commands", [OPENING, pytest.param([*WORDS], marks=pytest.mark.nightly)], ids=["usual", "all"])
def test_few_files_are_named_on_one_line(
    commands: Sequence[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it works with so little, or says what it lacks."""
    assert WORDS.keys() == set(SHIPPED)
    monkeypatch.chdir(tmp_path)
    assert main([*WORDS["run"].split(), "--record", "b"]) == 0
    (tmp_path / "errors").mkdir()
    rows = [WORDS[command].split() for command in commands]
    program = [sys.executable, str(Path(__file__).with_name("limited.py")), "errors", "24"]
    ran = subprocess.run(program, input=json.dumps(rows), stdout=subprocess.PIPE, text=True, timeout=PATIENCE)
    codes = dict(map(json.loads, ran.stdout.splitlines()))
    assert codes.keys() == set(range(len(rows)))
    for row, words in enumerate(rows):
        errors = (tmp_path / "errors" / str(row)).read_text(encoding="utf-8").splitlines()
        told = words, codes[row], errors
        assert codes[row] in ((1, 2) if words[0] in GRAPH else (0, 1, 2)), told
        assert not any("internal error" in line or "Traceback" in line for line in errors), told
        # OpenBLAS has lines of its own about threads that it cannot start.
        errors = [line for line in errors if not line.startswith("OpenBLAS ")]
        if codes[row] and words[0] not in REFUSED:
            assert len(errors) == 1, told
            assert "ulimit" in errors[0], told


@pytest.mark.parametrize(
    ("what", "most", "words"),
    [
        (resource.RLIMIT_NOFILE, 24, "topics"),
        # A fork of a program with threads may wait for ever where memory ends: these are programs of their own.
        # OpenBLAS, which numpy imports, ends the process where it gets so little.
        (resource.RLIMIT_AS, 100 << 20, "--version"),
        # Here CPython lost errors, crashed or waited for ever, at other imports each time.
        *((resource.RLIMIT_AS, most << 20, "tree --live") for most in (124, 136, 148)),
        pytest.param(resource.RLIMIT_AS, 200 << 20, "render orbit -o orbit.png", marks=pytest.mark.nightly),
        (resource.RLIMIT_AS, 200 << 20, "run orbit --duration 0.1"),
    ],
)
def test_a_program_that_starts_under_small_limits_says_so(what: int, most: int, words: str, tmp_path: Path) -> None:
    """From its first import on."""
    ran = subprocess.run(
        [sys.executable, "-m", "sim_node", *words.split()],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        cwd=tmp_path,
        preexec_fn=partial(resource.setrlimit, what, (most, most)),
    )
    errors = [line for line in ran.stderr.splitlines() if not line.startswith("OpenBLAS ")]
    assert ran.returncode in (1, 2), errors
    assert len(errors) == 1, errors
    assert "ulimit" in errors[0], errors


def test_what_was_lacking_is_named_by_the_error_that_led_to_the_others() -> None:
    """On one line: numpy quotes what its import lacked in 20 lines of advice."""
    error = ImportError("\n\nIMPORTANT: PLEASE READ THIS\n\nOriginal error was: failed to map segment\n")
    error.__cause__ = ImportError("libopenblas.so: failed to map segment\nfrom shared object")
    assert lack(error) == (
        "not enough memory (libopenblas.so: failed to map segment from shared object); "
        "`ulimit -a` shows the limits of this shell"
    )


@pytest.mark.parametrize("lost", [SystemError("error return without exception set"), AttributeError("datetime")])
def test_an_error_where_addresses_end_comes_from_that(lost: Exception) -> None:
    """The interpreter loses a MemoryError that it cannot make, and modules are left half imported."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    mapped = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    assert lack(lost) == ""
    try:
        resource.setrlimit(resource.RLIMIT_AS, (mapped + (8 << 20), before[1]))
        told = lack(lost)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    assert told.startswith("not enough memory")


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


# Takes seconds: make test has commands with few files, above, and the messages, below.
@pytest.mark.nightly
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
    assert lines[1].split() == ["map", "ENU"]
    assert lines[2].startswith("`- t\\xfcr ")
    assert lines[3].startswith("   `- bell ")


def doctor(folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    command = [sys.executable, "-m", "sim_node", "doctor"]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=PATIENCE, check=False)


# Takes seconds: make test has commands with few files, above, and the messages, below.
@pytest.mark.nightly
def test_doctor_with_an_rclpy_that_cannot_be_imported(tmp_path: Path) -> None:
    package = tmp_path / "rclpy"
    package.mkdir()
    (package / "__init__.py").write_text("raise ImportError('libfoo.so:\\n cannot open')\n", encoding="utf-8")
    ran = doctor(tmp_path)
    assert ran.returncode == 1
    assert ran.stderr == ""
    assert f"rclpy                 {package} cannot be imported: libfoo.so: cannot open\n" in ran.stdout
    assert "nodes cannot run without rclpy" in ran.stdout


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
