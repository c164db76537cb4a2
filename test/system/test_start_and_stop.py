"""The person at the keyboard: Ctrl-C at any moment, wrong arguments, output that goes into a pipe."""

from __future__ import annotations

import fcntl
import os
import random
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from processes import EXECUTABLE, SIM_NODE, Program, program, sim_node

# Seeded, so that a failure can be looked at again. From while Python imports until well into the run.
MOMENTS = random.Random(7)
CASES = [(number, MOMENTS.uniform(0.25, 2.5)) for number in (signal.SIGINT, signal.SIGTERM) for _ in range(4)]


@pytest.mark.usefixtures("ros_domain")
@pytest.mark.parametrize(("number", "moment"), CASES, ids=lambda value: f"{value:.2f}")
@pytest.mark.parametrize("command", [sim_node("run", "orbit"), [EXECUTABLE]], ids=["sim_node run", "executable"])
def test_a_signal_at_any_moment_ends_it_within_two_seconds(
    command: list[str | Path], number: int, moment: float
) -> None:
    with program(command) as node:
        time.sleep(moment)  # the moment is the point of the test
        started = psutil.Process(node.process.pid)
        family = [started, *started.children(recursive=True)]
        code, took = node.stop(number)
        assert code == 0, node.output
        assert took < 2.0
        assert "Traceback" not in node.output
        _, alive = psutil.wait_procs(family, timeout=0)
        assert not alive


@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_while_a_picture_is_drawn_is_no_traceback(times: int) -> None:
    """Once or twice, to the whole group as a terminal does it: nobody is there any more to take the picture."""
    with program(sim_node("run", "lidar_room", "--no-ros")) as node:
        drawing = drawing_process(node)
        drawing.suspend()
        try:
            asked, answers = (os.readlink(f"/proc/{drawing.pid}/fd/{number}") for number in (0, answers_of(drawing)))
            until(lambda: waiting_in(f"/proc/{drawing.pid}/fd/0") > 0, "a picture is asked for")
            os.killpg(node.process.pid, signal.SIGINT)
            until(lambda: not {asked, answers} & set(pipes_of(node.process.pid).values()), "nobody waits for it")
            if times == 2:
                os.killpg(node.process.pid, signal.SIGINT)
        finally:
            drawing.resume()
        assert node.wait(5.0) == 0
        assert not drawing.is_running()
        assert "Traceback" not in node.output, node.output


def drawing_process(node: Program) -> psutil.Process:
    """The one that draws what cameras see, ready to."""
    node.wait_for("lidar_room: ")

    def found() -> list[psutil.Process]:
        if "cameras see nothing" in node.output:
            pytest.skip(f"no OpenGL here: {node.output}")
        children = psutil.Process(node.process.pid).children()
        # Its answers have a number of their own once it draws.
        return [child for child in children if "render_worker" in " ".join(child.cmdline()) and answers_of(child)]

    until(found, "drawing")
    return found()[0]


def answers_of(drawing: psutil.Process) -> int:
    """The file descriptor of its answers, 0 where it has none yet."""
    pipes = pipes_of(drawing.pid)
    return next((number for number, pipe in pipes.items() if number > 2 and pipe != pipes.get(0)), 0)


def pipes_of(process: int) -> dict[int, str]:
    """The pipes that a process has open, by file descriptor."""
    links: dict[int, str] = {}
    with suppress(OSError):
        for number in os.listdir(f"/proc/{process}/fd"):
            with suppress(OSError):
                links[int(number)] = os.readlink(f"/proc/{process}/fd/{number}")
    return {number: link for number, link in links.items() if link.startswith("pipe:")}


def waiting_in(pipe: str) -> int:
    """Bytes that nobody has read yet."""
    number = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        (count,) = struct.unpack("i", fcntl.ioctl(number, termios.FIONREAD, b"\0" * 4))
        return int(count)
    finally:
        os.close(number)


def until(done: Callable[[], object], what: str, timeout: float = 20.0) -> None:
    deadline = time.monotonic() + timeout
    while not done():
        assert time.monotonic() < deadline, f"not within {timeout} s: {what}"
        time.sleep(0.002)


@pytest.mark.usefixtures("ros_domain")
def test_a_duration_ends_by_itself_and_says_where_things_are() -> None:
    with program(sim_node("run", "orbit", "--duration", "1", "--speed", "max")) as node:
        assert node.wait() == 0
        for words in (
            "fixed frame map",
            "/tf ",
            "60 Hz",
            "/tf_static",
            "latched",
            "/clock",
            "lookup --live map drone/base_link",
        ):
            assert words in node.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "orbitt"], "no world 'orbitt'; did you mean orbit?"),
        (["run", "orbit", "--speed", "fast"], "'fast' is no speed"),
        (["run", "orbit", "--duration", "-1"], "seconds above zero are needed"),
        (["run", "orbit", "--duration", "nan"], "--duration"),
        (["run", "orbit", "--no-ros", "--ros-args", "-p", "seed:=1"], "exclude each other"),
        (["run", "orbit", "--ros-args", "-p", "publish_rate:=30"], "did you mean 30.0?"),
        (["run", "orbit", "--ros-args", "-p", "publish_rate:=-3.0"], "publish_rate"),
        (["run", "orbit", "--ros-args", "-p", "stamp:=wal"], "allowed: sim, wall"),
        (["run", "orbit", "--ros-args", "-p"], "-p"),
        (["fly"], "fly"),
        (["lookup", "orbit", "map", "drone/CAM_FRNT"], "did you mean drone/CAM_FRONT?"),
        (["tree", "orbit", "--at", "-1"], "before the world's start"),
        ([], "COMMAND"),
    ],
    ids=" ".join,
)
@pytest.mark.usefixtures("ros_domain")
def test_a_mistake_is_one_clear_message_and_exit_code_2(arguments: list[str], words: str) -> None:
    ran = subprocess.run(
        [SIM_NODE, *arguments], capture_output=True, text=True, timeout=30, stdin=subprocess.DEVNULL, check=False
    )
    assert ran.returncode == 2
    assert words in ran.stderr
    assert "Traceback" not in ran.stderr
    assert ran.stdout == ""


def test_a_broken_world_is_told_with_its_places(tmp_path: Path) -> None:
    world = tmp_path / "yard.yaml"
    world.write_text(
        "world: yard\nframes:\n  - {name: a, parant: map}\n  - {name: b, pose: {quaternion: [0, 0, 0, 0]}}\n"
    )
    for command in ("check", "run", "tree"):
        ran = subprocess.run([SIM_NODE, command, world], capture_output=True, text=True, timeout=30, check=False)
        assert ran.returncode == 2
        first, second, summary = ran.stderr.splitlines()
        assert first.startswith(f"{world}:3:15: frames[0].parant: unknown key; did you mean parent?")
        assert second.startswith(f"{world}:4:34: frames[1].pose.quaternion: is zero")
        assert summary.startswith("2 errors")


def test_output_into_a_closed_pipe_is_no_error(tmp_path: Path) -> None:
    many = "".join(f"  - {{name: part_{n}}}\n" for n in range(5000))
    world = tmp_path / "many.yaml"
    world.write_text("frames:\n" + many)
    ran = subprocess.run(
        f"{SIM_NODE} tree {world} | head -1", shell=True, capture_output=True, text=True, timeout=30, check=False
    )
    assert ran.stdout == "many at 0 s: 5001 frames, 0 moving\n"
    assert ran.stderr == ""


STUBBORN = "import os, signal, time; signal.signal(15, signal.SIG_IGN); print(os.getpid(), flush=True); time.sleep(600)"


@pytest.mark.usefixtures("ros_domain")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("way", ["--no-ros", "--ros-args"])
def test_the_programs_of_a_world_end_with_it(tmp_path: Path, number: int, way: str) -> None:
    """Also one that does not heed SIGTERM, which gets its 2 s first, and whatever ends sim_node itself."""
    world, log = tmp_path / "yard.yaml", tmp_path / "log.txt"
    world.write_text(f"world: yard\nrecipes:\n  p: {{command: [{sys.executable}, -c, '{STUBBORN}'], log: log.txt}}\n")
    with program(sim_node("run", world, "--recipes", way)) as node:
        node.wait_for("p: started, its output goes to")
        deadline = time.monotonic() + 30.0
        while not (log.exists() and log.read_text()):
            assert time.monotonic() < deadline, node.output
            time.sleep(0.01)
        stubborn = psutil.Process(int(log.read_text()))
        family = [stubborn, *stubborn.parents()[:1]]
        code, took = node.stop(number)
        assert took < 3.0, "2 s are the stubborn program's"
        assert code == (-signal.SIGKILL if number == signal.SIGKILL else 0), node.output
        _, alive = psutil.wait_procs(family, timeout=4.0)
        assert not alive


def test_a_world_starts_nothing_by_itself(tmp_path: Path) -> None:
    world = tmp_path / "yard.yaml"
    world.write_text("world: yard\nrecipes: {p: {command: [touch, made]}}\n")
    with program(sim_node("run", world, "--no-ros", "--duration", "0.1")) as node:
        assert node.wait() == 0
        assert "not asked to start p: touch made" in node.output
    assert not (tmp_path / "made").exists()
